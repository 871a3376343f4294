"""Part files: rows of a large table as Parquet files that executors write, one each.

A part has the columns of ``lineage.codec``, all of them, as plain integers whose types follow from
the shapes of the arrays, so that any reader can put the parts of a Lineage one after another, and
SQL can read them. Rows are sorted by their first output cell; row groups are small, because a query
reads the few that its bounds let through. Footer and row groups have a checksum each, which the
catalog holds: nothing of a file is parsed before its bytes are what was written.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from dslog.errors import CorruptError
from dslog.lineage.interval_index import IntervalIndex
from dslog.lineage.kernels import any_overlap
from dslog.lineage.lineage_cost import LineageCost
from dslog.lineage.table import Table, attribute_names
from dslog.types import I64, Shape

_MOST_ROWS = 1 << 24  # of a row group, which is read at once
Bounds = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class PartFile:
    """A part file that was written and flushed, under a name that nobody used before.

    ``bounds`` hold every cell its rows name: ``(lo, hi)`` per output axis, then per input axis.
    ``sums`` are the CRC-32 of the footer, and of each row group; files of old stores have none.
    """

    name: str
    rows: int
    levels: int
    nbytes: int
    checksum: bytes
    bounds: Bounds
    sums: tuple[int, ...] = ()

    def to_json(self) -> str:
        """Return a text that ``from_json`` reads."""
        checksum = self.checksum.hex()
        words = [self.name, self.rows, self.levels, self.nbytes, checksum, self.bounds, self.sums]
        return json.dumps(words)

    @classmethod
    def from_json(cls, text: str) -> PartFile:
        """Undo ``to_json``."""
        name, rows, levels, nbytes, checksum, bounds, sums = json.loads(text)
        ends = tuple((lo, hi) for lo, hi in bounds)
        return cls(name, rows, levels, nbytes, bytes.fromhex(checksum), ends, tuple(sums))


def write_part(table: Table, out_shape: Shape, in_shape: Shape, directory: Path) -> PartFile:
    """Write a table into a directory that exists, under a fresh name, and flush it to disk.

    The name is unique to this call, so another attempt of the same task never touches the file.
    """
    blob = _blob(table, out_shape, in_shape)
    sink = io.BytesIO()
    pq.write_table(
        blob,
        sink,
        compression="zstd",
        use_dictionary=False,
        column_encoding={name: _encoding(blob.column(name)) for name in blob.column_names},
        row_group_size=LineageCost.current().group_rows,
        store_schema=False,
        write_page_checksum=True,
    )
    content = sink.getbuffer()
    name = f"{uuid4().hex}.parquet"
    with (directory / name).open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    checksum = hashlib.sha256(content).digest()[:16]
    full = f"{directory.name}/{name}"
    sizes = len(table), table.levels, len(content)
    return PartFile(full, *sizes, checksum, table_bounds(table), _sums(content))


def _sums(content: memoryview) -> tuple[int, ...]:
    """Return the checksums of a Parquet file's footer and of its row groups."""
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer = pq.read_metadata(pa.BufferReader(content))
    stretches = [(start, len(content)), *map(_stretch, map(footer.row_group, _groups(footer)))]
    return tuple(zlib.crc32(content[start:stop]) for start, stop in stretches)


def _groups(footer: pq.FileMetaData) -> range:
    return range(footer.num_row_groups)


def _stretch(group: pq.RowGroupMetaData) -> tuple[int, int]:
    """Return where a row group starts and stops in its file; our columns have no dictionaries."""
    columns = [group.column(number) for number in range(group.num_columns)]
    starts = [column.data_page_offset for column in columns]
    stops = [column.data_page_offset + column.total_compressed_size for column in columns]
    return min(starts, default=0), max(stops, default=0)


def table_bounds(table: Table) -> Bounds:
    """Return the bounding box of a table's rows, output axes first."""
    out_lo, out_hi, in_lo, in_hi = table.bounds
    low = np.concatenate([out_lo, in_lo], axis=1).min(axis=0).tolist()
    high = np.concatenate([out_hi, in_hi], axis=1).max(axis=0).tolist()
    return tuple(zip(low, high, strict=True))


def _blob(table: Table, out_shape: Shape, in_shape: Shape) -> pa.Table:
    types = _types(out_shape, in_shape)
    columns = {
        name: pa.array(np.broadcast_to(values, len(table))).cast(types.get(name, pa.int64()))
        for name, values in table.named().items()
    }
    return pa.table(columns)


