"""The option ``--large``, and kernels compiled before anything is timed."""

from __future__ import annotations

import pytest
from networks import load

from polycarve.splitting import drive
from polycarve.splitting.method import method_named


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--large", action="store_true", help="run the large benchmarks too")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "large: seconds a round; only with --large")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--large"):
        return
    for item in items:
        if item.get_closest_marker("large"):
            item.add_marker(pytest.mark.skip(reason="large: run with --large"))


@pytest.fixture(scope="session", autouse=True)
def _compiled() -> None:
    for method in ("simplex", "vertices"):
        drive.run(load("moons").program, method_named(method), sink=None)
