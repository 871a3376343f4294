"""``spark.read.format("dslog")``: a store's tables as Spark DataFrames.

The driver opens the store once, to plan; executors read the files they are named. Filters on the
columns of pairs, and on the ends of compressed rows, decide which files and row groups are read.
"""

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from dslog.errors import DslogError, StoreError, did_you_mean
from dslog.lineage.large_lineage import Unit
from dslog.lineage.lineage import Lineage
from dslog.relation.relation import column_names
from dslog.relation.relation import schema as pairs_schema
from dslog.sql.pairs import Condition, cells_window, condition, pairs_within, rows_window
from dslog.sql.sql_cost import SqlCost
from dslog.sql.table_kinds import (
    ARRAYS,
    KINDS,
    LINEAGES,
    OPERATIONS,
    catalog_table,
    pairs_batch,
    rows_batches,
    rows_schema,
)
from dslog.store.catalog import Pair
from dslog.store.files import Files, StoredLineage
from dslog.store.lineage_store import LineageStore
from dslog.types import I64, Shape

_CATALOG = {"arrays": ARRAYS, "operations": OPERATIONS, "lineages": LINEAGES}


class CatalogReader(DataSourceReader):
    """Reads a small table that the driver has read already."""

    def __init__(self, table: pa.Table) -> None:
        self._batches = table.to_batches()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        """Give all of it."""
        return iter(self._batches)


@dataclass
class Share(InputPartition):
    """What one task reads: lineages, and the window of cells to read of them, or a unit of one."""

    lineages: tuple[StoredLineage, ...]
    window: I64
    unit: Unit | None = None


class LineageReader(DataSourceReader):
    """Reads the lineage between two arrays, as pairs or as compressed rows."""

    def __init__(
        self, kind: str, out_shape: Shape, in_shape: Shape, lineages: tuple[StoredLineage, ...]
    ) -> None:
        self._kind = kind
        self._shapes = out_shape, in_shape
        self._lineages = lineages
        self._conditions: list[Condition] = []

    def partitions(self) -> Sequence[InputPartition]:
        """Cut the window into what tasks read."""
        return self._pairs_parts() if self._kind == "pairs" else self._rows_parts()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a partition's share."""
        assert isinstance(partition, Share)  # noqa: S101
        if self._kind == "pairs":
            return self._read_pairs(partition)
        return self._read_rows(partition)

    def _window(self) -> I64:
        names = column_names(*map(len, self._shapes))
        make = cells_window if self._kind == "pairs" else rows_window
        return make(self._conditions, names, self._shapes[0] + self._shapes[1])

    def _rows_parts(self) -> list[Share]:
        window = self._window()
        parts: list[Share] = []
        for stored in self._lineages:
            if stored.large is None or not stored.large.is_union:
                parts.append(Share((stored,), window))
                continue
            units = stored.large.units_within(window, SqlCost.current().unit_rows)
            parts += [Share((stored,), window, unit) for unit in units]
        return parts

    def _read_rows(self, reading: Share) -> Iterator[pa.RecordBatch]:
        (stored,) = reading.lineages
        large = stored.large
        lineage = large.lineage_of([reading.unit]) if reading.unit and large else stored.read()
        yield from rows_batches(lineage, stored.number)

    def _pairs_parts(self) -> list[Share]:
        window = self._window()
        rows = sum(stored.body.num_rows for stored in self._lineages)
        l = len(self._shapes[0])
        if l == 0 or (window[:, 0] > window[:, 1]).any():
            return [Share(self._lineages, window)]
        axis = int(np.argmax(window[:l, 1] - window[:l, 0]))
        low, high = window[axis].tolist()
        count = min(max(rows // SqlCost.current().partition_rows, 1), high - low + 1)
        edges = [low + (high - low + 1) * k // count for k in range(count + 1)]
        parts = []
        for start, stop in pairwise(edges):
            share = window.copy()
            share[axis] = start, stop - 1
            parts.append(Share(self._lineages, share))
        return parts

    def _read_pairs(self, reading: Share) -> Iterator[pa.RecordBatch]:
        lineages: list[Lineage] = []
        for stored in reading.lineages:
            if stored.large is None:
                lineages.append(stored.read())
            else:
                units = stored.large.units_within(reading.window, SqlCost.current().unit_rows)
                lineages.append(stored.large.lineage_of(units))
        for pairs in pairs_within(lineages, reading.window):
            if len(pairs):
                yield pairs_batch(pairs, *map(len, self._shapes))


class FilteringReader(LineageReader):
    """Reads only what filters leave."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 (Spark's name)
        """Take what bounds a column; Spark still checks what a window can't say."""
        for one in filters:
            found = _condition(one)
            if found is not None:
                self._conditions.append(found)
            if found is None or not found.whole or self._kind == "rows":
                yield one


class DslogSource(DataSource):
    """A store, or the lineage between two of its arrays.

    Options: ``path`` of the store; ``kind``, one of those in ``dslog.sql.table_kinds``, by default
    "pairs"; ``out`` and ``in``, the two arrays, for "pairs" and "rows".
    """

    lineage_reader: ClassVar = LineageReader

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._kind = options.get("kind", "pairs")
        if self._kind not in KINDS:
            hint = did_you_mean(self._kind, KINDS)
            raise DslogError(f"kind {self._kind!r} is none of {', '.join(KINDS)}.{hint}")
        needed = ("path",) if self._kind in _CATALOG else ("path", "out", "in")
        for name in needed:
            if name not in options:
                raise DslogError(
                    f'reading {self._kind} of a store needs the option "{name}": '
                    f'spark.read.format("dslog").option("{name}", ...)'
                )

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "dslog"

    def schema(self) -> StructType:
        """The columns of the table."""
        if self._kind in _CATALOG:
            return from_arrow_schema(_CATALOG[self._kind])
        with self._open() as store:
            out_shape, in_shape = _shapes(store, self.options["out"], self.options["in"])
        make = pairs_schema if self._kind == "pairs" else rows_schema
        return from_arrow_schema(make(len(out_shape), len(in_shape)))

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002
        """What plans and reads."""
        if self._kind in _CATALOG:
            with self._open() as store:
                return CatalogReader(catalog_table(store, self._kind))
        with self._open() as store:
            out, in_ = self.options["out"], self.options["in"]
            lineages = tuple(store.stored(out, in_))
            return self.lineage_reader(self._kind, *_shapes(store, out, in_), lineages)

    def _open(self) -> LineageStore:
        return LineageStore(self.options["path"], "r", read_capture=_read_only)


class FilteringSource(DslogSource):
    """The same for sessions that push filters down; Spark refuses such a reader in others."""

    lineage_reader = FilteringReader


def _condition(one: Filter) -> Condition | None:
    column: tuple[str, ...] = getattr(one, "attribute", ())
    if len(column) != 1 or not hasattr(one, "value"):
        return None
    return condition(type(one).__name__, column[0], one.value)


def _shapes(store: LineageStore, out: str, in_: str) -> tuple[Shape, Shape]:
    store.stored(out, in_)  # an unknown name is an error that says what is known
    shapes = {array.name: array.shape for array in store.arrays()}
    return shapes[out], shapes[in_]


def _read_only(capture: object, pair: Pair, files: Files, engine: str) -> Lineage:  # noqa: ARG001
    raise StoreError("a store that is read as tables takes no captures: use dslog.open")
