"""Tables out of plans: ``store.record`` and ``store.sql``.

A plan is followed up from its tracked tables; what is computed on the way, and at its end, is kept
and becomes a table of the lineage graph. Which rows made which are pairs of row numbers, which
Spark computes and compresses; a few of them are compressed here.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from dslog.capture.recorder import Node
from dslog.capture.spark.catalyst import Catalyst, expr_id, output_ids
from dslog.capture.spark.frame import Data
from dslog.capture.spark.frame_cost import FrameCost
from dslog.capture.spark.plan_reader import analysed, as_column
from dslog.capture.spark.plan_rule import (
    Cell,
    Groups,
    Made,
    PlanRows,
    PlanRule,
    Known,
    Source,
    WindowRuns,
)
from dslog.capture.spark.row_id import MASK, SHIFT, Id, Numbering, RowSet, fresh_column, numbered
from dslog.capture.spark.row_trace import Tap, trace_rows
from dslog.capture.spark.source import fix_order
from dslog.capture.spark.table_node import Input, Origin, TableNode, Tracker
from dslog.capture.table_product import Pairs, RowMap, RowTerms
from dslog.compress.provrc import provrc
from dslog.spark.relation_job import Options, compress_frame


def positions(column: str, numbering: Numbering) -> Column:
    """Turn ids into positions."""
    ids = F.col(column)
    if len(numbering.counts) <= 1:
        return ids
    before = F.lit(numbering.offsets.tolist())
    at = F.element_at(before, F.shiftright(ids, SHIFT).cast("int") + 1)
    return at + ids.bitwiseAND(F.lit(MASK))


OUT, IN = "b0", "a0"


@dataclass(eq=False)
class PlanTables:
    """Records the tables of one plan, in the order in which they are computed."""

    tracker: Tracker
    base: str
    catalyst: Catalyst

    def make(self, made: Made) -> TableNode:
        """Make the table of what was computed, with its lineage."""
        columns = tuple(str(output.name()) for output in made.outputs)
        table = self.tracker.table(self.base, columns, RowSet(), Origin(made.op))
        self.fill(table, made)
        return table

    def fill(self, table: TableNode, made: Made) -> None:
        """Say what a table comes from."""
        table.rows.count = made.one.numbering.total
        inputs = tuple(self._inputs(made, table.rows))
        table.origin = replace(table.origin, inputs=inputs)
        table.keep = any(one.table.keep for one in inputs)

    def _inputs(self, made: Made, rows: RowSet) -> Iterator[Input]:
        places = {expr_id(output): place for place, output in enumerate(made.outputs)}
        turned = {
            found[0].table.node for groups in made.groups for found in groups.rows.ids.values()
        }
        ids = made.kept.select(
            F.col(made.one.column).alias(OUT),
            *(as_column(made.kept, a).alias(f"i{of}") for of, (_, a) in made.rows.ids.items()),
        )
        yield from self._linked(ids, made.rows, made.one, rows, places, turned)
        for groups in made.groups:
            pairs = self._by_keys(made, groups)
            yield from self._linked(pairs, groups.rows, made.one, rows, places, turned)
        for runs in made.windows:
            yield self._in_order(made, runs, rows, places)

    def _linked(
        self,
        ids: DataFrame,
        before: PlanRows,
        one: Id,
        rows: RowSet,
        places: Mapping[int, int],
        turned: Container[Node],
    ) -> Iterator[Input]:
        """Read off what rows come from: ``ids`` has their own ids and, by its number, each other."""
        columns: dict[int | Source, set[tuple[int, int]]] = {}
        for out, cells in before.reads.items():
            for of, column in cells if out in places else ():
                columns.setdefault(of, set()).add((places[out], column))
        for of, pairs in columns.items():
            source = of if isinstance(of, Source) else before.ids[of][0]
            link = fresh_column("link")
            if isinstance(of, Source):
                rows.maps[link] = RowMap.everything(one.numbering.total, source.one.numbering.total)
            else:
                some = ids.select(OUT, F.col(f"i{of}").alias(IN))
                forward = source.table.node in turned
                rows.maps[link] = self._relate(some, one, source.one, forward=forward)
            exact = before.exact and not isinstance(of, Source)
            yield Input(source.table, ((link, frozenset(pairs)),), exact=exact)

    def _by_keys(self, made: Made, groups: Groups) -> DataFrame:
        """Give rows, which have ids, the number of the kept row that agrees with them."""
        before = self.catalyst.frame_of(groups.rows.plan)
        ids = [as_column(before, a).alias(f"i{of}") for of, (_, a) in groups.rows.ids.items()]
        if not groups.names:
            return before.select(F.lit(0).cast("long").alias(OUT), *ids)
        keys = made.kept.select(
            F.col(made.one.column).alias(OUT),
            *(F.col(name).alias(f"g{n}") for n, name in enumerate(groups.names)),
        )
        if made.one.numbering.total <= FrameCost.current().broadcast_ids:
            keys = F.broadcast(keys)
        same = F.lit(True)
        for n, name in enumerate(groups.names):
            same = same & F.col(name).eqNullSafe(F.col(f"g{n}"))
        return before.select(*groups.names, *ids).join(keys, same)

    def _in_order(
        self, made: Made, runs: WindowRuns, rows: RowSet, places: Mapping[int, int]
    ) -> Input:
        """Rows that come from runs of rows in the order of a window, a table of its own."""
        kept, one = made.kept, made.one
        ids = [as_column(kept, a).alias(f"i{of}") for of, (_, a) in made.rows.ids.items()]
        measures = [name for end, size, _ in runs.reads for name in (end, size)]
        some = kept.select(one.column, *runs.parts, runs.place, *measures, *ids)
        lines, line = fix_order(some.orderBy(*runs.parts, runs.place))
        cells = list(dict.fromkeys(
            cell for *_, reads in runs.reads for read in reads.values() for cell in read
        ))  # fmt: skip
        ordered = self._ordered(made, lines, line, cells)
        taps = []
        for end, size, _ in runs.reads:
            back, ahead, holds = (fresh_column(what) for what in ("back", "ahead", "holds"))
            before = F.col(runs.place) - F.col(end)
            lines = lines.withColumns(
                {
                    back: before + F.col(size) - 1,
                    ahead: -before,
                    holds: (F.col(size) > 0).cast("long"),
                }
            )
            taps.append(Tap(((line.column, line.numbering),), holds, (back, ahead)))
        trail = numbered(rows, one)
        maps = trace_rows(lines, trail, self.tracker.part_writer, taps, moved=True)
        parts: list[tuple[str | None, Pairs]] = []
        for found, (_, _, reads) in zip(maps, runs.reads, strict=True):
            link = fresh_column("link")
            rows.maps[link] = replace(found, forward=False)
            pairs = {(places[out], cells.index(c)) for out, read in reads.items() for c in read}
            parts.append((link, frozenset(pairs)))
        return Input(ordered, tuple(parts), exact=made.rows.exact)

    def _ordered(
        self, made: Made, lines: DataFrame, line: Id, cells: Sequence[Cell]
    ) -> TableNode:
        """The cells that a window reads, by rows in its order."""
        rows = RowSet(line.numbering.total)
        sources = [of if isinstance(of, Source) else made.rows.ids[of][0] for of, _ in cells]
        columns = [
            source.table.columns[column] for source, (_, column) in zip(sources, cells, strict=True)
        ]
        reads = {place: frozenset({cell}) for place, cell in enumerate(cells)}
        ids = lines.withColumnRenamed(line.column, OUT)
        before = replace(made.rows, reads=reads)
        same = {place: place for place in reads}
        inputs = tuple(self._linked(ids, before, line, rows, same, ()))
        return self.tracker.table(self.base, tuple(columns), rows, Origin("window", {}, inputs))

    def _relate(self, pairs: DataFrame, out: Id, in_: Id, *, forward: bool) -> RowMap | RowTerms:
        """Compress pairs of ids as pairs of rows."""
        sides = [(OUT, out.numbering), (IN, in_.numbering)]
        if forward:
            sides.reverse()
        shape = tuple(numbering.total for _, numbering in sides)
        pairs = pairs.where(f"{OUT} is not null and {IN} is not null")
        pairs = pairs.select(
            *(positions(side, n).alias(name) for (side, n), name in zip(sides, (OUT, IN), strict=True))
        )
        few = FrameCost.current().small_rows
        if max(shape) <= few:
            found = pairs.limit(few + 1).toArrow()
            if found.num_rows <= few:
                relation = np.stack([c.to_numpy() for c in found.columns], axis=1)
                relation = np.unique(relation.astype(np.int64), axis=0)
                return RowMap(provrc(relation, shape[:1], shape[1:]), forward=forward)
        root = self.tracker.recorder.files.root.absolute()
        options = Options(collect_rows=self.tracker.part_writer.rows)
        lineage = compress_frame(pairs, shape[:1], shape[1:], root, options)
        return RowTerms(tuple(lineage.terms), forward=forward)


def follow_plan(frame: DataFrame, tracker: Tracker, known: Known, table: TableNode) -> Data:
    """Compute a frame and its lineage, and fill in its table."""
    catalyst = Catalyst(frame)
    tables = PlanTables(tracker, table.node.base, catalyst)
    plan = catalyst.with_joins(analysed(frame))
    found = PlanRule(catalyst, known, tables.make).follow(plan)
    columns = catalyst.columns(found.plan)
    outputs = [columns[number] for number in output_ids(plan)]
    computed = catalyst.project([*outputs, *found.hidden], found.plan)
    kept, one = fix_order(catalyst.frame_of(computed))
    tables.fill(table, Made(table.origin.op, kept, one, outputs, found))
    columns = catalyst.columns(analysed(kept))
    visible = [as_column(kept, columns[expr_id(output)]) for output in outputs]
    return kept.select(*visible, one.column), numbered(table.rows, one)
