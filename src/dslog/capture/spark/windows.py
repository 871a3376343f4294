"""Window functions: each output row reads the rows of its frame.

A frame is a run of rows in the order of the window: by partition, then by the window's own order.
So the lineage goes through the table in that order, which the store gets as an array of its own:
every output cell comes from runs of rows there, and every row there from one row of the input.
That takes a few numbers per row, while the pairs themselves may grow with the square of them.

How far each frame reaches is counted by Spark, in the same window and in the same pass as the
values, so that rows that compare equal are in the same order for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from dslog.capture.products import Pairs, same_columns
from dslog.capture.spark.columns import ExtraStep, columns_read
from dslog.capture.spark.java import analysed, as_column, jvm_of, scala_object, stand_in
from dslog.capture.spark.nodes import Input, Origin, TableNode
from dslog.capture.spark.ordering import fix_order, keep_in_order
from dslog.capture.spark.plans import Expr, Reading, places_read
from dslog.capture.spark.rows import RowSet, fresh_column, is_hidden, numbered, visible_places
from dslog.capture.spark.tracing import Tap, map_rows, trace

if TYPE_CHECKING:
    from dslog.capture.spark.base import Frame

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
    frame: Frame, step: ExtraStep, reading: Reading
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

    def __init__(self, before: DataFrame, reading: Reading) -> None:
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
    trail, outlet = frame.data[1], frame.tracker.outlet
    one = trail.ids[0]
    reaches = list(order.reaches.values())
    measures = [c for reach in reaches for c in (reach.end, reach.size)]
    lines = result.select(one.column, order.place, *order.parts, *measures)
    fixed, line = fix_order(lines.orderBy(*order.parts, order.place))
    sorted_rows = RowSet(line.numbering.total)
    sorted_rows.maps["order"] = map_rows(fixed, numbered(sorted_rows, line), one, outlet)
    table = _table(frame, sorted_rows)
    spreads, taps = fixed, [Tap(((line.column, line.numbering),))]
    for reach in reaches:
        back, ahead, some = (fresh_column(what) for what in ("back", "ahead", "some"))
        end, size, place = F.col(reach.end), F.col(reach.size), F.col(order.place)
        spreads = spreads.withColumns(
            {back: place - end + size - 1, ahead: end - place, some: (size > 0).cast("long")}
        )
        taps.append(Tap(((line.column, line.numbering),), some, (back, ahead)))
    maps = trace(spreads, trail, outlet, taps, moved=True)
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
