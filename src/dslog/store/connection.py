"""A connection to a database in SQLite, shared by threads and careful about other processes.

Journal mode is WAL, so readers never wait for a writer, and ``synchronous`` is NORMAL unless more
is asked for: a power cut may take back the last commits, but whatever is left is consistent. A
writer takes the write lock when it begins, so it can't fail half-way because somebody else was
faster; it waits for that lock, but not for ever.

Seals: checksums of rows, stored in them, without which nothing that is read is believed.

A row's seal covers its number and all its columns, so a row that was damaged, or changed places
with another one, is found out. A row that is missing, from a table or from an index, has no seal to
check: arrays know how many lineages they have on either side, operations what their arrays are, and
the catalog how many rows it has.
"""

import os
import sqlite3
import threading
import weakref
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeVar

from dslog.errors import CorruptError, StoreError
from dslog.store.store_cost import StoreCost

T = TypeVar("T")

SEALED = {
    "arrays": "id, name, run, version, shape, made, used",
    "readings": "id, name, run, version, array",
    "places": "id, file, line, function",
    "operations": "id, name, args, reused, exact, created, predicted, compared, sides, "
    "run, place, took, text",
    "bodies": "id, num_rows, nbytes, exact, checksum",
    "lineages": "id, output, input, operation, body, influence",
    "leaks": "id, array, way, file, line, function, inside, count, loses, mark",
    "signatures": "kind, key, state, content, hits, misses, refusals, saved",
    "runs": "number, name, params, began, process, about, ended, state, error",
    "sources": "id, run, array, read, digest, about",
    "kept": "array, file, checksum",
}
"""The columns of each table that its seal covers, in order."""
COUNTED = ("arrays", "operations", "lineages", "bodies", "leaks", "readings", "runs", "sources")
"""The tables whose rows the catalog counts."""


_PUT = {
    table: f"INSERT OR REPLACE INTO {table} ({columns}, seal) VALUES "  # noqa: S608
    f"({', '.join('?' * (columns.count(',') + 2))})"
    for table, columns in SEALED.items()
}


def seal(*values: object) -> int:
    """Return the seal of a row: integers, text, floats and None as SQLite gives them."""
    return zlib.crc32(repr(values).encode("utf-8", "surrogatepass"))


def unsealed(row: Sequence[Any], table: str, where: str) -> Sequence[Any]:
    """Return a row without the seal at its end, which must fit."""
    if seal(*row[:-1]) != row[-1]:
        name = "number" if isinstance(row[0], int) else "of kind"
        raise damaged(where, f"row {name} {row[0]} of table {table} is not what was written")
    return row[:-1]


def damaged(where: str, what: str) -> CorruptError:
    """Make the error that says what is damaged, and what to do."""
    return CorruptError(
        f"the catalog {where} is damaged: {what}; restore it from a copy, or keep what is sound "
        f"with 'dslog repair'"
    )


def sides_text(sides: Sequence[tuple[int, int, int]]) -> str:
    """Write down the arrays of an operation, as (role, position, number), in order."""
    return ",".join(f"{role}:{position}:{array}" for role, position, array in sides)


