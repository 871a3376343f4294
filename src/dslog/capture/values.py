"""Values of arrays and tables: those that are kept in the store, and those that a program holds.

Kept are arrays as ``.npy`` files and tables as Parquet, by name, in the folder ``values`` of the
store; never pickled, so arrays of Python objects are passed over. Behind an array's bytes is a
checksum of them and of its name; one without is from an old store. A store in memory keeps them in
memory. Held are tracked arrays that the program has not let go of, nor written to since.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from urllib.parse import quote, unquote
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dslog.cells.cellset import CellSet
from dslog.errors import CorruptError, NotFoundError, did_you_mean
from dslog.lineage.part_files import opened
from dslog.store.files import flush
from dslog.types import I64, Array


class Keeper:
    """Saves and loads values by the array's name."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._memory: dict[str, Array] = {}

    def save(self, name: str, values: Array) -> None:
        """Keep the values of an array."""
        if values.dtype.hasobject:
            return
        if self._directory is None:
            self._memory[name] = values
            return
        self._directory.mkdir(exist_ok=True)
        sink = io.BytesIO()
        np.save(sink, values, allow_pickle=False)
        sink.write(_MARK + _sum(sink.getbuffer(), name))
        draft = self._directory / f"{uuid4().hex}.tmp"
        with draft.open("xb") as file:
            file.write(sink.getbuffer())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(_path(self._directory, name))
        flush(self._directory)

    def load(self, name: str) -> Array:
        """Return the values of an array, or raise if they were not kept."""
        found = self.find(name)
        if found is None:
            hint = did_you_mean(name, self._names())
            raise NotFoundError(
                f"no values of {name!r} are kept: track with keep_values=True to keep them.{hint}"
            )
        return found

    def find(self, name: str) -> Array | None:
        """Return the values of an array, or None if they were not kept."""
        if self._directory is None:
            return self._memory.get(name)
        path = _path(self._directory, name)
        if not path.exists():
            return None
        try:
            with opened(path, path.lstat().st_size) as file:
                content = file.read()
            body, mark, found = content[:-_TAIL], content[-_TAIL:-_SUM], content[-_SUM:]
            if (mark, found) != (_MARK, _sum(body, name)):
                raise CorruptError(f"the checksum of {path} differs")
            values: Array = np.load(io.BytesIO(body), allow_pickle=False)
        except (OSError, ValueError, EOFError, MemoryError) as error:
            raise CorruptError(
                f"the kept values of {name!r} are damaged: {error}; restore them from a copy, or "
                f"run again what made them"
            ) from error
        return values

    def problems(self, names: Iterable[str]) -> list[str]:
        """Read what is kept of these arrays and say what is wrong with it."""
        found = []
        for name in names:
            try:
                self.find(name)
            except CorruptError as error:
                found.append(str(error))
        return found

    def seal_old(self) -> None:
        """Give what an old store kept, as it is now, the checksum that it lacks."""
        for path in [] if self._directory is None else list(self._directory.glob("*.npy")):
            content = path.read_bytes()
            if content[-_TAIL:-_SUM] != _MARK:
                path.unlink()
                self.save(unquote(path.stem), np.load(io.BytesIO(content), allow_pickle=False))

    def _names(self) -> list[str]:
        if self._directory is None:
            return list(self._memory)
        return [unquote(path.stem) for path in self._directory.glob("*.npy")]


_MARK, _SUM = b"\ndslog values 1\n", 16
_TAIL = len(_MARK) + _SUM


def _sum(content: bytes | memoryview, name: str) -> bytes:
    """The checksum of an array's file: values under another array's name don't pass."""
    return hashlib.sha256(hashlib.sha256(content).digest() + name.encode()).digest()[:_SUM]


def _path(directory: Path, name: str) -> Path:
    """Where an array's values are: a name too long for a file's is cut, and told by its hash."""
    quoted = quote(name, safe="")
    if len(quoted) > _LONGEST:
        quoted = f"{quoted[:100]}-{hashlib.sha256(name.encode()).hexdigest()}"
    return directory / f"{quoted}.npy"


_LONGEST = 200


class KnownValues:
    """Values by the array's name; see :class:`dslog.questions.history.KeptValues`."""

    def __init__(
        self, held: Callable[[], dict[str, Array]], keeper: Keeper, directory: Path | None
    ) -> None:
        self._find_held = held
        self._keeper = keeper
        self._directory = directory

    def at(self, array: str, cells: I64) -> Sequence[object] | None:
        """Return the values of cells (n, ndim), or None when they are not known."""
        table = self._table(array)
        if table is not None:
            return table.at(cells)
        values = self._array(array)
        if values is None:
            return None
        return list(values[tuple(cells.T)]) if values.ndim else [values[()]] * len(cells)

    def missing(self, array: str) -> CellSet | None:
        """Return the cells that are NaN or null, or None when values are not known."""
        table = self._table(array)
        if table is not None:
            return table.missing()
        values = self._array(array)
        return None if values is None else CellSet.from_mask(_is_missing(values))

    def _array(self, name: str) -> Array | None:
        held = self._held.get(name)
        return self._keeper.find(name) if held is None else held

    @cached_property
    def _held(self) -> dict[str, Array]:
        """Arrays that the program holds, as they are now."""
        return self._find_held()

    def _table(self, name: str) -> KeptTable | None:
        if self._directory is None:
            return None
        files = sorted((self._directory / f"{quote(name, safe='')}.parquet").glob("*.parquet"))
        return KeptTable(files) if files else None


class KeptTable:
    """A table in Parquet files, in order; read file by file, never as a whole."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files

    def at(self, cells: I64) -> list[object]:
        """Return the values of cells (n, 2)."""
        found: list[object] = [None] * len(cells)
        start = 0
        for path in self._files:
            file = pq.ParquetFile(path)
            end = start + file.metadata.num_rows
            inside = np.flatnonzero((cells[:, 0] >= start) & (cells[:, 0] < end))
            for column in np.unique(cells[inside, 1]).tolist():
                here = inside[cells[inside, 1] == column]
                name = file.schema_arrow.names[column]
                values = file.read([name]).column(0).take(pa.array(cells[here, 0] - start))
                for place, value in zip(here.tolist(), values.to_pylist(), strict=True):
                    found[place] = value
            start = end
        return found

    def missing(self) -> CellSet:
        """Return the cells that are NaN or null."""
        found, rows, columns = [np.zeros((0, 2), np.int64)], 0, 0
        for batch in self._batches():
            columns = batch.num_columns
            for number, column in enumerate(batch.columns):
                holes = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
                places = np.flatnonzero(holes.to_numpy(zero_copy_only=False)) + rows
                found.append(np.stack([places, np.full_like(places, number)], axis=1))
            rows += batch.num_rows
        return CellSet.from_indices((rows, columns), np.concatenate(found))

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for path in self._files:
            file = pq.ParquetFile(path)
            empty = pa.RecordBatch.from_pylist([], schema=file.schema_arrow)
            yield from file.iter_batches() if file.metadata.num_rows else (empty,)


def _is_missing(values: Array) -> npt.NDArray[np.bool_]:
    """Say which values are NaN, NaT or None; kinds that have no such value have none."""
    if values.dtype.kind in "fcmM":
        return np.asarray(np.isnan(values) if values.dtype.kind in "fc" else np.isnat(values))
    if values.dtype.kind == "O":
        is_hole = np.frompyfunc(lambda value: value is None or value != value, 1, 1)  # noqa: PLR0124
        return np.asarray(is_hole(values), dtype=bool)
    return np.zeros(values.shape, bool)
