"""The array a query is about, and what a query can get wrong about it."""

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from dslog.errors import SelectionError
from dslog.types import I64

_INT64_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Target:
    """An array's shape, and its name for messages."""

    shape: tuple[int, ...]
    name: str

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __str__(self) -> str:
        return f"{self.name!r} of shape {self.shape}"

    def axes(self) -> str:
        """How many axes, in words.

        >>> Target((3,), "B").axes(), Target((3, 2), "B").axes()
        ('1 axis', '2 axes')
        """
        return f"{self.ndim} axis" if self.ndim == 1 else f"{self.ndim} axes"

    def example(self) -> str:
        """A query that would be right, for the end of a message."""
        if self.ndim == 0:
            return "() is its one cell"
        cell = f"({', '.join('0' for _ in self.shape)}{',' if self.ndim == 1 else ''})"
        slices = ", ".join(["0:1", *(":" for _ in self.shape[1:])])
        return f"{cell} is a cell, np.s_[{slices}] a selection"

    def refuse_count(self, given: object, count: int) -> NoReturn:
        """The number of indices is not the number of axes."""
        indices = "1 index" if count == 1 else f"{count} indices"
        raise SelectionError(
            f"{_short(given)} has {indices}, but {self} has {self.axes()}: {self.example()}."
        )

    def refuse_value(self, value: object) -> NoReturn:
        """A value that is no integer stands where an index belongs."""
        if isinstance(value, bool | np.bool_):
            way = f"a mask must have the shape {self.shape}, and an index must be an integer"
        elif value is None:
            way = "leave missing indices and new axes out"
        elif isinstance(value, str | bytes):
            way = "text is read by dslog.cells.selection.parse"
        elif isinstance(value, float | np.floating):
            way = "indices are integers; convert with int(...) or .astype(int) once they are whole"
        else:
            way = f"give integers, slices, a boolean mask or a CellSet ({self.example()})"
        raise SelectionError(f"{_short(value)} is no index into {self}: {way}.")

    def check_range(self, indices: npt.NDArray[Any], axis: int) -> I64:
        """Integers of any type and shape as int64, if all are indices of the axis."""
        length = self.shape[axis]
        if indices.size:
            for value in (int(indices.min()), int(indices.max())):
                if not 0 <= value < length:
                    self._refuse_index(value, axis)
        return indices.astype(np.int64, copy=False)

    def _refuse_index(self, value: int, axis: int) -> NoReturn:
        length = self.shape[axis]
        where = f"on axis {axis} of {self.name!r}, which has length {length}"
        if length == 0:
            raise SelectionError(f"Index {value} is out of range {where}: it has no cells.")
        if value < 0:
            raise SelectionError(
                f"Index {value} is negative {where}: count from 0 (the last index is "
                f"{length - 1}), or use a slice, where a negative bound counts from the end."
            )
        raise SelectionError(f"Index {value} is out of range {where}: use 0 to {length - 1}.")


def _short(value: object, most: int = 60) -> str:
    text = str(value) if isinstance(value, np.number) else repr(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."