class Connection:
    """A lock around a ``sqlite3`` connection, with errors that say what to do.

    ``path=None`` is a database in memory. With ``durable``, what was committed is on disk. A
    database that can't be written, nor its directory, is read as it is on disk. The database is the
    file that was opened: once another one, or none, is under its path, nothing is read or written.

    SQLite forbids a forked process to touch what its parent has open, and counts locks of files
    that are open at the fork as its own. So connections are closed before a fork, and each process
    opens its own when it needs one.
    """

    def __init__(self, path: Path | None, *, writable: bool, durable: bool = False) -> None:
        self.path = path
        self._synchronous = "FULL" if durable else "NORMAL"
        self.writable = writable
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._closed = False
        self._commit_pending: Callable[[], None] | None = None
        self._thread = threading.local()
        self._connections = 0
        self._identity: tuple[int, int] | None = None
        self._db_or_none: sqlite3.Connection | None = None
        self._reconnect()
        _CONNECTIONS.add(self)

    @property
    def _db(self) -> sqlite3.Connection:
        """The connection; to be used under the lock, after ``_check_usable``."""
        assert self._db_or_none is not None  # noqa: S101
        return self._db_or_none

    def _reconnect(self) -> None:
        with _explained(self.label):
            self._db_or_none = self._connect()
            self._db_or_none.execute(f"PRAGMA synchronous = {self._synchronous}")
        self._pid = os.getpid()
        self._connections += 1
        if self._identity is None and self.path is not None:
            self._identity = _identity(self.path)

    def _check_place(self) -> None:
        """Raise a StoreError unless the file that was opened is where it was."""
        if self.path is None or _identity(self.path) == self._identity:
            return
        where = self.path.parent
        happened = (
            f"another one lies at {where} now"
            if self.path.exists()
            else f"{where} was moved or removed"
        )
        raise StoreError(
            f"the store that was opened is not there any more: {happened}. Nothing was written; "
            f"open it again where it is"
        )

    def before_fork(self) -> None:
        """Wait for other threads, and close the connection unless this one is in a transaction."""
        self._lock.acquire()
        if self.path is not None and self._db_or_none and not self._db_or_none.in_transaction:
            self._db_or_none.close()
            self._db_or_none = None

    def after_fork(self, *, child: bool) -> None:
        """Go on, in the parent or in the child, which may read and write a database in memory."""
        if not child:
            self._lock.release()
            return
        self._lock = threading.RLock()
        if self.path is None or self._db_or_none is None:
            self._pid = os.getpid()

    def before_use(self, commit_pending: Callable[[], None]) -> None:
        """Have what waits to be written committed before anything else is read or written."""
        self._commit_pending = commit_pending

    @contextmanager
    def still(self) -> Iterator[None]:
        """Leave what waits alone: nothing is committed by this thread until the block ends."""
        before = getattr(self._thread, "still", False)
        self._thread.still = True
        try:
            yield
        finally:
            self._thread.still = before

    def _settle(self) -> None:
        """Commit what waits; never while the lock is held, for who writes may wait for it."""
        if self._commit_pending is not None and not getattr(self._thread, "still", False):
            with self.still():
                self._commit_pending()

    @property
    def label(self) -> str:
        """What messages call it."""
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

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a statement and return all its rows."""
        self._settle()
        with self._lock:
            self._check_usable()
            with _explained(self.label):
                return self._db.execute(sql, values).fetchall()

    def state(self) -> tuple[int, int, int]:
        """Return numbers that change with every commit of others, and every change of our own."""
        self._settle()
        with self._lock:
            self._check_usable()
            self._check_place()
            with _explained(self.label):
                (version,) = self._db.execute("PRAGMA data_version").fetchone()
            return self._connections, version, self._db.total_changes

    def insert_sealed(self, table: str, row: Sequence[object]) -> None:
        """Insert a row of a sealed table, or put it in the place of the one with its key."""
        self.insert(_PUT[table], (*row, seal(*row)))

    def insert_all(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        """Run an INSERT for many rows inside a transaction."""
        with self._lock, _explained(self.label):
            self._db.executemany(sql, rows)

    def insert(self, sql: str, values: Sequence[object]) -> int:
        """Run an INSERT inside a transaction and return the new row's number."""
        with self._lock, _explained(self.label):
            cursor = self._db.execute(sql, values)
        if cursor.rowcount != 1:
            raise StoreError(f"{self.label}: a row refers to an array that is not there")
        return cursor.lastrowid or 0

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Take the write lock; commit when the block ends, roll back when it raises."""
        self._settle()
        with self.still(), self._lock:
            self.require_writable()
            with _explained(self.label):
                patiently(lambda: self._db.execute("BEGIN IMMEDIATE"))
            try:
                yield
                self._check_place()
                with _explained(self.label):
                    patiently(lambda: self._db.execute("COMMIT"))
                self._trim_log()
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _trim_log(self) -> None:
        """Empty the log once it is large; while others read it that has to wait, but not here."""
        if self.path is None:
            return
        with suppress(OSError, sqlite3.Error):
            if _wal(self.path).stat().st_size > StoreCost.current().log_bytes:
                self._db.execute("PRAGMA busy_timeout = 20")
                try:
                    self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                finally:
                    patience = round(StoreCost.current().patience * 1000)
                    self._db.execute(f"PRAGMA busy_timeout = {patience}")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all reads of the block see one state, whatever others commit in the meantime."""
        self._settle()
        with self.still(), self._lock:
            self._check_usable()
            if self._db.in_transaction:  # of this thread, which holds the lock: it sees one state
                yield
                return
            with _explained(self.label):
                patiently(lambda: self._db.execute("BEGIN"))
            try:
                yield
            finally:
                self._db.execute("ROLLBACK")

    def copy_to(self, path: Path) -> None:
        """Write the database as it is to another file, and to disk."""
        draft = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        with self._lock, _explained(self.label), closing(sqlite3.connect(draft)) as copy:
            self._check_usable()
            self._db.backup(copy)
        draft.replace(path)

    def require_writable(self) -> None:
        """Raise a StoreError unless a transaction could begin."""
        with self._lock:
            self._check_usable()
            self._check_place()
        if not self.writable:
            raise StoreError(
                f"{self.label} is open for reading only; open the store with mode='a', "
                f"in a directory you may write, to change it"
            )

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def close(self) -> None:
        """Close the connection; closing twice is fine."""
        with self._lock:
            if self._db_or_none is not None and self._pid == os.getpid():
                self._db_or_none.close()
                self._db_or_none = None
            self._closed = True

    def _check_usable(self) -> None:
        if self._closed:
            raise StoreError(f"the store is closed: open {self.label} again")
        if self._pid != os.getpid() and self._db_or_none is not None:
            raise StoreError(
                f"this process was forked in the middle of a transaction on {self.label}; "
                f"open the store again in it"
            )
        if self._db_or_none is None:
            self._check_place()
            self._reconnect()


