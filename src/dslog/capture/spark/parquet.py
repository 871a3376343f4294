"""Write a tracked frame, and go on with it when its Parquet files are read again.

Rows are written in the order of their positions. A file ``_dslog.json`` beside the data, which
Spark passes over, says which array the files hold and how many rows each: a row's file and its
index there are its position.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import DataFrame, DataFrameWriter
from pyspark.sql import functions as F  # noqa: N812

from dslog.capture.spark.base import Frame
from dslog.capture.spark.java import analysed
from dslog.capture.spark.numbering import SHIFT, Numbering
from dslog.capture.spark.rows import Id, fresh_column

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
