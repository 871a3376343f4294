"""Steps that change columns and leave rows alone: each output row reads its own input row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from dslog.capture.products import Pairs, all_columns, picked
from dslog.capture.spark.base import Frame
from dslog.capture.spark.nodes import Input
from dslog.capture.spark.plans import Reading, read_step
from dslog.capture.spark.rows import Trail, is_hidden, visible_places
from dslog.errors import CaptureError

Step = Callable[[DataFrame], DataFrame]
Extra = Mapping[str, Column]
ExtraStep = Callable[[DataFrame, Extra], DataFrame]
"""A step that can be asked to compute further columns beside its own."""

Item = Column | str
MOST_VALUES = 1000
"""Columns that ``one_hot`` makes at most."""


class ColumnSteps(Frame):
    """select, withColumn, drop, rename, fillna and the like."""

    def select(self, *cols: Any) -> Self:
        """Return the given columns and expressions."""
        items = flatten(cols)
        known = self.table.columns
        if all(isinstance(c, str) and known.count(c) == 1 for c in items):
            return self._pick("select", [known.index(str(c)) for c in items])
        return self.compute("select", items)

    def selectExpr(self, *expr: Any) -> Self:  # noqa: N802
        """Return SQL expressions."""
        return self.compute("selectExpr", [F.expr(text) for text in flatten(expr)])

    def withColumn(self, colName: str, col: Column) -> Self:  # noqa: N802, N803
        """Add a column, or replace the one of that name."""
        return self._add("withColumn", {colName: col})

    def withColumns(self, *colsMap: Mapping[str, Column]) -> Self:  # noqa: N802, N803
        """Add columns, or replace those of the same names."""
        return self._add("withColumns", dict(colsMap[0]))

    def withColumnRenamed(self, existing: str, new: str) -> Self:  # noqa: N802
        """Rename a column; nothing happens when there is none of that name."""
        step = _method("withColumnRenamed", existing, new)
        return self._rename("withColumnRenamed", step, {"existing": existing, "new": new})

    def withColumnsRenamed(self, colsMap: Mapping[str, str]) -> Self:  # noqa: N802, N803
        """Rename columns."""
        step = _method("withColumnsRenamed", dict(colsMap))
        return self._rename("withColumnsRenamed", step, {"columns": dict(colsMap)})

    def toDF(self, *cols: str) -> Self:  # noqa: N802
        """Rename all columns."""
        if len(cols) != len(self.columns):
            raise CaptureError(
                f"toDF got {len(cols)} names for the {len(self.columns)} columns of {self.name!r}"
            )
        frame = self.data[0]
        names = list(frame.columns)
        for place, name in zip(visible_places(frame), cols, strict=True):
            names[place] = name
        return self._rename("toDF", _method("toDF", *names), {})

    def drop(self, *cols: Any) -> Self:
        """Leave out columns."""
        return self._columns_step("drop", _method("drop", *cols), {})

    def fillna(self, value: Any, subset: Any = None) -> Self:
        """Put values in place of nulls and NaN."""
        if subset is None and not isinstance(value, dict):
            subset = self.columns
        step = _method("fillna", value, subset)
        return self._columns_step("fillna", step, {})

    def replace(self, to_replace: Any, value: Any = None, subset: Any = None) -> Self:
        """Put values in place of others."""
        subset = self.columns if subset is None else subset
        values = () if isinstance(to_replace, dict) and value is None else (value,)

        def step(frame: DataFrame) -> DataFrame:
            return frame.replace(to_replace, *values, subset=subset)

        return self._columns_step("replace", step, {})

    def one_hot(
        self,
        column: str,
        values: Sequence[Any] | None = None,
        *,
        prefix: str | None = None,
        keep: bool = False,
    ) -> Self:
        """Put a column of 0 and 1 per value in place of a column; a null gives 0 in all of them.

        Without ``values``, they are the different ones of the column, sorted. ``keep`` leaves the
        column in its place.
        """
        values = self._values_of(column) if values is None else list(values)
        start = column if prefix is None else prefix
        added = {f"{start}_{v}": F.col(column).eqNullSafe(F.lit(v)).cast("int") for v in values}

        def step(frame: DataFrame) -> DataFrame:
            wider = frame.withColumns(added) if added else frame
            return wider if keep else wider.drop(column)

        args = {"column": column, "values": [str(value) for value in values]}
        return self._columns_step("one_hot", step, args)

    # how it works

    def compute(self, op: str, items: Sequence[Item]) -> Self:
        """Return a select whose items may be any expressions."""
        frame, trail = self.data
        hidden: list[str] = trail.columns
        reading = read_step(frame, lambda d: d.select(*items, *hidden))
        if any(reading.names.count(name) > 1 for name in hidden):  # a star brought them along
            hidden = []
            reading = read_step(frame, lambda d: d.select(*items))
        if self._must_settle(reading):
            self.settle()
            return self.compute(op, items)
        if trail.ends and not _bare(reading):
            safe = _guard(items, reading, trail) if hidden else None
            if safe is None:
                self.settle()
                return self.compute(op, items)
            items = safe

        def step(d: DataFrame, extra: Extra) -> DataFrame:
            return d.select(*items, *hidden, *(c.alias(name) for name, c in extra.items()))

        return self.finish(op, step, reading)

    def _add(self, op: str, added: Mapping[str, Column]) -> Self:
        frame, trail = self.data
        reading = read_step(frame, lambda d: d.withColumns(dict(added)))
        if self._must_settle(reading):
            self.settle()
            return self._add(op, added)
        if trail.ends:
            added = {name: F.when(trail.alive, column) for name, column in added.items()}
        return self.finish(op, lambda d, extra: d.withColumns({**added, **extra}), reading)

    def _must_settle(self, reading: Reading) -> bool:
        """Whether a step needs numbered rows, and these are not: see ``finish``."""
        trail = self.data[1]
        needs = bool(reading.expressions) or reading.generates or not reading.deterministic
        return not trail.numbered and (needs or (trail.ends and reading.calls_python))

    def finish(self, op: str, step: ExtraStep, reading: Reading) -> Self:
        """Do a step whose expressions are safe on all rows that are there."""
        return self._read(op, step(self.data[0], {}), reading, {})

    def _columns_step(self, op: str, step: Step, args: dict[str, Any]) -> Self:
        """Do a step whose expressions are safe on any row."""
        frame = self.data[0]
        return self._read(op, step(frame), read_step(frame, step), args)

    def _rename(self, op: str, step: Step, args: dict[str, Any]) -> Self:
        result = step(self.data[0])
        names = [name for name in result.columns if not is_hidden(name)]
        return self.keep_rows(op, result, names, picked(range(len(names))), args)

    def _pick(self, op: str, places: list[int]) -> Self:
        frame, trail = self.data
        names = [self.table.columns[place] for place in places]
        result = frame.select(*(quoted(name) for name in names), *trail.columns)
        return self.keep_rows(op, result, names, picked(places), {})

    def _read(self, op: str, result: DataFrame, reading: Reading, args: dict[str, Any]) -> Self:
        names, pairs = columns_read(self.data[0], reading)
        read = Input(self.table, ((None, pairs),), exact=reading.complete)
        return self.follow(op, result, self.data[1], names, [read], args)

    def _values_of(self, column: str) -> list[Any]:
        found = self.df.select(column).distinct().dropna().limit(MOST_VALUES + 1).collect()
        if len(found) > MOST_VALUES:
            raise CaptureError(
                f"column {column!r} of {self.name!r} has more than {MOST_VALUES} different values: "
                f"give those to encode, one_hot({column!r}, values=[...])"
            )
        return sorted(row[0] for row in found)


def flatten(cols: Sequence[Any]) -> list[Any]:
    """Arguments of a method that takes columns, or one list of them."""
    return list(cols[0]) if len(cols) == 1 and isinstance(cols[0], list | tuple) else list(cols)


def columns_read(before: DataFrame, reading: Reading) -> tuple[list[str], Pairs]:
    """The user's columns after a step, and which of those before it they read in their own row."""
    inputs = {place: number for number, place in enumerate(visible_places(before))}
    outputs = [place for place, name in enumerate(reading.names) if not is_hidden(name)]
    names = [reading.names[place] for place in outputs]
    if not reading.complete:
        return names, all_columns(len(outputs), len(inputs))
    pairs = frozenset(
        (number, inputs[read])
        for number, place in enumerate(outputs)
        for read in reading.columns[place]
        if read in inputs
    )
    return names, pairs


def _bare(reading: Reading) -> bool:
    """Whether every output column is an input column, perhaps under another name."""
    return all(
        root.kind == "Alias" and root.children[0].kind == "AttributeReference"
        for root in reading.definitions.values()
    )


def _guard(items: Sequence[Item], reading: Reading, trail: Trail) -> list[Item] | None:
    """Compute expressions only for rows that are there; None if items and columns don't match."""
    names = [name for name in reading.names if not is_hidden(name)]
    if len(names) != len(items):
        return None
    return [
        item if isinstance(item, str) else F.when(trail.alive, item).alias(name)
        for item, name in zip(items, names, strict=True)
    ]


def _method(name: str, *args: Any) -> Step:
    def step(frame: DataFrame) -> DataFrame:
        result: DataFrame = getattr(frame, name)(*args)
        return result

    return step


def quoted(name: str) -> str:
    """Write a column name for Spark to parse."""
    return "`" + name.replace("`", "``") + "`"
