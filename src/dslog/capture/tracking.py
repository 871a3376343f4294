"""A store that tracks: ``dslog.open`` gives one.

Capture is built on the store, so the store can't know of it; this class puts the two together.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, overload

from dslog.capture.known import KnownValues
from dslog.capture.numpy.call import Array
from dslog.capture.numpy.keeping import Keeper
from dslog.capture.numpy.session import Session
from dslog.capture.numpy.track import track
from dslog.capture.numpy.tracked import TrackedArray
from dslog.engine.frames import is_frame
from dslog.reuse.exchange import Describe, export_signatures, import_signatures, teach
from dslog.reuse.expressions import Shape
from dslog.store.batch import Batch
from dslog.store.catalog import Transaction
from dslog.store.records import SignatureInfo
from dslog.store.sqlite import SqliteCatalog
from dslog.store.store import Store
from dslog.store.verbs.kept import KeptValues

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dslog.capture.spark.frame import TrackedFrame
    from dslog.capture.spark.nodes import Tracker

VALUES = "values"


class TrackingStore(Store):
    """A store whose arrays can be tracked.

    Calls on tracked arrays wait in memory and are committed together, before the catalog is used
    for anything else, when the store is closed, and at the latest when the program ends.
    """

    def __init__(self, path: str | PathLike[str], mode: str = "a", **seams: Any) -> None:
        super().__init__(path, mode, **seams)
        values = self._path / VALUES if self._path else None
        self._keeper = Keeper(values)
        self.session = Session(Batch(self._catalog, self._files), self._keeper)
        self._waiting = Waiting(self.session, values)
        complete = CompleteCatalog(self._catalog, self._waiting.flush)
        self._catalog = cast("SqliteCatalog", complete)
        self._registrar = replace(self._registrar, catalog=self._catalog)
        self._rescue = weakref.finalize(self, self._waiting.close)

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
        if is_frame(values):
            return self._waiting.track_frame(values, name, keep_values=keep_values)
        return track(self.session, values, name, keep_values=keep_values)

    def values(self, name: str) -> Array:
        """Return the values of an array that was tracked with ``keep_values``."""
        self.flush()
        return self._keeper.load(name)

    def _values(self) -> KeptValues:
        values = self._path / VALUES if self._path else None
        self.flush()
        return KnownValues(self.session, self._keeper, values)

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

    def flush(self) -> None:
        """Commit what was captured so far; queries and ``close`` do that by themselves."""
        self._waiting.flush()

    def close(self) -> None:
        """Commit what was captured and close the store; closing twice is fine."""
        self._rescue()
        super().close()


class Waiting:
    """What waits to be committed: numpy's operations, and frames whose lineage is to be computed.

    It knows nothing of the store, so a store that nobody holds any more can still be closed.
    """

    def __init__(self, session: Session, values: Path | None) -> None:
        self._session = session
        self._values = values
        self.frames: Tracker | None = None

    def track_frame(self, frame: DataFrame, name: str | None, *, keep_values: bool) -> TrackedFrame:
        """Track a Spark DataFrame; only now is Spark's side of tracking imported."""
        from dslog.capture.spark.frame import track_frame  # noqa: PLC0415
        from dslog.capture.spark.nodes import Tracker  # noqa: PLC0415

        if self.frames is None:
            self.frames = Tracker(self._session, self._values)
        return track_frame(self.frames, frame, name, keep_values=keep_values)

    def flush(self) -> None:
        """Compute the lineage of frames and commit everything."""
        if self.frames is not None:
            self.frames.flush()
        self._session.flush()

    def close(self) -> None:
        """Commit everything; from here on, results of what was tracked are plain."""
        try:
            if self.frames is not None and not self._session.closed:
                self.frames.flush()
        finally:
            self._session.close()


class CompleteCatalog:
    """A catalog that commits what waits before it is read or written."""

    def __init__(self, catalog: SqliteCatalog, flush: Callable[[], None]) -> None:
        self._catalog = catalog
        self._flush = flush
        self._thread = threading.local()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Begin to write; inside, nothing is committed in between."""
        with self._still(), self._catalog.transaction() as transaction:
            yield transaction

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let reads see one state; inside, nothing is committed in between."""
        with self._still(), self._catalog.snapshot():
            yield

    def close(self) -> None:
        """Let go of the database; what waits was committed before."""
        self._catalog.close()

    def __getattr__(self, name: str) -> Any:
        if not self._is_still:
            self._flush()
        return getattr(self._catalog, name)

    @property
    def _is_still(self) -> bool:
        return getattr(self._thread, "still", False)

    @contextmanager
    def _still(self) -> Iterator[None]:
        """Commit what waits, and then nothing more from this thread until the block ends."""
        before = self._is_still
        if not before:
            self._flush()
        self._thread.still = True
        try:
            yield
        finally:
            self._thread.still = before
