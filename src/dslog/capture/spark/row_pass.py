"""What executors do with the ids of a frame: find which rows made which, and compress that.

A frame's *chain* is the steps since its rows were last numbered: filters and joins. Every
row that ever was on the chain comes by once, with one id per table it was joined from and the
number of the step that ended it, if one did. Rows are sorted by their ids, so the rows of the
frame after step i are the different prefixes of the ids of rows that outlived step i, in order,
and their positions are a running count. One pass over the ids gives the row lineage of all steps.

Executors' side of lineage that is too large for the driver: scratch files, then part files.

Executors number rows within their partition; only when all are done is it known how far each
partition's numbers have to be shifted. So lineage that does not compress waits in scratch files,
and a second job shifts it and writes the files that the store keeps.

Groups told apart by a hash of their keys, which the pass over the rows numbers as they come.

Rows come by in the order of their positions, so groups come in the order of their first rows, which
is how they are numbered: the pass has no need to wait for the groups themselves. Equal keys have
equal hashes, so if there are as many hashes as groups, no two groups share one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from dslog.capture.spark.row_id import Numbering, Trail
from dslog.compress.provrc import provrc, provrc_ranges
from dslog.lineage.part_files import PartFile, dump_table, load_table, write_part
from dslog.lineage.table import Table, concat
from dslog.types import I64

_ANY = 1 << 40  # the size of an axis for which part files have int64 columns, whatever they hold


@dataclass(frozen=True)
class Spill:
    """Where scratch files go, and how many rows of a relation may leave each partition."""

    directory: str
    rows: int

    def put(self, data: bytes) -> str:
        """Leave a piece in a scratch file; return its name."""
        directory = Path(self.directory)
        directory.mkdir(parents=True, exist_ok=True)
        name = uuid4().hex
        (directory / name).write_bytes(data)
        return name


@dataclass(frozen=True)
class Move:
    """Scratch files of one partition, in order, and how far their numbers have to be shifted."""

    names: tuple[str, ...]
    left: int
    right: int
    width: int

    def to_json(self) -> str:
        """Return a text that ``from_json`` reads."""
        return json.dumps([self.names, self.left, self.right, self.width])

    @classmethod
    def from_json(cls, text: str) -> Move:
        """Undo ``to_json``."""
        names, left, right, width = json.loads(text)
        return cls(tuple(names), left, right, width)


@dataclass(frozen=True)
class Shifting:
    """A task of the second job: every row asks for one part file, made of scratch files."""

    source: str
    target: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the part files that the rows ask for, and say what they are."""
        for batch in batches:
            moves = [Move.from_json(text) for text in batch.column(1).to_pylist()]
            parts = pa.array([self._write(move).to_json() for move in moves], pa.string())
            yield pa.RecordBatch.from_arrays([batch.column(0), parts], ["place", "note"])

    def _write(self, move: Move) -> PartFile:
        source = Path(self.source)
        pieces = [
            shift(load_table((source / name).read_bytes(), 1, move.width), move.left, move.right)
            for name in move.names
        ]
        return write(concat(pieces), Path(self.target))


def write(table: Table, directory: Path) -> PartFile:
    """Write a part file; all of them have columns of the same types."""
    return write_part(table, (_ANY,), (_ANY,) * table.num_in, directory)


def shift(table: Table, left: int, right: int) -> Table:
    """Move a plain table's output cells by ``left`` and its input cells by ``right``."""
    l = table.num_out
    moved = np.where(table.ref >= 0, right - left, right)
    lo = np.concatenate([table.lo[:l] + left, table.lo[l:] + moved])
    return table.with_columns(np.concatenate([lo, table.width, table.ref]))


Flags = npt.NDArray[np.bool_]
Batches = Iterator[pa.RecordBatch]
Block = list[I64]
"""The columns of a batch: ids, perhaps the step that ended the row, columns of taps."""

NOWHERE = 1 << 62
"""Stands for a missing id; sorts behind all others."""

PIECES = "part int, kind int, relation int, rows long, data binary"
_PIECES = pa.schema(
    [
        ("part", pa.int32()),
        ("kind", pa.int32()),
        ("relation", pa.int32()),
        ("rows", pa.int64()),
        ("data", pa.binary()),
    ]
)
PIECE, COUNT, LEAST, MOST, DISORDER, FILED = range(6)


@dataclass(frozen=True)
class StepSpec:
    """One step of a chain: its number, and how many ids tell its rows apart.

    ``other`` is the place of the id of the table that it joined. ``wanted`` is False when the
    step's lineage is known already.
    """

    number: int
    prefix: int
    other: int | None = None
    wanted: bool = True


@dataclass(frozen=True)
class TapSpec:
    """A relation between the rows at the end of the chain and numbers that come with them.

    ``columns`` are places of ids in the batch; ``flag`` is the place of a column that says for
    which rows it holds; ``spread`` are the places of columns that make a run of each number.
    """

    columns: tuple[int, ...]
    numberings: tuple[Numbering | None, ...]
    flag: int | None = None
    spread: tuple[int, int] | None = None


