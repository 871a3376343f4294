"""What rows and columns of a plan come from, kind of node by kind of node.

A plan is followed from its leaves up. Rows of tracked tables carry a hidden column of ids through
every node that keeps, drops, joins or repeats rows; what merges rows (an aggregate, a window) is
computed there, kept, and becomes a table of its own, whose rows carry ids again. A node without a
rule is a table each of whose cells may come from all rows below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from dslog.capture.spark.catalyst import (
    NAMING,
    Catalyst,
    equal_columns,
    expr_id,
    has_one_row,
    is_session,
    items,
    kind_of,
    output_ids,
    pivots_of,
    references,
    skips_nulls,
    walk,
)
from dslog.capture.spark.column_reads import ColumnReads
from dslog.capture.spark.frame_cost import FrameCost
from dslog.capture.spark.plan_rows import (
    NONE,
    Cells,
    Groups,
    Known,
    Made,
    PlanRows,
    Source,
    WindowRuns,
    ids_of,
    in_other_rows,
)
from dslog.capture.spark.row_id import fresh_column
from dslog.capture.spark.source import Kept
from dslog.capture.spark.table_node import TableNode


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
        self._columns = ColumnReads(catalyst)
        self._read = self._columns.read

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
            cells = frozenset((source.table, c) for c in range(width))
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
        if kind_of(node) in NAMING:
            return child
        plan = node.withNewChildren(self.catalyst.seq([child.plan]))
        if kind_of(node) in _CHOOSING:  # rows that are left out might have been in
            decides = child.decides | child.or_absent(child.decides)
            return replace(child, plan=plan, decides=decides, steady=False)
        return replace(child, plan=plan)

    def _sort(self, node: Any) -> PlanRows:
        node, child = self._below(node)
        read = self._read(child, items(node.order()))
        plan = node.withNewChildren(self.catalyst.seq([child.plan]))
        return replace(child, plan=plan, decides=child.decides | read)

    def _filter(self, node: Any) -> PlanRows:
        node, child = self._below(node)
        read = self._read(child, [node.condition()])
        plan = node.withNewChildren(self.catalyst.seq([child.plan]))
        steady = child.steady and self.catalyst.is_steady(node.condition())
        return replace(child, plan=plan, decides=child.decides | read, steady=steady)

    def _project(self, node: Any) -> PlanRows:
        if kind_of(node.child()) == "Aggregate" and pivots_of(node.child()):
            return self._pivot(node, node.child())
        node, child = self._below(node)
        columns, numbers = node.projectList(), output_ids(node)
        reads = {number: child.reads[number] for number in numbers if number in child.reads}
        named = {n: columns.apply(at) for at, n in enumerate(numbers) if n not in reads}
        reads |= {number: self._read(child, [one]) for number, one in named.items()}
        tag = self.catalyst.hidden_output
        if child.equal and node.getTagValue(tag).isDefined():
            for left, right in child.equal:  # a join on names: the column is that of both sides
                both = child.read((left, right))
                for number in reads:
                    used = references(named[number]) if number in named else (number,)
                    if not {left, right}.isdisjoint(used):
                        reads[number] |= both
        hidden = self.catalyst.seq(child.hidden)
        plan = self.catalyst.logical.Project(columns.appendedAll(hidden), child.plan)
        steady = child.steady and all(map(self.catalyst.is_steady, named.values()))
        made = {number: some for number, some in child.fields.items() if number in reads}
        structs = named if child.fields or "struct(" in str(columns.mkString()) else {}
        found = ((number, self._columns.fields(child, one)) for number, one in structs.items())
        made |= {number: fields for number, fields in found if fields is not None}
        return replace(child, plan=plan, reads=reads, steady=steady, equal=(), fields=made)

    def _generate(self, node: Any) -> PlanRows:
        node, child = self._below(node)
        read = decides = self._read(child, [node.generator()])
        steady = child.steady and self.catalyst.is_steady(node.generator())
        if not {kind_of(one) for one in walk(node.generator())}.isdisjoint(_OF_MANY_ROWS):
            read, decides, steady = child.everywhere(read), child.or_absent(read), False
        plan = node.withNewChildren(self.catalyst.seq([child.plan]))
        made = {expr_id(one): read for one in items(node.generatorOutput())}
        return replace(
            child,
            plan=plan,
            reads={**child.reads, **made},
            decides=child.decides | decides,
            steady=steady,
        )

    # several inputs

    def _join(self, node: Any) -> PlanRows:
        left, right = self.follow(node.left()), self.follow(node.right())
        node, left = self._with_subqueries(node, left)
        condition = node.condition()
        conditions = [condition.get()] if condition.isDefined() else []
        plan = node.withNewChildren(self.catalyst.seq([left.plan, right.plan]))
        kind = str(node.joinType().toString())
        both = replace(
            left,
            plan=plan,
            ids={**left.ids, **right.ids},
            reads={**left.reads, **right.reads},
            steady=left.steady and right.steady and all(map(self.catalyst.is_steady, conditions)),
            exact=left.exact and right.exact,
            equal=tuple(pair for c in conditions for pair in equal_columns(c)),
            fields={**left.fields, **right.fields},
        )
        read = self._read(both, conditions)
        of_left = frozenset(cell for cell in read if cell not in right.read(right.reads))
        of_right = right.or_absent(right.decides | (read - of_left))
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
            decides |= left.or_absent(left.decides | of_left)
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
        renamed = dict(zip(names, outputs[width:], strict=True))
        ids = {
            expr_id(new): (child.ids[old][0], new)
            for old, new in zip(names, outputs[width:], strict=True)
            for child in children
            if old in child.ids
        }

        reads: dict[int, Cells] = {expr_id(one): NONE for one in outputs[:width]}
        for child, old in zip(children, items(node.children()), strict=True):
            for new, number in zip(outputs[:width], output_ids(old), strict=True):
                reads[expr_id(new)] |= in_other_rows(child.reads.get(number, NONE), renamed)
        return PlanRows(
            plan,
            ids,
            reads,
            in_other_rows(NONE.union(*(child.decides for child in children)), renamed),
            all(child.steady for child in children),
            all(child.exact for child in children),
        )

    def _expand(self, node: Any) -> PlanRows:
        """Grouping sets: every set of rows has ids of its own, for its columns read their own."""
        node, child = self._below(node)
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
        new_ids = [
            {number: made[place * len(hidden) + at] for at, number in enumerate(hidden)}
            for place in range(len(projections))
        ]
        reads: dict[int, Cells] = {}
        for column, output in enumerate(items(node.output())):
            reads[expr_id(output)] = frozenset().union(
                *(
                    in_other_rows(self._read(child, [expressions[column]]), new)
                    for new, expressions in zip(new_ids, projections, strict=True)
                )
            )
        decides = NONE.union(*(in_other_rows(child.decides, new) for new in new_ids))
        below = output_ids(node.child())
        keys = [c for c, o in enumerate(items(node.output())) if expr_id(o) not in below]
        counted = frozenset().union(
            *(
                in_other_rows(self._read(child, [one[c] for c in keys]) or child.read(below), new)
                for new, one in zip(new_ids, projections, strict=True)
            )
        )
        ids = {
            expr_id(one): (child.ids[number][0], one)
            for new in new_ids
            for number, one in new.items()
        }
        return PlanRows(plan, ids, reads, decides, child.steady, child.exact, counted=counted)

    # rows become one

    def _aggregate(self, node: Any) -> PlanRows:
        visible = list(items(node.child().output()))
        node, child = self._below(node)
        if not child.ids:
            return self._over(node, child)
        node, child = self._keyed(node, child, visible)
        keys = list(items(node.groupingExpressions()))
        made = list(items(node.aggregateExpressions()))
        key_read = self._read(child, keys)
        counted = (child.counted or key_read) if keys else child.read(output_ids(node.child()))
        reads = {}
        for one in made:
            read = self._read(child, [one])
            reads[expr_id(one)] = read or (counted if self.catalyst.is_aggregate(one) else NONE)
        names, extra = self._named(keys)
        plan = self.catalyst.aggregate(keys, [*made, *extra], child.plan, node.hint())
        groups = replace(child, reads=reads, decides=child.decides | key_read)
        spans = [name for name, key in zip(names, keys, strict=False) if is_session(key)]
        return self._grouped(
            "aggregate", plan, items(node.output()), names, [(groups, extra)], spans=spans
        )

    def _pivot(self, node: Any, groups: Any) -> PlanRows:
        """Cells of a pivot come from rows with their value, which have ids of their own for it."""
        visible = list(items(groups.child().output()))
        groups, child = self._below(groups)
        if not child.ids:
            over = self._over(groups, child)
            return self._over(node, over)
        groups, child = self._keyed(groups, child, visible)
        keys = list(items(groups.groupingExpressions()))
        pivots = pivots_of(groups)
        first = next(iter(pivots.values()))
        column, values = first.pivotColumn(), first.pivotColumnValues()
        copies = [
            self._copies(child, child.ids, self.catalyst.equal_to(column, values, place))
            for place in range(values.size())
        ]
        names, extra = self._named(keys)
        made = [one for copy in copies for one in copy.values()]
        inner = self.catalyst.project([*items(child.plan.output()), *made], child.plan)
        ids = dict(child.ids)
        for copy in copies:
            ids |= ids_of(child, copy)
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
                    cells |= in_other_rows(read, copy)
            reads[expr_id(one)] = cells
        decides = child.decides | self._read(child, [*keys, column])
        side = replace(child, plan=inner, ids=ids, reads=reads, decides=decides)
        return self._grouped("pivot", plan, items(node.output()), names, [(side, extra)])

    def _copies(self, rows: PlanRows, ids: Iterable[int], condition: Any) -> dict[int, Any]:
        """Name ids once more, where a condition holds."""
        return {
            of: self.catalyst.alias(self.catalyst.where(condition, rows.ids[of][1]), fresh_column())
            for of in ids
        }

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
            decides = side.decides | side.or_absent(side.decides)  # any row might have been in it
            slim = self.catalyst.project([*keys, *side.hidden], side.plan)
            some = replace(side, plan=slim, decides=decides)
            groups.append(Groups(names, some, frozenset(spans)))
        return self._table(op, plan, outputs, rows or PlanRows(plan), groups)

    def _named(self, keys: Sequence[Any]) -> tuple[list[str], list[Any]]:
        """Give keys names that nothing else has; many of them become one value."""
        if len(keys) > FrameCost.current().keys_apart and not any(map(is_session, keys)):
            keys = [self.catalyst.struct(keys)]
        found = [(fresh_column("key"), key) for key in keys]
        return [name for name, _ in found], [self.catalyst.alias(key, name) for name, key in found]

    def _under(self, names: Sequence[str], keys: Sequence[Any]) -> list[Any]:
        """Give keys names that others have already, as many as these are."""
        some = keys if len(names) == len(keys) else [self.catalyst.struct(keys)]
        return [self.catalyst.alias(key, name) for key, name in zip(some, names, strict=True)]

    def _set(self, node: Any) -> PlanRows:
        """DISTINCT, INTERSECT and EXCEPT: a row comes from all equal ones."""
        kind = kind_of(node)
        outputs = list(items(node.output()))
        names, _ = self._named(outputs)
        sides, plain = [], []
        for child in items(node.children()):
            rows = self._once(self.follow(child), items(child.output()))
            columns = self.catalyst.columns(rows.plan)
            visible = [columns[number] for number in output_ids(child)]
            plain.append(self.catalyst.project(visible, rows.plan))
            keys = self._under(names, visible)
            own = [rows.reads.get(expr_id(v), NONE) for v in visible]
            reads: dict[int, Cells] = {}
            for o, read in zip(outputs, own, strict=True):  # that has a column twice, perhaps
                reads[expr_id(o)] = reads.get(expr_id(o), NONE) | read
            decides = rows.decides.union(*own)
            sides.append((replace(rows, reads=reads, decides=decides), keys))
        if kind == "Except":
            (left, keys), (right, _) = sides
            against = left.decides | right.or_absent(right.decides)
            sides = [(replace(left, decides=against), keys)]
        plan = node.withNewChildren(self.catalyst.seq(plain))
        made = self.catalyst.columns(plan)
        keys = self._under(names, [made[expr_id(o)] for o in outputs])
        plan = self.catalyst.project([*items(plan.output()), *keys], plan)
        return self._grouped(kind.lower(), plan, outputs, names, sides)

    def _deduplicate(self, node: Any) -> PlanRows:
        """Keys are from all rows that agree in them, other columns from the row that is kept."""
        child = self.follow(node.child())
        if not child.ids:
            return self._over(node, child)
        child = self._once(child, items(node.child().output()))
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

    def _once(self, rows: PlanRows, outputs: Iterable[Any]) -> PlanRows:
        """Have rows that two jobs read computed once, unless they are the same each time."""
        if rows.steady or not rows.ids:
            return rows
        return self._table("rows", rows.plan, outputs, rows)

    def _keyed(self, node: Any, rows: PlanRows, visible: list[Any]) -> tuple[Any, PlanRows]:
        """Have rows and their keys, which two jobs read, computed once."""
        keys = [
            key for key in items(node.groupingExpressions()) if not self.catalyst.is_steady(key)
        ]
        if keys:
            named = [self.catalyst.alias(key, fresh_column("key")) for key in keys]
            made = {expr_id(a): self._read(rows, [k]) for k, a in zip(keys, named, strict=True)}
            columns = self.catalyst.columns(rows.plan)
            plan = self.catalyst.project([*columns.values(), *named], rows.plan)
            rows = replace(rows, plan=plan, reads={**rows.reads, **made}, steady=False)
            attributes = [one.toAttribute() for one in named]
            visible = [*visible, *attributes]
            same = [
                (e, new)
                for one in items(node.expressions())
                for e in walk(one)
                for key, new in zip(keys, attributes, strict=True)
                if kind_of(e) == kind_of(key) and e.semanticEquals(key)
            ]
            node = self.catalyst.replaced(node, same)
        return node, self._once(rows, visible)

    def _window(self, node: Any) -> PlanRows:
        """Window functions read the rows of their frames; of an order or partition, by its rows."""
        node, child = self._below(node)
        parts, order = list(items(node.partitionSpec())), list(items(node.orderSpec()))
        made = list(items(node.windowExpressions()))
        if not child.ids:
            return self._over(node, child)
        place = fresh_column("place")
        extra = [self.catalyst.counted(parts, order, self.catalyst.so_far, place)]
        names, keys = self._named(parts)
        frames: dict[str, tuple[str, str, dict[int, Cells]]] = {}
        sizes: dict[str, Any] = {}
        exact, ids, own = child.exact, dict(child.ids), dict(child.reads)
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
                sizes[text] = extra[-1].toAttribute()
            value = function
            if kind in ("Lag", "Lead"):  # the default is read in the row itself, if there is none
                value = function.input()
                default = self._read(child, [function.default()])
                if not skips_nulls(function):
                    of_rows = {of for of, _ in default if isinstance(of, int)}
                    copies = self._copies(child, of_rows, self.catalyst.is_zero(sizes[text]))
                    keys += copies.values()
                    ids |= ids_of(child, copies)
                    default = in_other_rows(default, copies)
                own[expr_id(one)] = default
            some = ([value], order, parts)
            read = next((r for e in some if (r := self._read(child, e))), NONE)
            frames[text][2][expr_id(one)] = read or child.read(output_ids(node.child()))
        plan = self.catalyst.window([*made, *extra], parts, order, child.plan, node.hint())
        plan = self.catalyst.project([*items(plan.output()), *keys], plan)
        read = self._read(child, [*parts, *order])
        decides = child.decides | child.or_absent(read | child.decides)
        rows = replace(child, ids=ids, reads=own, exact=exact, decides=decides)
        runs = WindowRuns(place, names, list(frames.values()))
        return self._table("window", plan, items(node.output()), rows, windows=[runs])

    # no rule

    def _opaque(self, node: Any) -> PlanRows:
        """A node without a rule, over the rows that its children were followed to."""
        old = list(items(node.children()))
        if not old or kind_of(node) in _WITH_ITSELF:
            return self.superset(node)
        children = [self.follow(child) for child in old]
        plain = [self._visible(rows, child) for rows, child in zip(children, old, strict=True)]
        cells = NONE.union(*(child.tables for child in children))
        decides = NONE.union(*(child.or_absent(child.tables) for child in children))
        reads = dict.fromkeys(output_ids(node), cells)
        plan = node.withNewChildren(self.catalyst.seq(plain))
        return PlanRows(plan, {}, reads, decides, steady=False, exact=not decides)

    def _visible(self, rows: PlanRows, node: Any) -> Any:
        """Rows of a node without their ids."""
        if not rows.ids:
            return rows.plan
        columns = self.catalyst.columns(rows.plan)
        return self.catalyst.project([columns[number] for number in output_ids(node)], rows.plan)

    def superset(self, plan: Any) -> PlanRows:
        """Say of a plan that all cells may come from all of the tables in it."""
        held, cells = self._held(plan)
        reads = dict.fromkeys(output_ids(plan), cells)
        steady = kind_of(plan) in _STEADY and not cells
        decides = PlanRows(plan).or_absent(cells)
        return PlanRows(held, {}, reads, decides, steady=steady, exact=not decides)

    def made_of(self, rows: PlanRows, source: Source) -> PlanRows:
        """Say of rows that all of their cells may come from all of a table."""
        cells = frozenset((source.table, column) for column in range(len(source.table.columns)))
        reads = dict.fromkeys(output_ids(rows.plan), cells)
        return replace(rows, reads=reads, decides=rows.or_absent(cells), exact=False)

    def _held(self, plan: Any) -> tuple[Any, Cells]:
        """Put the rows of tracked tables in their places in a plan, and return their cells."""
        found = self._known.table_of(plan, self.catalyst.mark_of(plan))
        if found is not None:
            rows = self._tracked(plan, found)
            return self._visible(rows, plan), rows.tables
        plan, cells = self._with_held(plan)
        children = [self._held(child) for child in items(plan.children())]
        if not children:
            return plan, cells | {
                (source.table, column)
                for source in self._known.behind(plan)
                for column in range(len(source.table.columns))
            }
        plan = plan.withNewChildren(self.catalyst.seq([held for held, _ in children]))
        return plan, cells.union(*(some for _, some in children))

    def _with_held(self, node: Any) -> tuple[Any, Cells]:
        """Put the rows of tracked tables in the subqueries of a node's expressions."""
        made, cells = [], NONE
        for one in self.catalyst.subqueries_of(node):
            held, some = self._held(one.plan())
            made.append((one, one.withNewPlan(held)))
            cells |= some
        return self.catalyst.replaced(node, made), cells

    def _over(self, node: Any, child: PlanRows) -> PlanRows:
        """A node over rows of no tracked table, whose cells may come from all of some."""
        reads = dict.fromkeys(output_ids(node), child.tables)
        plan = node.withNewChildren(self.catalyst.seq([child.plan]))
        return replace(child, plan=plan, reads=reads, equal=())

    # subqueries

    def _below(self, node: Any) -> tuple[Any, PlanRows]:
        """Follow what a node is over, and give its rows the ids of subqueries of the node."""
        return self._with_subqueries(node, self.follow(node.child()))

    def _with_subqueries(self, node: Any, rows: PlanRows) -> tuple[Any, PlanRows]:
        """Give rows the ids of what subqueries read, and have these read what was followed."""
        made = []
        for one in self.catalyst.subqueries_of(node):
            rows, plan = self._with_subquery(rows, one)
            made.append((one, one.withNewPlan(plan)))
        return self.catalyst.replaced(node, made), rows

    def _with_subquery(self, rows: PlanRows, subquery: Any) -> tuple[PlanRows, Any]:
        number = expr_id(subquery)
        if kind_of(subquery) != "ScalarSubquery" or not subquery.outerAttrs().isEmpty():
            plan, cells = self._held(subquery.plan())
            self._columns.subqueries[number] = cells
            decides = rows.decides | PlanRows(plan).or_absent(cells)
            exact = rows.exact and not cells
            return replace(rows, decides=decides, steady=False, exact=exact), plan
        plan = self.catalyst.with_joins(subquery.plan())
        found = self._once(self.follow(plan), items(plan.output()))
        cells = found.read(output_ids(plan))
        decides = found.decides if has_one_row(plan) else found.or_absent(found.decides)
        rows = replace(
            rows,
            decides=rows.decides | decides,
            steady=rows.steady and found.steady,
            exact=rows.exact and found.exact,
        )
        self._columns.subqueries[number] = cells
        if found.ids:
            right = self.catalyst.project(found.hidden, found.plan)
            joined = self.catalyst.joined(rows.plan, right)
            rows = replace(rows, plan=joined, ids={**rows.ids, **found.ids})
        return rows, self._visible(found, plan)

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


_CHOOSING = {"GlobalLimit", "LocalLimit", "Offset", "Tail", "Sample"}
_SAME = {
    *NAMING, *_CHOOSING, "Repartition", "RepartitionByExpression", "RebalancePartitions",
    "ResolvedHint", "UnresolvedHint", "CollectMetrics", "EventTimeWatermark",
}  # fmt: skip
"""Nodes that leave rows and columns as they are, or some rows out."""

_MERGING = {"Aggregate", "Distinct", "Intersect", "Except", "Deduplicate", "Window"}
"""Nodes whose rows become a table."""

_WITH_ITSELF = {"UnionLoop"}
"""Nodes that are computed of themselves, step by step: nothing in them is computed apart."""

_OF_MANY_ROWS = {"PythonUDTF", "UnresolvedPolymorphicPythonUDTF", "UserDefinedGenerator"}
"""Generators that may remember rows."""

_STEADY = {"LocalRelation", "Range", "OneRowRelation", "LogicalRelation", "CommandResult"}
"""Leaves that give the same rows each time."""

_WHOLE = {"NTile", "PercentRank", "CumeDist"}
"""Window functions that read the size of the partition."""
