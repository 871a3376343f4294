"""Relations that Spark makes and compresses, larger and larger, beside Spark writing them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.evaluation.scratch import Scratch
from benchmarks.evaluation.sizes import Sizes
from benchmarks.evaluation.watching import Watched, watch
from dslog.capture.store import open_store
from dslog.spark.session import get_session
from dslog.store.lineage_store import LineageStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Tick = Callable[[str], None]
MASTER, HEAP = "local[2]", "2g"
WIDTH = 1000
GAP = 1009  # one pair in so many is missing
MILLION = 1_000_000


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


def scale_table(sizes: Sizes, scratch: Scratch, tick: Tick) -> Iterator[ScaleRow]:
    """Compress an elementwise relation with gaps at every size."""
    if not sizes.scale:
        return
    session = get_session({"spark.master": MASTER, "spark.driver.memory": HEAP})
    with scratch.folder() as folder:
        tick("Spark starts")
        compress(session, folder, MILLION)  # compiles, and starts the workers
        for rows in sizes.scale:
            tick(f"{rows:,} pairs")
            run, num_rows, nbytes = compress(session, folder, rows)
            plain = watch(lambda n=rows: write_sorted(elementwise(session, n)[0], folder / "plain"))  # type: ignore[misc]
            yield ScaleRow(
                rows=rows,
                seconds=run.seconds,
                plain_seconds=plain.seconds,
                jvm_bytes=run.jvm,
                worker_bytes=run.workers,
                num_rows=num_rows,
                nbytes=nbytes,
                plain_bytes=int(str(plain.result)),
            )


def compress(session: SparkSession, folder: Path, rows: int) -> tuple[Watched, int, int]:
    """Compress about so many pairs into a fresh store; return what it took and what is stored."""
    frame, shape = elementwise(session, rows)
    run = watch(lambda: _stored(folder, frame, shape))
    return run, *_size(run.result)


def _stored(folder: Path, frame: DataFrame, shape: tuple[int, ...]) -> Path:
    path = folder / "store"
    shutil.rmtree(path, ignore_errors=True)
    with open_store(path) as store:
        fill(store, frame, shape)
    return path


def _size(path: object) -> tuple[int, int]:
    with open_store(str(path), "r") as store:
        (info,) = store.lineages()
        return info.num_rows, info.nbytes


def fill(store: LineageStore, frame: DataFrame, shape: tuple[int, ...]) -> None:
    """Give a store the lineage between two arrays of one shape."""
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
