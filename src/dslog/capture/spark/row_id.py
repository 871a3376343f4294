"""Row ids: how the rows of a frame are told apart, ordered, and numbered 0, 1, 2, ...

Spark gives a row the id ``partition << 33 | place in the partition`` without a shuffle; of a row in
a file, the number of the file takes the partition's place. Ids order rows, and the rows before each
partition turn them into positions. That takes one number per partition, not one per row; of a table
that is not small, the driver knows nothing else of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

import numpy as np
from pyspark.sql import DataFrame

from dslog.capture.table_product import RowMap, RowTerms
from dslog.types import I64

SHIFT = 33  # bits of an id that count rows within a partition, as in Spark
MASK = (1 << SHIFT) - 1


@dataclass(frozen=True)
class Numbering:
    """Rows per partition of a frame with ids: what turns an id into a position.

    >>> numbering = Numbering((2, 3))
    >>> numbering.positions(np.array([1, 1 << 33, 2 + (1 << 33)])).tolist()
    [1, 2, 4]
    """

    counts: tuple[int, ...]

    @cached_property
    def total(self) -> int:
        """The number of rows."""
        return sum(self.counts)

    @cached_property
    def offsets(self) -> I64:
        """Rows before each partition."""
        return np.cumsum([0, *self.counts], dtype=np.int64)[:-1]

    def positions(self, ids: I64) -> I64:
        """Return the positions of ids."""
        if len(self.counts) <= 1:
            return ids
        found: I64 = self.offsets[ids >> SHIFT] + (ids & MASK)
        return found


HIDDEN = "__dslog_"
_numbers = count(1)


def fresh_column(what: str = "id") -> str:
    """Return the name of a hidden column that no other frame has."""
    return f"{HIDDEN}{what}{next(_numbers)}"


def is_hidden(name: str) -> bool:
    """Whether a column is ours."""
    return name.startswith(HIDDEN)


@dataclass(eq=False)
class RowSet:
    """Rows in an order: how many, once known, and which rows of others made them, by link."""

    count: int | None = None
    maps: dict[str, RowMap | RowTerms] = field(default_factory=dict)


@dataclass(frozen=True)
class Id:
    """A hidden column of row ids, and what numbers them."""

    column: str
    numbering: Numbering


def visible(frame: DataFrame) -> DataFrame:
    """Leave out hidden columns."""
    return frame.drop(*(name for name in frame.columns if is_hidden(name)))
