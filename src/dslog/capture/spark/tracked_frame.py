"""TrackedFrame: a Spark DataFrame that knows where its cells came from.

Actions: what computes a frame and hands out its rows, always in the order of their positions.

Write a tracked frame, and go on with it when its Parquet files are read again.

Rows are written in the order of their positions. A file ``_dslog.json`` beside the data, which
Spark passes over, says which array the files hold and how many rows each: a row's file and its
index there are its position.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Self
from uuid import uuid4
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import (
    Column,
    DataFrame,
    DataFrameNaFunctions,
    DataFrameStatFunctions,
    DataFrameWriter,
    GroupedData,
    Row,
)
from pyspark.sql import functions as F
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame
from pyspark.sql.types import StructType

from dslog.capture.numpy.array import TrackedArray, track
from dslog.capture.spark.catalyst import Catalyst, items, kind_of
from dslog.capture.spark.column_steps import ExpressionSteps
from dslog.capture.spark.frame import Data, Frame
from dslog.capture.spark.group_steps import GroupedFrame, OpaqueSteps, group_keys
from dslog.capture.spark.plan_reader import analysed, of_plan
from dslog.capture.spark.plan_rule import Source
from dslog.capture.spark.plan_table import follow_plan
from dslog.capture.spark.row_id import (
    SHIFT,
    Id,
    Numbering,
    RowSet,
    Trail,
    fresh_column,
    is_hidden,
    numbered,
)
from dslog.capture.spark.row_steps import (
    ArrangingSteps,
    DroppingSteps,
    DuplicateSteps,
    JoiningSteps,
)
from dslog.capture.spark.source import fix_order, identify, is_steady
from dslog.capture.spark.table_node import Origin, Tracker
from dslog.errors import CaptureError, did_you_mean

ATTRIBUTE = "dslog"
"""Where a pandas frame keeps the name of the table it is, in its ``attrs``."""


class Actions(Frame):
    """toPandas, collect, count, show and the like."""

    def toPandas(self) -> Any:  # noqa: N802
        """Return the rows as a pandas frame, row i of the table at place i."""
        result: Any = self.fetch(lambda rows: rows.toPandas())
        result.attrs[ATTRIBUTE] = self.name
        return result

    def toArrow(self) -> pa.Table:  # noqa: N802
        """Return the rows as an Arrow table."""
        return self.fetch(lambda rows: rows.toArrow())

    def toNumpy(self, dtype: Any = None) -> TrackedArray:  # noqa: N802
        """Return the values as a tracked array, rows by columns: lineage goes on in numpy."""
        values = self.toPandas().to_numpy(dtype=dtype)
        return track(self.tracker.recorder, values, self.name)

    def collect(self) -> list[Row]:
        """Return the rows."""
        return self.fetch(lambda rows: rows.collect())

    def take(self, num: int) -> list[Row]:
        """Return the first rows."""
        return self.ordered().take(num)

    def head(self, n: int | None = None) -> Any:
        """Return the first row, or the first ``n``."""
        return self.first() if n is None else self.take(n)

    def first(self) -> Row | None:
        """Return the first row, None if there is none."""
        rows = self.take(1)
        return rows[0] if rows else None

    def count(self) -> int:
        """Count the rows."""
        known = self.table.rows.count
        return self.df.count() if known is None else known

    def isEmpty(self) -> bool:  # noqa: N802
        """Whether there is no row."""
        return self.df.isEmpty()

    def show(self, n: int = 20, truncate: bool | int = True, vertical: bool = False) -> None:  # noqa: FBT002
        """Print the first rows."""
        self.ordered().show(n, truncate, vertical)

    def printSchema(self) -> None:  # noqa: N802
        """Print names and types."""
        self.df.printSchema()

    def explain(self, extended: Any = None, mode: str | None = None) -> None:
        """Print Spark's plan for the untracked rows."""
        self.df.explain(extended, mode)

    @property
    def schema(self) -> StructType:
        """Names and types of the columns."""
        return self.df.schema

    @property
    def dtypes(self) -> list[tuple[str, str]]:
        """Names and types of the columns."""
        return self.df.dtypes

    # where rows are, not what they are

    def cache(self) -> Self:
        """Have Spark keep the rows once they are computed."""
        self.data[0].cache()
        return self

    def persist(self, *level: Any) -> Self:
        """Have Spark keep the rows once they are computed."""
        self.data[0].persist(*level)
        return self

    def unpersist(self, blocking: bool = False) -> Self:  # noqa: FBT002
        """Let go of what Spark keeps."""
        self.data[0].unpersist(blocking)
        return self

    def repartition(self, *args: Any) -> Self:
        """Spread the rows over partitions; their positions stay."""
        return self._placed(self.data[0].repartition(*args))

    def coalesce(self, numPartitions: int) -> Self:  # noqa: N803
        """Gather the rows in fewer partitions; their positions stay."""
        return self._placed(self.data[0].coalesce(numPartitions))

    def hint(self, name: str, *parameters: Any) -> Self:
        """Tell Spark how to join this frame."""
        return self._placed(self.data[0].hint(name, *parameters))

    def alias(self, alias: str) -> Self:
        """Name the frame within expressions, as ``F.col("alias.column")``."""
        return self._placed(self.data[0].alias(alias))

    def transform(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        """Return ``func(frame, ...)``."""
        return func(self, *args, **kwargs)

    def _placed(self, frame: DataFrame) -> Self:
        return type(self)(self.tracker, self.table, (frame, self.data[1]))

    # columns

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, Column):
            return self.filter(item)
        if isinstance(item, list | tuple):
            return self.select(*item)
        name = self.columns[item] if isinstance(item, int) else item
        return self.data[0][name]

    def __getattr__(self, name: str) -> Any:
        if "table" not in self.__dict__ or (name.startswith("_") and name not in _INSIDE):
            raise AttributeError(name)
        if hasattr(DataFrame, name) or name in _INSIDE:
            return forwarded(getattr(self.marked, name), self._of_plan, name)
        if name in self.table.columns:
            return self[name]
        raise AttributeError(
            f"{self.name!r} has no column {name!r}.{did_you_mean(name, self.columns)}"
        )

    @property
    def marked(self) -> DataFrame:
        """The rows as a DataFrame that can be known again in the plan of another."""
        raise NotImplementedError

    def _of_plan(self, frame: DataFrame, op: str) -> Any:
        """Make a tracked frame of a DataFrame that is made of this one."""
        raise NotImplementedError

    def colRegex(self, colName: str) -> Column:  # noqa: N802, N803
        """Select columns by a regular expression."""
        return self.data[0].colRegex(colName)

    def __repr__(self) -> str:
        rows = self.table.rows.count
        size = f"{'?' if rows is None else rows} x {len(self.columns)}"
        return f"TrackedFrame({self.name!r}, {size}: {', '.join(self.columns)})"

    def __len__(self) -> int:
        raise CaptureError("a frame has no len(): use frame.count()")


