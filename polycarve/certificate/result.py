"""`Certificate`: a count that is proven, with its proof."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polycarve.certificate import checker, files
from polycarve.certificate.places import Place
from polycarve.certificate.proof import Leaf
from polycarve.errors import InputError

if TYPE_CHECKING:
    from polycarve.carving import Carving


@dataclass(frozen=True, eq=False)
class Certificate:
    """The regions of a carving as a theorem. Made by `Carving.certify`.

    Attributes
    ----------
    carving : Carving
        The regions proven: those of the carving that was given, less what is not there
        (`n_dropped`), and what it lacked (`n_added`).
    proved : bool
        Whether `theorem` is proven. False only where limits left no region.
    complete : bool
        Whether the theorem says "exactly"; else it says "at least": the carving was incomplete,
        or limits stopped the proof.
    n_added, n_dropped : int
        What was repaired.
    n_short, n_exact, n_programs : int
        How many cuts were shown to miss a cell by rounded multipliers, by exact ones on the faces
        that floats proposed, and how often an exact linear program had to decide.
    seconds : float
    """

    carving: Carving
    complete: bool
    n_added: int
    n_dropped: int
    n_short: int
    n_exact: int
    n_programs: int
    seconds: float
    _place: Place
    _leaves: list[Leaf]

    @property
    def proved(self) -> bool:
        return len(self.carving) > 0

    @property
    def n_vectors(self) -> int:
        """How many vectors the proof holds."""
        return sum(len(leaf.vectors) for leaf in self._leaves)

    @property
    def theorem(self) -> str:
        """What is proven, in words."""
        network, domain = self.carving.network, self.carving.domain
        if not self.proved:
            return "Nothing is proven: no region was found in the time given."
        return checker.theorem(
            network.digest,
            domain.digest,
            len(self.carving),
            self.carving.layer_counts,
            is_complete=self.complete,
        )

    def save(self, path: str | Path) -> None:
        """Write the proof to a file, for `polycarve certify --check` or the checker alone.

        The checker is one file of the package, ``polycarve/certificate/checker.py``, that needs
        nothing but Python: ``python checker.py FILE``. See there for what stands in the file.

        Raises
        ------
        InputError
            Nothing is proven.
        """
        if not self.proved:
            raise InputError("nothing is proven, so there is nothing to save. Give it more time.")
        carving = self.carving
        unused = -sum(carving.widths) % 8
        files.write(
            path,
            carving.network,
            self._place,
            carving.n_layers,
            (
                (
                    f"{int.from_bytes(packed.tobytes(), 'big') >> unused:x}",
                    leaf.witness,
                    leaf.vectors,
                )
                for packed, leaf in zip(carving.packed, self._leaves, strict=True)
            ),
            n_regions=len(carving),
            is_complete=self.complete,
        )

    def check(self) -> str:
        """Write the proof to a file, let the independent checker read it, return what it says.

        Raises
        ------
        polycarve.certificate.checker.Refused
            The file does not prove it: an error in polycarve.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "certificate.gz"
            self.save(path)
            return checker.check(path)

    def __repr__(self) -> str:
        least = "exactly" if self.complete else "at least"
        repaired = ""
        if self.n_added or self.n_dropped:
            repaired = f", {self.n_added} added, {self.n_dropped} dropped"
        many = f"{len(self.carving)} region{'s' * (len(self.carving) != 1)}"
        state = "proved" if self.proved else "nothing proved"
        return f"Certificate({state}: {least} {many}{repaired})"
