"""The rows of frames: sets of rows with positions, and how a DataFrame's hidden columns name them.

Frames that only differ in their columns share a ``RowSet``. A ``Trail`` says how to find the rows
of a row set in a DataFrame: by one id per table that was joined, and without the rows that later
steps ended. It begins at rows that are numbered and has a step for every change since.

Row ids: how the rows of a frame are told apart, ordered, and numbered 0, 1, 2, ...

Spark gives a row the id ``partition << 33 | place in the partition`` without a shuffle. Ids grow
along the frame, so they order its rows; the rows before each partition turn them into positions.
That takes one number per partition, not one per row; of a table that is not small, the driver knows
nothing else of rows.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from dslog.capture.spark.frame_cost import FrameCost
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
        for partition, size in enumerate(self.counts):
            if position < size:
                return (partition << SHIFT) + position
            position -= size
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
        partitions, wanted = (
            max(len(self.counts), 1),
            max(-(-self.total // FrameCost.current().bucket_rows), 1),
        )
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


HIDDEN = "__dslog_"
ENDED = f"{HIDDEN}ended"
"""Holds the number of the step that ended a row, 0 for a row that is there."""

LAST = 1 << 62
"""Stands for a missing id where it has to come after all others."""

RANK_BITS = 63

_numbers = count(1)


def fresh_column(what: str = "id") -> str:
    """Return the name of a hidden column that no other frame has."""
    return f"{HIDDEN}{what}{next(_numbers)}"


def is_hidden(name: str) -> bool:
    """Whether a column is ours."""
    return name.startswith(HIDDEN)


def visible_places(frame: DataFrame) -> list[int]:
    """Places of the user's columns among all columns of a DataFrame."""
    return [place for place, name in enumerate(frame.columns) if not is_hidden(name)]


@dataclass(eq=False)
class RowSet:
    """Rows in an order: how many, once known, and which rows of others made them, by link.

    A link is "left" and "right" for a step, and has a name of its own where rows are made anew.
    ``numbering`` is what numbers rows that have ids from the start, and counts them.
    """

    count: int | None = None
    maps: dict[str, RowMap | RowTerms] = field(default_factory=dict)
    numbering: Future[Numbering] | None = None

    @property
    def known(self) -> bool:
        """Whether its lineage was computed."""
        return self.count is not None

    def counted(self) -> int | None:
        """Return how many rows there are, once that is known; for a source, wait for it."""
        if self.count is None and self.numbering is not None:
            self.count = self.numbering.result().total
        return self.count


@dataclass(frozen=True, eq=False)
class Id:
    """A hidden column of row ids, and what numbers them; that may still be on its way."""

    column: str
    pending: Future[Numbering]

    @classmethod
    def of(cls, column: str, numbering: Numbering) -> Id:
        """Make an id whose numbering is known."""
        future: Future[Numbering] = Future()
        future.set_result(numbering)
        return cls(column, future)

    @property
    def numbering(self) -> Numbering:
        """What turns its ids into positions."""
        return self.pending.result()


@dataclass(frozen=True, eq=False)
class RowStep:
    """A change of rows: those after it, and how many ids of the trail tell them apart."""

    rows: RowSet
    prefix: int
    other: int | None = None


@dataclass(frozen=True, eq=False)
class Trail:
    """How a DataFrame names the rows of a row set.

    ``ends`` says that there may be rows that ended; ``mixed`` that rows are out of order from the
    start, whatever Spark's plan says.
    """

    start: RowSet
    ids: tuple[Id, ...]
    steps: tuple[RowStep, ...] = ()
    ends: bool = False
    mixed: bool = False

    @property
    def rows(self) -> RowSet:
        """The rows at its end."""
        return self.steps[-1].rows if self.steps else self.start

    @property
    def numbered(self) -> bool:
        """Whether its one id gives the position of a row."""
        return not self.steps

    @property
    def columns(self) -> list[str]:
        """The hidden columns."""
        return [one.column for one in self.ids] + ([ENDED] if self.ends else [])

    @property
    def alive(self) -> Column:
        """The condition that a row is there."""
        return F.expr(f"{ENDED} = 0")

    @property
    def order(self) -> list[Column]:
        """What sorts a DataFrame by position."""
        return [F.col(one.column).asc_nulls_last() for one in self.ids]

    @property
    def rank(self) -> Column:
        """One value per row, which grows with its position: a number if ids fit into one."""
        if len(self.ids) == 1:
            return F.col(self.ids[0].column)
        numberings = [one.numbering for one in self.ids]
        widths = [sum(numbering.bits) for numbering in numberings]
        if sum(widths) >= RANK_BITS or not all(numbering.counts for numbering in numberings):
            return F.struct(*(F.coalesce(one.column, F.lit(LAST)) for one in self.ids))
        rank = "0L"
        for one, numbering, width in zip(self.ids, numberings, widths, strict=True):
            rank = f"shiftleft({rank}, {width}) | {numbering.packed(one.column)}"
        return F.expr(rank)

    def stepped(self, rows: RowSet, *, joined: Id | None = None, ends: bool = False) -> Trail:
        """Return the trail after a step that dropped rows, or joined them with numbered ones."""
        ids = (*self.ids, joined) if joined else self.ids
        step = RowStep(rows, len(ids), len(self.ids) if joined else None)
        return replace(self, ids=ids, steps=(*self.steps, step), ends=self.ends or ends)

    def multiplied(self, rows: RowSet, column: str) -> Trail:
        """Return the trail after a step that may repeat rows, told apart by ids in a column."""
        ids = (*self.ids, Id.of(column, Numbering(())))
        return replace(self, ids=ids, steps=(*self.steps, RowStep(rows, len(ids))))


def numbered(rows: RowSet, one: Id) -> Trail:
    """Return the trail of rows that have positions already."""
    return Trail(rows, (one,))


def present(frame: DataFrame, trail: Trail) -> DataFrame:
    """Leave out rows that ended, and the column that says so."""
    return frame.where(trail.alive).drop(ENDED) if trail.ends else frame


def visible(frame: DataFrame) -> DataFrame:
    """Leave out hidden columns."""
    return frame.drop(*(name for name in frame.columns if is_hidden(name)))
