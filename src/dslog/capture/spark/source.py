"""Where rows get ids that stay: rows of files by file and place, all others by keeping them.

A DataFrame computes its rows again whenever they are asked for, and not always the same rows in
the same order. Rows of Parquet files are told apart by their file and their place in it, which are
the same whatever is computed; footers say how many there are, without a job. All other rows are
computed once and kept: by the executors of a session in this process, and in files where there is a
cluster, which may lose an executor.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from dslog.capture.spark.catalyst import Catalyst, class_of, items, kind_of
from dslog.capture.spark.frame_cost import FrameCost
from dslog.capture.spark.plan_reader import analysed, as_column, execution, of_plan
from dslog.capture.spark.row_id import SHIFT, Id, Numbering, fresh_column
from dslog.errors import CaptureError, EngineError

_LOCAL = re.compile(r"^file:/+")
_CANCELLED = re.compile("cancell?ed", re.IGNORECASE)
_NAMING = ("SubqueryAlias", "View")


def files_of(plan: Any) -> Any | None:
    """Return the files that a plan reads as they are; None if it does more, or no files."""
    while kind_of(plan) in _NAMING:
        plan = plan.child()
    if kind_of(plan) != "LogicalRelation" or class_of(plan.relation()) != "HadoopFsRelation":
        return None
    return plan.relation()


def file_format(relation: Any) -> str:
    """Return the format of files, as Spark calls it."""
    return str(relation.fileFormat().toString()).lower()


def address(file: str) -> str:
    """Return the address of a file as its rows have it: Spark writes it in several ways."""
    return _LOCAL.sub("file:/", file)


def slices_of(frame: DataFrame) -> list[str]:
    """Return the file of each slice that Spark reads, in order."""
    return [
        address(str(file.filePath().urlEncoded()))
        for partition in execution(frame).toRdd().partitions()
        for file in partition.files()
    ]


@dataclass(frozen=True)
class FileState:
    """What a file looked like when it was tracked."""

    size: int
    changed: int


@dataclass(frozen=True)
class FileSlice:
    """Rows of a file: ``count`` from ``row`` on are those from ``begin`` on in the file."""

    file: str
    row: int
    begin: int
    count: int


@dataclass(frozen=True)
class FileRows:
    """Rows told apart by their file and their place in it; ``files`` are in the order of rows."""

    files: tuple[str, ...]
    states: Mapping[str, FileState]

    def with_ids(self, frame: DataFrame, column: str) -> DataFrame:
        """Give rows the ids that follow from their files and their places there."""
        about = frame.metadataColumn("_metadata")
        file = _numbered(frame, self.files, about["file_path"])
        number = F.shiftleft(file, SHIFT).bitwiseOR(about["row_index"])
        return frame.select("*", number.alias(column))

    def kept(self, frame: DataFrame, numbering: Numbering) -> Kept:
        """Return rows that are read when they are needed."""
        column = fresh_column()
        return Kept(self.with_ids(frame, column), Id(column, numbering), self)

    def slices(self, numbering: Numbering) -> Iterator[FileSlice]:
        """Say which rows are of which file."""
        for file, row, count in zip(self.files, numbering.offsets, numbering.counts, strict=True):
            yield FileSlice(file, int(row), 0, count)

    def in_order(self, frame: DataFrame) -> bool:
        """Whether Spark, as it is set now, reads the files one after the other, in this order."""
        return tuple(slices_of(frame)) == self.files

    def check(self, name: str) -> None:
        """Raise if a file is not what it was."""
        for file, state in self.states.items():
            if _state(file) != state:
                raise CaptureError(
                    f"the file {file} of {name!r} has changed since it was tracked: read and track "
                    f"it again"
                )


def _state(file: str) -> FileState | None:
    try:
        found = Path(_path(file)).stat()
    except OSError:
        return None
    return FileState(found.st_size, found.st_mtime_ns)


def _path(file: str) -> str:
    return unquote(_LOCAL.sub("/", file))


def _numbered(frame: DataFrame, files: tuple[str, ...], path: Column) -> Column:
    """Number files in an expression that looks up one place, however many there are."""
    if len(files) == 1:
        return F.lit(0).cast("long")
    session = frame.sparkSession
    rows = session.createDataFrame([(file,) for file in files], "file string")
    hashes = np.array([row[0] for row in rows.select(F.xxhash64("file")).collect()])
    size = next(n for n in range(len(files), 1 << 40) if len(np.unique(hashes % n)) == len(files))
    table = np.zeros(size, np.int64)
    table[hashes % size] = np.arange(len(files))
    place = F.pmod(F.xxhash64(path), F.lit(size)).cast("int")
    return F.element_at(F.lit(table.tolist()), place + 1).cast("long")


def file_rows(frame: DataFrame, order: Sequence[str] = ()) -> tuple[FileRows, Numbering] | None:
    """Return how rows of Parquet files are told apart; None for other rows, or too many files.

    Files are in the order in which Spark reads them now, if none is given for all of them.
    """
    relation = files_of(analysed(frame))
    if relation is None or file_format(relation) != "parquet" or _is_bucketed(relation):
        return None
    slices = slices_of(frame)
    files = tuple(dict.fromkeys(slices))
    files = tuple(order) if set(order) == set(files) else files
    if not 0 < len(files) <= FrameCost.current().footers:
        return None
    if not all(_LOCAL.match(file) for file in files):
        return None
    if len(relation.location().inputFiles()) != len(set(relation.location().inputFiles())):
        return None  # a file that is read twice
    try:
        states = {file: state for file in files if (state := _state(file))}
        counts = tuple(pq.read_metadata(_path(file)).num_rows for file in files)
    except (OSError, pa.ArrowException):
        return None
    return FileRows(files, states), Numbering(counts)


def _is_bucketed(relation: Any) -> bool:
    return bool(relation.bucketSpec().isDefined())


@dataclass(frozen=True, eq=False)
class Kept:
    """Rows that stay what they are, with their ids in the last column.

    ``files`` say how those are read that are in files of the user's; rows that are not ``placed``
    may come in another order.
    """

    frame: DataFrame
    one: Id
    files: FileRows | None = None
    placed: bool = True

    @property
    def plan(self) -> Any:
        """Their plan."""
        return analysed(self.frame)

    def rows(self) -> DataFrame:
        """Return the rows, in the order of their ids, without these."""
        *visible, last = items(self.plan.output())
        catalyst = Catalyst(self.frame)
        frame = catalyst.frame_of(catalyst.project(visible, self.plan))
        if self.placed and (self.files is None or self.files.in_order(frame)):
            return frame
        ordered = self.frame.orderBy(as_column(frame, last))
        return catalyst.frame_of(catalyst.project(visible, analysed(ordered)))


def keep_files(
    frame: DataFrame, keep: Callable[[DataFrame], Kept]
) -> tuple[Kept, Sequence[FileSlice]]:
    """Keep rows that are read from files, and say which they are of each file."""
    width = len(frame.columns)
    about = frame.metadataColumn("_metadata")
    names = fresh_column("file"), fresh_column("block")
    kept = keep(
        frame.select(
            "*", about["file_path"].alias(names[0]), about["file_block_start"].alias(names[1])
        )
    )
    part = F.shiftright(kept.one.column, SHIFT)
    found = kept.frame.groupBy(*names, part).agg(F.min(kept.one.column), F.count(F.lit(1)))
    slices: list[FileSlice] = []
    begin, last = 0, None
    for file, _, _, first, count in sorted(map(tuple, found.collect())):
        begin = begin if file == last else 0
        row = int(kept.one.numbering.positions(np.array([first]))[0])
        slices.append(FileSlice(file, row, begin, count))
        begin, last = begin + count, file
    *outputs, ids = items(kept.plan.output())
    catalyst = Catalyst(frame)
    slim = catalyst.frame_of(catalyst.project([*outputs[:width], ids], kept.plan))
    return Kept(slim, kept.one, placed=kept.placed), slices


class JobError(Exception):
    """A job of a plan has failed for what the plan asks; what Spark said is the ``reason``."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


