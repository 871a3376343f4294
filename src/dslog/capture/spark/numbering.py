"""Row ids: how the rows of a frame are told apart, ordered, and numbered 0, 1, 2, ...

Spark gives a row the id ``partition << 33 | place in the partition`` without a shuffle. Ids grow
along the frame, so they order its rows; the rows before each partition turn them into positions.
That takes one number per partition, not one per row; of a table that is not small, the driver knows
nothing else of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (as PySpark's own pages write it)

I64 = npt.NDArray[np.int64]

SHIFT = 33  # bits of an id that count rows within a partition, as in Spark
MASK = (1 << SHIFT) - 1
PER_BUCKET = 1 << 19
"""Rows that one task sorts and compresses when a frame has to be put in order."""


@dataclass(frozen=True)
class Numbering:
    """Rows per partition of a frame with ids: what turns an id into a position.

    >>> numbering = Numbering((2, 3))
    >>> numbering.positions(np.array([1, 1 << 33, 2 + (1 << 33)])).tolist()
    [1, 2, 4]
    >>> numbering.id_of(3) == 1 + (1 << 33)
    True
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

    def id_of(self, position: int) -> int:
        """Return the id at a position; at the end, one that is larger than all."""
        for partition, count in enumerate(self.counts):
            if position < count:
                return (partition << SHIFT) + position
            position -= count
        return len(self.counts) << SHIFT

    @cached_property
    def bits(self) -> tuple[int, int]:
        """Bits that partitions and places in them take; no id has ones in all of the former."""
        return len(self.counts).bit_length(), max(self.counts, default=0).bit_length()

    def packed(self, column: str) -> str:
        """Return, in SQL, ids in as few bits as they need, in the same order; a null comes last."""
        parts, places = self.bits
        partition = f"shiftleft(shiftright({column}, {SHIFT}), {places})"
        return f"coalesce({partition} | ({column} & {MASK}L), {(1 << (parts + places)) - 1}L)"

    def followed_by(self, other: Numbering) -> Numbering:
        """Number the rows of another frame behind these."""
        return Numbering(self.counts + other.counts)

    @cached_property
    def buckets(self) -> int:
        """How many tasks it takes to put as many rows as these in order."""
        partitions, wanted = max(len(self.counts), 1), max(-(-self.total // PER_BUCKET), 1)
        return wanted if wanted <= partitions else partitions * -(-wanted // partitions)

    def bucket(self, column: Column) -> Column:
        """Assign ids to buckets 0 .. ``buckets`` - 1, in order and about equally."""
        partitions, buckets = len(self.counts), self.buckets
        if buckets <= 1:
            return F.lit(0)
        partition = F.shiftright(column, SHIFT)
        if buckets <= partitions:
            return F.floor(partition * buckets / partitions).cast("int")
        each = buckets // partitions
        place = column.bitwiseAND(F.lit(MASK))
        return (partition * each + F.floor(place * each / max(self.counts))).cast("int")
