"""Fixtures that several files of tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture
def nothing_left_behind() -> Iterator[None]:
    """See that pictures change no setting of matplotlib's, and close what a test opened."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    before = dict(mpl.rcParams)
    yield
    assert dict(mpl.rcParams) == before
    plt.close("all")
