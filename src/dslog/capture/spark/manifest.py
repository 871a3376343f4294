"""What is known of files that tracked frames wrote: rows of which arrays they hold.

A file ``_dslog.json`` beside the data, which Spark passes over, says it: a row's file and its place
there say which row it is, in any process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import DataFrame

from dslog.capture.spark.catalyst import items
from dslog.capture.spark.plan_reader import analysed
from dslog.capture.spark.source import address, file_format, files_of
from dslog.capture.table_product import Pairs

MANIFEST = "_dslog.json"
_UUID = "-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_PART = re.compile(rf"part-(\d+)(?:{_UUID})?(?:_(\d+))?(?:[.-]c(\d+))?")
_URI = re.compile(r"\w+:")
_FORMATS = {"csv": "csv", "json": "json", "orc": "orc", "parquet": "parquet", "txt": "text"}
_FORMATS |= {"xml": "xml"}
_ROWS_APART = {"orc", "parquet"}
"""Formats that have no other rows than those that were written, however they are read."""

_BY_PLACE = {"csv", "text"}
_SHAPING = {"header", "linesep", "rowtag", "wholetext"}
"""Options that say what a row is."""

UNKNOWN = "?"


@dataclass(frozen=True)
class Written:
    """Rows of an array as they are in files: those of a store, in columns of these names.

    ``by`` are columns whose values are in the names of folders; ``layout`` says what a row is.
    """

    store: str
    array: str
    columns: tuple[str, ...]
    by: tuple[str, ...] = ()
    layout: str = ""


@dataclass(frozen=True)
class FilePart:
    """Rows of an array that a file holds: ``count`` of them, from row ``start`` on."""

    file: str
    of: Written
    start: int
    count: int


def layout_of(options: Mapping[str, object]) -> str:
    """Return what options say of rows in files, alike for writing and for reading."""
    given = {name.lower(): str(value).lower() for name, value in options.items()}
    return " ".join(
        f"{name}={given[name]}" for name in sorted(_SHAPING) if given.get(name, "false") != "false"
    )


def read_manifest(folder: str) -> dict[str, FilePart]:
    """Return what is known of the files of a folder, by their names."""
    files, root = _open(folder)
    where = f"{root}/{MANIFEST}"
    if files.get_file_info(where).type == fs.FileType.NotFound:
        return {}
    with files.open_input_stream(where) as stream:
        return dict(_parts(json.loads(stream.read().decode())))


def _parts(item: dict[str, Any]) -> Iterator[tuple[str, FilePart]]:
    of = Written(
        item.get("store", ""),
        item["array"],
        tuple(item["columns"]),
        tuple(item.get("by", ())),
        item.get("layout", UNKNOWN),
    )
    for name, count, *start in item["files"]:
        yield name, FilePart(name, of, sum(start), count)
    for more in item.get("more", ()):
        yield from _parts(more)


def write_manifest(folder: str, parts: Sequence[FilePart]) -> None:
    """Say what files hold; nothing if nothing is known."""
    files, root = _open(folder)
    where = f"{root}/{MANIFEST}"
    arrays: dict[Written, list[tuple[str, int, int]]] = {}
    for part in parts:
        arrays.setdefault(part.of, []).append((part.file, part.count, part.start))
    things = [{**vars(of), "files": some} for of, some in arrays.items()]
    if not things:
        if files.get_file_info(where).type != fs.FileType.NotFound:
            files.delete_file(where)
        return
    with files.open_output_stream(where) as stream:
        stream.write(json.dumps({**things[0], "more": things[1:]}, indent=1).encode())


def _open(path: str) -> tuple[fs.FileSystem, str]:
    if _URI.match(path):
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(
            re.sub(r"^file:/+", "file:///", path)
        )
        return found
    return fs.LocalFileSystem(), path


def data_files(folder: str) -> dict[str, tuple[int, int]]:
    """Return the data files in a folder, and below it, with their sizes and times."""
    files, root = _open(folder)
    found = files.get_file_info(fs.FileSelector(root, allow_not_found=True, recursive=True))
    return {
        info.path[len(root.rstrip("/")) + 1 :]: (info.size, info.mtime_ns)
        for info in found
        if info.is_file and not info.base_name.startswith(("_", "."))
    }


def rows_in(folder: str, file: str) -> int | None:
    """Return how many rows a file says that it has."""
    files, root = _open(folder)
    if not file.endswith(".parquet"):
        return None
    rows: int = pq.read_metadata(f"{root}/{file}", filesystem=files).num_rows
    return rows


def order_of(file: str) -> tuple[int, int, int]:
    """Return the task that wrote a file, the bucket it is of, and which of several it is."""
    found = _PART.match(file.rpartition("/")[2])
    task, bucket, number = (int(n) if n else -1 for n in found.groups()) if found else (-1,) * 3
    return task, bucket, number


def parts_of(frame: DataFrame) -> dict[str, FilePart]:
    """Return what is known of the files that a DataFrame reads as they are, by their addresses."""
    if files_of(analysed(frame)) is None:
        return {}
    found: dict[str, FilePart] = {}
    folders: dict[str, dict[str, FilePart]] = {}
    for file in frame.inputFiles():
        folder, _, name = file.rpartition("/")
        if folder not in folders:
            try:
                folders[folder] = read_manifest(folder)
            except (OSError, pa.ArrowException):  # a file system that Spark alone knows
                folders[folder] = {}
        if name in folders[folder]:
            found[address(file)] = folders[folder][name]
    return found


def whole_array(frame: DataFrame, parts: dict[str, FilePart]) -> Written | None:
    """Return the array that Parquet files are, all of it and nothing else."""
    relation = files_of(analysed(frame))
    if relation is None or file_format(relation) != "parquet" or not parts:
        return None
    ordered = sorted(parts.values(), key=lambda part: (part.start, part.count))
    starts = [sum(part.count for part in ordered[:n]) for n in range(len(ordered))]
    first = ordered[0].of
    one = {part.of for part in ordered} == {first} and first.columns == tuple(frame.columns)
    all_there = set(parts) == set(map(address, frame.inputFiles()))
    in_turn = [part.start for part in ordered] == starts
    return first if one and all_there and in_turn else None


def columns_read(frame: DataFrame, part: FilePart) -> tuple[Pairs, bool]:
    """Say which columns of a frame are from which of those that a file was written of.

    The other value is whether rows are those that were written, if they are as many.
    """
    relation: Any = files_of(analysed(frame))
    wanted, names, of = file_format(relation), frame.columns, part.of
    pairs = items(relation.options().toSeq())
    given = {str(pair.productElement(0)): pair.productElement(1) for pair in pairs}
    written = next((f for end, f in _FORMATS.items() if end in part.file.split(".")[1:]), UNKNOWN)
    if wanted != written:  # whatever that makes of them
        every = range(len(of.columns))
        return frozenset((c, d) for c in range(len(names)) for d in every), False
    options = {name.lower(): str(value) for name, value in given.items()}
    conf = frame.sparkSession.conf
    whole = {
        options.get("columnnameofcorruptrecord", conf.get("spark.sql.columnNameOfCorruptRecord")),
        options.get("singlevariantcolumn"),
    }
    strict = wanted in ("json", "xml") or conf.get("spark.sql.caseSensitive") == "true"
    folders = set(map(str, relation.partitionSchema().names()))
    data = [c for c, name in enumerate(of.columns) if name not in of.by]
    found: set[tuple[int, int]] = set()
    place = 0
    for c, name in enumerate(names):
        if name in whole and wanted not in _ROWS_APART:
            found |= {(c, d) for d in data}
        elif wanted in _BY_PLACE and name not in folders:
            found |= {(c, data[place])} if place < len(data) else set()
            place += 1
        else:
            found |= {(c, d) for d in _named(name, of.columns, strict=strict)}
    apart = wanted in _ROWS_APART and of.layout != UNKNOWN
    return frozenset(found), apart or layout_of(options) == of.layout


def _named(name: str, columns: Sequence[str], *, strict: bool) -> list[int]:
    """Return the columns of a name; if there is none, and it need not be, of one in other case."""
    same = [c for c, other in enumerate(columns) if other == name]
    if same or strict:
        return same
    return [c for c, other in enumerate(columns) if other.lower() == name.lower()]
