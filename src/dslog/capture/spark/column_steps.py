"""Steps that change columns and leave rows alone: each output row reads its own input row.

Window functions: each output row reads the rows of its frame.

A frame is a run of rows in the order of the window: by partition, then by the window's own order.
So the lineage goes through the table in that order, which the store gets as an array of its own:
every output cell comes from runs of rows there, and every row there from one row of the input.
That takes a few numbers per row, while the pairs themselves may grow with the square of them.

How far each frame reaches is counted by Spark, in the same window and in the same pass as the
values, so that rows that compare equal are in the same order for both.

Steps whose expressions do more than read their own row: explode, Python, chance, windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from dslog.capture.spark.frame import Frame
from dslog.capture.spark.frame_cost import FrameCost
from dslog.capture.spark.plan_reader import (
    ColumnReads,
    Expr,
    analysed,
    as_column,
    jvm_of,
    places_read,
    read_step,
    scala_object,
    stand_in,
)
from dslog.capture.spark.row_id import (
    RowSet,
    Trail,
    fresh_column,
    is_hidden,
    numbered,
    visible_places,
)
from dslog.capture.spark.row_trace import Tap, map_rows, trace_rows
from dslog.capture.spark.source import fix_order, keep_in_order, with_ids
from dslog.capture.spark.table_node import Input, Origin, TableNode
from dslog.capture.table_product import Pairs, all_columns, picked, same_columns
from dslog.errors import CaptureError

Step = Callable[[DataFrame], DataFrame]
Extra = Mapping[str, Column]
ExtraStep = Callable[[DataFrame, Extra], DataFrame]
"""A step that can be asked to compute further columns beside its own."""

Item = Column | str
"""Columns that ``one_hot`` makes at most."""


class ColumnSteps(Frame):
    """select, withColumn, drop, rename, fillna and the like."""

    def select(self, *cols: Any) -> Self:
        """Return the given columns and expressions."""
        items = column_list(cols)
        known = self.table.columns
        if all(isinstance(c, str) and known.count(c) == 1 for c in items):
            return self._pick("select", [known.index(str(c)) for c in items])
        return self.compute("select", items)

    def selectExpr(self, *expr: Any) -> Self:  # noqa: N802
        """Return SQL expressions."""
        return self.compute("selectExpr", [F.expr(text) for text in column_list(expr)])

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

    def _must_settle(self, reading: ColumnReads) -> bool:
        """Whether a step needs numbered rows, and these are not: see ``finish``."""
        trail = self.data[1]
        needs = bool(reading.expressions) or reading.generates or not reading.deterministic
        return not trail.numbered and (needs or (trail.ends and reading.calls_python))

    def finish(self, op: str, step: ExtraStep, reading: ColumnReads) -> Self:
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

    def _read(self, op: str, result: DataFrame, reading: ColumnReads, args: dict[str, Any]) -> Self:
        names, pairs = columns_read(self.data[0], reading)
        read = Input(self.table, ((None, pairs),), exact=reading.complete)
        return self.follow(op, result, self.data[1], names, [read], args)

    def _values_of(self, column: str) -> list[Any]:
        most = FrameCost.current().category_values
        found = self.df.select(column).distinct().dropna().limit(most + 1).collect()
        if len(found) > most:
            raise CaptureError(
                f"column {column!r} of {self.name!r} has more than {most} different values: "
                f"give those to encode, one_hot({column!r}, values=[...])"
            )
        return sorted(row[0] for row in found)


def column_list(cols: Sequence[Any]) -> list[Any]:
    """Arguments of a method that takes columns, or one list of them."""
    return list(cols[0]) if len(cols) == 1 and isinstance(cols[0], list | tuple) else list(cols)


def columns_read(before: DataFrame, reading: ColumnReads) -> tuple[list[str], Pairs]:
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


def _bare(reading: ColumnReads) -> bool:
    """Whether every output column is an input column, perhaps under another name."""
    return all(
        root.kind == "Alias" and root.children[0].kind == "AttributeReference"
        for root in reading.definitions.values()
    )


def _guard(items: Sequence[Item], reading: ColumnReads, trail: Trail) -> list[Item] | None:
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


_WHOLE = {"NTile", "PercentRank", "CumeDist"}  # these read the size of the partition


@dataclass(eq=False)
class Reach:
    """A frame in use: hidden columns that say where it ends and how many rows it holds."""

    end: str = field(default_factory=lambda: fresh_column("end"))
    size: str = field(default_factory=lambda: fresh_column("size"))
    link: str = field(default_factory=lambda: fresh_column("window"))
    pairs: set[tuple[int, int]] = field(default_factory=set)


@dataclass(eq=False)
class Order:
    """A partitioning and order that windows share: its hidden columns, and the frames in use."""

    place: str = field(default_factory=lambda: fresh_column("place"))
    parts: list[str] = field(default_factory=list)
    link: str = field(default_factory=lambda: fresh_column("own"))
    pairs: set[tuple[int, int]] = field(default_factory=set)
    reaches: dict[str, Reach] = field(default_factory=dict)
    exact: bool = True


def windowed(
    frame: Frame, step: ExtraStep, reading: ColumnReads
) -> tuple[DataFrame, list[Input], list[str]]:
    """Do a step with window functions on a frame whose rows are numbered.

    Returns the DataFrame, with the rows and ids it had, what it reads, and its columns.
    """
    before, trail = frame.data
    survey = _Survey(before, reading)
    result = keep_in_order(step(before, survey.extra), trail)
    inputs = [_link(frame, result, order) for order in survey.orders.values()]
    names, _ = columns_read(before, reading)
    return result.drop(*survey.extra), inputs, names


class _Survey:
    """Finds the windows of a step, and the columns that measure them."""

    def __init__(self, before: DataFrame, reading: ColumnReads) -> None:
        self.before = before
        self.reading = reading
        self.orders: dict[str, Order] = {}
        self.extra: dict[str, Column] = {}
        self._java = _Java(before)
        definitions = dict(_definitions(reading.plan))
        found: dict[int, tuple[Order, Reach]] = {}
        for expr_id, window in _windows(reading.plan):
            found[expr_id] = self._measure(window, reading.expressions[expr_id], definitions)
        self._share_columns(found)

    def _measure(
        self, window: Any, expression: Expr, definitions: Mapping[int, Any]
    ) -> tuple[Order, Reach]:
        spec = window.windowSpec()
        partition = [_resolved(e, definitions) for e in _items(spec.partitionSpec())]
        sorting = [
            self._java.sort_order(e, _resolved(e.child(), definitions))
            for e in _items(spec.orderSpec())
        ]
        key = repr(([e.toString() for e in partition], [e.toString() for e in sorting]))
        order = self.orders.get(key)
        if order is None:
            order = self.orders[key] = Order()
            for part in partition:
                order.parts.append(fresh_column("part"))
                self.extra[order.parts[-1]] = as_column(self.before, part)
            self.extra[order.place] = self._java.count(partition, sorting, self._java.so_far)
        function = expression.child("windowFunction")
        bounds = spec.frameSpecification()
        if function.kind in _WHOLE or function.fields.get("ignoreNulls") is True:
            bounds = self._java.whole
            order.exact = order.exact and function.kind in _WHOLE
        reach = order.reaches.get(bounds.toString())
        if reach is None:
            reach = order.reaches[bounds.toString()] = Reach()
            up_to = self._java.up_to(bounds)
            self.extra[reach.end] = self._java.count(partition, sorting, up_to)
            self.extra[reach.size] = self._java.count(partition, sorting, bounds)
        return order, reach

    def _share_columns(self, found: Mapping[int, tuple[Order, Reach]]) -> None:
        """Say which columns go with which frame; what has none goes with the first order."""
        inputs = {place: number for number, place in enumerate(visible_places(self.before))}
        outputs = [p for p, name in enumerate(self.reading.names) if not is_hidden(name)]
        _, direct = columns_read(self.before, self.reading)
        next(iter(self.orders.values())).pairs |= direct
        for number, place in enumerate(outputs):
            for expr_id in self.reading.windows[place]:
                read = self._columns_of(self.reading.expressions[expr_id])
                sources = {inputs[p] for p in read if p in inputs} or set(inputs.values())
                found[expr_id][1].pairs |= {(number, source) for source in sources}

    def _columns_of(self, window: Expr) -> frozenset[int]:
        """The columns a window function reads; its order, or partition, if it has no argument."""
        spec = window.child("windowSpec")
        for some in (
            (window.child("windowFunction"),),
            spec.some("orderSpec"),
            spec.some("partitionSpec"),
        ):
            read = places_read(some, self.reading)
            if read:
                return read
        return frozenset()


class _Java:
    """Makes window expressions of Spark's own parts."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame
        jvm = jvm_of(frame)
        self._expressions = jvm.org.apache.spark.sql.catalyst.expressions
        self._seq = jvm.org.apache.spark.api.python.PythonUtils.toSeq
        counted = analysed(stand_in(frame).agg(F.count(F.lit(1))))
        self._counting = counted.aggregateExpressions().apply(0).child()
        rows, first = self._object("RowFrame"), self._object("UnboundedPreceding")
        bounds = self._expressions.SpecifiedWindowFrame
        self.so_far = bounds(rows, first, self._object("CurrentRow"))
        self.whole = bounds(rows, first, self._object("UnboundedFollowing"))

    def _object(self, name: str) -> Any:
        return scala_object(self._expressions, name)

    def up_to(self, bounds: Any) -> Any:
        """The rows from the first of the partition to the end of a frame."""
        first = self._object("UnboundedPreceding")
        return self._expressions.SpecifiedWindowFrame(bounds.frameType(), first, bounds.upper())

    def sort_order(self, old: Any, child: Any) -> Any:
        """The same way to sort, by another expression."""
        return old.copy(child, old.direction(), old.nullOrdering(), old.sameOrderExpressions())

    def count(self, partition: list[Any], sorting: list[Any], bounds: Any) -> Column:
        """Count the rows of a frame."""
        definition = self._expressions.WindowSpecDefinition(
            self._seq(partition), self._seq(sorting), bounds
        )
        window = self._expressions.WindowExpression(self._counting, definition)
        return as_column(self._frame, window)


