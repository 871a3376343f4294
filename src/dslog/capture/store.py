"""The store that ``dslog.open`` gives: it keeps lineage, tracks arrays and answers questions.

Capture, reuse and the questions are built on :class:`LineageStore`, which can't know of them; this
class puts them together.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, overload

from dslog.capture.leaks import LeakLog, Policy, own_read
from dslog.capture.numpy.array import TrackedArray, track
from dslog.capture.numpy.memory import Tracked, TrackedScalar, held_values, home_of
from dslog.capture.numpy.substitute import SUBSTITUTION
from dslog.capture.read_capture import read_capture
from dslog.capture.recorder import StoreRecorder
from dslog.capture.values import Keeper, KnownValues
from dslog.config import Config
from dslog.errors import StoreError
from dslog.questions.diff import Diff, Run, diff
from dslog.questions.dropped import Dropped, dropped
from dslog.questions.first_nan import FirstNan, first_nan
from dslog.questions.history import History, KeptValues
from dslog.questions.reach import Impact, Why, impact, why
from dslog.reuse.library import (
    Describe,
    depends_on_values,
    export_signatures,
    import_signatures,
    numpy_library,
    teach,
)
from dslog.reuse.predictor import Predictor
from dslog.store.arguments import ArgumentError
from dslog.store.catalog import SignatureInfo, find_array
from dslog.store.engines import check_engine, is_frame
from dslog.store.files import VALUES
from dslog.store.lineage_store import LineageStore
from dslog.store.maintenance import VerifyReport
from dslog.types import Array, Shape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dslog.capture.spark.table_node import Tracker
    from dslog.capture.spark.tracked_frame import TrackedFrame

Durability = Literal["batch", "call"]
RunLike = Union["Store", str, PathLike[str], slice]
"""What ``diff`` compares."""


for _method in (LineageStore.prov_query, LineageStore.backward, LineageStore.forward):
    own_read(_method)  # cells that are asked about may be a tracked mask


class Store(LineageStore):
    """A store whose arrays can be tracked.

    Calls on tracked arrays wait in memory and are committed together, before the catalog is used
    for anything else, when the store is closed, within a second, and when the program ends.

    A forked process may use the store as well; arrays that its parent tracks are plain in it.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        mode: str = "a",
        *,
        spark: object = None,
        leaks: Policy = "warn",
        durability: Durability = "batch",
    ) -> None:
        if durability not in get_args(Durability):
            raise ArgumentError(f"durability is one of 'batch', 'call', not {durability!r}")
        self._durable = durability == "call"
        config = Config.from_environment()
        reuse = Predictor(
            config.reuse_after, config.reuse_probes, numpy_library, on_values=depends_on_values
        )
        super().__init__(
            path,
            mode,
            read_capture=read_capture,
            reuse=reuse,
            spark=spark,
            durable=self._durable,
        )
        self._keeper = Keeper(self._path / VALUES if self._path else None)
        if self._catalog.was_unsealed:
            self._keeper.seal_old()
        self._begin(LeakLog(leaks))
        _STORES.add(self)

    def _begin(self, leaks: LeakLog) -> None:
        """Begin to record: in a forked process as if nothing had been tracked."""
        commit = self._registrar.commit
        self.recorder = StoreRecorder(commit, self._keeper, leaks, each=self._durable)
        self._frames: Tracker | None = None
        self._use = self.recorder.use()
        self._rescue = weakref.finalize(self._use, self.recorder.close)

    def _after_fork(self) -> None:
        closed = not self._rescue.alive
        self._begin(LeakLog(self.recorder.leaks.policy))
        if closed:
            self._rescue()

    @overload
    def track(
        self, values: DataFrame, name: str | None = None, *, keep_values: bool = False
    ) -> TrackedFrame: ...

    @overload
    def track(
        self, values: Any, name: str | None = None, *, keep_values: bool = False
    ) -> TrackedArray: ...

    def track(
        self, values: Any, name: str | None = None, *, keep_values: bool = False
    ) -> TrackedArray | TrackedFrame:
        """Return values as an array whose lineage is recorded, called ``name`` in this store.

        A Spark DataFrame becomes a tracked frame, anything else a tracked array. Without a name it
        gets one: ``array``, ``array_2`` ... The values are not stored; with ``keep_values`` they
        are, and those of everything that is made of them.
        """
        self._catalog.before_use(self.recorder.flush_all)  # from here on something may wait
        if is_frame(values):
            return self._track_frame(values, name, keep_values=keep_values)
        SUBSTITUTION.begin(self.recorder)
        return track(self.recorder, values, name, keep_values=keep_values)

    def _track_frame(
        self, frame: DataFrame, name: str | None, *, keep_values: bool
    ) -> TrackedFrame:
        """Track a Spark DataFrame; only now is Spark's side of tracking imported."""
        from dslog.capture.spark.tracked_frame import track_frame  # noqa: PLC0415

        return track_frame(self._tables(), frame, name, keep_values=keep_values)

    def _tables(self) -> Tracker:
        from dslog.capture.spark.table_node import Tracker  # noqa: PLC0415

        self._catalog.before_use(self.recorder.flush_all)
        if self._frames is None:
            self._frames = Tracker(self.recorder, self._path / VALUES if self._path else None)
            self.recorder.late = self._frames.flush
        return self._frames

    def record(self, frame: DataFrame, name: str | None = None) -> TrackedFrame:
        """Return a Spark DataFrame, however it was made, with its lineage recorded.

        Lineage is read off Spark's plan, back to tables that this store tracks: SQL over views,
        any method of DataFrames, functions of other libraries. The frame that comes back is what
        was recorded: the values that go with the lineage, computed once.
        """
        from dslog.capture.spark.tracked_frame import record_frame  # noqa: PLC0415

        return record_frame(self._tables(), frame, name, "record")

    def sql(self, query: str, name: str | None = None, **params: Any) -> TrackedFrame:
        """Run a query of Spark's SQL over views of tracked frames, and record its lineage.

        ``params`` are values for markers in the query, ``:name``, as ``spark.sql`` takes them.
        """
        from dslog.capture.spark.sql_command import run_sql  # noqa: PLC0415
        from dslog.capture.spark.tracked_frame import record_frame  # noqa: PLC0415

        frame = run_sql(self._tables(), self._engines.session(), query, params)
        return record_frame(self._tables(), frame, name, "sql", {"query": query}, "query")

    def name_of(self, value: object) -> str | None:
        """Return the name of an array, number or table; None if it is not tracked in this store."""
        table = getattr(value, "_dslog", None) if is_frame(value) else None
        if table is not None:
            return str(table.name) if table.tracker is self._frames else None
        if not isinstance(value, Tracked | TrackedScalar) or home_of(value) is not self.recorder:
            return None
        name: str | None = value.name  # type: ignore[union-attr]
        return name

    def name(self, value: Any, name: str) -> Any:
        """Give a tracked array, number or table a name in this store and return it."""
        if not is_frame(value):
            return value.named(name)
        value._dslog.rename(name)  # noqa: SLF001 (a column may be called "named")
        return value

    def values(self, name: str) -> Array:
        """Return the values of an array that was tracked with ``keep_values``."""
        self.flush()
        return self._keeper.load(name)

    def _values(self) -> KeptValues:
        values = self._path / VALUES if self._path else None
        self.flush()
        held = partial(held_values, self.recorder)
        return KnownValues(held, self._keeper, values)

    # asking like a person who debugs

    def why(self, array: str, cell: object, *, engine: str = "auto") -> Why:
        """Say what made cells: the cells of every array behind them, with values where kept.

        Of a table, a column may be named: ``store.why("delays", (3, "average"))``.
        """
        history = self._history(engine)
        return why(array, history.cells(array, cell), history)

    def impact(self, array: str, cells: object, *, engine: str = "auto") -> Impact:
        """Say what cells touched: the cells of every array made with them."""
        history = self._history(engine)
        return impact(array, history.cells(array, cells), history)

    def dropped(self, array: str, row: object, *, engine: str = "auto") -> Dropped:
        """Find the steps where the lineage of a row ends, and what is left of it.

        ``row`` is the number of a row, or cells as in a query.
        """
        history = self._history(engine)
        return dropped(array, history.row(array, row), history)

    def first_nan(self, array: str, *, engine: str = "auto") -> FirstNan:
        """Find the earliest cells that brought in the NaNs, or nulls, of an array.

        This needs values: of arrays tracked with ``keep_values``, or of tracked arrays that the
        program still holds. Arrays in between without values are looked through.
        """
        return first_nan(find_array(array, self._catalog).name, self._history(engine))

    def diff(self, run1: RunLike, run2: RunLike | None = None) -> Diff:
        """Say which operations and which lineage changed from one run to another.

        A run is a store, the path of one, or a slice of this store's operations; without ``run2``,
        it is this store.
        """
        with ExitStack() as opened:
            return diff(self._run(run1, opened), self._run(run2, opened))

    def teach(
        self,
        name: str,
        describe: Describe,
        shapes: Sequence[Sequence[Shape]],
        op_args: Mapping[str, object] | None = None,
    ) -> SignatureInfo:
        """Let reuse know an operation before it is ever called.

        ``describe(*input_shapes)`` gives the shapes of the outputs and a capture per (output,
        input) pair. It is asked for each of ``shapes``, and a formula has to explain all of them:
        give several different sizes, some of them 1 or 0 if those are to be answered too.
        """
        return teach(self, name, describe, shapes, op_args)

    def export_signatures(self, path: str | PathLike[str]) -> int:
        """Write the formulas that reuse found to a JSON file and return how many there are."""
        return export_signatures(self, path)

    def import_signatures(self, path: str | PathLike[str]) -> int:
        """Take formulas from another store's file and return how many were new.

        What this store found out by itself stays as it is.
        """
        return import_signatures(self, path)

    def verify(self) -> VerifyReport:
        """Re-read everything and check it; problems are reported, not raised."""
        found = super().verify()
        try:
            names = [array.name for array in self.arrays()]
        except StoreError:  # which is among the problems
            return found
        return replace(found, problems=(*found.problems, *self._keeper.problems(names)))

    def flush(self) -> None:
        """Commit what was captured so far; queries and ``close`` do that by themselves."""
        self.recorder.flush_all()

    def close(self) -> None:
        """Commit what was captured and close the store; closing twice is fine."""
        self._rescue()
        super().close()

    def _history(self, engine: str = "auto") -> History:
        """Gather what questions need to know."""
        check_engine(engine)
        return History(self._catalog, self._values(), self._engines.loader(engine))

    def _run(self, run: RunLike | None, opened: ExitStack) -> Run:
        if isinstance(run, str | PathLike):
            run = opened.enter_context(Store(run, "r"))
        if isinstance(run, Store):
            return run._as_run()  # noqa: SLF001 (another store)
        if run is not None and not isinstance(run, slice):
            raise ArgumentError(
                f"{run!r} is no run: give a store, the path of one, or a slice of operations, such "
                f"as slice(0, 5)"
            )
        return self._as_run(run)

    def _as_run(self, part: slice | None = None) -> Run:
        history = self._history()
        calls = history.calls if part is None else history.calls[part]
        label = self._given
        if part is not None:
            label += f" operations {part.start or 0}:{'' if part.stop is None else part.stop}"
        return Run(label, history, calls, self._engines.load)


_STORES: weakref.WeakSet[Store] = weakref.WeakSet()


def _after_fork() -> None:
    for store in list(_STORES):
        store._after_fork()  # noqa: SLF001 (of this module)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def open_store(
    path: str | PathLike[str],
    mode: Literal["a", "r"] = "a",
    *,
    spark: object = None,
    leaks: Policy = "warn",
    durability: Durability = "batch",
) -> Store:
    """Open the store in a directory, or make one there.

    ``":memory:"`` gives a throw-away store. Mode ``"r"`` only reads, and so does ``"a"`` where the
    directory can't be written. ``spark`` is a session, or settings for one, for the steps that run
    on Spark. ``leaks`` says what happens where values leave a tracked array: ``"warn"`` tells once
    per place, ``"error"`` raises a LeakError, ``"ignore"`` only notes it, as the others do too.

    ``durability``: with ``"batch"`` tracked calls wait, for a second at most, to be committed
    together, and a power cut may take back what was committed last. With ``"call"`` each call is
    committed, and on disk, before the program goes on.
    """
    return Store(path, mode, spark=spark, leaks=leaks, durability=durability)
