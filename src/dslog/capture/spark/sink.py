"""Writers of tracked frames: what they write goes on from the frame when it is read again.

Rows are written in the order of their positions, so a file has rows that follow each other, unless
they are spread by their values: those leave, and the store notes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from pyspark.sql import DataFrame

from dslog.capture.spark.frame import Frame
from dslog.capture.spark.manifest import (
    FilePart,
    count_rows,
    data_files,
    order_of,
    read_manifest,
    write_manifest,
)
from dslog.capture.spark.plan_reader import analysed
from dslog.capture.spark.source import Kept, files_of

_TO_PATH = {"csv", "json", "orc", "parquet", "save", "text", "xml"}
_TO_TABLE = {
    "append", "create", "createOrReplace", "insertInto", "overwrite", "overwritePartitions",
    "replace", "saveAsTable",
}  # fmt: skip
_ELSEWHERE = {"jdbc"}


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
        before = data_files(folder) if folder else {}
        rows, kept = self._frame.rows(), self._frame.kept
        if kept is not None and (kept.files is not None or not kept.placed):
            kept = self._frame.tracker.keep(rows)  # as many partitions as it says
            rows = kept.rows()
        writer = self._of(rows)
        for call, some, more in self._calls:
            writer = getattr(writer, call)(*some, **more)
        getattr(writer, name)(*args, **kwargs)
        folder = folder or self._folder(name, args, kwargs)
        table = args[0] if name == "insertInto" and args else kwargs.get("tableName")
        if kept is None or folder is None or not self._link(folder, before, kept, table):
            self._frame.known.left(self._frame)
            self._frame.tracker.recorder.leak(f"write.{name}", [self._frame.table.node])

    def _folder(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> str | None:
        """Return where it writes to, if that is a folder; of a new table, once it is there."""
        if name in _TO_PATH:
            path = kwargs.get("path", args[0] if args else None)
            for call, some, more in self._calls:
                if path is None and call == "option" and some[0] == "path":
                    path = some[1]
                path = path or (more.get("path") if call == "options" else None)
            return path
        if name in _ELSEWHERE:
            return None
        kind, made = self._make
        table = made[0] if kind == "writeTo" else kwargs.get("name", args[0] if args else None)
        session = self._frame.plain.sparkSession
        if not table or not session.catalog.tableExists(table):
            return None
        relation = files_of(analysed(session.table(table)))
        paths = relation.location().rootPaths() if relation is not None else None
        return str(paths.apply(0).toString()) if paths is not None and paths.size() == 1 else None

    def _link(
        self, folder: str, before: dict[str, tuple[int, int]], kept: Kept, table: str | None
    ) -> bool:
        """Say which rows are in the new files; False if nothing can be said."""
        now = data_files(folder)
        new = sorted((file for file in now if before.get(file) != now[file]), key=order_of)
        parts = [p for f, p in read_manifest(folder).items() if f in now and f not in new]
        spread = any("/" in file for file in new) or any(
            call in ("bucketBy", "sortBy", "partitionBy", "partitionedBy")
            for call, *_ in self._calls
        )
        counts = None if spread else count_rows(folder, new, kept.one.numbering.counts)
        known = counts is not None and sum(counts) == kept.one.numbering.total
        if known:
            frame = self._frame
            array = frame.tracker.recorder.final_name(frame.table.node)
            columns = frame.table.columns
            if table is not None:  # columns go by place
                columns = tuple(frame.plain.sparkSession.table(table).columns)
            start = 0
            for file, count in zip(new, counts or (), strict=True):
                parts.append(FilePart(file, array, columns, start, count))
                start += count
        write_manifest(folder, parts)
        return known
