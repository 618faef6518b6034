"""`Space`: all of R^d."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from polycarve.domains.domain import Domain, FloatArray, Frame
from polycarve.errors import DomainError
from polycarve.rational import ExactArray


class Space(Domain):
    """All of R^d.

    Parameters
    ----------
    dim : int

    Examples
    --------
    >>> import polycarve as pc
    >>> pc.Space(2).is_bounded
    False
    """

    def __init__(self, dim: int) -> None:
        if not isinstance(dim, (int, np.integer)) or isinstance(dim, bool) or dim < 1:
            raise DomainError(f"dim is {dim!r}; a whole number of at least 1 is needed.")
        self.input_dim = int(dim)

    @property
    def dim(self) -> int:
        return self.input_dim

    @property
    def rank(self) -> int:
        return self.input_dim

    @property
    def is_bounded(self) -> bool:
        return False

    @cached_property
    def frame(self) -> Frame:
        d = self.input_dim
        lower = ExactArray.of(np.array([-1] * d + [0]))
        sides, centre = (-1,) * (2 * d + 2), np.array([0.0] * d + [0.5])
        return Frame(lower, ExactArray.of(np.ones(d + 1)), sides, centre, is_cone=True)

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        return np.full(self.dim, -np.inf), np.full(self.dim, np.inf)

    def contains(self, X: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        return np.asarray(np.isfinite(self.points(X)).all(axis=-1))

    def exact_sides(self) -> ExactArray:
        return ExactArray.of(np.zeros((0, self.input_dim + 1)))

    def _identity(self) -> str:
        return f"space {self.input_dim}"

    def __repr__(self) -> str:
        return f"Space({self.input_dim})"
