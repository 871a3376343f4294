"""groupBy, agg and pivot, with the names and arguments of PySpark's GroupedData.

Functions of the user's own over many rows: mapInArrow, mapInPandas, applyInPandas.

Nobody can look inside, so every row that goes in together counts for every row that comes out. That
is a superset of the lineage, and labelled as one. For a group the lineage goes through the group,
an array of its own with a cell per group: rows in, group, rows out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType, NumericType, StructField, StructType

from dslog.capture.spark.column_steps import column_list, quoted
from dslog.capture.spark.frame import Data, Frame
from dslog.capture.spark.frame_cost import FrameCost
from dslog.capture.spark.plan_reader import ColumnReads, read_step
from dslog.capture.spark.row_groups import FIRST, Grouping, Mark, compute_groups, number_groups
from dslog.capture.spark.row_id import (
    Id,
    RowSet,
    Trail,
    fresh_column,
    is_hidden,
    numbered,
    visible_places,
)
from dslog.capture.spark.row_trace import PartWriter, map_rows
from dslog.capture.spark.source import fix_order, in_order, moves_rows
from dslog.capture.spark.table_node import Input, Origin, TableNode
from dslog.capture.table_product import RowMap, all_columns
from dslog.errors import CaptureError
from dslog.lineage.table import Table

T = TypeVar("T", bound=Frame)


class OpaqueSteps(Frame):
    """mapInArrow and mapInPandas."""

    def mapInArrow(self, func: Any, schema: Any, *args: Any) -> Self:  # noqa: N802
        """Pass each partition through a function from Arrow batches to Arrow batches."""
        return self._map("mapInArrow", func, schema, args)

    def mapInPandas(self, func: Any, schema: Any, *args: Any) -> Self:  # noqa: N802
        """Pass each partition through a function from pandas frames to pandas frames."""
        return self._map("mapInPandas", func, schema, args)

    def _map(self, op: str, func: Any, schema: Any, args: Any) -> Self:
        """A row comes from all rows of its partition; partitions stay where they are."""
        frame, trail = self._in_partitions()
        fixed, made = fix_order(getattr(frame, op)(Stripped(func), schema, *args))
        rows = RowSet(made.numbering.total)
        rows.maps["partition"] = _boxes(made.numbering.counts, trail.ids[0].numbering.counts)
        columns = [name for name in fixed.columns if not is_hidden(name)]
        pairs = all_columns(len(columns), len(self.columns))
        read = Input(self.table, (("partition", pairs),), exact=False)
        return self.follow(op, fixed, numbered(rows, made), columns, [read], {})

    def _in_partitions(self) -> Data:
        """The frame with rows whose ids say in which partition they are."""
        frame, trail = self.settle()
        column = F.col(trail.ids[0].column)
        differ = F.shiftright(column, 33) != F.spark_partition_id()
        if moves_rows(frame, trail) or not frame.where(differ).isEmpty():
            fixed, one = fix_order(in_order(frame, trail))
            self._data = fixed.drop(trail.ids[0].column), numbered(trail.rows, one)
        return self.data


@dataclass(frozen=True)
class Stripped:
    """A function over batches that does not see the hidden columns."""

    function: Callable[..., Iterator[Any]]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Take hidden columns away and pass the batches on."""
        return self.function(strip(batch) for batch in batches)


def strip(batch: Any) -> Any:
    """Leave out the hidden columns of a pandas frame, or of an Arrow batch or table."""
    if isinstance(batch, pd.DataFrame):
        return batch[[name for name in batch.columns if not is_hidden(name)]]
    return batch.select([name for name in batch.column_names if not is_hidden(name)])


def _boxes(out: tuple[int, ...], in_: tuple[int, ...]) -> RowMap:
    """Map every row of a partition to every row of the same partition."""
    made, read = np.array(list(zip(out, in_, strict=False)), np.int64).reshape(-1, 2).T
    above, below = np.cumsum(made), np.cumsum(read)
    ends = np.stack([above - made, above - 1, below - read, below - 1])
    return RowMap(Table.of_boxes(*ends[:, (made > 0) & (read > 0)]))


def apply_to_groups(
    frame: T, keys: tuple[Column, ...], op: str, func: Callable[..., Any], schema: Any
) -> T:
    """Pass each group through a function, and make a frame of what it returns."""
    before, trail = frame.settle()
    rows = RowSet()
    grouping = Grouping(before, trail, keys, frame.tracker.part_writer)
    groups, one = compute_groups(_firsts, grouping, rows)
    table = _group_table(frame, rows)
    first, place = fresh_column("first"), fresh_column("place")
    by_group = ByGroup(func, trail.ids[0].column, first, place, arrow=op == "applyInArrow")
    wide = _wider(schema, first, place)
    made = getattr(before.groupBy(*keys), op)(by_group.as_function(_names(schema)), wide)
    result, now = _number(made, (first, place), groups, one, frame.tracker.part_writer)
    columns = [name for name in result.columns if not is_hidden(name)]
    read = Input(table, (("group", all_columns(len(columns), 1)),), exact=False)
    return frame.follow(op, result, now, columns, [read], {})


