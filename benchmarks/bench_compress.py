"""Compress and store 1M and 10M pairs, beside pyarrow writing them as Parquet; point queries.

Two targets: compressing and storing takes no longer than writing the raw relation as Parquet, and a
point query on a table of a million rows is at least 100 times faster than a scan of it.
"""

import itertools
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

import dslog
from benchmarks.clock import many, race
from dslog.lineage.table import Table
from dslog.relation.relation import column_names
from dslog.testing import operations

I64 = npt.NDArray[np.int64]
TURNS = {1: 8, 10: 4}  # millions of pairs, and how often each is measured
LEAST_SPEEDUP = 100


def relations(scale: int) -> Iterator[tuple[str, operations.Case]]:
    """The operations, about ``scale`` million pairs each."""
    n = 1000 * scale
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


def measure(name: str, case: operations.Case, directory: Path, turns: int) -> bool:
    """Print one line of the table; return whether ours was at least as fast."""
    relation, out_shape, in_shape = case
    columns = column_names(len(out_shape), len(in_shape))
    table = pa.table({c: np.ascontiguousarray(relation[:, k]) for k, c in enumerate(columns)})
    raw = directory / "raw.parquet"
    with ExitStack() as opened:
        stores = [
            opened.enter_context(dslog.open(directory / f"{name}-{turn}")) for turn in range(turns)
        ]
        for store in stores:
            store.array("A", in_shape)
            store.array("B", out_shape)
        fresh = iter(stores)
        times = race(
            {
                "compress": lambda: dslog.compress(relation, out_shape, in_shape),
                "ours": lambda: next(fresh).lineage("B", "A", relation),
                "parquet": lambda: pq.write_table(table, raw),
            },
            turns=turns,
        )
        stored = stores[0].lineages()[0]
    ratio = times["ours"] / times["parquet"]
    print(
        f"{name:14} {len(relation):>10,} {times['compress'] * 1e3:9.1f} {times['ours'] * 1e3:9.1f} "
        f"{times['parquet'] * 1e3:9.1f} {ratio:7.2f} {stored.num_rows:>10,} {stored.nbytes:>10,} "
        f"{raw.stat().st_size:>11,}",
        flush=True,
    )
    return ratio <= 1


def point_queries() -> bool:
    """Print how a point query compares with a scan; return whether it is fast enough."""
    relation, out_shape, in_shape = sort_columns(1_000_000, 1)
    lineage = dslog.compress(relation, out_shape, in_shape)
    table = lineage.terms[0][0].table
    cells = itertools.cycle(np.random.default_rng(1).integers(0, 1_000_000, 512).tolist())
    runners = {
        "backward": lambda: lineage.backward_boxes(_box(next(cells))),
        "forward": lambda: lineage.forward_boxes(_box(next(cells))),
        "backward scan": lambda: scan_outputs(table, next(cells)),
        "forward scan": lambda: scan_inputs(table, next(cells)),
    }
    times = {"forward": 100, "backward": 100, "forward scan": 3, "backward scan": 3}
    best = race({name: many(runner, times[name]) for name, runner in runners.items()})
    each = {name: taken / times[name] for name, taken in best.items()}
    held = True
    print(f"\npoint query on {len(table):,} rows    query us    scan us   speed-up")
    for way in ("backward", "forward"):
        ours, full = each[way], each[f"{way} scan"]
        held &= full >= LEAST_SPEEDUP * ours
        print(f"  {way:30} {ours * 1e6:9.1f} {full * 1e6:10.1f} {full / ours:10,.0f}")
    return held


def scan_outputs(table: Table, cell: int) -> I64:
    """Look at every row of a table between vectors, as fast as numpy does it: backward."""
    lo, hi = table.rows[:, 0], table.rows[:, 1]
    return _inputs(table.take((lo <= cell) & (cell <= hi)))


def scan_inputs(table: Table, cell: int) -> I64:
    """Look at every row of a table between vectors, as fast as numpy does it: forward."""
    inputs = _inputs(table)
    return table.rows[(inputs[0] <= cell) & (cell <= inputs[1]), :2]


def _inputs(table: Table) -> I64:
    """Both ends of the input; a relative one counts from its output."""
    relative = table.ref[:, 0] >= 0
    shift = np.where(relative, table.rows[:, 0], 0), np.where(relative, table.rows[:, 1], 0)
    return np.stack([table.rows[:, 2] + shift[0], table.rows[:, 3] + shift[1]])


def _box(cell: int) -> I64:
    return np.array([[[cell, cell]]], np.int64)


def main() -> bool:
    """Run both parts."""
    headings = ("pairs", "compress", "+ store", "Parquet", "ratio", "rows", "bytes", "Parquet")
    widths = (10, 9, 9, 9, 7, 10, 10, 11)
    line = " ".join(f"{word:>{width}}" for word, width in zip(headings, widths, strict=True))
    print(f"{'(ms)':14} {line}")
    fast = []
    for scale, turns in TURNS.items():
        for name, case in relations(scale):
            with tempfile.TemporaryDirectory() as directory:
                fast.append(measure(name, case, Path(directory), turns))
    return point_queries() and all(fast)


if __name__ == "__main__":
    main()
