"""Relations made by Spark, compressed and asked on Spark; time and memory, beside plain Parquet.

    python -m benchmarks.bench_spark                     # 10 million rows of each
    python -m benchmarks.bench_spark --rows 10 50 200    # millions of rows, elementwise
    python -m benchmarks.bench_spark --permutation 50    # millions of rows, a permutation

*elementwise* is B = f(A) over a table of 1000 columns with a cell missing here and there, in the
order that an operation would write it. *permutation* shuffles all cells: nothing compresses, and
its rows come in no order. The baseline is Spark writing the same relation, partitioned and sorted
the same way, as Parquet. Peak memory is sampled: the JVM and the Python workers apart.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import dslog
from benchmarks.evaluation.scale import GAP, MILLION, WIDTH, elementwise, fill, write_sorted
from benchmarks.evaluation.watching import Watched, watch
from dslog.query.explanation import Explanation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def permutation(spark: SparkSession, rows: int) -> DataFrame:
    """A permutation without structure, written in the order of its inputs.

    Four rounds of a Feistel network over the digits of ``rows = high * 10000``: each adds a hash of
    one digit to the other, so each can be undone.
    """
    low = 10_000
    high = rows // low
    frame = spark.range(0, rows).selectExpr("id as a0", f"id div {low} as x", f"id % {low} as y")
    for turn in range(4):
        frame = frame.selectExpr(
            "a0", f"(x + pmod(xxhash64(y, {turn}), {high})) % {high} as x", "y"
        )
        frame = frame.selectExpr("a0", "x", f"(y + pmod(xxhash64(x, {turn}), {low})) % {low} as y")
    return frame.selectExpr(f"x * {low} + y as b0", "a0")


def stored(scratch: Path, frame: DataFrame, shape: tuple[int, ...]) -> dslog.Store:
    """Compress into a fresh store."""
    shutil.rmtree(scratch / "store", ignore_errors=True)
    store = dslog.open(scratch / "store")
    fill(store, frame, shape)
    return store


def line(run: Watched, name: str, rows: int) -> str:
    """One line of the table."""
    each = run.seconds / rows * MILLION
    cpu = run.cpu / rows * MILLION
    return (
        f"{name:34} {rows / MILLION:6.0f}M {run.seconds:8.1f} s {each:7.3f} s/M "
        f"{cpu:7.3f} cpu s/M   JVM {run.jvm / 2**20:6,.0f} MB   "
        f"workers {run.workers / 2**20:6,.0f} MB"
    )


def bench_elementwise(spark: SparkSession, scratch: Path, rows: int, *, baseline: bool) -> bool:
    """Compress an elementwise relation, check cells of it; say if it was as quick as Parquet."""
    frame, shape = elementwise(spark, rows)
    run = watch(lambda: stored(scratch, frame, shape))
    print(line(run, "elementwise: compress and store", rows))
    store = run.result
    assert isinstance(store, dslog.Store)
    (info,) = store.lineages()
    print(f"    {info.num_rows:,} compressed rows, {info.nbytes:,} bytes")
    for cell in np.random.default_rng(0).integers(0, rows, 1000).tolist():
        at = divmod(cell, WIDTH)
        found = store.prov_query(["B", "A"], at).indices().tolist()
        assert found == ([] if cell % GAP == 7 else [list(at)]), (cell, found)
    store.close()
    return not baseline or compare("elementwise", run, frame, rows, scratch)


def bench_permutation(spark: SparkSession, scratch: Path, rows: int, *, baseline: bool) -> bool:
    """Compress a permutation, ask and check it; say if it was as quick as Parquet."""
    frame = permutation(spark, rows)
    run = watch(lambda: stored(scratch, frame, (rows,)))
    print(line(run, "permutation: compress and store", rows))
    store = run.result
    assert isinstance(store, dslog.Store)
    (info,) = store.lineages()
    parts = len(store.stored("B", "A")[0].body.files)
    print(f"    {info.num_rows:,} compressed rows, {info.nbytes:,} bytes in {parts} files")
    quick = not baseline or compare("permutation", run, frame, rows, scratch)
    ask_permutation(frame, store, rows)
    store.close()
    return quick


def compare(name: str, run: Watched, frame: DataFrame, rows: int, scratch: Path) -> bool:
    """Have Spark write the same relation as Parquet; say if compressing was as quick."""
    plain = watch(lambda: write_sorted(frame, scratch / "plain"))
    print(line(plain, f"{name}: Spark writes Parquet", rows))
    share, cpu = run.seconds / plain.seconds, run.cpu / plain.cpu
    print(f"    {plain.result:,} bytes; it took {share:.2f} of that time, {cpu:.2f} of that CPU")
    return share <= 1


def ask_permutation(frame: DataFrame, store: dslog.Store, rows: int) -> None:
    """Point, 1 % and 100 %, both ways and on both engines where that makes sense."""
    sample = frame.where("pmod(xxhash64(a0), 100000) = 0").toArrow()
    made = dict(zip(sample["b0"].to_pylist(), sample["a0"].to_pylist(), strict=True))
    point = next(iter(made))
    one = slice(point - point % 1000, point - point % 1000 + rows // 100)
    some = np.random.default_rng(0).choice(rows, rows // 100, replace=False)
    mask = np.zeros(rows, bool)
    mask[some] = True
    asks: list[tuple[str, object]] = [
        ("point", (point,)),
        ("1 %, a slice", np.s_[one]),
        ("1 %, scattered", mask),
        ("100 %", ...),
    ]
    for engine in ("auto", "spark"):
        for name, query in asks:
            for path in (["B", "A"], ["A", "B"]):
                run = watch(lambda q=query, p=path, e=engine: store.explain(p, q, engine=e))
                report = run.result
                assert isinstance(report, Explanation)
                (step,) = report.steps
                print(
                    f"    {name:15} {' <- '.join(path) if path[0] == 'B' else ' -> '.join(path)} "
                    f"engine={engine:5} ran on {step.engine:5} {run.seconds:7.2f} s, "
                    f"{step.scanned:>12,} rows scanned, {step.cells:>12,} cells"
                )
    check(store, made, one, mask, rows)


def check(
    store: dslog.Store, made: dict[int, int], one: slice, mask: np.ndarray, rows: int
) -> None:
    """Compare with brute force on a sample: every query reaches just those inputs it should."""
    assert store.prov_query(["B", "A"], ...).count == rows
    for query, inside in (
        (np.s_[one], lambda b: one.start <= b < one.stop),
        (mask, lambda b: mask[b]),
    ):
        found = store.prov_query(["B", "A"], query, engine="spark").mask()
        assert all(found[a] == inside(b) for b, a in made.items())
        asked = np.zeros(rows, bool)
        asked[[a for b, a in made.items() if inside(b)]] = True
        back = store.prov_query(["A", "B"], asked, engine="spark").indices()[:, 0]
        assert set(back.tolist()) == {b for b in made if inside(b)}
    print(f"    {len(made):,} sampled pairs agree with brute force")


def main(
    rows: Sequence[int] = (10,),
    shuffled: Sequence[int] = (10,),
    *,
    master: str = "local[2]",
    heap: str = "2g",
    baseline: bool = True,
) -> bool:
    """Run everything for so many millions of rows; say if compressing was as quick as Parquet."""
    spark = dslog.spark({"spark.master": master, "spark.driver.memory": heap})
    print(f"Spark {spark.version}, {master}, {heap} heap, {os.cpu_count()} cores")
    held = True
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        warm, shape = elementwise(spark, MILLION)
        stored(scratch, warm, shape).close()
        for millions in rows:
            held &= bench_elementwise(spark, scratch, millions * MILLION, baseline=baseline)
        for millions in shuffled:
            held &= bench_permutation(spark, scratch, millions * MILLION, baseline=baseline)
    return held


def command_line() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_spark")
    parser.add_argument("--rows", type=int, nargs="*", help="millions of rows, elementwise")
    parser.add_argument("--permutation", type=int, nargs="*", help="millions of rows, permutation")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--heap", default="2g")
    parser.add_argument("--no-baseline", action="store_true")
    asked = parser.parse_args()
    nothing = asked.rows is None and asked.permutation is None
    rows, shuffled = ([10], [10]) if nothing else (asked.rows or [], asked.permutation or [])
    main(rows, shuffled, master=asked.master, heap=asked.heap, baseline=not asked.no_baseline)


if __name__ == "__main__":
    command_line()
