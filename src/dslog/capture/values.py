"""The values that the verbs can look at.

Those kept in the store, arrays as ``.npy`` and tables as Parquet, and those of tracked arrays that
the program still holds and that were not written to since.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dslog.capture.numpy.memory import Tracked, plain_of, settled_node
from dslog.capture.recorder import Keeper, Session
from dslog.cells.cellset import CellSet
from dslog.types import I64, Array


class KnownValues:
    """Values by the array's name; see :class:`dslog.questions.history.KeptValues`."""

    def __init__(self, session: Session, keeper: Keeper, directory: Path | None) -> None:
        self._session = session
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
        found = {}
        for array in self._session.alive:
            node = settled_node(array) if isinstance(array, Tracked) else None
            if isinstance(array, Tracked) and node is not None and node.stored:
                found[node.name] = plain_of(array)
        return found

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
