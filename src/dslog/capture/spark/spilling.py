"""Executors' side of lineage that is too large for the driver: scratch files, then part files.

Executors number rows within their partition; only when all are done is it known how far each
partition's numbers have to be shifted. So lineage that does not compress waits in scratch files,
and a second job shifts it and writes the files that the store keeps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa

from dslog.engine.parts import Part, load_table, write_part
from dslog.lineage.table import Table, concat

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

    def _write(self, move: Move) -> Part:
        source = Path(self.source)
        pieces = [load_table((source / name).read_bytes(), 1, move.width) for name in move.names]
        for piece in pieces:
            shift(piece, move.left, move.right)
        return write(concat(pieces), Path(self.target))


def write(table: Table, directory: Path) -> Part:
    """Write a part file; all of them have columns of the same types."""
    return write_part(table, (_ANY,), (_ANY,) * table.num_in, directory)


def shift(table: Table, left: int, right: int) -> None:
    """Move a plain table's output cells by ``left`` and its input cells by ``right``, in place."""
    l, m = table.num_out, table.num_in
    table.rows[:, : 2 * l] += left
    move = np.where(table.ref >= 0, right - left, right)
    table.rows[:, 2 * l : 2 * l + m] += move
    table.rows[:, 2 * l + m :] += move