_INSIDE = {"_jdf", "_session", "_sc", "_schema"}
"""What PySpark itself reads of the DataFrames it is given."""


def unwrapped(value: Any) -> Any:
    """Replace tracked frames, in arguments of PySpark's, by DataFrames that are known again."""
    if isinstance(value, TrackedFrame):
        return value.marked
    if isinstance(value, list | tuple):
        return type(value)(unwrapped(item) for item in value)
    return value


def forwarded(value: Any, track: Callable[[DataFrame, str], Any], name: str) -> Any:
    """Pass on what PySpark's DataFrame has, and track every DataFrame that comes out of it."""
    if isinstance(value, DataFrame):
        return track(value, name)
    if isinstance(value, list) and value and all(isinstance(item, DataFrame) for item in value):
        return [track(item, name) for item in value]
    if isinstance(value, GroupedData | DataFrameNaFunctions | DataFrameStatFunctions):
        return Forwarding(value, track, name)
    if isinstance(value, Column) or not callable(value):
        return value

    @wraps(value)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = value(*map(unwrapped, args), **{k: unwrapped(v) for k, v in kwargs.items()})
        return forwarded(result, track, name)

    return call


@dataclass(frozen=True)
class Forwarding:
    """Groups of rows, and other things of PySpark's that make DataFrames."""

    inner: Any
    track: Callable[[DataFrame, str], Any]
    op: str

    def __getattr__(self, name: str) -> Any:
        return forwarded(getattr(self.inner, name), self.track, name)


MANIFEST = "_dslog.json"
_NUMBER = re.compile(r"part-(\d+)")
_BARE = re.compile(r"^Relation .* parquet\s*$")


