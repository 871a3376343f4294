"""groupBy, agg and pivot, with the names and arguments of PySpark's GroupedData."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import NumericType

from dslog.capture.spark.base import Frame
from dslog.capture.spark.columns import flatten, quoted
from dslog.capture.spark.grouping import Grouping, Mark, number_groups
from dslog.capture.spark.nodes import Input, Origin
from dslog.capture.spark.opaque import apply_to_groups
from dslog.capture.spark.plans import Reading, read_step
from dslog.capture.spark.rows import RowSet, is_hidden, visible_places
from dslog.errors import CaptureError

T = TypeVar("T", bound=Frame)
MOST_VALUES = 10_000
"""Different values that ``pivot`` looks for at most, as in Spark."""


@dataclass(frozen=True)
class GroupedFrame(Generic[T]):
    """The groups of a tracked frame; an aggregate makes a frame of them again.

    ``pivoted`` names the column whose ``values`` become columns.
    """

    frame: T
    keys: tuple[Column, ...]
    pivoted: str | None = None
    values: tuple[Any, ...] = ()

    def agg(self, *exprs: Any) -> T:
        """Compute aggregates: columns, or one dict from column names to functions."""
        return _Aggregation(self, _aggregates(exprs)).frame()

    def count(self) -> T:
        """Count the rows of each group."""
        return self.agg(F.count(F.lit(1)).alias("count"))

    def sum(self, *cols: str) -> T:
        """Add up columns, all numbers if none is named."""
        return self._each(F.sum, cols)

    def avg(self, *cols: str) -> T:
        """Average columns, all numbers if none is named."""
        return self._each(F.avg, cols)

    def mean(self, *cols: str) -> T:
        """Average columns, all numbers if none is named."""
        return self._each(F.avg, cols)

    def min(self, *cols: str) -> T:
        """Find the least value of columns, all numbers if none is named."""
        return self._each(F.min, cols)

    def max(self, *cols: str) -> T:
        """Find the greatest value of columns, all numbers if none is named."""
        return self._each(F.max, cols)

    def pivot(self, pivot_col: str, values: Sequence[Any] | None = None) -> GroupedFrame[T]:
        """Make columns of the values of a column; without ``values``, all there are, sorted."""
        if values is None:
            found = self.frame.df.select(pivot_col).distinct().limit(MOST_VALUES + 1).collect()
            if len(found) > MOST_VALUES:
                raise CaptureError(
                    f"column {pivot_col!r} has more than {MOST_VALUES} different values: give "
                    f"those to make columns of, pivot({pivot_col!r}, [...])"
                )
            values = sorted((row[0] for row in found), key=lambda v: (v is not None, v))
        return GroupedFrame(self.frame, self.keys, pivot_col, tuple(values))

    def applyInPandas(self, func: Any, schema: Any) -> T:  # noqa: N802
        """Pass each group through a function from a pandas frame to a pandas frame."""
        return apply_to_groups(self.frame, self.keys, "applyInPandas", func, schema)

    def applyInArrow(self, func: Any, schema: Any) -> T:  # noqa: N802
        """Pass each group through a function from an Arrow table to an Arrow table."""
        return apply_to_groups(self.frame, self.keys, "applyInArrow", func, schema)

    def _each(self, function: Callable[[str], Column], cols: Sequence[str]) -> T:
        return self.agg(*(function(name) for name in cols or self._numeric()))

    def _numeric(self) -> list[str]:
        """The columns of numbers that are no keys."""
        frame = self.frame.df
        keys = set(frame.groupBy(*self.keys).count().columns[:-1])
        fields = frame.schema.fields
        return [
            quoted(f.name)
            for f in fields
            if isinstance(f.dataType, NumericType) and f.name not in keys
        ]


def _aggregates(exprs: Sequence[Any]) -> list[Column]:
    if len(exprs) == 1 and isinstance(exprs[0], dict):
        return [
            F.expr(f"{function}({name if name == '*' else quoted(name)})")
            for name, function in exprs[0].items()
        ]
    if not exprs or not all(isinstance(expr, Column) for expr in exprs):
        raise CaptureError(f"agg takes columns, or a dict of functions by column, not {exprs!r}")
    return list(exprs)


def group_keys(cols: Sequence[Any], columns: Sequence[str]) -> tuple[Column, ...]:
    """Return what groupBy was given, names, columns or places from 1, as columns."""
    keys = []
    for col in flatten(cols):
        name = columns[col - 1] if isinstance(col, int) else col
        keys.append(F.col(name) if isinstance(name, str) else name)
    return tuple(keys)


@dataclass(frozen=True)
class _Aggregation(Generic[T]):
    """One call of agg."""

    groups: GroupedFrame[T]
    aggregates: list[Column]

    def frame(self) -> T:
        """Make the frame of the aggregates."""
        parent = self.groups.frame
        reading = self._reading()
        if not reading.tame and not parent.data[1].numbered:
            parent.settle()
        before, trail = parent.data
        outlet, needed = parent.tracker.outlet, self._needed(reading)
        grouping = Grouping(needed, trail, self.groups.keys, outlet, self._marks())
        rows = RowSet()

        def aggregate(some: Grouping) -> DataFrame:
            return self._aggregate(some, calls_python=reading.calls_python)

        columns = reading.names
        if self.groups.pivoted is not None:
            columns = tuple(name for name in aggregate(grouping).columns if not is_hidden(name))
        read = Input(parent.table, self._parts(reading, before), exact=reading.complete)
        args = {"by": list(reading.names[: len(self.groups.keys)])}
        op = "agg" if self.groups.pivoted is None else "pivot"
        return parent._make(
            Origin(op, args, (read,)),
            columns,
            rows,
            number_groups(aggregate, grouping, rows),
            lambda: aggregate(grouping),
        )

    def _reading(self) -> Reading:
        """Which columns keys and aggregates read; a pivoted column is read like a key."""
        keys = self.groups.keys
        if self.groups.pivoted is not None:
            keys = (*keys, F.col(self.groups.pivoted))
        frame = self.groups.frame.data[0]
        reading = read_step(frame, lambda d: d.groupBy(*keys).agg(*self.aggregates))
        if len(reading.names) != len(keys) + len(self.aggregates):
            raise CaptureError("spark.sql.retainGroupColumns is off: tracked groups need it on")
        return reading

    def _needed(self, reading: Reading) -> DataFrame:
        """The rows with the columns that the groups read, and their ids."""
        frame, trail = self.groups.frame.data
        names = frame.columns
        places = sorted(set().union(*reading.columns))
        needed = [names[place] for place in places if names[place] not in trail.columns]
        if not reading.complete or len({name.lower() for name in names}) < len(names):
            return frame
        return frame.select(*(quoted(name) for name in needed), *trail.columns)

    def _aggregate(self, grouping: Grouping, *, calls_python: bool) -> DataFrame:
        groups: GroupedData = grouping.present.groupBy(*grouping.keys)
        if self.groups.pivoted is None and not calls_python:
            return groups.agg(*self.aggregates, *grouping.firsts)
        if self.groups.pivoted is not None:
            values = None if None in self.groups.values else list(self.groups.values)
            groups = groups.pivot(self.groups.pivoted, values)
        return grouping.with_first(groups.agg(*self.aggregates))

    def _marks(self) -> list[Mark]:
        """For a pivot, a link per aggregate, from rows to the cells they go to."""
        if self.groups.pivoted is None:
            return []
        column, value = F.col(self.groups.pivoted), F.lit(None).cast("long")
        for place, v in enumerate(self.groups.values):
            value = F.when(column.eqNullSafe(F.lit(v)), place).otherwise(value)
        first, each = len(self.groups.keys), len(self.aggregates)
        return [
            Mark(f"cell{number}", (value * each + (first + number)).cast("long"))
            for number in range(each)
        ]

    def _parts(
        self, reading: Reading, before: DataFrame
    ) -> tuple[tuple[str | None, frozenset[tuple[int, int]]], ...]:
        inputs = {place: number for number, place in enumerate(visible_places(before))}
        read = [{inputs[p] for p in places if p in inputs} for places in reading.columns]
        keys = len(self.groups.keys)
        counted = set().union(*read[:keys]) if keys else set(inputs.values())
        pairs = {(place, source) for place in range(keys) for source in read[place]}
        if self.groups.pivoted is None:
            for place in range(keys, len(read)):
                pairs |= {(place, source) for source in read[place] or counted}
            return (("group", frozenset(pairs)),)
        parts: list[tuple[str | None, frozenset[tuple[int, int]]]] = [("group", frozenset(pairs))]
        for number, places in enumerate(read[keys + 1 :]):
            sources = (places or counted) | read[keys]
            parts.append((f"cell{number}", frozenset((0, source) for source in sources)))
        return tuple(parts)
