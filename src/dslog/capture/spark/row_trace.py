"""Compute the row lineage of a trail: one pass of Spark over its ids.

The driver's side of lineage that is too large for it: the part files that executors write.

The driver sees their names, sizes and checksums. A few rows of each relation may come to it; those
of a relation that is in part files go to one too.

The driver's side of a pass over a chain: put the partitions' pieces together.

What comes here is compressed rows and one count per partition and step. Executors number rows
within their partition; the counts say how far each partition's numbers have to be shifted. Rows
beyond a bound do not come here: executors put them into part files.

A pass over the ids of a small table in this process, which takes less than starting workers.

At most as many rows come here as compressed lineage might have: Spark leaves the rest of a
partition out, and executors do the pass if one was cut.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from dslog.capture.spark.frame_cost import FrameCost
from dslog.capture.spark.plan_reader import first_of_each_partition
from dslog.capture.spark.row_id import Id, Numbering, Trail
from dslog.capture.spark.row_pass import (
    COUNT,
    DISORDER,
    FILED,
    LEAST,
    MOST,
    NOWHERE,
    PIECE,
    PIECES,
    Batches,
    Block,
    Move,
    Pass,
    PassSpec,
    Shifting,
    Spill,
    StepSpec,
    TapSpec,
    columns_of,
    compress_function,
    number,
    shift,
    sort_block,
    write,
)
from dslog.capture.spark.source import moves_rows, spread_in_order
from dslog.capture.table_product import RowMap
from dslog.compress.provrc import provrc_ranges
from dslog.lineage.large_lineage import PartTable
from dslog.lineage.part_files import PartFile, load_table
from dslog.lineage.table import Table, concat
from dslog.spark.job import cores
from dslog.store.files import Files
from dslog.types import I64

_NOTES = "place int, note string"


@dataclass(frozen=True)
class PartWriter:
    """The files of a store, and how many compressed rows of a relation may come to the driver."""

    files: Files
    rows: int

    @contextmanager
    def spilling(self, partitions: int) -> Iterator[Spill]:
        """Name a place for scratch files, which are gone afterwards."""
        directory = self.files.root.absolute() / uuid4().hex
        try:
            yield Spill(str(directory), self.rows // max(partitions, 1))
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def collect(
        self,
        session: SparkSession,
        spill: Spill,
        moves: Mapping[int, Sequence[Move]],
        loose: Mapping[int, Sequence[Table]],
    ) -> dict[int, PartTable]:
        """Have scratch files shifted into part files, by relation; rows on the driver too."""
        if not moves:
            return {}
        directory = self.files.root.absolute() / uuid4().hex
        directory.mkdir(parents=True)
        asked = [(number, move) for number, some in moves.items() for move in some]
        found: dict[int, PartTable] = {}
        try:
            parts = self._shift(session, Shifting(spill.directory, str(directory)), asked)
            for number in moves:
                tables = list(loose.get(number, ()))
                first = [write(concat(tables), directory)] if tables else []
                rest = [part for (own, _), part in zip(asked, parts, strict=True) if own == number]
                width = moves[number][0].width
                found[number] = PartTable(directory.parent, 1, width, (*first, *rest))
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        return found

    def _shift(
        self, session: SparkSession, job: Shifting, asked: Sequence[tuple[int, Move]]
    ) -> list[PartFile]:
        """Run the second job, a task for every part file or a few."""
        rows = [(place, move.to_json()) for place, (_, move) in enumerate(asked)]
        tasks = min(len(rows), FrameCost.current().tasks_per_core * cores(session))
        spread = session.createDataFrame(rows, _NOTES).repartitionById(
            tasks, F.expr(f"place % {tasks}")
        )
        notes = spread.mapInArrow(job, _NOTES).toArrow()
        found = sorted(zip(*(c.to_pylist() for c in notes.columns), strict=True))
        return [PartFile.from_json(note) for _, note in found]


class OutOfOrderError(Exception):
    """The partitions of a frame overlap in the order of its rows."""


@dataclass(frozen=True)
class PassResult:
    """Rows after each step of a chain, and the row map of each relation that was wanted.

    ``groups`` says how many groups the rows are in, and which each is in, if that was wanted.
    """

    counts: tuple[int, ...]
    maps: Mapping[int, RowMap]
    groups: tuple[int, RowMap] | None = None


def run_pass(frame: DataFrame, spec: PassSpec, part_writer: PartWriter) -> PassResult:
    """Run a pass over a frame of ids whose partitions are sorted, and follow each other."""
    with part_writer.spilling(len(spec.numberings[0].counts)) as spill:
        pieces = frame.mapInArrow(replace(spec, spill=spill), PIECES).toArrow()
        counts = _counts(pieces, len(spec.steps))
        loose, moves = _sort_out(pieces, spec, np.cumsum(counts, axis=0) - counts)
        filed = part_writer.collect(frame.sparkSession, spill, moves, loose)
        maps: dict[int, RowMap] = {}
        for number, width in wanted(spec).items():
            table = filed.get(number) or _join(loose.get(number, []), width)
            maps[number] = RowMap(table, spec.is_tap(number))
    return PassResult(tuple(counts.sum(axis=0).tolist()), maps)


def _sort_out(
    pieces: pa.Table, spec: PassSpec, offsets: I64
) -> tuple[dict[int, list[Table]], dict[int, list[Move]]]:
    """Return the tables that came, shifted, and what is to be done with those that did not."""
    loose: dict[int, list[Table]] = {}
    moves: dict[int, list[Move]] = {}
    held = 0
    kind, part, rows = (_column(pieces, name) for name in ("kind", "part", "rows"))
    for row in np.flatnonzero((kind == PIECE) | (kind == FILED)):
        number = int(pieces.column("relation")[row].as_py())
        width = wanted(spec)[number]
        sides = spec.relations[number]
        left, right = (int(offsets[part[row], at - 1]) if at else 0 for at in sides)
        if kind[row] == PIECE:
            table = load_table(pieces.column("data")[row].as_buffer(), 1, width)
            if left or right:
                table = shift(table, left, right)
            loose.setdefault(number, []).append(table)
            continue
        name = pieces.column("data")[row].as_py().decode()
        some = moves.setdefault(number, [])
        held += int(rows[row])
        if (
            some
            and (some[-1].left, some[-1].right) == (left, right)
            and held <= FrameCost.current().file_rows
        ):
            some[-1] = replace(some[-1], names=(*some[-1].names, name))
        else:
            some.append(Move((name,), left, right, width))
            held = int(rows[row])
    return loose, moves


def _column(pieces: pa.Table, name: str) -> I64:
    found: I64 = pieces.column(name).to_numpy().astype(np.int64)
    return found


def _counts(pieces: pa.Table, steps: int) -> I64:
    """Rows after each step in each partition; partitions must not overlap."""
    kind, part = _column(pieces, "kind"), _column(pieces, "part")
    relation, rows = _column(pieces, "relation"), _column(pieces, "rows")
    counts = np.zeros((int(part.max(initial=-1)) + 1, steps), np.int64)
    of_count = kind == COUNT
    counts[part[of_count], relation[of_count] - 1] = rows[of_count]
    least, most = kind == LEAST, kind == MOST
    first = rows[least][np.argsort(part[least])]
    last = rows[most][np.argsort(part[most])]
    seen = last >= 0
    first, last = first[seen][1:], last[seen][:-1]
    if (
        (kind == DISORDER).any()
        or (first < last).any()
        or ((first == last) & (first != NOWHERE)).any()
    ):
        raise OutOfOrderError
    return counts


def wanted(spec: PassSpec) -> dict[int, int]:
    """Relations that are not known yet, and how many numbers each has on its right side."""
    found: dict[int, int] = {}
    place = 0
    for step in spec.steps:
        several = 1 if step.other is None else 2
        if step.wanted:
            found |= dict.fromkeys(range(place, place + several), 1)
        place += several
    return found | {place + n: len(tap.columns) for n, tap in enumerate(spec.taps)}


def _join(tables: Sequence[Table], width: int) -> Table:
    """Put pieces one after another; rows that continue across a seam become one."""
    if not tables:
        return Table.empty(1, width)
    if len(tables) == 1:
        return tables[0]
    seams = [t.take([0, -1] if len(t) > 1 else [0]) for t in tables]
    joined = provrc_ranges(concat(seams))
    if len(joined) == sum(map(len, seams)):
        return concat(list(tables))
    table = concat([joined, *(t.take(slice(1, -1)) for t in tables)])
    return table.take(np.argsort(table.lo[0], kind="stable"))


class PassHere(Pass):
    """A pass over all rows at once, which keeps what it finds."""

    def __init__(self, spec: PassSpec) -> None:
        super().__init__(spec, 0)
        self.tables: dict[int, Table] = {}

    def piece(self, relation: int, table: Table) -> Batches:
        """Keep the one piece of a relation."""
        self.tables[relation] = table
        return iter(())


def most_here(part_writer: PartWriter) -> int:
    """Rows of a table up to which the pass over its ids is done by the driver."""
    return min(part_writer.rows, FrameCost.current().small_rows)


def few_of(frame: DataFrame, spec: PassSpec, most: int) -> DataFrame:
    """Leave out rows of partitions that have more than their share of ``most``; say which it is."""
    placed = frame.select("*", F.spark_partition_id())
    return first_of_each_partition(placed, _share(spec, most) + 1)


def run_pass_here(
    few: DataFrame, spec: PassSpec, most: int, *, grouped: bool = False
) -> PassResult | None:
    """Do the pass over what ``few_of`` left of a frame of ids.

    ``grouped`` says that a last column is the same for rows of a group. Returns None if rows were
    left out.
    """
    rows = few.toArrow()
    block = columns_of(rows.combine_chunks().to_batches()[0]) if rows.num_rows else []
    here = PassHere(spec)
    if block:
        if np.bincount(block.pop()).max() > _share(spec, most):
            return None
        block = sort_block(block, len(spec.numberings))
        for _ in here.block(block):
            pass
    empty = {place: Table.empty(1, width) for place, width in wanted(spec).items()}
    maps = {
        place: RowMap(here.tables.get(place, table), spec.is_tap(place))
        for place, table in empty.items()
    }
    return PassResult(tuple(here.done), maps, _groups(block, spec) if grouped else None)


def _share(spec: PassSpec, most: int) -> int:
    return most // max(len(spec.numberings[0].counts), 1)


def _groups(block: Block, spec: PassSpec) -> tuple[int, RowMap]:
    """Number the groups, and map the rows that are there to them."""
    if not block:
        return 0, RowMap(Table.empty(1, 1), forward=True)
    ended = block[len(spec.numberings)] if spec.ends else np.zeros(1, np.int64)
    count, numbers = number(block[-1][np.broadcast_to(ended == 0, len(block[-1]))])
    table = compress_function(np.arange(len(numbers)), [numbers])
    return count, RowMap(table, forward=True)


@dataclass(frozen=True)
class Tap:
    """Numbers that come with the rows at the end of a trail, and that they are to be mapped to.

    ``columns`` are pairs of a column and what numbers its ids; without that its values count.
    With a ``flag``, only rows count whose column of that name is 1. With ``spread``, a row is
    mapped to a run: its columns say how many rows before the number it begins and how many behind
    it ends.
    """

    columns: tuple[tuple[str, Numbering | None], ...]
    flag: str | None = None
    spread: tuple[str, str] | None = None

    @property
    def names(self) -> list[str]:
        """All columns it looks at."""
        flag = [self.flag] if self.flag else []
        return [*(name for name, _ in self.columns), *flag, *(self.spread or ())]


def trace_rows(
    frame: DataFrame,
    trail: Trail,
    part_writer: PartWriter,
    taps: Sequence[Tap] = (),
    *,
    moved: bool | None = None,
) -> list[RowMap]:
    """Fill in what is not known of the trail's rows, and return a map for every tap.

    What is too large for the driver goes to part files. ``moved`` says whether the rows are out of
    order; without it Spark's plan is asked.
    """
    if not taps and all(step.rows.known for step in trail.steps):
        return []
    spec, columns = _specify(trail, taps)
    gathered = _run(frame.select(*columns), trail, spec, part_writer, moved)
    relation = _fill(trail, gathered)
    return [gathered.maps[relation + n] for n in range(len(taps))]


def ids_of_groups(
    frame: DataFrame, trail: Trail, part_writer: PartWriter, same: Column
) -> DataFrame | None:
    """Return what ``trace_groups`` reads of a DataFrame; None if its rows are out of order.

    ``same`` is a number that the rows of a group share.
    """
    spec, columns = _specify(trail, ())
    ids = few_of(frame.select(*columns, same), spec, most_here(part_writer))
    return None if moves_rows(ids, trail) else ids


def trace_groups(
    ids: DataFrame, trail: Trail, part_writer: PartWriter
) -> tuple[int, RowMap] | None:
    """Fill in what is not known of the trail's rows, and number groups by their first rows.

    Returns how many groups there are and the group of each row; None if rows are too many.
    """
    gathered = run_pass_here(ids, _specify(trail, ())[0], most_here(part_writer), grouped=True)
    if gathered is None:
        return None
    _fill(trail, gathered)
    return gathered.groups


def _fill(trail: Trail, gathered: PassResult) -> int:
    """Tell the steps of a trail what was found; return how many relations that was."""
    relation = 0
    for step, count in zip(trail.steps, gathered.counts, strict=True):
        links = ("left",) if step.other is None else ("left", "right")
        if not step.rows.known:
            step.rows.count = count
            for place, link in enumerate(links, start=relation):
                step.rows.maps[link] = gathered.maps[place]
        relation += len(links)
    return relation


def map_rows(frame: DataFrame, trail: Trail, one: Id, part_writer: PartWriter) -> RowMap:
    """Map the rows of a DataFrame to those of another that a column of ids names."""
    found = trace_rows(frame, trail, part_writer, [Tap(((one.column, one.numbering),))])[0]
    return replace(found, forward=False)


def _specify(trail: Trail, taps: Sequence[Tap]) -> tuple[PassSpec, list[str]]:
    columns = list(trail.columns)
    for tap in taps:
        columns += tap.names
    columns = list(dict.fromkeys(columns))
    steps = [
        StepSpec(number, step.prefix, step.other, wanted=not step.rows.known)
        for number, step in enumerate(trail.steps, start=1)
    ]
    specs = [
        TapSpec(
            tuple(columns.index(c) for c, _ in tap.columns),
            tuple(numbering for _, numbering in tap.columns),
            columns.index(tap.flag) if tap.flag else None,
            (columns.index(tap.spread[0]), columns.index(tap.spread[1])) if tap.spread else None,
        )
        for tap in taps
    ]
    numberings = tuple(one.numbering for one in trail.ids)
    return PassSpec(numberings, tuple(steps), trail.ends, tuple(specs)), columns


def _run(
    ids: DataFrame, trail: Trail, spec: PassSpec, part_writer: PartWriter, moved: bool | None
) -> PassResult:
    small = not moved and trail.ids[0].numbering.total <= most_here(part_writer)
    few = few_of(ids, spec, most_here(part_writer)) if small else ids
    if not (moves_rows(few, trail) if moved is None else moved):
        gathered = run_pass_here(few, spec, most_here(part_writer)) if small else None
        if gathered is not None:
            return gathered
        with suppress(OutOfOrderError):
            return run_pass(ids, replace(spec, ordered=len(trail.ids) == 1), part_writer)
    return run_pass(spread_in_order(ids, trail), spec, part_writer)
