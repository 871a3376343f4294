"""What rows and columns of a plan come from, kind of node by kind of node.

A plan is followed from its leaves up. Rows of tracked tables carry a hidden column of ids through
every node that keeps, drops, joins or repeats rows; what merges rows (an aggregate, a window) is
computed there, kept, and becomes a table of its own, whose rows carry ids again. A node without a
rule is a table each of whose cells may come from all rows below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Protocol

from pyspark.sql import DataFrame

from dslog.capture.spark.catalyst import (
    Catalyst,
    equal_columns,
    expr_id,
    items,
    kind_of,
    output_ids,
    pivots_of,
    references,
    skips_nulls,
    walk,
)
from dslog.capture.spark.plan_rows import (
    NONE,
    Cells,
    Fields,
    Groups,
    Made,
    PlanRows,
    Source,
    WindowRuns,
)
from dslog.capture.spark.row_id import fresh_column
from dslog.capture.spark.source import Kept
from dslog.capture.spark.table_node import TableNode


class Known(Protocol):
    """The tracked tables that plans are made of."""

    def table_of(self, node: Any, marks: str) -> Source | None:
        """Return the table that a node with these marks is, if it is one."""

    def behind(self, node: Any) -> Iterable[Source]:
        """Return tables that values of a leaf may be from, which says nothing of it itself."""

    def keep(self, frame: DataFrame) -> Kept:
        """Compute rows and keep them."""


class PlanRule:
    """Follows plans; ``known`` are tracked tables, ``make`` records what is computed as tables."""

    def __init__(
        self,
        catalyst: Catalyst,
        known: Known,
        make: Callable[[Made], TableNode],
    ) -> None:
        self.catalyst = catalyst
        self._known = known
        self._make = make
        self._subqueries: dict[int, Cells] = {}

    def follow(self, node: Any) -> PlanRows:
        """Return a plan with ids for a plan."""
        kind = kind_of(node)
        found = self._known.table_of(node, self.catalyst.mark_of(node))
        if found is not None:
            return self._tracked(node, found)
        rule = self._rules.get(kind)
        if rule is not None:
            return rule(self, node)
        if kind in _SAME:
            return self._same(node)
        return self._opaque(node)

    def is_table(self, node: Any) -> bool:
        """Whether the rows of a node are those of one table, that is known or was made of it."""
        merged = kind_of(node) in _MERGING
        return merged or self._known.table_of(node, self.catalyst.mark_of(node)) is not None

    # leaves

    def _tracked(self, node: Any, source: Source) -> PlanRows:
        """A tracked table: its own rows, under the ids that the plan has for its columns."""
        outside, width = list(items(node.output())), len(source.table.columns)
        files = source.kept.files
        if files is not None:  # read as the plan does, which may ask for more than the columns
            column = fresh_column()
            frame = files.with_ids(self.catalyst.frame_of(node), column)
            return self._numbered(self.catalyst.analysed(frame), source)
        if len(outside) > width:  # what files say of themselves was not kept
            found = PlanRows(node)
            cells = frozenset((source, c) for c in range(width))
            reads = dict.fromkeys(output_ids(node), cells)
            return replace(found, reads=reads, decides=cells, steady=False, exact=False)
        *visible, ids = items(source.kept.plan.output())
        named = [
            old
            if expr_id(old) == expr_id(new)  # two columns of one id would get another
            else self.catalyst.alias(old, str(new.name()), new.exprId())
            for old, new in zip(visible, outside, strict=True)
        ]
        named.append(self.catalyst.alias(ids, fresh_column()))
        return self._numbered(self.catalyst.project(named, source.kept.plan), source)

    def _numbered(self, plan: Any, source: Source) -> PlanRows:
        """Rows with one id, the last column."""
        *outputs, last = items(plan.output())
        number = expr_id(last)
        some = outputs[: len(source.table.columns)]
        reads = {expr_id(a): frozenset({(number, c)}) for c, a in enumerate(some)}
        return PlanRows(plan, {number: (source, last)}, reads)

    # rows stay what they are

    def _same(self, node: Any) -> PlanRows:
        child = self.follow(node.child())
        if kind_of(node) in _NAMES:
            return child
        plan = node.withNewChildren(self.catalyst.seq([child.plan]))
        if kind_of(node) in _CHOOSING:  # rows that are left out might have been in
            decides = child.decides | child.everywhere(child.decides)
            return replace(child, plan=plan, decides=decides, steady=False)
        return replace(child, plan=plan)

    def _sort(self, node: Any) -> PlanRows:
        child = self._with_subqueries(self.follow(node.child()), items(node.order()))
        read = self._read(child, items(node.order()))
        plan = node.withNewChildren(self.catalyst.seq([child.plan]))
        return replace(child, plan=plan, decides=child.decides | read)

    def _filter(self, node: Any) -> PlanRows:
        child = self._with_subqueries(self.follow(node.child()), [node.condition()])
        read = self._read(child, [node.condition()])
        plan = node.withNewChildren(self.catalyst.seq([child.plan]))
        steady = child.steady and bool(node.condition().deterministic())
        return replace(child, plan=plan, decides=child.decides | read, steady=steady)

    def _project(self, node: Any) -> PlanRows:
        named = list(items(node.projectList()))
        if kind_of(node.child()) == "Aggregate" and pivots_of(node.child()):
            return self._pivot(node, node.child())
        child = self._with_subqueries(self.follow(node.child()), named)
        reads = {expr_id(one): self._read(child, [one]) for one in named}
        tag = self.catalyst.hidden_output
        if child.equal and node.getTagValue(tag).isDefined():
            for left, right in child.equal:  # a join on names: the column is that of both sides
                both = child.read((left, right))
                for one in named:
                    if {left, right} & set(references(one)):
                        reads[expr_id(one)] |= both
        plan = self.catalyst.project([*named, *child.hidden], child.plan)
        steady = child.steady and all(bool(one.deterministic()) for one in named)
        structs = child.fields or "struct(" in str(node.projectList().mkString())
        found = ((expr_id(one), self._fields(child, one)) for one in named if structs)
        made = {number: fields for number, fields in found if fields is not None}
        return replace(child, plan=plan, reads=reads, steady=steady, equal=(), fields=made)

    def _generate(self, node: Any) -> PlanRows:
        child = self.follow(node.child())
        read = self._read(child, [node.generator()])
        plan = node.withNewChildren(self.catalyst.seq([child.plan]))
        made = {expr_id(one): read for one in items(node.generatorOutput())}
        return replace(
            child, plan=plan, reads={**child.reads, **made}, decides=child.decides | read
        )

    # several inputs

    def _join(self, node: Any) -> PlanRows:
        condition = node.condition()
        conditions = [condition.get()] if condition.isDefined() else []
        left, right = self.follow(node.left()), self.follow(node.right())
        left = self._with_subqueries(left, conditions)
        plan = node.withNewChildren(self.catalyst.seq([left.plan, right.plan]))
        kind = str(node.joinType().toString())
        both = replace(
            left,
            plan=plan,
            ids={**left.ids, **right.ids},
            reads={**left.reads, **right.reads},
            steady=left.steady and right.steady,
            exact=left.exact and right.exact,
            equal=tuple(pair for c in conditions for pair in equal_columns(c)),
            fields={**left.fields, **right.fields},
        )
        read = self._read(both, conditions)
        of_left = frozenset(cell for cell in read if cell not in right.read(right.reads))
        of_right = right.everywhere(right.decides | (read - of_left))
        if kind in ("LeftSemi", "LeftAnti") or kind.startswith("ExistenceJoin"):
            reads, decides = left.reads, left.decides | of_left | of_right
            if kind.startswith("ExistenceJoin"):
                reads = {**reads, expr_id(node.joinType().exists()): of_left | of_right}
                decides = left.decides
            return replace(both, ids=left.ids, reads=reads, decides=decides, equal=())
        decides = left.decides | right.decides | read
        if kind in ("LeftOuter", "LeftSingle", "FullOuter"):
            decides |= of_right
        if kind in ("RightOuter", "FullOuter"):
            decides |= left.everywhere(left.decides | of_left)
        return replace(both, decides=decides)

    def _union(self, node: Any) -> PlanRows:
        children = [self.follow(child) for child in items(node.children())]
        names = {number: fresh_column() for child in children for number in child.ids}
        sides = []
        for child, old in zip(children, items(node.children()), strict=True):
            columns = self.catalyst.columns(child.plan)
            hidden = [
                self.catalyst.alias(columns.get(number, self.catalyst.no_id), name)
                for number, name in names.items()
            ]
            visible = [columns[expr_id(one)] for one in items(old.output())]
            sides.append(self.catalyst.project([*visible, *hidden], child.plan))
        plan = node.withNewChildren(self.catalyst.seq(sides))
        outputs = list(items(plan.output()))
        width = len(outputs) - len(names)
        renamed: dict[int | Source, int] = {
            old: expr_id(new) for old, new in zip(names, outputs[width:], strict=True)
        }
        ids = {
            renamed[old]: (child.ids[old][0], new)
            for old, new in zip(names, outputs[width:], strict=True)
            for child in children
            if old in child.ids
        }

        def moved(cells: Cells) -> Cells:
            return frozenset((renamed.get(of, of), column) for of, column in cells)

        reads: dict[int, Cells] = {expr_id(one): NONE for one in outputs[:width]}
        for child, old in zip(children, items(node.children()), strict=True):
            for new, number in zip(outputs[:width], output_ids(old), strict=True):
                reads[expr_id(new)] |= moved(child.reads.get(number, NONE))
        return PlanRows(
            plan,
            ids,
            reads,
            moved(frozenset().union(*(child.decides for child in children))),
            all(child.steady for child in children),
            all(child.exact for child in children),
        )

    def _expand(self, node: Any) -> PlanRows:
        """Grouping sets: every set of rows has ids of its own, for its columns read their own."""
        child = self.follow(node.child())
        projections = [list(items(one)) for one in items(node.projections())]
        if not child.ids:
            return self._over(node, child)
        hidden = list(child.ids)
        lists = []
        for place, expressions in enumerate(projections):
            own = [
                child.ids[number][1] if set_ == place else self.catalyst.no_id
                for set_ in range(len(projections))
                for number in hidden
            ]
            lists.append(self.catalyst.seq([*expressions, *own]))
        made = [
            self.catalyst.alias(self.catalyst.no_id, fresh_column()).toAttribute()
            for _ in projections
            for _ in hidden
        ]
        plan = self.catalyst.logical.Expand(
            self.catalyst.seq(lists),
            self.catalyst.seq([*items(node.output()), *made]),
            child.plan,
        )
        new_ids = {
            (place, number): made[place * len(hidden) + at]
            for place in range(len(projections))
            for at, number in enumerate(hidden)
        }

        def moved(cells: Cells, place: int) -> Cells:
            return frozenset(
                (expr_id(new_ids[place, of]) if isinstance(of, int) else of, column)
                for of, column in cells
            )

        reads: dict[int, Cells] = {}
        for column, output in enumerate(items(node.output())):
            reads[expr_id(output)] = frozenset().union(
                *(
                    moved(self._read(child, [expressions[column]]), place)
                    for place, expressions in enumerate(projections)
                )
            )
        decides = frozenset().union(
            *(moved(child.decides, place) for place in range(len(projections)))
        )
        below = output_ids(node.child())
        keys = [c for c, o in enumerate(items(node.output())) if expr_id(o) not in below]
        counted = frozenset().union(
            *(
                moved(self._read(child, [one[c] for c in keys]) or child.read(below), place)
                for place, one in enumerate(projections)
            )
        )
        ids = {
            expr_id(attribute): (child.ids[number][0], attribute)
            for (_, number), attribute in new_ids.items()
        }
        return PlanRows(plan, ids, reads, decides, child.steady, child.exact, counted=counted)

    # rows become one

    def _aggregate(self, node: Any) -> PlanRows:
        keys = list(items(node.groupingExpressions()))
        made = list(items(node.aggregateExpressions()))
        child = self._with_subqueries(self.follow(node.child()), [*keys, *made])
        if not child.ids:
            return self._over(node, child)
        child = self._once(child, node.child(), keys)
        key_read = self._read(child, keys)
        counted = (child.counted or key_read) if keys else child.read(output_ids(node.child()))
        reads = {}
        for one in made:
            counts = any(kind_of(e) == "AggregateExpression" for e in walk(one))
            reads[expr_id(one)] = self._read(child, [one]) or (counted if counts else NONE)
        names, extra = self._named(keys)
        plan = self.catalyst.aggregate(keys, [*made, *extra], child.plan, node.hint())
        groups = replace(child, reads=reads, decides=child.decides | key_read)
        spans = [name for name, key in zip(names, keys, strict=True) if _is_session(key)]
        return self._grouped(
            "aggregate", plan, items(node.output()), names, [(groups, extra)], spans=spans
        )

    def _pivot(self, node: Any, groups: Any) -> PlanRows:
        """Cells of a pivot come from rows with their value, which have ids of their own for it."""
        keys = list(items(groups.groupingExpressions()))
        pivots = pivots_of(groups)
        child = self.follow(groups.child())
        if not child.ids:
            over = self._over(groups, child)
            return self._over(node, over)
        child = self._once(child, groups.child(), keys)
        first = next(iter(pivots.values()))
        column, values = first.pivotColumn(), first.pivotColumnValues()
        copies: list[dict[int, Any]] = []
        for place in range(values.size()):
            copies.append({})
            for of, (_, attribute) in child.ids.items():
                number = self.catalyst.where_equal(column, values, place, attribute)
                copies[-1][of] = self.catalyst.alias(number, fresh_column())
        names, extra = self._named(keys)
        made = [copy[of] for copy in copies for of in child.ids]
        inner = self.catalyst.project([*items(child.plan.output()), *made], child.plan)
        ids = dict(child.ids)
        for copy in copies:
            ids |= {expr_id(e): (child.ids[of][0], e.toAttribute()) for of, e in copy.items()}
        aggregates = [*items(groups.aggregateExpressions()), *extra]
        plan = self.catalyst.aggregate(keys, aggregates, inner, groups.hint())
        keyed = self.catalyst.columns(plan)
        named = list(items(node.projectList()))
        hidden = [attribute for attribute in keyed.values() if str(attribute.name()) in names]
        plan = self.catalyst.project([*named, *hidden], plan)
        reads = {}
        for one in named:
            cells = child.read(n for n in references(one) if n not in pivots)
            for item in walk(one):
                if kind_of(item) == "GetArrayItem":
                    pivot = pivots[expr_id(item.child())]
                    copy = copies[int(item.ordinal().value())]
                    read = self._read(child, [pivot.valueColumn(), pivot.pivotColumn()])
                    cells |= frozenset(
                        (expr_id(copy[of]) if isinstance(of, int) else of, c) for of, c in read
                    )
            reads[expr_id(one)] = cells
        decides = child.decides | self._read(child, [*keys, column])
        side = replace(child, plan=inner, ids=ids, reads=reads, decides=decides)
        return self._grouped("pivot", plan, items(node.output()), names, [(side, extra)])

    def _grouped(
        self,
        op: str,
        plan: Any,
        outputs: Iterable[Any],
        names: Sequence[str],
        sides: Sequence[tuple[PlanRows, Sequence[Any]]],
        rows: PlanRows | None = None,
        spans: Iterable[str] = (),
    ) -> PlanRows:
        """Compute rows that come from all rows of the sides that agree with them in keys."""
        groups = []
        for side, keys in sides:
            decides = side.decides | side.everywhere(side.decides)  # any row might have been in it
            slim = self.catalyst.project([*keys, *side.hidden], side.plan)
            some = replace(side, plan=slim, decides=decides)
            groups.append(Groups(names, some, frozenset(spans)))
        return self._table(op, plan, outputs, rows or PlanRows(plan), groups)

    def _named(self, keys: Iterable[Any]) -> tuple[list[str], list[Any]]:
        """Give keys names that nothing else has."""
        found = [(fresh_column("key"), key) for key in keys]
        return [name for name, _ in found], [self.catalyst.alias(key, name) for name, key in found]

    def _set(self, node: Any) -> PlanRows:
        """DISTINCT, INTERSECT and EXCEPT: a row comes from all equal ones."""
        kind = kind_of(node)
        outputs = list(items(node.output()))
        names = [fresh_column("key") for _ in outputs]
        sides, plain = [], []
        for child in items(node.children()):
            rows = self._once(self.follow(child), child, [])
            columns = self.catalyst.columns(rows.plan)
            visible = [columns[number] for number in output_ids(child)]
            plain.append(self.catalyst.project(visible, rows.plan))
            keys = [self.catalyst.alias(v, n) for v, n in zip(visible, names, strict=True)]
            own = [rows.reads.get(expr_id(v), NONE) for v in visible]
            reads: dict[int, Cells] = {}
            for o, read in zip(outputs, own, strict=True):  # that has a column twice, perhaps
                reads[expr_id(o)] = reads.get(expr_id(o), NONE) | read
            decides = rows.decides.union(*own)
            sides.append((replace(rows, reads=reads, decides=decides), keys))
        if kind == "Except":
            (left, keys), (right, _) = sides
            against = left.decides | right.everywhere(right.decides)
            sides = [(replace(left, decides=against), keys)]
        plan = node.withNewChildren(self.catalyst.seq(plain))
        made = self.catalyst.columns(plan)
        keys = [
            self.catalyst.alias(made[expr_id(o)], n) for o, n in zip(outputs, names, strict=True)
        ]
        plan = self.catalyst.project([*items(plan.output()), *keys], plan)
        return self._grouped(kind.lower(), plan, outputs, names, sides)

    def _deduplicate(self, node: Any) -> PlanRows:
        """Keys are from all rows that agree in them, other columns from the row that is kept."""
        child = self.follow(node.child())
        if not child.ids:
            return self._over(node, child)
        child = self._once(child, node.child(), [])
        keys = list(items(node.keys()))
        names, extra = self._named(keys)
        plan = node.withNewChildren(self.catalyst.seq([child.plan]))
        plan = self.catalyst.project([*items(plan.output()), *extra], plan)
        agreeing = {expr_id(key): child.read([expr_id(key)]) for key in keys}
        others = {number: c for number, c in child.reads.items() if number not in agreeing}
        decides = child.decides.union(*agreeing.values())
        side = replace(child, reads=agreeing, decides=decides)
        rows = replace(child, reads=others, decides=decides)
        return self._grouped("distinct", plan, items(node.output()), names, [(side, extra)], rows)

    def _table(
        self,
        op: str,
        plan: Any,
        outputs: Iterable[Any],
        rows: PlanRows,
        groups: Sequence[Groups] = (),
        windows: Sequence[WindowRuns] = (),
    ) -> PlanRows:
        """Compute a plan, keep what it gives, and go on with it as a table."""
        outputs = list(outputs)
        kept = self._known.keep(self.catalyst.frame_of(plan))
        columns = self.catalyst.columns(kept.plan)
        numbers = next(a for a in columns.values() if str(a.name()) == kept.one.column)
        plan = self.catalyst.project([*(columns[expr_id(o)] for o in outputs), numbers], kept.plan)
        table = self._make(Made(op, kept, outputs, rows, groups, windows))
        slim = Kept(self.catalyst.frame_of(plan), kept.one, placed=kept.placed)
        return self._numbered(plan, Source(table, slim))

    def _once(self, rows: PlanRows, node: Any, expressions: Sequence[Any]) -> PlanRows:
        """Have rows that two jobs read computed once, unless they are the same each time."""
        steady = rows.steady and all(bool(one.deterministic()) for one in expressions)
        if steady or not rows.ids:
            return rows
        return self._table("rows", rows.plan, items(node.output()), rows)

    def _window(self, node: Any) -> PlanRows:
        """Window functions read the rows of their frames; of an order or partition, by its rows."""
        child = self.follow(node.child())
        parts, order = list(items(node.partitionSpec())), list(items(node.orderSpec()))
        made = list(items(node.windowExpressions()))
        if not child.ids:
            return self._over(node, child)
        place = fresh_column("place")
        extra = [self.catalyst.counted(parts, order, self.catalyst.so_far, place)]
        names, keys = self._named(parts)
        frames: dict[str, tuple[str, str, dict[int, Cells]]] = {}
        exact = True
        for one in made:
            window = one.child()
            function = window.windowFunction()
            bounds = window.windowSpec().frameSpecification()
            kind = kind_of(function)
            if kind in _WHOLE or skips_nulls(function):
                bounds = self.catalyst.whole
                exact = exact and kind in _WHOLE
            text = str(bounds.toString())
            if text not in frames:
                end, size = fresh_column("end"), fresh_column("size")
                extra.append(self.catalyst.counted(parts, order, self.catalyst.up_to(bounds), end))
                extra.append(self.catalyst.counted(parts, order, bounds, size))
                frames[text] = end, size, {}
            some = ([function], order, parts)
            read = next((r for e in some if (r := self._read(child, e))), NONE)
            frames[text][2][expr_id(one)] = read or child.read(output_ids(node.child()))
        plan = self.catalyst.window([*made, *extra], parts, order, child.plan, node.hint())
        plan = self.catalyst.project([*items(plan.output()), *keys], plan)
        read = self._read(child, [*parts, *order])
        decides = child.decides | child.everywhere(read | child.decides)
        rows = replace(child, exact=child.exact and exact, decides=decides)
        runs = WindowRuns(place, names, list(frames.values()))
        return self._table("window", plan, items(node.output()), rows, windows=[runs])

    # no rule

    def _opaque(self, node: Any) -> PlanRows:
        children = [self.follow(child) for child in items(node.children())]
        cells = frozenset().union(*(child.tables for child in children))
        if not children:
            cells = frozenset(
                (source, column)
                for source in self._known.behind(node)
                for column in range(len(source.table.columns))
            )
        reads = dict.fromkeys(output_ids(node), cells)
        steady = kind_of(node) in _STEADY and not cells
        return PlanRows(node, {}, reads, cells, steady=steady, exact=not cells)

    def superset(self, plan: Any) -> PlanRows:
        """Say of a whole plan that all cells may come from all of the tables in it."""
        waiting, cells = [plan, *items(plan.subqueriesAll())], set()
        while waiting:
            node = waiting.pop()
            found = self._known.table_of(node, self.catalyst.mark_of(node))
            if found is not None:
                cells |= {(found, column) for column in range(len(found.table.columns))}
            else:
                waiting += items(node.children())
        reads = dict.fromkeys(output_ids(plan), frozenset(cells))
        return PlanRows(plan, {}, reads, frozenset(cells), steady=False, exact=not cells)

    def _over(self, node: Any, child: PlanRows) -> PlanRows:
        """A node over rows of no tracked table, whose cells may come from all of some."""
        reads = dict.fromkeys(output_ids(node), child.tables)
        plan = node.withNewChildren(self.catalyst.seq([child.plan]))
        return replace(child, plan=plan, reads=reads, equal=())

    # expressions

    def _read(self, rows: PlanRows, expressions: Iterable[Any]) -> Cells:
        """Return the cells that expressions read, subqueries included."""
        found: Cells = NONE
        for expression in expressions:
            found |= self._named_in(rows, expression)
            if self._subqueries:
                for one in walk(expression):
                    if kind_of(one) == "ScalarSubquery":
                        found |= self._subqueries.get(expr_id(one), NONE)
        return found

    def _named_in(self, rows: PlanRows, expression: Any) -> Cells:
        """Return the cells of columns that an expression names, or of fields of these."""
        kind, names = kind_of(expression) if rows.fields else "", references(expression)
        if kind == "AttributeReference" or not {*names} & {*rows.fields}:
            return rows.read(names)
        if kind == "GetStructField":
            fields = self._fields(rows, expression.child())
            if fields is not None:
                return fields[int(expression.ordinal())][0]
        return NONE.union(*(self._named_in(rows, e) for e in items(expression.children())))

    def _fields(self, rows: PlanRows, expression: Any) -> Fields | None:
        """Return what the fields of a struct read, if the plan makes it."""
        kind = kind_of(expression)
        if kind == "Alias":
            return self._fields(rows, expression.child())
        if kind == "AttributeReference":
            return rows.fields.get(expr_id(expression))
        if kind == "GetStructField":
            fields = self._fields(rows, expression.child())
            return None if fields is None else fields[int(expression.ordinal())][1]
        if kind != "CreateNamedStruct":
            return None
        values = items(expression.valExprs())
        return tuple((self._read(rows, [v]), self._fields(rows, v)) for v in values)

    def _with_subqueries(self, rows: PlanRows, expressions: Iterable[Any]) -> PlanRows:
        """Give rows the ids of what subqueries that give one value read."""
        for expression in expressions:
            for one in walk(expression) if "subquery" in str(expression.toString()) else ():
                if kind_of(one) == "ScalarSubquery" and expr_id(one) not in self._subqueries:
                    rows = self._with_subquery(rows, one)
        return rows

    def _with_subquery(self, rows: PlanRows, subquery: Any) -> PlanRows:
        found = self.follow(self.catalyst.with_joins(subquery.plan()))
        most = subquery.plan().maxRows()
        cells = found.read(output_ids(subquery.plan())) | found.decides
        if not found.ids or not most.isDefined() or int(most.get()) > 1:
            self._subqueries[expr_id(subquery)] = found.everywhere(cells)
            return replace(rows, exact=rows.exact and not cells)
        self._subqueries[expr_id(subquery)] = cells
        right = self.catalyst.project(found.hidden, found.plan)
        return replace(
            rows,
            plan=self.catalyst.joined(rows.plan, right),
            ids={**rows.ids, **found.ids},
            steady=rows.steady and found.steady,
            exact=rows.exact and found.exact,
        )

    _rules: ClassVar[dict[str, Callable[[PlanRule, Any], PlanRows]]] = {
        "Project": _project,
        "Filter": _filter,
        "Sort": _sort,
        "Generate": _generate,
        "Join": _join,
        "Union": _union,
        "Expand": _expand,
        "Aggregate": _aggregate,
        "Distinct": _set,
        "Intersect": _set,
        "Except": _set,
        "Deduplicate": _deduplicate,
        "Window": _window,
    }


_NAMES = {"SubqueryAlias", "View"}
_CHOOSING = {"GlobalLimit", "LocalLimit", "Offset", "Tail", "Sample"}
_SAME = {
    *_NAMES, *_CHOOSING, "Repartition", "RepartitionByExpression", "RebalancePartitions",
    "ResolvedHint", "UnresolvedHint", "CollectMetrics", "EventTimeWatermark",
}  # fmt: skip
"""Nodes that leave rows and columns as they are, or some rows out."""

_SESSION = "spark.sessionWindow"
"""Marks, in Spark's metadata, a key that is merged with those that overlap it."""

_MERGING = {"Aggregate", "Distinct", "Intersect", "Except", "Deduplicate", "Window"}
"""Nodes whose rows become a table."""

_STEADY = {"LocalRelation", "Range", "OneRowRelation", "LogicalRelation", "CommandResult"}
"""Leaves that give the same rows each time."""

_WHOLE = {"NTile", "PercentRank", "CumeDist"}
"""Window functions that read the size of the partition."""


def _is_session(key: Any) -> bool:
    named = kind_of(key) in ("AttributeReference", "Alias")
    return named and _SESSION in str(key.metadata().json())