@dataclass(frozen=True)
class Manifest:
    """Which array the files of a directory hold: their names and rows, in order."""

    array: str
    columns: tuple[str, ...]
    files: tuple[tuple[str, int], ...]

    @property
    def numbering(self) -> Numbering:
        """Files as partitions."""
        return Numbering(tuple(rows for _, rows in self.files))

    def to_json(self) -> str:
        """Return a text that ``from_json`` reads."""
        item = {"array": self.array, "columns": self.columns, "files": self.files}
        return json.dumps(item, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Undo ``to_json``."""
        item = json.loads(text)
        files = tuple((str(name), int(rows)) for name, rows in item["files"])
        return cls(str(item["array"]), tuple(item["columns"]), files)


class WritingSteps(Frame):
    """write."""

    @property
    def write(self) -> TrackedWriter:
        """Write the rows out, as PySpark's ``DataFrame.write`` does."""
        return TrackedWriter(self)


@dataclass
class TrackedWriter:
    """PySpark's DataFrameWriter, for rows in the order of their positions."""

    frame: Frame
    _calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)
    _parquet: bool = True

    def format(self, source: str) -> Self:
        """Choose a format."""
        self._parquet = source.lower() == "parquet"
        return self._note("format", source)

    def mode(self, saveMode: str | None) -> Self:  # noqa: N803
        """Say what to do when there is something already."""
        return self._note("mode", saveMode)

    def option(self, key: str, value: Any) -> Self:
        """Set an option."""
        return self._note("option", key, value)

    def options(self, **options: Any) -> Self:
        """Set options."""
        return self._note("options", **options)

    def partitionBy(self, *cols: Any) -> Self:  # noqa: N802
        """Write a directory per value; such files are not linked to the table."""
        self._parquet = False
        return self._note("partitionBy", *cols)

    def parquet(self, path: str, *args: Any, **kwargs: Any) -> None:
        """Write Parquet files, which ``store.track`` knows again when they are read."""
        linked = self._parquet and not args[1:2] and not kwargs.get("partitionBy")
        self._write(lambda writer: writer.parquet(path, *args, **kwargs), path if linked else None)

    def save(self, path: str | None = None, format: str | None = None, **kwargs: Any) -> None:  # noqa: A002
        """Write in the format that was chosen."""
        if format is not None:
            self.format(format)
        self._write(lambda writer: writer.save(path, **kwargs), path if self._parquet else None)

    def csv(self, path: str, *args: Any, **kwargs: Any) -> None:
        """Write CSV files."""
        self._write(lambda writer: writer.csv(path, *args, **kwargs), None)

    def json(self, path: str, *args: Any, **kwargs: Any) -> None:
        """Write JSON files."""
        self._write(lambda writer: writer.json(path, *args, **kwargs), None)

    def orc(self, path: str, *args: Any, **kwargs: Any) -> None:
        """Write ORC files."""
        self._write(lambda writer: writer.orc(path, *args, **kwargs), None)

    def saveAsTable(self, name: str, *args: Any, **kwargs: Any) -> None:  # noqa: N802
        """Write a table of Spark's catalog."""
        self._write(lambda writer: writer.saveAsTable(name, *args, **kwargs), None)

    def _note(self, name: str, *args: Any, **kwargs: Any) -> Self:
        self._calls.append((name, args, kwargs))
        return self

    def _write(self, action: Callable[[DataFrameWriter], None], path: str | None) -> None:
        before = set(_data_files(path)) if path else set()

        def write(rows: DataFrame) -> None:
            writer: Any = rows.write
            for name, args, kwargs in self._calls:
                writer = getattr(writer, name)(*args, **kwargs)
            action(writer)

        self.frame.fetch(write)
        if path:
            _link(self.frame, path, before)


def _data_files(path: str) -> dict[str, fs.FileInfo]:
    files, root = _open(path)
    found = files.get_file_info(fs.FileSelector(root, allow_not_found=True))
    return {info.base_name: info for info in found if info.base_name.endswith(".parquet")}


def _open(path: str) -> tuple[fs.FileSystem, str]:
    if re.match(r"\w+:", path):
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(
            re.sub(r"^file:/+", "file:///", path)
        )
        return found
    return fs.LocalFileSystem(), path


