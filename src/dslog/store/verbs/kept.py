"""What the verbs ask of values, which the store itself does not keep."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dslog.cells.cellset import CellSet


class KeptValues(Protocol):
    """Values of arrays, where somebody keeps them."""

    def at(self, array: str, cells: npt.NDArray[np.int64]) -> Sequence[object] | None:
        """Return the values of cells (n, ndim), or None when they are not kept."""
        ...

    def missing(self, array: str) -> CellSet | None:
        """Return the cells that are NaN or null, or None when values are not kept."""
        ...


class NoValues:
    """Keeps no values."""

    def at(self, array: str, cells: npt.NDArray[np.int64]) -> None:
        """Return None: they are not kept."""

    def missing(self, array: str) -> None:
        """Return None: they are not kept."""