_CONNECTIONS: weakref.WeakSet[Connection] = weakref.WeakSet()
_forking: list[Connection] = []


def _before_fork() -> None:
    _forking.extend(_CONNECTIONS)
    for connection in _forking:
        connection.before_fork()


def _after_fork(*, child: bool) -> None:
    for connection in _forking:
        connection.after_fork(child=child)
    _forking.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(child=False),
        after_in_child=lambda: _after_fork(child=True),
    )


def _identity(path: Path) -> tuple[int, int] | None:
    """What a path leads to, whatever it is called; None where there is nothing."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def patiently(run: Callable[[], T]) -> T:
    """Run something again until the database is free, while there is patience.

    SQLite waits by itself in most places, but not when several processes create a database.
    """
    deadline = monotonic() + StoreCost.current().patience
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
        target,
        uri=True,
        timeout=StoreCost.current().patience,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        db.create_function("seal", -1, seal, deterministic=True)
        db.execute("PRAGMA foreign_keys = ON")
        mode = patiently(lambda: db.execute("PRAGMA journal_mode").fetchone())
        if writable and mode != ("wal",):
            patiently(lambda: db.execute("PRAGMA journal_mode = WAL"))
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
                f"the catalog {label} is damaged ({error}); restore it from a copy, or keep what "
                f"is sound with 'dslog repair'"
            ) from error
        if code in _BUSY:
            waited = StoreCost.current().patience
            raise StoreError(
                f"{label} has been locked by another process for {waited:g} s; try again later"
            ) from error
        if code == sqlite3.SQLITE_READONLY:
            raise StoreError(f"{label} can't be written: {error}") from error
        raise StoreError(f"{label}: {error}") from error
    except (UnicodeError, OverflowError, MemoryError) as error:
        raise CorruptError(f"the catalog {label} is damaged ({error})") from error
