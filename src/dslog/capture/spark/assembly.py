"""The driver's side of a pass over a spine: put the partitions' pieces together.

What comes here is compressed rows and one count per partition and step. Executors number rows
within their partition; the counts say how far each partition's numbers have to be shifted. Rows
beyond a bound do not come here: executors put them into part files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame

from dslog.capture.products import RowMap
from dslog.capture.spark.outlet import PER_FILE, Outlet
from dslog.capture.spark.spilling import Move, shift
from dslog.capture.spark.spine import (
    COUNT,
    DISORDER,
    FILED,
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
    """Rows after each step of a spine, and the row map of each relation that was wanted.

    ``groups`` says how many groups the rows are in, and which each is in, if that was wanted.
    """

    counts: tuple[int, ...]
    maps: Mapping[int, RowMap]
    groups: tuple[int, RowMap] | None = None


def gather(frame: DataFrame, spec: SpineSpec, outlet: Outlet) -> Gathered:
    """Run a pass over a frame of ids whose partitions are sorted, and follow each other."""
    with outlet.spilling(len(spec.numberings[0].counts)) as spill:
        pieces = frame.mapInArrow(replace(spec, spill=spill), PIECES).toArrow()
        counts = _counts(pieces, len(spec.steps))
        loose, moves = _sort_out(pieces, spec, np.cumsum(counts, axis=0) - counts)
        filed = outlet.collect(frame.sparkSession, spill, moves, loose)
        maps: dict[int, RowMap] = {}
        for number, width in wanted(spec).items():
            forward = spec.is_tap(number)
            if number in filed:
                maps[number] = RowMap.in_files(filed[number], width, forward=forward)
            else:
                maps[number] = RowMap(_join(loose.get(number, []), width), forward)
    return Gathered(tuple(counts.sum(axis=0).tolist()), maps)


def _sort_out(
    pieces: pa.Table, spec: SpineSpec, offsets: I64
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
                shift(table, left, right)
            loose.setdefault(number, []).append(table)
            continue
        name = pieces.column("data")[row].as_py().decode()
        some = moves.setdefault(number, [])
        held += int(rows[row])
        if some and (some[-1].left, some[-1].right) == (left, right) and held <= PER_FILE:
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


def wanted(spec: SpineSpec) -> dict[int, int]:
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
    return table.take(np.argsort(table.out_lo[:, 0], kind="stable"))