def _link(frame: Frame, path: str, before: set[str]) -> None:
    """Write the manifest, unless there are files from elsewhere."""
    files, root = _open(path)
    manifest = f"{root}/{MANIFEST}"
    names = sorted(_data_files(path), key=_part)
    if before & set(names):
        if files.get_file_info(manifest).type != fs.FileType.NotFound:
            files.delete_file(manifest)
        return
    rows = [(name, pq.read_metadata(f"{root}/{name}", filesystem=files).num_rows) for name in names]
    found = Manifest(frame.name, tuple(frame.columns), tuple(rows))
    with files.open_output_stream(manifest) as stream:
        stream.write(found.to_json().encode())


def _part(name: str) -> tuple[int, str]:
    number = _NUMBER.match(name)
    return (int(number[1]) if number else -1, name)


def manifest_of(frame: DataFrame) -> Manifest | None:
    """Return the manifest of the files that a DataFrame reads, if it reads just those it names."""
    if not _BARE.match(analysed(frame).toString().strip()):
        return None
    paths = frame.inputFiles()
    folders = {path.rpartition("/")[0] for path in paths}
    if len(folders) != 1:
        return None
    files, root = _open(folders.pop())
    where = f"{root}/{MANIFEST}"
    if files.get_file_info(where).type == fs.FileType.NotFound:
        return None
    with files.open_input_stream(where) as stream:
        manifest = Manifest.from_json(stream.read().decode())
    same = {path.rpartition("/")[2] for path in paths} == {name for name, _ in manifest.files}
    return manifest if same and tuple(frame.columns) == manifest.columns else None


def identify_files(frame: DataFrame, manifest: Manifest) -> tuple[DataFrame, Id]:
    """Give rows the ids that follow from their files and their places there."""
    column = fresh_column()
    numbers = F.create_map(
        *(F.lit(item) for place, (name, _) in enumerate(manifest.files) for item in (name, place))
    )
    file = F.element_at(numbers, F.col("_metadata.file_name")).cast("long")
    named = frame.withColumn(column, F.shiftleft(file, SHIFT) + F.col("_metadata.row_index"))
    return named, Id.of(column, manifest.numbering)


class TrackedFrame(
    ExpressionSteps,
    DroppingSteps,
    JoiningSteps,
    DuplicateSteps,
    ArrangingSteps,
    OpaqueSteps,
    WritingSteps,
    Actions,
):
    """A table whose lineage is recorded; ``store.track`` makes one of a DataFrame.

    Methods have the names and arguments of PySpark's. ``frame.df`` is the DataFrame without
    tracking.
    """

    def groupBy(self, *cols: Any) -> GroupedFrame[Self]:  # noqa: N802
        """Group rows by columns."""
        return GroupedFrame(self, group_keys(cols, self.columns))

    def groupby(self, *cols: Any) -> GroupedFrame[Self]:
        """Group rows by columns."""
        return self.groupBy(*cols)

    def agg(self, *exprs: Any) -> Self:
        """Compute aggregates of all rows."""
        return self.groupBy().agg(*exprs)

    def join(self, other: Any, on: Any = None, how: str | None = None) -> Self:
        """Join with another frame, on names of columns both have or on conditions."""
        if isinstance(other, Frame) and other.tracker is self.tracker:
            return super().join(other, on, how)
        result: Self = forwarded(self.marked.join, self._of_plan, "join")(other, on, how)
        return result

    @property
    def marked(self) -> DataFrame:
        """The rows as a DataFrame that can be known again in the plan of another."""
        return PlanTracker.of(self.tracker).mark(self)

    def _of_plan(self, frame: DataFrame, op: str) -> Any:
        return record_frame(self.tracker, frame, None, op, base=self.table.node.base)

    @property
    def __class__(self) -> type:
        return ClassicFrame

    @__class__.setter
    def __class__(self, _: type) -> None:
        raise TypeError("a tracked frame stays one")


MARK = "__dslog_table_"


