"""The surface of a bounded domain, and the lines that run through it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polycarve import geometry
from polycarve.domains import Domain
from polycarve.errors import InputError

FloatArray = npt.NDArray[np.float64]

# How far from the end of a line, relative to coordinates, rounding may be all there is.
END = 2.0**-40


@dataclass(frozen=True, eq=False)
class Surface:
    """The surface of a bounded domain in its free coordinates, in simplices.

    Attributes
    ----------
    simplices : (n, d, d) float64
        Corners of the sides' parts.
    shares : (n,) float64
        How much of the surface each is.
    size : float
    A, b
        The sides: ``A @ y <= b``, with normals of length one.
    """

    simplices: FloatArray
    shares: FloatArray
    size: float
    A: FloatArray
    b: FloatArray

    @classmethod
    def of(cls, domain: Domain) -> Surface:
        if domain.rank not in (2, 3) or not domain.is_bounded:
            raise InputError(
                f"{domain!r} has rank {domain.rank}; random lines need a bounded domain of rank 2 "
                f"or 3. In more dimensions use layer_probe."
            )
        from scipy.spatial import ConvexHull

        forms = domain.exact_sides().float64
        free = domain.free
        lengths = np.linalg.norm(forms[:, free], axis=1)
        A, b = -forms[:, free] / lengths[:, None], forms[:, -1] / lengths
        needed = geometry.irredundant(A, b)
        A, b = A[needed], b[needed]
        centre = domain.frame.centre
        corners = geometry.vertices(A, b, centre)
        hull = ConvexHull(corners)
        simplices = corners[hull.simplices]
        edges = simplices[:, 1:] - simplices[:, :1]
        if len(free) == 2:
            sizes = np.linalg.norm(edges[:, 0], axis=1)
        else:
            sizes = 0.5 * np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
        return cls(simplices, sizes / sizes.sum(), float(sizes.sum()), A, b)

    def lines(self, n: int, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return where isotropic uniform lines enter and leave the domain, ``(n, d)`` each.

        A hair's breadth inside, since neurons may vanish on the surface.
        """
        d = self.A.shape[1]
        chosen = self.simplices[generator.choice(len(self.shares), size=n, p=self.shares)]
        start = np.einsum("ij,ijk->ik", generator.dirichlet(np.ones(d), size=n), chosen)
        # The side that a point lies on is the one it is nearest to.
        side = np.argmin(np.abs(self.b - start @ self.A.T), axis=1)
        inward = -self.A[side]
        # A uniform point of the disc below a hemisphere is the foot of a direction by its cosine.
        foot = generator.normal(size=(n, d))
        foot -= np.einsum("ij,ij->i", foot, inward)[:, None] * inward
        foot /= np.linalg.norm(foot, axis=1)[:, None]
        square = generator.random(n)
        radius = square if d == 2 else np.sqrt(square)
        direction = radius[:, None] * foot + np.sqrt(1.0 - radius**2)[:, None] * inward
        rate = direction @ self.A.T
        gap = np.maximum(self.b - start @ self.A.T, 0.0)
        reach = np.where(rate > 0, gap / np.where(rate > 0, rate, 1.0), np.inf)
        reach[np.arange(n), side] = np.inf
        length = reach.min(axis=1)
        inset = np.minimum(END * np.abs(self.simplices).max(), 0.25 * length)
        return (
            start + inset[:, None] * direction,
            start + (length - inset)[:, None] * direction,
        )
