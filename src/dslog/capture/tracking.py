"""A store that tracks: ``dslog.open`` gives one.

Capture is built on the store, so the store can't know of it; this class puts the two together.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import Any, cast

from dslog.capture.numpy.call import Array
from dslog.capture.numpy.keeping import Keeper
from dslog.capture.numpy.session import Session
from dslog.capture.numpy.track import track
from dslog.capture.numpy.tracked import TrackedArray
from dslog.store.batch import Batch
from dslog.store.catalog import Transaction
from dslog.store.sqlite import SqliteCatalog
from dslog.store.store import Store

VALUES = "values"


class TrackingStore(Store):
    """A store whose arrays can be tracked.

    Calls on tracked arrays wait in memory and are committed together, before the catalog is used
    for anything else, when the store is closed, and at the latest when the program ends.
    """

    def __init__(self, path: str | PathLike[str], mode: str = "a", **seams: Any) -> None:
        super().__init__(path, mode, **seams)
        self._keeper = Keeper(self._path / VALUES if self._path else None)
        self.session = Session(Batch(self._catalog, self._files), self._keeper)
        complete = CompleteCatalog(self._catalog, self.session.flush)
        self._catalog = cast("SqliteCatalog", complete)
        self._registrar = replace(self._registrar, catalog=self._catalog)
        self._rescue = weakref.finalize(self, self.session.close)

    def track(
        self, values: Any, name: str | None = None, *, keep_values: bool = False
    ) -> TrackedArray:
        """Return values as an array whose lineage is recorded, called ``name`` in this store.

        Without a name the array gets one: ``array``, ``array_2`` ... The values are not stored;
        with ``keep_values`` they are, and those of everything that is made of them.
        """
        return track(self.session, values, name, keep_values=keep_values)

    def values(self, name: str) -> Array:
        """Return the values of an array that was tracked with ``keep_values``."""
        self.flush()
        return self._keeper.load(name)

    def flush(self) -> None:
        """Commit what was captured so far; queries and ``close`` do that by themselves."""
        self.session.flush()

    def close(self) -> None:
        """Commit what was captured and close the store; closing twice is fine."""
        self._rescue()
        super().close()


class CompleteCatalog:
    """A catalog that commits what waits before it is read or written."""

    def __init__(self, catalog: SqliteCatalog, flush: Callable[[], None]) -> None:
        self._catalog = catalog
        self._flush = flush
        self._writing = threading.local()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Begin to write; inside, nothing is committed in between."""
        self._flush()
        self._writing.now = True
        try:
            with self._catalog.transaction() as transaction:
                yield transaction
        finally:
            self._writing.now = False

    def close(self) -> None:
        """Let go of the database; what waits was committed before."""
        self._catalog.close()

    def __getattr__(self, name: str) -> Any:
        if not getattr(self._writing, "now", False):
            self._flush()
        return getattr(self._catalog, name)
