"""Values of arrays and tables: those that are kept in the store, and those that a program holds.

Kept are arrays as ``.npy`` files and tables as Parquet, in the folder ``values`` of the store;
never pickled, so arrays of Python objects are passed over. The catalog says which file is whose. A
store in memory keeps them in memory. Held are tracked arrays that the program has not let go of,
nor written to since.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dslog.cells.cellset import CellSet
from dslog.errors import CorruptError, NotFoundError, did_you_mean
from dslog.lineage.part_files import opened
from dslog.store.catalog import Catalog
from dslog.store.files import flush
from dslog.types import I64, Array


class Keeper:
    """Saves and loads values: each in a file of its own, whose checksum the catalog has."""

    def __init__(self, directory: Path | None, catalog: Catalog) -> None:
        self._directory = directory
        self._catalog = catalog
        self._memory: dict[str, Array] = {}

    def save(self, nodes: Mapping[Any, Array]) -> None:
        """Keep the values of nodes that are stored."""
        kept = [
            (node.number, *self._write(node.name, values))
            for node, values in nodes.items()
            if not values.dtype.hasobject
        ]
        if kept:
            if self._directory is not None:
                flush(self._directory)
            with self._catalog.transaction() as transaction:
                for one in kept:
                    transaction.keep(*one)

    def _write(self, name: str, values: Array) -> tuple[str, str]:
        file = new_file(name, ".npy")
        if self._directory is None:
            self._memory[file] = values
            return file, ""
        self._directory.mkdir(exist_ok=True)
        sink = io.BytesIO()
        np.save(sink, values, allow_pickle=False)
        with (self._directory / file).open("xb") as out:
            out.write(sink.getbuffer())
            out.flush()
            os.fsync(out.fileno())
        return file, hashlib.sha256(sink.getbuffer()).hexdigest()

    def load(self, name: str) -> Array:
        """Return the values of an array, or raise if they were not kept."""
        found = self.find(name)
        if found is None:
            hint = did_you_mean(name, self._catalog.all_kept())
            raise NotFoundError(
                f"no values of {name!r} are kept: track with keep_values=True to keep them.{hint}"
            )
        return found

    def find(self, name: str) -> Array | None:
        """Return the values of an array, or None if they were not kept."""
        kept = self._catalog.kept(name)
        if kept is None or not kept[0].endswith(".npy"):
            return None
        return self._read(name, *kept)

    def _read(self, name: str, file: str, checksum: str) -> Array:
        if self._directory is None:
            return self._memory[file]
        path = self._directory / Path(file).name
        try:
            with opened(path, path.lstat().st_size) as source:
                content = source.read()
            if hashlib.sha256(content).hexdigest() != checksum:
                raise CorruptError(f"the checksum of {path} differs")
            values: Array = np.load(io.BytesIO(content), allow_pickle=False)
        except (OSError, ValueError, EOFError, MemoryError) as error:
            raise CorruptError(
                f"the kept values of {name!r} are damaged: {error}; restore them from a copy, or "
                f"run again what made them"
            ) from error
        return values

    def table(self, name: str) -> KeptTable | None:
        """Return the values of a table, or None if they were not kept."""
        kept = self._catalog.kept(name)
        if self._directory is None or kept is None or kept[0].endswith(".npy"):
            return None
        return KeptTable(_parts(self._directory / Path(kept[0]).name))

    def problems(self) -> list[str]:
        """Read what is kept and say what is wrong with it."""
        found = []
        for name, (file, checksum) in self._catalog.all_kept().items():
            if not file.endswith(".npy"):
                if self._directory and sum_of(self._directory / Path(file).name) != checksum:
                    found.append(f"the kept values of {name!r} in {file} are damaged")
                continue
            try:
                self._read(name, file, checksum)
            except CorruptError as error:
                found.append(str(error))
        return found

    def take_old(self) -> None:
        """Write down the files of a store whose catalog did not know of them, as they are now."""
        if self._directory is None or not self._directory.is_dir():
            return
        arrays = self._catalog.arrays()
        with self._catalog.transaction() as transaction:
            for array in arrays:
                quoted = quote(array.name, safe="")
                if len(quoted) > _LONGEST:
                    digest = hashlib.sha256(array.name.encode()).hexdigest()
                    quoted = f"{quoted[:100]}-{digest}"
                for path in (self._directory / f"{quoted}{end}" for end in (".npy", ".parquet")):
                    if path.exists():
                        transaction.keep(array.number, path.name, _old_sum(path, array.name))


def new_file(name: str, end: str) -> str:
    """Return a name that no file has, for values of an array."""
    return f"{quote(name, safe='')[:100]}-{uuid4().hex[:16]}{end}"


def sum_of(path: Path) -> str:
    """Return the checksum of a file, or of a folder of Parquet files."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    whole = hashlib.sha256()
    for part in _parts(path):
        with part.open("rb") as file:
            own = hashlib.file_digest(file, "sha256").digest()
        whole.update(hashlib.sha256(part.name.encode()).digest() + own)
    return whole.hexdigest()


def _parts(path: Path) -> list[Path]:
    return sorted(path.glob("*.parquet"))


def _old_sum(path: Path, name: str) -> str:
    """The checksum of an old file; nothing where it does not have the one it was written with."""
    if path.suffix == ".npy":
        content = path.read_bytes()
        body, mark, found = content[:-_TAIL], content[-_TAIL:-_SUM], content[-_SUM:]
        own = hashlib.sha256(hashlib.sha256(body).digest() + name.encode()).digest()[:_SUM]
        if mark == _MARK and found != own:
            return ""
    return sum_of(path)


_MARK, _SUM = b"\ndslog values 1\n", 16  # what format 4 had behind an array
_TAIL = len(_MARK) + _SUM
_LONGEST = 200


class KnownValues:
    """Values by the array's name; see :class:`dslog.questions.history.KeptValues`."""

    def __init__(self, held: Callable[[], dict[str, Array]], keeper: Keeper) -> None:
        self._find_held = held
        self._keeper = keeper

    def at(self, array: str, cells: I64) -> Sequence[object] | None:
        """Return the values of cells (n, ndim), or None when they are not known."""
        table = self._keeper.table(array)
        if table is not None:
            return table.at(cells)
        values = self.array(array)
        if values is None:
            return None
        return list(values[tuple(cells.T)]) if values.ndim else [values[()]] * len(cells)

    def missing(self, array: str) -> CellSet | None:
        """Return the cells that are NaN or null, or None when values are not known."""
        table = self._keeper.table(array)
        if table is not None:
            return table.missing()
        values = self.array(array)
        return None if values is None else CellSet.from_mask(_is_missing(values))

    def array(self, name: str) -> Array | None:
        """Return the values of an array that is no table, or None when they are not known."""
        held = self._held.get(name)
        return self._keeper.find(name) if held is None else held

    @cached_property
    def _held(self) -> dict[str, Array]:
        """Arrays that the program holds, as they are now."""
        return self._find_held()


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