@dataclass(frozen=True)
class PassSpec:
    """What a batch holds: ``keys`` ids, perhaps the step that ended the row, then taps' columns.

    Relations are numbered: those of the steps in order, two for a join, then those of the taps.
    Rows come in the order of their ids; unless ``ordered``, only in that of their first id. What is
    too much for the driver goes to ``spill``.
    """

    numberings: tuple[Numbering, ...]
    steps: tuple[StepSpec, ...]
    ends: bool = False
    taps: tuple[TapSpec, ...] = ()
    ordered: bool = True
    spill: Spill | None = None

    @property
    def relations(self) -> list[tuple[int, int | None]]:
        """Each relation as (place of the step that is its output or chain side, other side).

        The other side is a place in the chain, or None when its numbers are positions already.
        """
        found: list[tuple[int, int | None]] = []
        for place, step in enumerate(self.steps, start=1):
            found.append((place, place - 1 if place > 1 else None))
            if step.other is not None:
                found.append((place, None))
        found += [(len(self.steps), None) for _ in self.taps]
        return found

    def is_tap(self, relation: int) -> bool:
        """Whether a relation is one of the taps'."""
        return relation >= len(self.relations) - len(self.taps)

    def __call__(self, batches: Batches) -> Batches:
        """Give the pieces of every relation, batch by batch, and what they add up to."""
        part = TaskContext.get().partitionId()  # type: ignore[union-attr]
        return Pass(self, part).run(batches)


class Pass:
    """One pass over the sorted ids of a partition."""

    def __init__(self, spec: PassSpec, part: int) -> None:
        self.spec = spec
        self.part = part
        self.last = [-1] * len(spec.numberings)
        self.done = [0] * len(spec.steps)
        self.sent = [0] * len(spec.relations)
        self.ends = [NOWHERE, -1]
        self.disorder = False

    def run(self, batches: Batches) -> Batches:
        """Read all batches."""
        blocks = (columns_of(batch) for batch in batches if batch.num_rows)
        for block in blocks if self.spec.ordered else sorted_runs(blocks, len(self.last)):
            yield from self.block(block)
        if self.disorder:
            yield self._note(DISORDER, 0, 0)
        for place, count in enumerate(self.done, start=1):
            yield self._note(COUNT, place, count)
        yield self._note(LEAST, 0, self.ends[0])
        yield self._note(MOST, 0, self.ends[1])

    def block(self, block: Block) -> Batches:
        """Read rows that come behind those before."""
        keys = block[: len(self.spec.numberings)]
        self.ends = [min(self.ends[0], int(keys[0][0])), max(self.ends[1], int(keys[0][-1]))]
        fresh = self._changes(keys)
        ended = block[len(keys)] if self.spec.ends else None
        positions = self._positions(0, keys)
        alive = np.ones(len(positions), bool)
        relation = 0
        for place, step in enumerate(self.spec.steps):
            outlived = alive if ended is None else (ended == 0) | (ended > step.number)
            new = fresh[step.prefix - 1] & outlived
            now = np.cumsum(new) + (self.done[place] - 1)
            self.done[place] += int(np.count_nonzero(new))
            if step.wanted:
                yield from self._joined(relation, now, new, positions)
            relation += 1
            if step.other is not None:
                if step.wanted:
                    others = self._positions(step.other, keys)
                    yield from self._joined(relation, now, new, others)
                relation += 1
            positions, alive = now, outlived
        for tap in self.spec.taps:
            yield from self._tapped(relation, tap, block, positions, alive)
            relation += 1

    def _changes(self, keys: Block) -> list[Flags]:
        """Say for each row whether its first id, its first two ... differ from the row before."""
        fresh: list[Flags] = []
        for at, key in enumerate(keys):
            changed = np.empty(len(key), bool)
            changed[0] = key[0] != self.last[at]
            np.not_equal(key[1:], key[:-1], out=changed[1:])
            fresh.append(changed | fresh[-1] if fresh else changed)
        if keys[0][0] < self.last[0] or (keys[0][1:] < keys[0][:-1]).any():
            self.disorder = True
        self.last = [int(key[-1]) for key in keys]
        return fresh

    def _positions(self, at: int, keys: Block) -> I64:
        """Positions of the ids at a place, ``NOWHERE`` where there is none."""
        ids = keys[at]
        missing = ids == NOWHERE
        if not missing.any():
            return self.spec.numberings[at].positions(ids)
        found = self.spec.numberings[at].positions(np.where(missing, 0, ids))
        return np.where(missing, NOWHERE, found)

    def _joined(self, relation: int, now: I64, new: Flags, others: I64) -> Batches:
        found = new & (others != NOWHERE)
        yield from self.piece(relation, compress_function(now[found], [others[found]]))

    def _tapped(
        self, relation: int, tap: TapSpec, block: Block, positions: I64, alive: Flags
    ) -> Batches:
        if tap.flag is not None:
            alive = alive & (block[tap.flag] == 1)
        for column in tap.columns:
            alive = alive & (block[column] != NOWHERE)
        values = []
        for column, numbering in zip(tap.columns, tap.numberings, strict=True):
            ids = block[column][alive]
            values.append(ids if numbering is None else numbering.positions(ids))
        if tap.spread is None:
            table = compress_function(positions[alive], values)
        else:
            back, ahead = (block[column][alive] for column in tap.spread)
            table = compress_runs(positions[alive], values[0] - back, values[0] + ahead)
        yield from self.piece(relation, table)

    def piece(self, relation: int, table: Table) -> Batches:
        """Give a piece of a relation."""
        if len(table):
            reach = (int((np.abs(table.lo) + table.width).max()) + 1,)
            data = dump_table(table, reach, reach * table.num_in)
            self.sent[relation] += len(table)
            spill = self.spec.spill
            if spill is not None and self.sent[relation] > spill.rows:
                yield self._row(FILED, relation, len(table), spill.put(data).encode())
            else:
                yield self._row(PIECE, relation, len(table), data)

    def _note(self, kind: int, relation: int, rows: int) -> pa.RecordBatch:
        return self._row(kind, relation, rows, b"")

    def _row(self, kind: int, relation: int, rows: int, data: bytes) -> pa.RecordBatch:
        columns = [[self.part], [kind], [relation], [rows], [data]]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, _PIECES, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=_PIECES)