def _encoding(column: pa.ChunkedArray) -> str:
    """Steady columns as deltas; scattered ones byte by byte, so that zstd sees their ranges."""
    sample = column[: 1 << 14].cast(pa.int64()).to_numpy()
    steps = np.diff(sample)
    steady = len(steps) and np.ptp(steps) * 16 < np.ptp(sample)
    return "DELTA_BINARY_PACKED" if steady or not np.ptp(sample) else "BYTE_STREAM_SPLIT"


def _types(out_shape: Shape, in_shape: Shape) -> dict[str, pa.DataType]:
    """Return the type of every column of a plain table; folds are few and keep int64."""
    types: dict[str, pa.DataType] = {}
    for j, size in enumerate(out_shape):
        types[f"b{j}"] = types[f"b{j}w"] = _narrowest(size, signed=False)
    farthest = max(out_shape, default=0)
    for i, size in enumerate(in_shape):
        types[f"a{i}"] = _narrowest(size + farthest, signed=True)  # an offset may be negative
        types[f"a{i}w"] = _narrowest(size + farthest, signed=False)
        types[f"a{i}r"] = pa.int8()
    return types


def _narrowest(size: int, *, signed: bool) -> pa.DataType:
    choices = (
        (pa.int8(), pa.int16(), pa.int32(), pa.int64())
        if signed
        else (pa.uint8(), pa.uint16(), pa.uint32(), pa.int64())
    )
    for bits, kind in zip((8, 16, 32), choices, strict=False):
        if size <= 1 << (bits - signed):
            return kind
    return choices[-1]


def read_part(path: Path, num_out: int, num_in: int, levels: int) -> Table:
    """Read a whole part file."""
    return rows_of(pq.read_table(path, page_checksum_verification=True), num_out, num_in, levels)


def rows_of(blob: pa.Table, num_out: int, num_in: int, levels: int) -> Table:
    """Return the rows in a part's columns."""
    columns = {
        name: blob.column(name).to_numpy().astype(np.int64, copy=False)
        for name in attribute_names(num_out, num_in, levels)
    }
    return Table.of_named(num_out, num_in, columns, levels)


def dump_table(table: Table, out_shape: Shape, in_shape: Shape) -> bytes:
    """Return a small table as bytes, to travel to the driver."""
    blob = _blob(table, out_shape, in_shape)
    head = {"rows": str(len(table)), "levels": str(table.levels)}
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, blob.schema.with_metadata(head), options=options) as writer:
        writer.write_table(blob.replace_schema_metadata(head))
    return bytes(sink.getvalue())


def load_table(data: bytes, num_out: int, num_in: int) -> Table:
    """Undo ``dump_table``."""
    with pa.ipc.open_stream(data) as reader:
        blob = reader.read_all()
    rows, levels = (int(blob.schema.metadata[key]) for key in (b"rows", b"levels"))
    if not num_out + num_in:  # a pair of single cells: no columns, at most one row
        return Table(0, 0, np.zeros((0, rows), np.int64))
    return rows_of(blob, num_out, num_in, levels)


def meets(bounds: I64, boxes: I64) -> npt.NDArray[np.bool_]:
    """Say for each of some bounding boxes (n, d, 2) whether any query box (k, d, 2) meets it."""
    if not bounds.shape[1]:
        return np.full(len(bounds), len(boxes) > 0)
    lo, hi = np.ascontiguousarray(bounds[:, :, 0]), np.ascontiguousarray(bounds[:, :, 1])
    index = IntervalIndex.build(
        np.ascontiguousarray(boxes[:, :, 0]), np.ascontiguousarray(boxes[:, :, 1])
    )
    start, stop = index.stretch(lo, hi)
    found = np.zeros(len(bounds), bool)
    any_overlap(lo, hi, index.lo, index.hi, start, stop, found)
    return found


@contextmanager
def opened(path: Path, nbytes: int) -> Iterator[BinaryIO]:
    """Open a plain file of this size; links, pipes and devices are refused, and never waited for.

    What goes wrong while it is read is a CorruptError too.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise _damaged(path, "it is no plain file")
            if status.st_size != nbytes:
                said = f"it has {status.st_size} bytes, not the {nbytes} that were written"
                raise _damaged(path, said)
            yield file
    except CorruptError:
        raise
    except (OSError, MemoryError, pa.ArrowException) as error:
        raise _damaged(path, error) from error


@lru_cache(maxsize=256)
def read_footer(path: Path, part: PartFile) -> pq.FileMetaData:
    """Return a part's footer, once its bytes are checked; files never change: a few are kept."""
    footer = _read_footer(path, part)
    rows = [footer.row_group(group).num_rows for group in _groups(footer)]
    if sum(rows) != part.rows or max(rows, default=0) > _MOST_ROWS:
        raise _damaged(path, f"it has {sum(rows)} rows, not {part.rows}")
    if part.sums and len(part.sums) != len(rows) + 1:
        raise _damaged(path, "it has other row groups")
    return footer