@contextmanager
def jobs() -> Iterator[None]:
    """Tell the errors of jobs from those of making a plan, which have another way out."""
    try:
        yield
    except (AnalysisException, JobError):
        raise
    except (CapturedException, Py4JError, EngineError) as error:
        if "INTERNAL_ERROR" in str(error):  # a plan that Spark cannot run
            raise
        raise JobError(error) from error


def was_cancelled(error: Exception) -> bool:
    """Whether somebody stopped a job."""
    return _CANCELLED.search(str(error)) is not None


def with_ids(frame: DataFrame, column: str) -> DataFrame:
    """Number the rows of each partition of a DataFrame."""
    return frame.select("*", F.monotonically_increasing_id().alias(column))


def count_rdd(frame: DataFrame) -> Numbering:
    """Count the rows of each partition of a frame that is one RDD, in one job.

    Numbering an RDD counts the rows before each partition; one more is put behind the last.
    """
    context: Any = frame.sparkSession.sparkContext
    rdd = analysed(frame).rdd()
    one = context._jsc.parallelize(context._jvm.java.util.ArrayList([0]), 1).rdd()  # noqa: SLF001
    numbered = rdd.union(one).toJavaRDD().zipWithIndex().rdd()
    starts = [int(partition.startIndex()) for partition in numbered.partitions()]
    return Numbering(tuple(np.trim_zeros(np.diff(starts), "b").tolist()))


