"""Compress and store relations beside pyarrow writing Parquet; ask for points beside a scan.

*compress* has relations of every kind, in memory, as arrays of pairs. *points* asks a table that
does not compress, a shuffled vector, for one cell, and looks at every row instead.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow.parquet as pq

from benchmarks.baselines.formats import arrow_table
from benchmarks.clock import many, race
from benchmarks.experiment import Experiment, Ratio, Setting, Target
from benchmarks.units import nbytes, seconds, times
from benchmarks.workloads import relations as operations
from dslog.capture.store import open_store
from dslog.compress.encoder import compress
from dslog.lineage.table import Table
from dslog.types import I64

LEAST_SPEEDUP = 100  # of a point query on a million rows over a scan


@dataclass(frozen=True, slots=True)
class CompressRow:
    """One relation: compressed, compressed and stored, and written as Parquet."""

    relation: str
    pairs: int
    compress_seconds: float
    seconds: float
    plain_seconds: float
    num_rows: int
    nbytes: int
    plain_bytes: int


@dataclass(frozen=True, slots=True)
class PointRow:
    """One cell asked of a table of so many rows, and a scan of it."""

    direction: str
    rows: int
    seconds: float
    scan_seconds: float


def relations(pairs: int) -> Iterator[tuple[str, operations.Case]]:
    """The operations, about so many pairs each."""
    n = pairs // 1000
    yield "identity", operations.moved((n, 1000), lambda x: x)
    yield "transpose", operations.moved((n, 1000), np.transpose)
    yield "sum axis 0", operations.reduction((n, 1000), 0)
    yield "sum axis 1", operations.reduction((n, 1000), 1)
    yield "flip", operations.moved((n, 1000), lambda x: x[::-1])
    yield "repeat", operations.moved((250 * n,), lambda x: x.repeat(4))
    yield "matrix, vector", operations.matmul(n, 1000, 1)[0]
    yield "sort columns", sort_columns(100 * n, 10)
    yield "sort vector", sort_columns(1000 * n, 1)
    yield "filter half", filter_half(2000 * n)


def filter_half(cells: int) -> operations.Case:
    """Keeping each cell of a vector with probability one half."""
    kept = np.flatnonzero(np.random.default_rng(0).random(cells) < 0.5)
    relation = np.stack([np.arange(len(kept)), kept], axis=1)
    return np.ascontiguousarray(relation), (len(kept),), (cells,)


def sort_columns(rows: int, columns: int) -> operations.Case:
    """Sorting random numbers along axis 0, as in the paper; one column gives a vector."""
    values = np.random.default_rng(0).random((rows, columns))
    order = np.argsort(values, axis=0)
    outs = operations.cells((rows, columns))
    ins = outs.copy()
    ins[:, 0] = order.reshape(-1)
    if columns == 1:
        return np.ascontiguousarray(np.stack([outs[:, 0], ins[:, 0]], axis=1)), (rows,), (rows,)
    return (
        np.ascontiguousarray(np.concatenate([outs, ins], axis=1)),
        (rows, columns),
        (rows, columns),
    )


def compress_table(setting: Setting) -> Iterator[CompressRow]:
    """Measure every relation at every size."""
    for pairs in setting.size.pairs:
        for name, case in relations(pairs):
            setting.tick(f"{name}, {len(case[0]):,} pairs")
            yield measure(name, case, setting)


def measure(name: str, case: operations.Case, setting: Setting) -> CompressRow:
    """Race compressing, compressing and storing, and Parquet; each in a store of its own."""
    relation, out_shape, in_shape = case
    table = arrow_table(relation, len(out_shape))
    turns = max(2, setting.size.turns // (1 + len(relation) // 5_000_000))
    with setting.folder() as folder, ExitStack() as opened:
        raw = folder / "raw.parquet"
        stores = [opened.enter_context(open_store(folder / str(turn))) for turn in range(turns)]
        for store in stores:
            store.array("A", in_shape)
            store.array("B", out_shape)
        fresh = iter(stores)
        best = race(
            {
                "compress": partial(compress, relation, out_shape, in_shape),
                "ours": lambda: next(fresh).lineage("B", "A", relation),
                "parquet": partial(pq.write_table, table, raw),
            },
            turns,
        )
        (info,) = stores[0].lineages()
        return CompressRow(
            relation=name,
            pairs=len(relation),
            compress_seconds=best["compress"],
            seconds=best["ours"],
            plain_seconds=best["parquet"],
            num_rows=info.num_rows,
            nbytes=info.nbytes,
            plain_bytes=raw.stat().st_size,
        )


def compress_ratios(rows: Sequence[CompressRow]) -> Iterator[Ratio]:
    """Seconds and bytes against Parquet."""
    for r in rows:
        name = f"{r.relation}, {r.pairs:,} pairs"
        yield Ratio(f"compress {name}", "seconds", r.seconds, r.plain_seconds, "Parquet")
        yield Ratio(f"compressed {name}", "bytes", r.nbytes, r.plain_bytes, "Parquet")


def compress_targets(rows: Sequence[CompressRow]) -> Iterator[Target]:
    """No slower than Parquet."""
    return Target.of_ratios(
        "compress + store latency of relations of every kind",
        "-",
        "no slower than pyarrow writing the relation as Parquet",
        [ratio for ratio in compress_ratios(rows) if ratio.kind == "seconds"],
    )


def point_table(setting: Setting) -> Iterator[PointRow]:
    """Ask for random cells, both ways, and look at every row instead."""
    rows = setting.size.point_rows
    setting.tick(f"{rows:,} rows")
    lineage = compress(*sort_columns(rows, 1))
    table = lineage.terms[0][0].table
    cells = itertools.cycle(np.random.default_rng(1).integers(0, rows, 512).tolist())
    best = race(
        {
            "backward": many(lambda: lineage.backward_boxes(_box(next(cells))), 100),
            "forward": many(lambda: lineage.forward_boxes(_box(next(cells))), 100),
            "backward scan": many(lambda: scan_outputs(table, next(cells)), 3),
            "forward scan": many(lambda: scan_inputs(table, next(cells)), 3),
        },
        setting.size.turns,
    )
    for way in ("backward", "forward"):
        yield PointRow(way, len(table), best[way] / 100, best[f"{way} scan"] / 3)


def scan_outputs(table: Table, cell: int) -> I64:
    """Look at every row of a table between vectors, as fast as numpy does it: backward."""
    lo, width = table.said_of(0)
    hit = (lo <= cell) & (cell <= lo + width)
    return _inputs(table.take(hit))


def scan_inputs(table: Table, cell: int) -> I64:
    """Look at every row of a table between vectors, as fast as numpy does it: forward."""
    low, high = _inputs(table)
    hit = (low <= cell) & (cell <= high)
    lo, width = table.said_of(0)
    return np.stack([lo[hit], lo[hit] + width[hit]])


def _inputs(table: Table) -> I64:
    """Both ends of the input; a relative one counts from its output."""
    (b, b_width), (a, a_width, ref) = table.said_of(0), table.said_of(1)
    low = a + np.where(ref >= 0, b, 0)
    return np.stack([low, low + a_width + np.where(ref >= 0, b_width, 0)])


def _box(cell: int) -> I64:
    return np.array([[[cell, cell]]], np.int64)


def point_ratios(rows: Sequence[PointRow]) -> Iterator[Ratio]:
    """A query against a scan."""
    for r in rows:
        name = f"point {r.direction}, {r.rows:,} rows"
        yield Ratio(name, "seconds", r.seconds, r.scan_seconds, "a scan")


def point_targets(rows: Sequence[PointRow]) -> Iterator[Target]:
    """Much faster than a scan, where there is something to scan."""
    return Target.of_ratios(
        "a point asked of a table that does not compress",
        "-",
        f"at least {LEAST_SPEEDUP} times faster than a scan of a million rows",
        [ratio for ratio, row in zip(point_ratios(rows), rows, strict=True) if row.rows >= 10**6],
        1 / LEAST_SPEEDUP,
    )


EXPERIMENTS = (
    Experiment(
        "compress",
        "Relations of every kind, compressed",
        "Relations in memory are compressed, compressed and stored, and written as Parquet, in "
        "turns.",
        compress_table,
        CompressRow,
        compress_ratios,
        compress_targets,
        columns={
            "relation": lambda r: r.relation,
            "pairs": lambda r: f"{r.pairs:,}",
            "compress": lambda r: seconds(r.compress_seconds),
            "and store": lambda r: seconds(r.seconds),
            "Parquet": lambda r: seconds(r.plain_seconds),
            "ratio": lambda r: f"{r.seconds / r.plain_seconds:.2f}",
            "rows": lambda r: f"{r.num_rows:,}",
            "bytes": lambda r: nbytes(r.nbytes),
            "Parquet's bytes": lambda r: nbytes(r.plain_bytes),
        },
    ),
    Experiment(
        "points",
        "Points beside a scan",
        "One cell of a shuffled vector, asked of its compressed rows, and numpy looking at all of "
        "them.",
        point_table,
        PointRow,
        point_ratios,
        point_targets,
        columns={
            "direction": lambda r: r.direction,
            "rows": lambda r: f"{r.rows:,}",
            "query": lambda r: seconds(r.seconds),
            "scan": lambda r: seconds(r.scan_seconds),
            "faster": lambda r: times(r.seconds / r.scan_seconds),
        },
    ),
)