def _read_footer(path: Path, part: PartFile) -> pq.FileMetaData:
    with opened(path, part.nbytes) as file:
        if not part.sums:
            return pq.read_metadata(pa.BufferReader(_whole(path, part, file)))
        file.seek(max(part.nbytes - 8, 0))
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(part.nbytes - 8 - length, 0))
        tail = file.read()
        _compare(tail, part.sums[0], path)
        return pq.read_metadata(pa.BufferReader(tail))


def read_groups(
    path: Path, part: PartFile, groups: Sequence[int], num_out: int, num_in: int
) -> Table:
    """Read row groups of a part file, by default all, once their bytes are checked."""
    footer = read_footer(path, part)
    some = list(groups or _groups(footer))
    with opened(path, part.nbytes) as file:
        if part.sums:
            content = np.zeros(part.nbytes, np.uint8)  # pages that stay empty take no memory
            for group in some:
                start, stop = _stretch(footer.row_group(group))
                if not 0 <= start <= stop <= part.nbytes:
                    raise _damaged(path, "a row group lies outside of it")
                file.seek(start)
                read = file.read(stop - start)
                _compare(read, part.sums[group + 1], path)
                content[start:stop] = np.frombuffer(read, np.uint8)
            source = pa.BufferReader(content)
        else:
            source = pa.BufferReader(_whole(path, part, file))
        with pq.ParquetFile(source, metadata=footer, page_checksum_verification=True) as parquet:
            blob = parquet.read_row_groups(some, use_threads=False)
    return rows_of(blob, num_out, num_in, part.levels)


def check_part(path: Path, part: PartFile) -> None:
    """Raise a CorruptError unless a whole file is what was written, for others that read it."""
    with opened(path, part.nbytes) as file:
        _whole(path, part, file)


def _whole(path: Path, part: PartFile, file: BinaryIO) -> bytes:
    """Return a file's bytes, checked."""
    content = file.read(part.nbytes)
    if hashlib.sha256(content).digest()[:16] != part.checksum:
        raise _damaged(path, "its checksum differs")
    return content


def _compare(content: bytes, expected: int, path: Path) -> None:
    if zlib.crc32(content) != expected:
        raise _damaged(path, "its checksum differs")


def group_bounds(footer: pq.FileMetaData, num_out: int, num_in: int, levels: int) -> I64:
    """Return the box around the cells of each row group (groups, axes, 2), from statistics.

    It may be wider than the rows are, never narrower: lower ends, widths and offsets are bounded
    one by one. Folded rows reach further than their columns say; those parts are small, and their
    groups count as meeting everything.
    """
    everything = np.array([[-(1 << 62), 1 << 62]] * (num_out + num_in), np.int64)
    groups = [
        everything if levels else _group_bounds(footer.row_group(g), num_out, num_in)
        for g in range(footer.num_row_groups)
    ]
    return np.array(groups, np.int64).reshape(len(groups), num_out + num_in, 2)


def _group_bounds(group: pq.RowGroupMetaData, num_out: int, num_in: int) -> I64:
    low, high = {}, {}
    for number in range(group.num_columns):
        column = group.column(number)
        statistics = column.statistics
        low[column.path_in_schema], high[column.path_in_schema] = statistics.min, statistics.max
    bounds = [[low[f"b{j}"], high[f"b{j}"] + high[f"b{j}w"]] for j in range(num_out)]
    for i in range(num_in):
        name = f"a{i}"
        first, last = low[name], high[name] + high[f"{name}w"]
        refs = range(low[f"{name}r"], high[f"{name}r"] + 1)
        shifts = [(0, 0) if ref < 0 else tuple(bounds[ref]) for ref in refs]
        bounds.append([first + min(s[0] for s in shifts), last + max(s[1] for s in shifts)])
    return np.array(bounds, np.int64).reshape(-1, 2)


def _damaged(path: Path, error: object) -> CorruptError:
    return CorruptError(
        f"can't read the file {path}: {error}; restore it from a copy, or capture that lineage "
        f"again. On a cluster, every executor must see the store's directory under this path"
    )
