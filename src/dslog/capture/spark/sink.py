"""Writers of tracked frames: what they write goes on from the frame when it is read again.

Rows are written in the order of their positions, so a file has rows that follow each other. Rows
that are spread over folders or buckets by their values are put in the order of these first, as a
table of their own, and so follow each other in each file again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from dslog.capture.spark.catalyst import class_of, items, output_names
from dslog.capture.spark.frame import Frame
from dslog.capture.spark.manifest import (
    UNKNOWN,
    FilePart,
    Written,
    data_files,
    layout_of,
    order_of,
    read_manifest,
    rows_in,
    write_manifest,
)
from dslog.capture.spark.plan_reader import analysed, as_column, jvm_of
from dslog.capture.spark.row_id import SHIFT, RowSet
from dslog.capture.spark.source import Kept, files_of
from dslog.capture.spark.table_node import Origin

_TO_PATH = {"csv", "json", "orc", "parquet", "save", "text", "xml"}
_TO_TABLE = {
    "append", "create", "createOrReplace", "insertInto", "overwrite", "overwritePartitions",
    "replace", "saveAsTable",
}  # fmt: skip
_ELSEWHERE = {"jdbc"}
_SPREADING = {"bucketBy", "clusterBy", "partitionBy", "partitionedBy", "sortBy"}
_LIMIT = "maxRecordsPerFile"
_BREAKS = "[\r\n]"
_TEXTS = {"BinaryType", "CharType", "StringType", "VarcharType", "VariantType"}
_IN_ORDER = 1 << 20
"""Rows of a task that Spark sorts at once, so that equal ones keep their order."""

Run = tuple[tuple[int, tuple[str, ...], int], int, int]
"""Rows that a task writes to a folder and bucket: which, the first, and how many."""


@dataclass(frozen=True)
class RowSpread:
    """How rows are spread: by values over folders, and by hashes over buckets."""

    folders: tuple[str, ...] = ()
    buckets: int = 0
    hashed: tuple[str, ...] = ()
    sorted: tuple[str, ...] = ()


class RowSink:
    """Rows of a frame on their way to files in a folder."""

    def __init__(
        self,
        frame: Frame,
        spread: RowSpread,
        options: Mapping[str, object],
        columns: Sequence[str] | None = None,
    ) -> None:
        self._columns = columns  # their names, where they go by place
        self.frame = _in_order(frame, spread, columns) if spread != RowSpread() else frame
        self._spread = spread
        self._options = {name.lower(): value for name, value in options.items()}
        self._before: dict[str, tuple[int, int]] = {}
        self.rows = self.frame.rows()
        self.kept = self.frame.kept
        if self.kept is not None and (self.kept.files is not None or not self.kept.placed):
            self.kept = self.frame.tracker.keep(self.rows)  # as many partitions as it says
            self.rows = self.kept.rows()

    def before(self, folder: str | None) -> None:
        """See what is in the folder before rows are written there."""
        self._before = data_files(folder) if folder else {}

    def link(self, folder: str | None) -> bool:
        """Say which rows are in the new files; False if nothing can be said."""
        if folder is None or self.kept is None:
            return False
        now = data_files(folder)
        new = [file for file in now if self._before.get(file) != now[file]]
        parts = list(self._parts(folder, new, self.kept))
        known = sum(part.count for part in parts) == self.kept.one.numbering.total
        folders: dict[str, list[FilePart]] = {file.rpartition("/")[0]: [] for file in now}
        for part in parts if known else ():
            where, _, file = part.file.rpartition("/")
            folders[where].append(replace(part, file=file))
        for where, some in folders.items():
            path = f"{folder}/{where}" if where else folder
            old = read_manifest(path)
            if some or old:
                there = (
                    p
                    for f, p in old.items()
                    if (at := f"{where}/{f}".lstrip("/")) in now and at not in new
                )
                write_manifest(path, [*there, *some])
        return known

    def _parts(self, folder: str, files: Sequence[str], kept: Kept) -> Iterator[FilePart]:
        frame = self.frame
        array = frame.tracker.recorder.final_name(frame.table.node)
        layout, runs = layout_of(self._options), list(self._runs(kept))
        if "linesep" in self._options or _has_breaks(files, kept) or not self._stay(runs):
            layout = UNKNOWN
        by = self._spread.folders if any("=" in file for file in files) else ()
        columns = tuple(self._columns or frame.table.columns)
        by = tuple(c for c in columns if c.lower() in {name.lower() for name in by})
        store = frame.tracker.recorder.catalog.identity()
        of = Written(store, array, columns, by, layout)
        written: dict[tuple[int, tuple[str, ...], int], list[str]] = {}
        for file in sorted(files, key=order_of):
            task, bucket, _ = order_of(file)
            written.setdefault((task, _folders(file), bucket), []).append(file)
        session = frame.plain.sparkSession
        most = self._options.get(_LIMIT.lower(), session.conf.get(f"spark.sql.files.{_LIMIT}"))
        for key, start, count in runs:
            place, many = start, int(str(most))
            for file in written.get(key, ()):
                left = start + count - place
                rows = rows_in(folder, file)
                rows = rows if rows is not None else min(many, left) if many > 0 else left
                yield FilePart(file, of, place, rows)
                place += rows
            if place != start + count:
                return

    def _stay(self, runs: Sequence[Run]) -> bool:
        """Whether rows that go to one file stay in the order that they are in."""
        tasks = Counter[int]()
        for (task, _, _), _, count in runs:
            tasks[task] += count
        return self._spread == RowSpread() or max(tasks.values(), default=0) <= _IN_ORDER

    def _runs(self, kept: Kept) -> Iterator[Run]:
        """Say which rows follow each other in a file, or in several of one task."""
        if self._spread == RowSpread():
            numbering = kept.one.numbering
            for task, (start, count) in enumerate(
                zip(numbering.offsets.tolist(), numbering.counts, strict=True)
            ):
                if count:
                    yield (task, (), -1), start, count
            return
        spread, rows = self._spread, kept.frame
        columns = dict(
            zip(map(str.lower, output_names(kept.plan)), items(kept.plan.output()), strict=True)
        )
        folders = [
            _value(as_column(rows, columns[n.lower()]).cast("string")) for n in spread.folders
        ]
        bucket = _bucket([as_column(rows, columns[n.lower()]) for n in spread.hashed], spread)
        number = F.col(kept.one.column)
        found = rows.groupBy(F.shiftright(number, SHIFT), *bucket, *folders)
        groups = map(tuple, found.agg(F.min(number), F.count(F.lit(1))).collect())
        paths = jvm_of(rows).org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
        for task, *values, first, count in sorted(groups, key=lambda group: group[-2]):
            of_bucket = values.pop(0) if bucket else -1
            names = tuple(
                _folder(str(paths.getPartitionPathString(name, value)))
                for name, value in zip(spread.folders, values, strict=True)
            )
            start = int(kept.one.numbering.positions(np.array([first]))[0])
            yield (task, names, of_bucket), start, count


def _value(text: Column) -> Column:
    """Return the value that a folder is named after: an empty text is none."""
    return F.nullif(text, F.lit(""))


def _bucket(hashed: Sequence[Column], spread: RowSpread) -> list[Column]:
    return [F.pmod(F.hash(*hashed), F.lit(spread.buckets))] if spread.buckets else []


def _has_breaks(files: Sequence[str], kept: Kept) -> bool:
    """Whether a line of text may be no row, or a part of one."""
    if not any({"csv", "txt", "xml"} & set(file.split(".")) for file in files):
        return False
    texts = [
        as_column(kept.frame, one).cast("string").rlike(_BREAKS)
        for one in items(kept.plan.output())
        if class_of(one.dataType()) in _TEXTS
    ]
    if not texts:
        return False
    return not kept.frame.where(F.greatest(F.lit(False), *texts)).isEmpty()


def _folders(file: str) -> tuple[str, ...]:
    return tuple(map(_folder, file.split("/")[:-1]))


def _folder(name: str) -> str:
    """Return the name of a folder as it is compared: the case of a column says nothing."""
    column, _, value = name.partition("=")
    return f"{column.lower()}={value}"


def _in_order(frame: Frame, spread: RowSpread, columns: Sequence[str] | None) -> Frame:
    """Return a frame whose rows follow each other where they go to one folder and bucket."""
    plain = frame.plain.toDF(*columns) if columns else frame.plain
    names = [name.lower() for name in plain.columns]
    last = [names.index(name.lower()) for name in spread.folders]
    some = plain.select(
        *(plain[c] for c in range(len(names)) if c not in last), *map(plain.__getitem__, last)
    )
    texts = {name.lower() for name, kind in some.dtypes if kind == "string"}

    def named(columns: Sequence[str]) -> list[Column]:
        return [F.col(f"`{name}`") for name in columns]

    folders = [
        _value(one) if name.lower() in texts else one
        for name, one in zip(spread.folders, named(spread.folders), strict=True)
    ]
    made = some.sortWithinPartitions(
        *folders, *_bucket(named(spread.hashed), spread), *named(spread.sorted)
    )
    table = frame.tracker.table(
        frame.table.node.base, tuple(made.columns), RowSet(), Origin("write", {})
    )
    return Frame(frame.known, table, made)


class Writer:
    """PySpark's writer, for the rows that were recorded, in their order."""

    def __init__(self, frame: Frame, kind: str, *args: Any) -> None:
        self._frame = frame
        self._make = kind, args
        self._plain = self._of(frame.plain)
        self._calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    @property
    def __class__(self) -> type:
        found: type = type(self._plain)
        return found

    @__class__.setter
    def __class__(self, _: type) -> None:
        raise TypeError("a writer stays one")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._plain, name)
        if name in _TO_PATH | _TO_TABLE | _ELSEWHERE:
            return partial(self._write, name)
        return partial(self._note, name) if callable(value) else value

    def _of(self, rows: DataFrame) -> Any:
        kind, args = self._make
        return getattr(rows, kind)(*args) if args else getattr(rows, kind)

    def _note(self, name: str, *args: Any, **kwargs: Any) -> Writer:
        getattr(self._plain, name)(*args, **kwargs)  # which says what is wrong
        self._calls.append((name, args, kwargs))
        return self

    def _write(self, name: str, *args: Any, **kwargs: Any) -> None:
        folder = self._folder(name, args, kwargs)
        table = self._table(name, args, kwargs)
        spread = self._spread(name, args, kwargs)
        columns = None
        if name == "insertInto" and table:
            columns = self._frame.plain.sparkSession.table(table).columns
        sink = RowSink(self._frame, spread or RowSpread(), self._options(kwargs), columns)
        sink.before(folder)
        writer = self._of(sink.rows)
        for call, some, more in self._calls:
            writer = getattr(writer, call)(*some, **more)
        getattr(writer, name)(*args, **kwargs)
        folder = folder or self._folder(name, args, kwargs)
        if spread is None or not sink.link(folder):
            leave(self._frame, f"write.{name}")

    def _options(self, kwargs: Mapping[str, object]) -> dict[str, object]:
        found: dict[str, object] = {name: v for name, v in kwargs.items() if v is not None}
        for call, some, more in self._calls:
            if call == "option":
                given = dict(zip(("key", "value"), some, strict=False)) | more
                found[str(given["key"])] = given["value"]
            elif call == "options":
                found |= more
        return found

    def _table(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        """Return the name of the table that rows are written to, if that is one."""
        if name not in _TO_TABLE:
            return None
        kind, made = self._make
        if kind == "writeTo":
            return str(made[0])
        found = kwargs.get("tableName", kwargs.get("name", args[0] if args else None))
        return None if found is None else str(found)

    def _spread(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> RowSpread | None:
        """Return how rows are spread; None if that is not known."""
        table = self._table(name, args, kwargs)
        found = spread_of_table(self._frame.plain.sparkSession, table) if table else None
        calls = [call for call in self._calls if call[0] in _SPREADING]
        if kwargs.get("partitionBy"):
            calls.append(("partitionBy", (kwargs["partitionBy"],), {}))
        if name == "insertInto" or not calls:
            return found or RowSpread()
        found = RowSpread()
        for call, some, more in calls:
            names = _texts([*some, *more.values()])
            if names is None or call == "clusterBy":
                return None
            if call == "bucketBy":
                found = replace(found, buckets=int(names[0]), hashed=names[1:])
            elif call == "sortBy":
                found = replace(found, sorted=names)
            else:
                found = replace(found, folders=names)
        there = {column.lower() for column in self._frame.table.columns}
        known = all(n.lower() in there for n in (*found.folders, *found.hashed, *found.sorted))
        return found if known and not self._frame.tracker.recorder.closed else None

    def _folder(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
        """Return where it writes to, if that is a folder; of a new table, once it is there."""
        if name in _TO_PATH:
            given = {key.lower(): value for key, value in self._options(kwargs).items()}
            path = given.get("path", args[0] if args else None)
            return None if path is None else str(path)
        table = self._table(name, args, kwargs)
        return folder_of_table(self._frame.plain.sparkSession, table) if table else None


def leave(frame: Frame, way: str) -> None:
    """Take note that values of a frame leave."""
    frame.known.left(frame)
    frame.tracker.recorder.leak(way, [frame.table.node])


def _texts(values: Sequence[Any]) -> tuple[str, ...] | None:
    """Return names of columns, given in any way that PySpark takes; None if they are more."""
    found: list[str] = []
    for value in values:
        if isinstance(value, list | tuple):
            found += _texts(value) or ()
        elif isinstance(value, str | int | float | bool):
            found.append(str(value))
        else:
            text = str(value._jc.toString())  # noqa: SLF001 (what Spark calls it)
            if not re.fullmatch(r"\w+", text):
                return None
            found.append(text)
    return tuple(found)


def _relation(session: SparkSession, table: str) -> Any | None:
    if not session.catalog.tableExists(table):
        return None
    return files_of(analysed(session.table(table)))


def folder_of_table(session: SparkSession, table: str) -> str | None:
    """Return the folder of a table, if it is one of files."""
    relation = _relation(session, table)
    paths = relation.location().rootPaths() if relation is not None else None
    return str(paths.apply(0).toString()) if paths is not None and paths.size() == 1 else None


def spread_of_table(session: SparkSession, table: str) -> RowSpread | None:
    """Return how rows of a table are spread, if there is such a table of files."""
    relation = _relation(session, table)
    if relation is None:
        return None
    return spread_of(relation.partitionSchema().names(), relation.bucketSpec())


def spread_of(folders: Any, bucket: Any) -> RowSpread:
    """Return what Spark says of folders and buckets."""
    found = RowSpread(tuple(map(str, folders)))
    if not bucket.isDefined():
        return found
    hashed, ordered = bucket.get().bucketColumnNames(), bucket.get().sortColumnNames()
    return replace(
        found,
        buckets=int(bucket.get().numBuckets()),
        hashed=tuple(map(str, items(hashed))),
        sorted=tuple(map(str, items(ordered))),
    )
