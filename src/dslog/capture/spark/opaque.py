"""Functions of the user's own over many rows: mapInArrow, mapInPandas, applyInPandas.

Nobody can look inside, so every row that goes in together counts for every row that comes out. That
is a superset of the lineage, and labelled as one. For a group the lineage goes through the group,
an array of its own with a cell per group: rows in, group, rows out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DataType, LongType, StructField, StructType

from dslog.capture.products import RowMap, all_columns
from dslog.capture.spark.base import Data, Frame
from dslog.capture.spark.grouping import FIRST, Grouping, compute_groups
from dslog.capture.spark.nodes import Input, Origin, TableNode
from dslog.capture.spark.ordering import fix_order, in_order, moves_rows
from dslog.capture.spark.outlet import Outlet
from dslog.capture.spark.rows import Id, RowSet, Trail, fresh_column, is_hidden, numbered
from dslog.capture.spark.tracing import map_rows
from dslog.errors import CaptureError
from dslog.lineage.table import Table

T = TypeVar("T", bound=Frame)
BROADCAST = 1_000_000


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
    rows = [
        [above - made, above - 1, below - read, below - 1]
        for above, made, below, read in zip(np.cumsum(out), out, np.cumsum(in_), in_, strict=False)
        if made and read
    ]
    table = np.array(rows, np.int64).reshape(-1, 4)
    return RowMap(Table.plain(1, 1, table, np.full((len(table), 1), -1, np.int64)))


def apply_to_groups(
    frame: T, keys: tuple[Column, ...], op: str, func: Callable[..., Any], schema: Any
) -> T:
    """Pass each group through a function, and make a frame of what it returns."""
    before, trail = frame.settle()
    rows = RowSet()
    grouping = Grouping(before, trail, keys, frame.tracker.outlet)
    groups, one = compute_groups(_firsts, grouping, rows)
    table = _group_table(frame, rows)
    first, place = fresh_column("first"), fresh_column("place")
    by_group = ByGroup(func, trail.ids[0].column, first, place, arrow=op == "applyInArrow")
    wide = _wider(schema, first, place)
    made = getattr(before.groupBy(*keys), op)(by_group.as_function(_names(schema)), wide)
    result, now = _number(made, (first, place), groups, one, frame.tracker.outlet)
    columns = [name for name in result.columns if not is_hidden(name)]
    read = Input(table, (("group", all_columns(len(columns), 1)),), exact=False)
    return frame.follow(op, result, now, columns, [read], {})


def _number(
    made: DataFrame, marks: tuple[str, str], groups: DataFrame, one: Id, outlet: Outlet
) -> tuple[DataFrame, Trail]:
    """Number the rows that groups gave, in the order of groups, and map them to groups."""
    (first, place), number = marks, fresh_column()
    numbers = groups.select(F.col(FIRST).alias(first), F.col(one.column).alias(number))
    if one.numbering.total <= BROADCAST:
        numbers = F.broadcast(numbers)
    joined = made.join(numbers, first)
    fixed, line = fix_order(joined.orderBy(number, place))
    rows = RowSet(line.numbering.total)
    now = numbered(rows, line)
    rows.maps["group"] = map_rows(fixed, now, Id(number, one.pending), outlet)
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
