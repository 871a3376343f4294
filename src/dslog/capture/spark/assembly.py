"""The driver's side of a pass over a spine: put the partitions' pieces together.

What comes here is compressed rows and one count per partition and step. Executors number rows
within their partition; the counts say how far each partition's numbers have to be shifted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame

from dslog.capture.spark.spine import (
    COUNT,
    DISORDER,
    LEAST,
    MOST,
    NOWHERE,
    PIECE,
    PIECES,
    SpineSpec,
)
from dslog.compress.provrc import provrc_ranges
from dslog.engine.parts import load_table
from dslog.lineage.table import Table, concat

I64 = npt.NDArray[np.int64]


class OutOfOrderError(Exception):
    """The partitions of a frame overlap in the order of its rows."""


@dataclass(frozen=True)
class Gathered:
    """Rows after each step of a spine, and the table of each relation that was wanted."""

    counts: tuple[int, ...]
    tables: Mapping[int, Table]


def gather(frame: DataFrame, spec: SpineSpec) -> Gathered:
    """Run a pass over a frame of ids whose partitions are sorted, and follow each other."""
    pieces = frame.mapInArrow(spec, PIECES).toArrow()
    counts = _counts(pieces, len(spec.steps))
    offsets = np.cumsum(counts, axis=0) - counts
    widths = _widths(spec)
    parts = _column(pieces, "part")
    tables: dict[int, list[Table]] = {}
    for row in np.flatnonzero(_column(pieces, "kind") == PIECE):
        number = int(pieces.column("relation")[row].as_py())
        table = load_table(pieces.column("data")[row].as_buffer(), 1, widths[number])
        left, right = spec.relations[number]
        by = offsets[parts[row]]
        shift(table, by[left - 1] if left else 0, by[right - 1] if right else 0)
        tables.setdefault(number, []).append(table)
    wanted = {number: _join(tables.get(number, []), widths[number]) for number in _wanted(spec)}
    return Gathered(tuple(counts.sum(axis=0).tolist()), wanted)


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


def _wanted(spec: SpineSpec) -> list[int]:
    numbers: list[int] = []
    place = 0
    for step in spec.steps:
        several = 1 if step.other is None else 2
        numbers += range(place, place + several) if step.wanted else ()
        place += several
    return [*numbers, *range(place, place + len(spec.taps))]


def _widths(spec: SpineSpec) -> list[int]:
    """How many numbers each relation has on its right side."""
    steps = len(spec.relations) - len(spec.taps)
    return [1] * steps + [len(tap.columns) for tap in spec.taps]


def shift(table: Table, left: int, right: int) -> None:
    """Move a plain table's output cells by ``left`` and its input cells by ``right``, in place."""
    l, m = table.num_out, table.num_in
    table.rows[:, : 2 * l] += left
    move = np.where(table.ref >= 0, right - left, right)
    table.rows[:, 2 * l : 2 * l + m] += move
    table.rows[:, 2 * l + m :] += move


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
    return table.take(np.argsort(table.out_lo[:, 0], kind="stable"))
