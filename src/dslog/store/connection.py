"""One SQLite connection, shared by threads and careful about other processes.

Journal mode is WAL, so readers never wait for a writer, and ``synchronous`` is NORMAL: a power cut
may take back the last commits, but whatever is left is consistent. A writer takes the write lock
when it begins, so it can't fail half-way because somebody else was faster; it waits up to
``PATIENCE`` seconds for that lock.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import TypeVar, cast

from dslog.errors import CorruptError, StoreError

PATIENCE = 60.0

T = TypeVar("T")


class Connection:
    """A lock around a ``sqlite3`` connection, with errors that say what to do.

    ``path=None`` is a database in memory. A database that can't be written, nor its directory, is
    read as it is on disk.
    """

    def __init__(self, path: Path | None, *, writable: bool) -> None:
        self.path = path
        self.writable = writable
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._closed = False
        with _explained(self._label):
            self._db = self._connect()

    @property
    def _label(self) -> str:
        return str(self.path) if self.path else "the store in memory"

    def _connect(self) -> sqlite3.Connection:
        if self.path is None:
            return _open(":memory:", writable=True)
        target = self.path.resolve().as_uri()
        if self.writable:
            return _open(f"{target}?mode=rwc", writable=True)
        if not os.access(self.path.parent, os.W_OK) and not _wal(self.path).exists():
            # WAL needs a file beside the database; without one nobody is writing
            return _open(f"{target}?mode=ro&immutable=1", writable=False)
        return _open(f"{target}?mode=ro", writable=False)

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """Run a statement and return all its rows."""
        with self._lock:
            self._check_usable()
            with _explained(self._label):
                return self._db.execute(sql, values).fetchall()

    def state(self) -> tuple[int, int]:
        """Return numbers that change with every commit of others, and every change of our own."""
        (version,) = self.rows("PRAGMA data_version")[0]
        return cast("int", version), self._db.total_changes

    def insert(self, sql: str, values: Sequence[object]) -> int:
        """Run an INSERT inside a transaction and return the new row's number."""
        with self._lock, _explained(self._label):
            cursor = self._db.execute(sql, values)
        if cursor.rowcount != 1:
            raise StoreError(f"{self._label}: a row refers to an array that is not there")
        return cursor.lastrowid or 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Take the write lock; commit when the block ends, roll back when it raises."""
        with self._lock:
            self.require_writable()
            with _explained(self._label):
                patiently(lambda: self._db.execute("BEGIN IMMEDIATE"))
            try:
                yield
                with _explained(self._label):
                    patiently(lambda: self._db.execute("COMMIT"))
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all reads of the block see one state, whatever others commit in the meantime."""
        with self._lock:
            self._check_usable()
            if self._db.in_transaction:  # of this thread, which holds the lock: it sees one state
                yield
                return
            with _explained(self._label):
                patiently(lambda: self._db.execute("BEGIN"))
            try:
                yield
            finally:
                self._db.execute("ROLLBACK")

    def require_writable(self) -> None:
        """Raise a StoreError unless a transaction could begin."""
        self._check_usable()
        if not self.writable:
            raise StoreError(
                f"{self._label} is open for reading only; open the store with mode='a', "
                f"in a directory you may write, to change it"
            )

    def close(self) -> None:
        """Close the connection; closing twice is fine."""
        with self._lock:
            if not self._closed and self._pid == os.getpid():
                self._db.close()
            self._closed = True

    def _check_usable(self) -> None:
        if self._closed:
            raise StoreError(f"the store is closed: open {self._label} again")
        if self._pid != os.getpid():
            raise StoreError(
                f"{self._label} was opened in another process, before a fork; "
                f"open the store again in this one"
            )


def patiently(run: Callable[[], T]) -> T:
    """Run something again until the database is free, for at most ``PATIENCE`` seconds.

    SQLite waits by itself in most places, but not when several processes create a database.
    """
    deadline = monotonic() + PATIENCE
    while True:
        try:
            return run()
        except sqlite3.OperationalError as error:
            if _code(error) not in _BUSY or monotonic() > deadline:
                raise
            sleep(0.01)


_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)


def _open(target: str, *, writable: bool) -> sqlite3.Connection:
    db = sqlite3.connect(
        target, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )
    try:
        db.execute("PRAGMA foreign_keys = ON")
        mode = patiently(lambda: db.execute("PRAGMA journal_mode").fetchone())
        if writable and mode != ("wal",):
            patiently(lambda: db.execute("PRAGMA journal_mode = WAL"))
        db.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        db.close()
        raise
    return db


def _wal(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _code(error: sqlite3.Error) -> int:
    """Return the primary result code; extended ones keep it in their lowest byte."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


@contextmanager
def _explained(label: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = _code(error)
        if code in _DAMAGED:
            raise CorruptError(
                f"the catalog {label} is damaged ({error}); restore it from a copy"
            ) from error
        if code in _BUSY:
            raise StoreError(
                f"{label} has been locked by another process for {PATIENCE:g} s; try again later"
            ) from error
        if code == sqlite3.SQLITE_READONLY:
            raise StoreError(f"{label} can't be written: {error}") from error
        raise StoreError(f"{label}: {error}") from error
