"""Where a store's steps run: in this process, on files that are read in part, or on Spark.

What a query needs again is kept: loaded lineages while they fit, so that nothing is read twice, and
plans of paths while the catalog stays as it is, so that asking again costs one look at it.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from dslog.cells.selection import number_columns, select
from dslog.config import Config
from dslog.errors import EngineError
from dslog.lineage.large_lineage import LargeLineage
from dslog.lineage.lineage import Lineage
from dslog.query.execute import Cells, Follower, Load, pair_named
from dslog.query.plan import NOTHING, Edge, Plan, plan_path, with_leaks
from dslog.relation.relation import column_names, read
from dslog.spark.join_job import LargeFollower, SharedLineage, SparkJoins, read_cells
from dslog.spark.relation_job import Options, compress_frame, compress_path, relation_rows
from dslog.spark.session import get_session
from dslog.store.catalog import ArrayInfo, Body, Catalog, Pair, find_array
from dslog.store.files import Files, StoredLineage, unpack_body
from dslog.store.hooks import ReadCapture
from dslog.store.store_cost import StoreCost

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


ENGINES = ("auto", "local", "spark")


def _names_columns(query: object) -> bool:
    """Whether a query may name columns, so that their names have to be looked up."""
    if isinstance(query, list):
        return any(map(_names_columns, query))
    return isinstance(query, tuple) and len(query) == 2 and isinstance(query[1], str)


def check_engine(engine: str) -> None:
    """Raise an EngineError unless there is an engine of this name."""
    if engine not in ENGINES:
        raise EngineError(f"engine {engine!r} is unknown: use one of {', '.join(ENGINES)}")


def is_frame(value: object) -> bool:
    """Whether something is a Spark DataFrame, classic or Connect; Spark is not imported for it."""
    named = any(kind.__module__.startswith("pyspark.sql.") for kind in type(value).__mro__)
    return named and hasattr(type(value), "mapInArrow")


class LineageCache:
    """The lineages used last, up to some bytes of rows; the newest one stays in any case.

    Keyed by body number: bodies never change, so nothing has to be dropped when others write.
    """

    def __init__(self) -> None:
        self._limit = StoreCost.current().cache_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, Lineage] = OrderedDict()
        self._size = 0

    def get(self, body: int) -> Lineage | None:
        """Return a kept lineage and mark it as used."""
        with self._lock:
            if body in self._kept:
                self._kept.move_to_end(body)
            return self._kept.get(body)

    def put(self, body: int, lineage: Lineage) -> None:
        """Keep a lineage, and drop those used longest ago to make room."""
        with self._lock:
            if body in self._kept:
                return
            self._kept[body] = lineage
            self._size += _weight(lineage)
            while self._size > self._limit and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self._size -= _weight(dropped)

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._kept.clear()
            self._size = 0


def _weight(lineage: Lineage) -> int:
    return sum(factor.table.nbytes for term in lineage.terms for factor in term)


@dataclass(frozen=True)
class Engines:
    """The engines of one store; ``spark`` is a session, settings for one, or None."""

    catalog: Catalog
    files: Files
    spark: object
    writable: bool
    cache: LineageCache = field(default_factory=LineageCache, compare=False)
    _headers: dict[int, LargeLineage] = field(default_factory=dict, compare=False)

    def loader(self, engine: str) -> Load:
        """Return what gives a query its lineage, to be followed by this engine."""
        return lambda edge: self._source(edge, engine)

    def load(self, edge: Edge) -> Lineage:
        """Return a lineage in memory, all of it."""
        with pair_named(edge.out, edge.in_):
            return self._load(edge.key)

    def _load(self, number: int, body: Body | None = None) -> Lineage:
        lineage = self.cache.get(number)
        if lineage is None:
            lineage = unpack_body(number, body or self.catalog.body(number), self.files)
            self.cache.put(number, lineage)
        return lineage

    def stored(self, number: int) -> StoredLineage:
        """Return a lineage as it lies in the store."""
        return StoredLineage(number, self.catalog.body(number), self._root)

    def cells(self, query: object, array: ArrayInfo) -> Cells:
        """Read the cells of a query, which may be a Spark DataFrame."""
        if is_frame(query):
            return read_cells(cast("DataFrame", query), array.shape, array.name, self._joins)
        if _names_columns(query):
            query = number_columns(query, array.name, self.catalog.columns(array.name))
        return select(query, array.shape, array.name)

    def reading(self, read_capture: ReadCapture) -> ReadCapture:
        """Return what reads captures: those for Spark here, the others as given."""

        def read_any(
            capture: object, pair: Pair, files: Files, engine: str
        ) -> Lineage | LargeLineage:
            if self._wants_spark(capture, engine):
                return self._compress(capture, pair)
            if is_frame(capture):
                capture = cast("DataFrame", capture).toArrow()
            return read_capture(capture, pair, files, engine)

        return read_any

    @cached_property
    def config(self) -> Config:
        """What this process may do by itself."""
        return Config.from_environment()

    @cached_property
    def _joins(self) -> SparkJoins:
        root = self._root if self.writable else Path(gettempdir())
        return SparkJoins(self.session, root, self.config)

    @property
    def _root(self) -> Path:
        """Where files are, for processes that run in other directories too."""
        return self.files.root.absolute()

    def session(self) -> "SparkSession":
        """Return the session that steps run in, and start one if there is none."""
        return get_session(cast("Mapping[str, object] | SparkSession | None", self.spark))

    def _source(self, edge: Edge, engine: str) -> Lineage | Follower:
        if edge.key == NOTHING:
            shapes = self.catalog.shapes((edge.out, edge.in_))
            return Lineage.empty(shapes[edge.out], shapes[edge.in_])
        lineage = self.cache.get(edge.key)
        if lineage is not None and engine != "spark":
            return lineage
        large, body = self._headers.get(edge.key), None
        if large is None:
            stored = self.stored(edge.key)
            large, body = stored.large, stored.body
        if large is not None:
            self._remember(edge.key, large)
            return LargeFollower(large, engine, self._joins, lambda: self.load(edge))
        lineage = self._load(edge.key, body)
        return SharedLineage(lineage, self._joins) if engine == "spark" else lineage

    def _remember(self, number: int, large: LargeLineage) -> None:
        """Keep a header of many parts, so that it is not read for every query."""
        while len(self._headers) >= StoreCost.current().headers:
            self._headers.pop(next(iter(self._headers)), None)
        self._headers[number] = large

    def _wants_spark(self, capture: object, engine: str) -> bool:
        if isinstance(capture, Lineage) or engine == "local":
            return False
        if is_frame(capture) or engine == "spark":
            return is_frame(capture) or not callable(capture)
        if not isinstance(capture, str | PathLike) or not capture:
            return False
        rows = relation_rows(os.fspath(capture))
        return rows is None or rows > self.config.spark_rows

    def _compress(self, capture: object, pair: Pair) -> Lineage | LargeLineage:
        shapes = pair.out.shape, pair.in_.shape
        config = self.config
        options = Options(collect_rows=config.collect_rows, pairs=config.partition_rows)
        root = self._root
        if isinstance(capture, str | PathLike):
            path = os.fspath(capture)
            return compress_path(path, *shapes, root, self.session, options)
        frame = capture if is_frame(capture) else self._frame(capture, pair)
        return compress_frame(cast("DataFrame", frame), *shapes, root, options)

    def _frame(self, capture: object, pair: Pair) -> "DataFrame":
        """Give a relation that is in memory to Spark."""
        names = column_names(len(pair.out.shape), len(pair.in_.shape))
        if not isinstance(capture, pa.Table):
            pairs = read(capture, pair.out.shape, pair.in_.shape)
            capture = pa.table({name: pairs[:, k] for k, name in enumerate(names)})
        return self.session().createDataFrame(capture)


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans paths through one catalog, with three questions to it for a path of any length.

    Where values left tracking, there are more.
    """

    catalog: Catalog
    _kept: dict[object, tuple[ArrayInfo, Plan]] = field(default_factory=dict)

    def plan(self, path: tuple[str, ...]) -> tuple[ArrayInfo, Plan]:
        """Return a path's first array and its plan; an unknown array is an error."""
        key = (self.catalog.state(), path)  # looked at first, so that a plan is never too old
        found = self._kept.get(key)
        if found is None:
            found = self._make(path)
            if len(self._kept) >= StoreCost.current().plans:
                self._kept.clear()
            self._kept[key] = found
        return found

    def _make(self, path: tuple[str, ...]) -> tuple[ArrayInfo, Plan]:
        shapes = self.catalog.shapes(path)
        for name in path:
            if name not in shapes:
                find_array(name, self.catalog)  # says what is wrong
        pairs: dict[tuple[str, str], list[Edge]] = {}
        for edge in self.catalog.among(path):
            pairs.setdefault((edge.out, edge.in_), []).append(edge)
        plan = plan_path(path, _Known(pairs, self.catalog))
        if self.catalog.has_losses():
            plan = with_leaks(plan, self.catalog.leaks_between)
        return ArrayInfo(path[0], shapes[path[0]]), plan


@dataclass(frozen=True, slots=True)
class _Known:
    """The lineages among some arrays, fetched at once; the rest is asked of the catalog."""

    pairs: dict[tuple[str, str], list[Edge]]
    catalog: Catalog

    def between(self, out: str, in_: str) -> Sequence[Edge]:
        """Return every lineage stored for this (output, input) pair."""
        return self.pairs.get((out, in_), ())

    def without_lineage(self, out: str, in_: str) -> Sequence[Edge]:
        """Return an edge without lineage if ``out`` was made with ``in_``, or with nothing."""
        return self.catalog.without_lineage(out, in_)

    def inputs_of(self, name: str) -> Sequence[str]:
        """Return the arrays that ``name`` was made from."""
        return self.catalog.inputs_of(name)

    def outputs_of(self, name: str) -> Sequence[str]:
        """Return the arrays made from ``name``."""
        return self.catalog.outputs_of(name)
