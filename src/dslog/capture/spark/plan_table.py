"""Tables out of plans: ``store.record`` and ``store.sql``.

A plan is followed up from its tracked tables; what is computed on the way, and at its end, is kept
and becomes a table of the lineage graph. Which rows made which are pairs of row numbers, which
Spark computes and compresses; a few of them are compressed here.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from dslog.capture.recorder import Node
from dslog.capture.spark.catalyst import Catalyst, expr_id
from dslog.capture.spark.frame_cost import FrameCost
from dslog.capture.spark.plan_reader import as_column
from dslog.capture.spark.plan_rows import (
    NONE,
    Cell,
    Groups,
    Made,
    PlanRows,
    WindowRuns,
)
from dslog.capture.spark.row_id import MASK, SHIFT, Id, Numbering, RowSet, fresh_column
from dslog.capture.spark.source import jobs
from dslog.capture.spark.table_node import Input, Origin, TableNode, Tracker
from dslog.capture.spark.window_runs import map_runs
from dslog.capture.table_product import Pairs, RowMap, RowTerms
from dslog.compress.provrc import provrc
from dslog.spark.relation_job import Options, compress_frame
from dslog.types import I64


def position(column: str, numbering: Numbering) -> Column:
    """Turn ids into positions, in a column."""
    ids = F.col(column)
    if len(numbering.counts) <= 1:
        return ids
    before = F.lit(numbering.offsets.tolist())
    at = F.element_at(before, F.shiftright(ids, SHIFT).cast("int") + 1)
    return at + ids.bitwiseAND(F.lit(MASK))


OUT, IN = "b0", "a0"


def _sorted_pairs(first: I64, second: I64) -> I64:
    """Return different pairs of numbers, sorted.

    >>> _sorted_pairs(np.array([1, 0, 1, 0]), np.array([2, 5, 2, 4])).tolist()
    [[0, 4], [0, 5], [1, 2]]
    """
    order = np.lexsort((second, first))
    pairs = np.stack([first[order], second[order]], axis=1).astype(np.int64)
    new = np.ones(len(pairs), np.bool_)
    new[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    return pairs[new]


def _same_keys(groups: Groups, maps: Container[str]) -> Column:
    """Say that rows agree in keys with a kept row, whose keys are ``g0``, ``g1`` ...

    A session that rows were merged to spans theirs.
    """
    numbers = [n for n, name in enumerate(groups.names) if name not in groups.spans]
    mine, theirs = ([groups.names[n] for n in numbers], [f"g{n}" for n in numbers])
    same = F.lit(True)
    for m, g in zip(mine, theirs, strict=True):
        left, right = F.col(m), F.col(g)
        if m in maps:  # which cannot be compared, but their entries can
            left, right = (F.array_sort(F.map_entries(one)) for one in (left, right))
        same = same & left.eqNullSafe(right)
    for n, name in enumerate(groups.names):
        if name in groups.spans:
            same = same & (F.col(f"g{n}.start") <= F.col(f"{name}.start"))
            same = same & (F.col(f"{name}.end") <= F.col(f"g{n}.end"))
    return same


@dataclass(eq=False)
class PlanTables:
    """Records the tables of one plan, in the order in which they are computed."""

    tracker: Tracker
    base: str
    catalyst: Catalyst
    _made: list[TableNode] = field(default_factory=list)

    def make(self, made: Made) -> TableNode:
        """Make the table of what was computed, with its lineage."""
        columns = tuple(str(output.name()) for output in made.outputs)
        table = self.tracker.table(self.base, columns, RowSet(), Origin(made.op))
        self.fill(table, made)
        self._made.append(table)
        return table

    def fill(self, table: TableNode, made: Made) -> None:
        """Say what a table comes from."""
        table.rows.count = made.kept.one.numbering.total
        with jobs():
            inputs = tuple(self._inputs(made, table.rows))
        table.origin = replace(table.origin, inputs=inputs)
        table.keep = any(one.table.keep for one in inputs)

    def share(
        self, table: TableNode, source: TableNode, outputs: Sequence[Any], rows: PlanRows
    ) -> None:
        """Say that a table has the rows of another, or is that if this was made for it alone."""
        reads = [
            (place, column)
            for place, one in enumerate(outputs)
            for _, column in rows.read([expr_id(one)])
        ]
        table.rows, table.keep = source.rows, source.keep or table.keep
        own = source in self._made and not rows.decides
        if own and reads == [(c, c) for c in range(len(source.columns))]:
            table.origin = replace(table.origin, inputs=source.origin.inputs)
        else:
            same = Input(source, ((None, frozenset(reads)),), exact=rows.exact)
            table.origin = replace(table.origin, inputs=(same,))

    def _inputs(self, made: Made, rows: RowSet) -> Iterator[Input]:
        places = [(expr_id(output), place) for place, output in enumerate(made.outputs)]
        turned = {
            found[0].table.node for groups in made.groups for found in groups.rows.ids.values()
        }
        ids = made.kept.frame.select(
            F.col(made.kept.one.column).alias(OUT),
            *(
                as_column(made.kept.frame, a).alias(f"i{of}")
                for of, (_, a) in made.rows.ids.items()
            ),
        )
        count = made.kept.one.numbering.total
        yield from self._linked(ids, made.rows, made.kept.one, rows, places, turned, count)
        for groups in made.groups:
            pairs = self._by_keys(made, groups)
            yield from self._linked(pairs, groups.rows, made.kept.one, rows, places, turned)
        for runs in made.windows:
            yield self._in_order(made, runs, rows, places)

    def _linked(
        self,
        ids: DataFrame,
        before: PlanRows,
        one: Id,
        rows: RowSet,
        places: Sequence[tuple[int, int]],
        turned: Container[Node],
        known: int | None = None,
    ) -> Iterator[Input]:
        """Read off what rows come from: ``ids`` has their own ids and, by number, the others."""
        columns: dict[int | TableNode, tuple[set[tuple[int, int]], set[tuple[int, int]]]] = {}
        for out, place in places:
            for cells, decides in ((before.reads.get(out, NONE), False), (before.decides, True)):
                for of, column in cells:
                    columns.setdefault(of, (set(), set()))[decides].add((place, column))
        others = [of for of in columns if isinstance(of, TableNode)]
        named: list[int | TableNode] = [of for of in before.ids if of in columns]
        few = None
        if named:
            ids = ids.select(OUT, *(f"i{of}" for of in named))
            if known is None:
                ids, known = self.tracker.once(ids)
            few = self._few(ids, known)
        for of in named + sorted(others, key=lambda table: table.node.name):
            read, decided = columns[of]
            link = fresh_column("link")
            if isinstance(of, TableNode):
                table = of
                rows.maps[link] = RowMap.everything(one.numbering.total, table.shape[0])
            else:
                source = before.ids[of][0]
                table, some = source.table, few if few is not None else ids
                rows.maps[link] = self._relate(
                    some.select([OUT, f"i{of}"]),
                    one.numbering,
                    source.kept.one.numbering,
                    forward=table.node in turned,
                )
            exact = before.exact and not isinstance(of, TableNode)
            if read:
                yield Input(table, ((link, frozenset(read)),), exact)
            if decided:
                yield Input(table, ((link, frozenset(decided)),), exact, decides=True)

    def _few(self, ids: DataFrame, known: int | None) -> pa.Table | None:
        """Bring ids here if they are few; how many may be known."""
        few = FrameCost.current().small_rows
        if known is not None:
            return ids.toArrow() if known <= few else None
        found = ids.limit(few + 1).toArrow()
        return found if found.num_rows <= few else None

    def _by_keys(self, made: Made, groups: Groups) -> DataFrame:
        """Give rows, which have ids, the number of the kept row that agrees with them."""
        before = self.catalyst.frame_of(groups.rows.plan)
        ids = [as_column(before, a).alias(f"i{of}") for of, (_, a) in groups.rows.ids.items()]
        if not groups.names:
            return before.select(F.lit(0).cast("long").alias(OUT), *ids)
        keys = made.kept.frame.select(
            F.col(made.kept.one.column).alias(OUT),
            *(F.col(name).alias(f"g{n}") for n, name in enumerate(groups.names)),
        )
        if made.kept.one.numbering.total <= FrameCost.current().broadcast_ids:
            keys = F.broadcast(keys)
        some = before.select(*groups.names, *ids)
        maps = {name for name, kind in some.dtypes if kind.startswith("map<")}
        return some.join(keys, _same_keys(groups, maps))

    def _in_order(
        self, made: Made, runs: WindowRuns, rows: RowSet, places: Sequence[tuple[int, int]]
    ) -> Input:
        """Rows that come from runs of rows in the order of a window, a table of its own."""
        kept, one = made.kept.frame, made.kept.one
        ids = [as_column(kept, a).alias(f"i{of}") for of, (_, a) in made.rows.ids.items()]
        measures = [name for end, size, _ in runs.reads for name in (end, size)]
        some = kept.select(one.column, *runs.parts, runs.place, *measures, *ids)
        ordered = self.tracker.keep(some.orderBy(*runs.parts, runs.place))
        lines, line = ordered.frame, ordered.one
        cells = list(dict.fromkeys(
            cell for *_, reads in runs.reads for read in reads.values() for cell in read
        ))  # fmt: skip
        table = self._ordered(made, lines, line, cells)
        own, there = position(one.column, one.numbering), position(line.column, line.numbering)
        reaches = []
        for end, size, _ in runs.reads:
            last = there + F.col(end) - F.col(runs.place)
            run = last - F.col(size) + 1, last
            reaches.append(lines.where(F.col(size) > 0).select(own.alias("row"), *run))
        maps = [map_runs(reach, self.tracker.files, self.tracker.collect_rows) for reach in reaches]
        parts: list[tuple[str | None, Pairs]] = []
        for found, (_, _, reads) in zip(maps, runs.reads, strict=True):
            link = fresh_column("link")
            rows.maps[link] = found
            pairs = {(place, cells.index(c)) for out, place in places for c in reads.get(out, NONE)}
            parts.append((link, frozenset(pairs)))
        return Input(table, tuple(parts), exact=made.rows.exact)

    def _ordered(self, made: Made, lines: DataFrame, line: Id, cells: Sequence[Cell]) -> TableNode:
        """The cells that a window reads, by rows in its order."""
        rows = RowSet(line.numbering.total)
        columns = [
            (of if isinstance(of, TableNode) else made.rows.ids[of][0].table).columns[column]
            for of, column in cells
        ]
        reads = {place: frozenset({cell}) for place, cell in enumerate(cells)}
        ids = lines.withColumnRenamed(line.column, OUT)
        before = replace(made.rows, reads=reads, decides=NONE)
        same = [(place, place) for place in reads]
        inputs = tuple(self._linked(ids, before, line, rows, same, (), line.numbering.total))
        return self.tracker.table(self.base, tuple(columns), rows, Origin("window", {}, inputs))

    def _relate(
        self, pairs: pa.Table | DataFrame, out: Numbering, in_: Numbering, *, forward: bool
    ) -> RowMap | RowTerms:
        """Compress pairs of ids, some of them null, as pairs of rows."""
        if isinstance(pairs, pa.Table):
            columns = [column.to_numpy() for column in pairs.drop_null().columns]
            sides = [out.positions(columns[0]), in_.positions(columns[1])]
            shape = (in_.total, out.total) if forward else (out.total, in_.total)
            relation = _sorted_pairs(*(sides[::-1] if forward else sides))
            return RowMap(provrc(relation, shape[:1], shape[1:]), forward=forward)
        columns = [position(name, n) for name, n in zip(pairs.columns, (out, in_), strict=True)]
        totals = [out.total, in_.total]
        if forward:
            columns, totals = columns[::-1], totals[::-1]
        names = [column.alias(name) for column, name in zip(columns, (OUT, IN), strict=True)]
        root = self.tracker.files.root.absolute()
        options = Options(collect_rows=self.tracker.collect_rows)
        found = compress_frame(pairs.dropna().select(*names), totals[:1], totals[1:], root, options)
        return RowTerms(tuple(found.terms), forward=forward)