def columns_of(batch: pa.RecordBatch) -> Block:
    """Return the columns of a batch as numbers, with ``NOWHERE`` for nulls."""
    block: Block = []
    for column in batch.columns:
        whole = column.fill_null(NOWHERE) if column.null_count else column
        block.append(whole.to_numpy(zero_copy_only=False).astype(np.int64, copy=False))
    return block


def sorted_runs(blocks: Iterator[Block], keys: int) -> Iterator[Block]:
    """Sort rows that have the same first id by their other ids.

    The last run of a block may go on in the next one, so it is held back.
    """
    held: Block | None = None
    for block in blocks:
        whole = (
            block if held is None else [np.concatenate(c) for c in zip(held, block, strict=True)]
        )
        first = whole[0]
        cut = int(np.searchsorted(first, first[-1])) if (first[1:] >= first[:-1]).all() else 0
        held = [column[cut:] for column in whole]
        if cut:
            yield sort_block([column[:cut] for column in whole], keys)
    if held is not None:
        yield sort_block(held, keys)


def sort_block(block: Block, keys: int) -> Block:
    """Sort the rows of a block by their ids, unless they are sorted."""
    tied = np.ones(len(block[0]) - 1, bool)
    for key in block[:keys]:
        if (tied & (key[1:] < key[:-1])).any():
            order = np.lexsort(block[:keys][::-1])
            return [column[order] for column in block]
        tied &= key[1:] == key[:-1]
    return block


def compress_function(left: I64, right: list[I64]) -> Table:
    """Compress pairs of which each left number has one, in growing order of the left numbers."""
    pairs = np.stack([left, *right], axis=1)
    size = int(left[-1]) + 1 if len(left) else 0
    return provrc(pairs, (size,), tuple(NOWHERE for _ in right), thorough=False)


def compress_runs(left: I64, low: I64, high: I64) -> Table:
    """Compress a relation of numbers, in growing order, with one run of numbers each."""
    return provrc_ranges(Table.of_boxes(left, left, low, high))


_PLAIN = (BinaryType, BooleanType, DateType, NumericType, TimestampNTZType, TimestampType)


def has_hash(kind: DataType) -> bool:
    """Whether values of a type that are one group always have one hash.

    Of text that compares by a language they may not; maps have no hash.
    """
    if isinstance(kind, StringType):
        return kind.collation == "UTF8_BINARY"
    if isinstance(kind, ArrayType):
        return has_hash(kind.elementType)
    if isinstance(kind, StructType):
        return all(has_hash(field.dataType) for field in kind.fields)
    return isinstance(kind, _PLAIN)


def hash_of(keys: Sequence[Column], trail: Trail) -> Column:
    """Return a number that rows of the same group share; keys of ended rows are not looked at."""
    hashed = F.xxhash64(*(part for key in keys for part in (key, key.isNull())))
    return F.when(trail.alive, hashed) if trail.ends else hashed


def number(values: I64) -> tuple[int, I64]:
    """Number different values in the order in which they come; return how many, and the numbers.

    >>> count, numbers = number(np.array([30, 10, 30, 20]))
    >>> count, numbers.tolist()
    (3, [0, 1, 0, 2])
    """
    found = pa.array(values).dictionary_encode()
    return len(found.dictionary), found.indices.to_numpy().astype(np.int64)