def _items(seq: Any) -> Iterator[Any]:
    for place in range(seq.size()):
        yield seq.apply(place)


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    for child in _items(plan.children()):
        yield from _nodes(child)


def _windows(plan: Any) -> Iterator[tuple[int, Any]]:
    for node in _nodes(plan):
        if node.getClass().getSimpleName() == "Window":
            for alias in _items(node.windowExpressions()):
                yield alias.exprId().id(), alias.child()


def _definitions(plan: Any) -> Iterator[tuple[int, Any]]:
    for node in _nodes(plan):
        if node.getClass().getSimpleName() == "Project":
            for named in _items(node.projectList()):
                if named.getClass().getSimpleName() == "Alias":
                    yield named.exprId().id(), named.child()


def _resolved(expression: Any, definitions: Mapping[int, Any]) -> Any:
    """Replace a column that Spark made up for an expression by that expression."""
    while expression.getClass().getSimpleName() == "AttributeReference":
        found = definitions.get(expression.exprId().id())
        if found is None:
            break
        expression = found
    return expression


def _link(frame: Frame, result: DataFrame, order: Order) -> Input:
    """Number the rows in the order of a window, and map the result's rows to runs of them."""
    trail, part_writer = frame.data[1], frame.tracker.part_writer
    one = trail.ids[0]
    reaches = list(order.reaches.values())
    measures = [c for reach in reaches for c in (reach.end, reach.size)]
    lines = result.select(one.column, order.place, *order.parts, *measures)
    fixed, line = fix_order(lines.orderBy(*order.parts, order.place))
    sorted_rows = RowSet(line.numbering.total)
    sorted_rows.maps["order"] = map_rows(fixed, numbered(sorted_rows, line), one, part_writer)
    table = _table(frame, sorted_rows)
    spreads, taps = fixed, [Tap(((line.column, line.numbering),))]
    for reach in reaches:
        back, ahead, some = (fresh_column(what) for what in ("back", "ahead", "some"))
        end, size, place = F.col(reach.end), F.col(reach.size), F.col(order.place)
        spreads = spreads.withColumns(
            {back: place - end + size - 1, ahead: end - place, some: (size > 0).cast("long")}
        )
        taps.append(Tap(((line.column, line.numbering),), some, (back, ahead)))
    maps = trace_rows(spreads, trail, part_writer, taps, moved=True)
    parts: list[tuple[str | None, Pairs]] = []
    rows = frame.table.rows
    for link, pairs, found in zip(
        [order.link, *(reach.link for reach in reaches)],
        [order.pairs, *(reach.pairs for reach in reaches)],
        maps,
        strict=True,
    ):
        rows.maps[link] = replace(found, forward=False)
        parts.append((link, frozenset(pairs)))
    return Input(table, tuple(parts), exact=order.exact)