class PlanTracker:
    """The tracked tables that plans of DataFrames can be made of."""

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker
        self._prefix = f"{MARK}{uuid4().hex[:12]}_"
        self._frames: dict[str, Frame] = {}
        self._sources: dict[str, Source] = {}
        self._brought: dict[str, tuple[Any, Frame]] = {}
        self._counted: WeakKeyDictionary[Frame, DataFrame] = WeakKeyDictionary()

    @classmethod
    def of(cls, tracker: Tracker) -> PlanTracker:
        """Return that of a store."""
        if tracker.plans is None:
            tracker.plans = cls(tracker)
        found: PlanTracker = tracker.plans
        return found

    def bring(self, frame: DataFrame, tracked: Frame, *, counted: bool) -> None:
        """Know a DataFrame again that the user has tracked; for ``counted`` see ``Source``."""
        if counted:
            self._counted[tracked] = frame
        plan = analysed(frame)
        self._brought[kind_of(plan) + str(plan.output().mkString("\0"))] = plan, tracked

    def mark(self, frame: Frame) -> DataFrame:
        """Return the rows of a frame under a name that stays in the plans made of it."""
        name = next((name for name, known in self._frames.items() if known is frame), None)
        if name is None:
            name = f"{self._prefix}{len(self._frames)}"
            self._frames[name] = frame
        rows = self._counted.get(frame) or frame.settle()[0]
        catalyst, plan = Catalyst(rows), analysed(rows)
        if frame not in self._counted:
            visible = [a for a in items(plan.output()) if not is_hidden(str(a.name()))]
            plan = catalyst.project(visible, plan)
        return of_plan(rows, catalyst.marked(plan, name))

    def table_of(self, node: Any, kind: str) -> Source | None:
        """Return the table that a node is, if it is one."""
        if kind == "SubqueryAlias":
            name = str(node.alias())
            if name in self._frames:
                return self._source(self._frames[name])
            if name.startswith(MARK):
                raise CaptureError(
                    "a table of another store is in this plan: track it in this store as well"
                )
        if self._brought:
            found = self._brought.get(kind + str(node.output().mkString("\0")))
            if found is not None and found[0].equals(node):
                return self._source(found[1])
        return None

    def _source(self, frame: Frame) -> Source:
        found = self._sources.get(frame.name)
        if found is None or found.table is not frame.table:
            rows, trail = frame.settle()
            one = trail.ids[0]
            catalyst = Catalyst(rows)
            columns = list(items(analysed(rows).output()))
            visible = [c for c in columns if not is_hidden(str(c.name()))]
            hidden = [c for c in columns if str(c.name()) == one.column]
            plan = catalyst.project([*visible, *hidden], analysed(rows))
            found = self._sources[frame.name] = Source(
                frame.table, one, plan, counted=frame in self._counted
            )
        return found


def record_frame(
    tracker: Tracker,
    frame: DataFrame,
    name: str | None,
    op: str,
    args: Mapping[str, object] | None = None,
    base: str | None = None,
) -> TrackedFrame:
    """Return a DataFrame, however it was made, as a tracked frame: lineage is read off its plan."""
    known = PlanTracker.of(tracker)
    columns, rows = tuple(frame.columns), RowSet()
    if name is not None:
        table = tracker.source(name, columns, rows)
        table.origin = Origin(op, args or {})
    else:
        table = tracker.table(base or "table", columns, rows, Origin(op, args or {}))

    def compute() -> Data:
        return follow_plan(frame, tracker, known, table)

    result = TrackedFrame(tracker, table, compute, lambda: frame)
    if name is not None:
        tracker.hold(result)
    return result


def track_frame(
    tracker: Tracker, frame: DataFrame, name: str | None = None, *, keep_values: bool = False
) -> TrackedFrame:
    """Return a DataFrame as a tracked frame, called ``name`` in the store.

    One that reads what a tracked frame wrote is that frame, or made of it if the name is new.
    """
    manifest = manifest_of(frame)
    known = tracker.stored(manifest.array, manifest.columns) if manifest else None
    counted = False
    if manifest is not None and known is not None and known.rows.count == manifest.numbering.total:
        named, one = identify_files(frame, manifest)
        trail = Trail(known.rows, (one,), mixed=len(manifest.files) > 1)
        table = known if name in (None, known.node.name) else tracker.read_again(known, name)
    else:
        counted = is_steady(frame)
        named, one = identify(frame) if counted else fix_order(frame)
        trail = numbered(RowSet(numbering=one.pending), one)
        table = tracker.source(name, tuple(frame.columns), trail.rows)
    table.keep = keep_values
    result = TrackedFrame(tracker, table, (named, trail))
    PlanTracker.of(tracker).bring(frame, result, counted=counted)
    tracker.hold(result)
    return result