def _count_ids(frame: DataFrame, column: str) -> Numbering:
    """Count the rows of each partition that ids are of."""
    partition: Column = F.shiftright(F.col(column), SHIFT).cast("int").alias("part")
    found = frame.select(partition).groupBy("part").count().collect()
    counts = {row["part"]: row["count"] for row in found}
    return Numbering(tuple(counts.get(part, 0) for part in range(max(counts, default=-1) + 1)))


def is_local(frame: DataFrame) -> bool:
    """Whether rows are computed in this process."""
    return str(frame.sparkSession.conf.get("spark.master", "local")).startswith("local")


def fix_order(frame: DataFrame, scratch: Path) -> Kept:
    """Keep a DataFrame as it is computed now, and number its rows in the order they have."""
    column = fresh_column()
    numbered = with_ids(frame, column)
    if is_local(frame):
        kept, placed = numbered.localCheckpoint(eager=False), True
    else:
        kept, placed = _filed(numbered, scratch / uuid4().hex), False
    counted = count_rdd(kept) if placed else _count_ids(kept, column)
    return Kept(kept, Id(column, counted), placed=placed)


def _filed(frame: DataFrame, directory: Path) -> DataFrame:
    """Keep rows in files, which are there when the executor that wrote them is gone.

    Names are replaced, for a file has each of them once; ids of expressions stay.
    """
    catalyst = Catalyst(frame)
    output = list(items(analysed(frame).output()))
    names = [f"c{place}" for place in range(len(output))]
    odd = {place for place, one in enumerate(output) if class_of(one.dataType()) == "NullType"}
    written = frame.select(
        *(
            (F.lit(None).cast("int") if place in odd else as_column(frame, one)).alias(name)
            for place, (name, one) in enumerate(zip(names, output, strict=True))
        )
    )
    written.write.parquet(str(directory))
    read = frame.sparkSession.read.schema(written.schema).parquet(str(directory))
    columns = [
        catalyst.alias(
            catalyst.null_of(old.dataType()) if place in odd else new, str(old.name()), old.exprId()
        )
        for place, (old, new) in enumerate(zip(output, items(analysed(read).output()), strict=True))
    ]
    return of_plan(frame, catalyst.project(columns, analysed(read)))