def _table(frame: Frame, rows: RowSet) -> TableNode:
    """The table in the order of a window."""
    read = Input(frame.table, (("order", same_columns(len(frame.columns))),))
    origin = Origin("window", {}, (read,))
    return frame.tracker.table(frame.table.node.base, frame.table.columns, rows, origin)


class ExpressionSteps(ColumnSteps):
    """Does what expressions ask for beyond plain computing."""

    def finish(self, op: str, step: ExtraStep, reading: ColumnReads) -> Self:
        """Do a step; rows are numbered where its expressions need that."""
        if reading.expressions:
            return self._follow_windows(op, step, reading)
        if reading.generates:
            return self._explode(op, step, reading)
        result = super().finish(op, step, reading)
        if not reading.deterministic:
            frame, trail = result.data
            result._data = keep_in_order(frame, trail), trail  # noqa: SLF001
        return result

    def _explode(self, op: str, step: ExtraStep, reading: ColumnReads) -> Self:
        """Do a step that makes several rows of one, or none: its elements keep their order."""
        frame, trail = self.data
        column = fresh_column()
        result = with_ids(step(frame, {}), column)
        names, pairs = columns_read(frame, reading)
        read = Input(self.table, (("left", pairs),), exact=reading.complete)
        return self.follow(op, result, trail.multiplied(RowSet(), column), names, [read], {})

    def _follow_windows(self, op: str, step: ExtraStep, reading: ColumnReads) -> Self:
        result, inputs, names = windowed(self, step, reading)
        return self.follow(op, result, self.data[1], names, inputs, {})
