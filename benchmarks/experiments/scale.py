"""Relations that Spark makes, compresses and asks, larger and larger, beside Spark writing them.

*elementwise* is B = f(A) over a table of 1000 columns with a cell missing here and there, in the
order that an operation would write it. *permutation* shuffles all cells: nothing compresses, and
its rows come in no order. The baseline is Spark writing the same relation, partitioned and sorted
the same way, as Parquet. Peak memory is sampled: the JVM and the Python workers apart.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.experiment import Experiment, Ratio, Setting, Target
from benchmarks.machine import watch
from benchmarks.units import nbytes, seconds
from dslog.capture.store import Store, open_store
from dslog.spark.session import get_session
from dslog.types import Mask, Shape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MASTER, HEAP = "local[2]", "2g"
WIDTH = 1000
GAP = 1009  # one pair in so many is missing
MILLION = 1_000_000
LINEAR = 1.5  # times the seconds per pair, or the memory, that more pairs may take


@dataclass(frozen=True, slots=True)
class ScaleRow:
    """Compressing and storing so many pairs, and Spark writing them sorted as Parquet."""

    rows: int
    seconds: float
    plain_seconds: float
    jvm_bytes: int
    worker_bytes: int
    num_rows: int
    nbytes: int
    plain_bytes: int
    relation: str = "elementwise"
    cpu: float | None = None
    plain_cpu: float | None = None


@dataclass(frozen=True, slots=True)
class AskedRow:
    """One question to a stored permutation; ``agreed`` with a sample of it."""

    rows: int
    asked: str
    direction: str
    engine: str
    ran_on: str
    seconds: float
    scanned: int
    cells: int
    agreed: bool


def scale_table(setting: Setting) -> Iterator[ScaleRow]:
    """Compress relations at every size, and have Spark write the same as Parquet."""
    session = start(setting)
    for rows in setting.size.scale:
        setting.tick(f"elementwise, {rows:,} pairs")
        yield measure("elementwise", *elementwise(session, rows), rows, setting)
    for rows in setting.size.permutation:
        setting.tick(f"permutation, {rows:,} pairs")
        yield measure("permutation", permutation(session, rows), (rows,), rows, setting)


def start(setting: Setting) -> SparkSession:
    """Start Spark and its workers, and have them compile."""
    setting.tick("Spark starts")
    session = get_session({"spark.master": MASTER, "spark.driver.memory": HEAP})
    with setting.folder() as folder:
        compress(folder, *elementwise(session, min(MILLION, *setting.size.scale)))
    return session


def measure(relation: str, frame: DataFrame, shape: Shape, rows: int, setting: Setting) -> ScaleRow:
    """Compress and store, then write as Parquet, watching the processes."""
    with setting.folder() as folder:
        run = watch(partial(compress, folder, frame, shape))
        with open_store(folder / "store", "r") as store:
            (info,) = store.lineages()
        plain = watch(partial(write_sorted, frame, folder / "plain"))
    return ScaleRow(
        rows=rows,
        seconds=run.seconds,
        plain_seconds=plain.seconds,
        jvm_bytes=run.jvm,
        worker_bytes=run.workers,
        num_rows=info.num_rows,
        nbytes=info.nbytes,
        plain_bytes=plain.result,
        relation=relation,
        cpu=run.cpu,
        plain_cpu=plain.cpu,
    )


def compress(folder: Path, frame: DataFrame, shape: Shape) -> None:
    """Compress into a fresh store."""
    shutil.rmtree(folder / "store", ignore_errors=True)
    with open_store(folder / "store") as store:
        store.array("A", shape)
        store.array("B", shape)
        store.lineage("B", "A", frame)


def elementwise(session: SparkSession, rows: int) -> tuple[DataFrame, tuple[int, int]]:
    """About so many pairs of one cell with itself, in order, with a cell missing here and there."""
    numbers = session.range(0, rows * GAP // (GAP - 1)).where(f"id % {GAP} != 7")
    height = rows * GAP // (GAP - 1) // WIDTH + 1
    row, column = f"id div {WIDTH}", f"id % {WIDTH}"
    frame = numbers.selectExpr(f"{row} as b0", f"{column} as b1", f"{row} as a0", f"{column} as a1")
    return frame, (height, WIDTH)


def write_sorted(frame: DataFrame, to: Path) -> int:
    """Partition and sort by output cells, write Parquet: the baseline; return its bytes."""
    outputs, inputs = (sorted(c for c in frame.columns if c.startswith(side)) for side in "ba")
    ordered = frame.repartitionByRange(*outputs).sortWithinPartitions(*outputs, *inputs)
    ordered.write.mode("overwrite").parquet(str(to))
    return sum(path.stat().st_size for path in to.rglob("*.parquet"))


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


def asked_table(setting: Setting) -> Iterator[AskedRow]:
    """Ask a permutation for a point, 1 % and 100 %, both ways, on both engines."""
    session = start(setting)
    for rows in setting.size.permutation:
        setting.tick(f"permutation, {rows:,} pairs")
        frame = permutation(session, rows)
        every = max(1, rows // 1000)
        sample = frame.where(f"pmod(xxhash64(a0), {every}) = 0").toArrow()
        made = dict(zip(sample["b0"].to_pylist(), sample["a0"].to_pylist(), strict=True))
        with setting.folder() as folder:
            compress(folder, frame, (rows,))
            with open_store(folder / "store", "r") as store:
                for engine in ("auto", "spark"):
                    for asked, question in questions(rows, made).items():
                        setting.tick(f"{asked}, {engine}")
                        for backward in (True, False):
                            yield ask(store, asked, question, made, engine, backward=backward)


def questions(rows: int, made: dict[int, int]) -> dict[str, tuple[Any, Mask]]:
    """The cells that are asked about, as one would write them, and as a mask."""
    point = next(iter(made))
    hundredth = max(1, rows // 100)
    begin = min(point - point % 1000, rows - hundredth)
    scattered = np.zeros(rows, np.bool_)
    scattered[np.random.default_rng(0).choice(rows, hundredth, replace=False)] = True
    every = np.arange(rows)
    return {
        "point": ((point,), every == point),
        "1 %, a slice": (
            np.s_[begin : begin + hundredth],
            (begin <= every) & (every < begin + hundredth),
        ),
        "1 %, scattered": (scattered, scattered),
        "100 %": (..., every >= 0),
    }


def ask(
    store: Store,
    asked: str,
    question: tuple[Any, Mask],
    made: dict[int, int],
    engine: Any,
    *,
    backward: bool,
) -> AskedRow:
    """Ask one question, and look whether the sampled pairs are answered as they should be."""
    query, mask = question
    path = ["B", "A"] if backward else ["A", "B"]
    run = watch(partial(store.explain, path, query, engine=engine))
    (step,) = run.result.steps
    found = store.prov_query(path, query, engine=engine).mask()
    pairs = made.items() if backward else ((a, b) for b, a in made.items())
    return AskedRow(
        rows=len(mask),
        asked=asked,
        direction="backward" if backward else "forward",
        engine=engine,
        ran_on=step.engine,
        seconds=run.seconds,
        scanned=step.scanned,
        cells=step.cells,
        agreed=all(found[to] == mask[cell] for cell, to in pairs),
    )


def scale_ratios(rows: Sequence[ScaleRow]) -> Iterator[Ratio]:
    """Compressing against Spark writing Parquet."""
    for r in rows:
        name = f"scale {r.relation}, {r.rows:,} pairs"
        yield Ratio(name, "seconds", r.seconds, r.plain_seconds, "Spark writing Parquet")


def scale_targets(rows: Sequence[ScaleRow]) -> Iterator[Target]:
    """Time linear in pairs, memory bounded."""
    ordered = [row for row in rows if row.relation == "elementwise"]
    if len(ordered) < 2:
        return
    first, last = ordered[0], ordered[-1]
    each = (last.seconds / last.rows) / (first.seconds / first.rows)
    memory = max(row.worker_bytes for row in ordered) / first.worker_bytes
    slow = (f"{each:.2f} times the seconds per pair",) if each > LINEAR else ()
    large = (f"{memory:.2f} times the workers' memory",) if memory > LINEAR else ()
    yield Target(
        "relations larger than memory, compressed by Spark",
        "-",
        "bounded memory, time linear in pairs",
        f"{first.rows:,} to {last.rows:,} pairs: {last.seconds / last.rows * 1e6:.2f} s per "
        f"million, {last.seconds / last.plain_seconds:.2f} of Spark writing Parquet; at most "
        f"{max(row.worker_bytes for row in ordered) / 2**20:,.0f} MB in workers, "
        f"{max(row.jvm_bytes for row in ordered) / 2**20:,.0f} MB in the JVM",
        slow + large,
    )
    yield from Target.of_ratios(
        "the same beside Spark writing the relation, sorted, as Parquet",
        "-",
        "no slower",
        list(scale_ratios(rows)),
    )


def asked_targets(rows: Sequence[AskedRow]) -> Iterator[Target]:
    """Every answer agrees with the sample."""
    if rows:
        yield Target(
            "answers of a permutation beside a sample of its pairs",
            "-",
            "the same",
            f"{len(rows)} answers compared",
            tuple(f"{r.asked}, {r.direction}, {r.engine}" for r in rows if not r.agreed),
        )


def _each(cpu: float | None, rows: int) -> str:
    return "-" if cpu is None else f"{cpu / rows * MILLION:.2f}"


EXPERIMENTS = (
    Experiment(
        "scale",
        "Relations that Spark compresses",
        f"Spark makes an elementwise relation with gaps, and a permutation, on {MASTER} with a "
        f"heap of {HEAP}, and compresses it into a store; beside it, Spark sorts the same relation "
        "and writes it as Parquet. Memory is the highest resident size.",
        scale_table,
        ScaleRow,
        scale_ratios,
        scale_targets,
        columns={
            "relation": lambda r: r.relation,
            "pairs": lambda r: f"{r.rows:,}",
            "compress + store": lambda r: seconds(r.seconds),
            "Parquet": lambda r: seconds(r.plain_seconds),
            "ratio": lambda r: f"{r.seconds / r.plain_seconds:.2f}",
            "CPU s per million": lambda r: _each(r.cpu, r.rows),
            "Parquet's": lambda r: _each(r.plain_cpu, r.rows),
            "rows": lambda r: f"{r.num_rows:,}",
            "bytes": lambda r: nbytes(r.nbytes),
            "Parquet's bytes": lambda r: nbytes(r.plain_bytes),
            "workers": lambda r: nbytes(r.worker_bytes),
            "JVM": lambda r: nbytes(r.jvm_bytes),
        },
    ),
    Experiment(
        "asked",
        "Questions to what Spark compressed",
        "A permutation is asked for a point, a hundredth and everything, where the planner would "
        "run it and on Spark. Each answer is compared with a sample of pairs.",
        asked_table,
        AskedRow,
        targets=asked_targets,
        columns={
            "pairs": lambda r: f"{r.rows:,}",
            "asked": lambda r: r.asked,
            "direction": lambda r: r.direction,
            "engine": lambda r: r.engine,
            "ran on": lambda r: r.ran_on,
            "time": lambda r: seconds(r.seconds),
            "rows scanned": lambda r: f"{r.scanned:,}",
            "cells": lambda r: f"{r.cells:,}",
        },
    ),
)