def _number(
    made: DataFrame, marks: tuple[str, str], groups: DataFrame, one: Id, part_writer: PartWriter
) -> tuple[DataFrame, Trail]:
    """Number the rows that groups gave, in the order of groups, and map them to groups."""
    (first, place), number = marks, fresh_column()
    numbers = groups.select(F.col(FIRST).alias(first), F.col(one.column).alias(number))
    if one.numbering.total <= FrameCost.current().broadcast_ids:
        numbers = F.broadcast(numbers)
    joined = made.join(numbers, first)
    fixed, line = fix_order(joined.orderBy(number, place))
    rows = RowSet(line.numbering.total)
    now = numbered(rows, line)
    rows.maps["group"] = map_rows(fixed, now, Id(number, one.pending), part_writer)
    return fixed.drop(first, place, number), now


def _firsts(grouping: Grouping) -> DataFrame:
    return grouping.present.groupBy(*grouping.keys).agg(*grouping.firsts)


def _group_table(frame: Frame, rows: RowSet) -> TableNode:
    """The array of groups: one cell each, made of all cells of its rows."""
    read = Input(frame.table, (("group", all_columns(1, len(frame.columns))),))
    base = frame.table.node.base
    return frame.tracker.table(base, ("group",), rows, Origin("groups", {}, (read,)))


def _type(schema: Any) -> StructType:
    kind = DataType.fromDDL(schema) if isinstance(schema, str) else schema
    if not isinstance(kind, StructType):
        raise CaptureError(f"the schema {schema!r} has no columns: give 'name type, ...'")
    return kind


def _names(schema: Any) -> list[str]:
    return _type(schema).names


def _wider(schema: Any, *columns: str) -> StructType:
    fields = [StructField(name, LongType()) for name in columns]
    return StructType([*_type(schema).fields, *fields])


@dataclass(frozen=True)
class ByGroup:
    """A function over groups that does not see the hidden columns; its rows get two of them.

    ``first`` says which group a row is from, by the least id in it; ``place`` its place there.
    """

    function: Callable[..., Any]
    ids: str
    first: str
    place: str
    arrow: bool

    def as_function(self, names: list[str]) -> Callable[..., Any]:
        """Return a function with as many arguments as the user's: the group, or key and group."""
        if len(inspect.signature(self.function).parameters) == 1:

            def alone(group: Any) -> Any:
                return self._call(group, names)

            return alone

        def with_key(key: Any, group: Any) -> Any:
            return self._call(group, names, key)

        return with_key

    def _call(self, group: Any, names: list[str], *key: Any) -> Any:
        if self.arrow:
            result = self.function(*key, strip(group))
            least = pa.compute.min(group.column(self.ids)).as_py()
            count = result.num_rows
            result = result.append_column(self.first, pa.array([least] * count, pa.int64()))
            return result.append_column(self.place, pa.array(range(count), pa.int64()))
        result = self.function(*key, strip(group)).copy()
        if not all(isinstance(name, str) for name in result.columns):
            result.columns = pd.Index(names)
        result[self.first] = int(group[self.ids].min())
        result[self.place] = range(len(result))
        return result


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
            most = FrameCost.current().pivot_values
            found = self.frame.df.select(pivot_col).distinct().limit(most + 1).collect()
            if len(found) > most:
                raise CaptureError(
                    f"column {pivot_col!r} has more than {most} different values: give "
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
    for col in column_list(cols):
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
        part_writer, needed = parent.tracker.part_writer, self._needed(reading)
        grouping = Grouping(needed, trail, self.groups.keys, part_writer, self._marks())
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

    def _reading(self) -> ColumnReads:
        """Which columns keys and aggregates read; a pivoted column is read like a key."""
        keys = self.groups.keys
        if self.groups.pivoted is not None:
            keys = (*keys, F.col(self.groups.pivoted))
        frame = self.groups.frame.data[0]
        reading = read_step(frame, lambda d: d.groupBy(*keys).agg(*self.aggregates))
        if len(reading.names) != len(keys) + len(self.aggregates):
            raise CaptureError("spark.sql.retainGroupColumns is off: tracked groups need it on")
        return reading

    def _needed(self, reading: ColumnReads) -> DataFrame:
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
            groups = groups.pivot(self.groups.pivoted, values)  # noqa: PD010 (Spark's)
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
        self, reading: ColumnReads, before: DataFrame
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
