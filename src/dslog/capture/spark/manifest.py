"""What is known of files that tracked frames wrote: rows of which arrays they hold.

A file ``_dslog.json`` beside the data, which Spark passes over, says it: a row's file and its place
there say which row it is, in any process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import DataFrame

from dslog.capture.spark.plan_reader import analysed
from dslog.capture.spark.source import address, file_format, files_of

MANIFEST = "_dslog.json"
_PART = re.compile(r"part-(\d+)")
_URI = re.compile(r"\w+:")


@dataclass(frozen=True)
class FilePart:
    """Rows of an array that a file holds: ``count`` of them, from row ``start`` on."""

    file: str
    array: str
    columns: tuple[str, ...]
    start: int
    count: int


def read_manifest(folder: str) -> dict[str, FilePart]:
    """Return what is known of the files of a folder, by their names."""
    files, root = _open(folder)
    where = f"{root}/{MANIFEST}"
    if files.get_file_info(where).type == fs.FileType.NotFound:
        return {}
    with files.open_input_stream(where) as stream:
        return dict(_parts(json.loads(stream.read().decode())))


def _parts(item: dict[str, Any]) -> Iterator[tuple[str, FilePart]]:
    start = 0
    for name, count, *given in item["files"]:
        start = given[0] if given else start
        yield name, FilePart(name, item["array"], tuple(item["columns"]), start, count)
        start += count
    for more in item.get("more", ()):
        yield from _parts(more)


def write_manifest(folder: str, parts: Sequence[FilePart]) -> None:
    """Say what files hold; nothing if nothing is known."""
    files, root = _open(folder)
    where = f"{root}/{MANIFEST}"
    arrays: dict[tuple[str, tuple[str, ...]], list[tuple[str, int, int]]] = {}
    for part in parts:
        some = arrays.setdefault((part.array, part.columns), [])
        some.append((part.file, part.count, part.start))
    items = [
        {"array": array, "columns": columns, "files": some}
        for (array, columns), some in arrays.items()
    ]
    if not items:
        if files.get_file_info(where).type != fs.FileType.NotFound:
            files.delete_file(where)
        return
    with files.open_output_stream(where) as stream:
        stream.write(json.dumps({**items[0], "more": items[1:]}, indent=1).encode())


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


def count_rows(folder: str, names: Sequence[str], rows: Sequence[int]) -> list[int] | None:
    """Return how many rows each file holds, as footers say, or the rows of each task that wrote."""
    files, root = _open(folder)
    if all(name.endswith(".parquet") for name in names):
        return [pq.read_metadata(f"{root}/{name}", filesystem=files).num_rows for name in names]
    numbers = [order_of(name)[0] for name in names]
    if len(set(numbers)) < len(numbers) or not all(0 <= n < len(rows) for n in numbers):
        return None
    return [rows[n] for n in numbers]


def order_of(file: str) -> tuple[int, str]:
    """Return what sorts files by the tasks that wrote them."""
    number = _PART.match(file)
    return (int(number[1]) if number else -1, file)


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


def whole_array(frame: DataFrame, parts: dict[str, FilePart]) -> str | None:
    """Return the array that Parquet files are, all of it and nothing else."""
    relation = files_of(analysed(frame))
    if relation is None or file_format(relation) != "parquet" or not parts:
        return None
    ordered = sorted(parts.values(), key=lambda part: (part.start, part.count))
    starts = [sum(part.count for part in ordered[:n]) for n in range(len(ordered))]
    one = {(part.array, part.columns) for part in ordered} == {
        (ordered[0].array, tuple(frame.columns))
    }
    all_there = set(parts) == set(map(address, frame.inputFiles()))
    in_turn = [part.start for part in ordered] == starts
    return ordered[0].array if one and all_there and in_turn else None
