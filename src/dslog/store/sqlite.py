"""The catalog in SQLite: the only module with statements in it, apart from the schema."""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from dslog.cells.cellset import PLAIN, Labels, Leak
from dslog.errors import CorruptError, StoreError, VersionError
from dslog.query.plan import NOTHING, Edge
from dslog.store import schema
from dslog.store.catalog import (
    ArrayInfo,
    Body,
    FileRecord,
    LineageInfo,
    Operation,
    Signature,
    compact,
)
from dslog.store.connection import Connection
from dslog.types import Shape

_INPUT, _OUTPUT = 0, 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

_LINEAGES = """
    SELECT o.name, i.name, l.operation, b.num_rows, b.nbytes, b.exact,
           iif(EXISTS (SELECT 1 FROM files f WHERE f.body = b.id), 'files', 'catalog'), b.id,
           coalesce(p.predicted, 0)
    FROM lineages l
    JOIN arrays o ON o.id = l.output
    JOIN arrays i ON i.id = l.input
    JOIN bodies b ON b.id = l.body
    LEFT JOIN operations p ON p.id = l.operation
"""
_LEAKS = """
    SELECT a.name, way, file, line, function, inside, count, loses, mark
    FROM leaks k JOIN arrays a ON a.id = k.array
"""
_LEAKS_BETWEEN = """
    WITH RECURSIVE made(id) AS (
        SELECT id FROM arrays WHERE name = ?
        UNION SELECT l.output FROM made JOIN lineages l ON l.input = made.id
    )
    SELECT a.name, way, file, line, function, inside, count, loses, mark
    FROM leaks k JOIN arrays a ON a.id = k.array
    WHERE k.loses AND k.array IN (SELECT id FROM made)
    AND k.mark < (SELECT id FROM arrays WHERE name = ?)
    ORDER BY k.id
"""


def _leak(row: Sequence[Any]) -> Leak:
    array, way, file, line, function, inside, count, loses, _ = row
    return Leak(array, way, file, line, function, inside, count, bool(loses))


def _edge(out: str, in_: str, body: int, num_rows: int, exact: int, predicted: int) -> Edge:
    """Make an edge of a body, which operations may share: one that was predicted makes it so."""
    plain = exact and not predicted
    labels = PLAIN if plain else Labels(bool(exact), bool(predicted))
    return Edge(out, in_, body, num_rows, labels)


class SqliteCatalog(Connection):
    """A :class:`~dslog.store.catalog.Catalog` in one SQLite file, or in memory (``path=None``)."""

    def __init__(self, path: Path | None, *, writable: bool = True, durable: bool = False) -> None:
        super().__init__(path, writable=writable, durable=durable)
        try:
            self._bring_up_to_date()
        except BaseException:
            self.close()
            raise

    # reading

    def shapes(self, names: Sequence[str]) -> dict[str, Shape]:
        """Return the shapes of those arrays that there are."""
        rows = self.rows(
            "SELECT a.name, shape FROM json_each(?) JOIN arrays a ON a.name = value", compact(names)
        )
        return {name: self._shape(shape) for name, shape in rows}

    def among(self, names: Sequence[str]) -> list[Edge]:
        """Return what ``between`` gives for every pair of these arrays."""
        rows = self.rows(
            "WITH some AS (SELECT a.id, a.name FROM json_each(?) JOIN arrays a ON a.name = value) "
            "SELECT o.name, i.name, b.id, b.num_rows, b.exact, max(coalesce(p.predicted, 0)) "
            "FROM some o JOIN lineages l ON l.output = o.id JOIN some i ON i.id = l.input "
            "JOIN bodies b ON b.id = l.body LEFT JOIN operations p ON p.id = l.operation "
            "GROUP BY o.id, i.id, b.id ORDER BY b.id",
            compact(names),
        )
        return [_edge(*row) for row in rows]

    def shape(self, name: str) -> Shape | None:
        """Return an array's shape, or None when there is no such array."""
        rows = self.rows("SELECT shape FROM arrays WHERE name = ?", name)
        return self._shape(rows[0][0]) if rows else None

    def arrays(self) -> list[ArrayInfo]:
        """Return every array, in order of definition."""
        rows = self.rows("SELECT name, shape FROM arrays ORDER BY id")
        return [ArrayInfo(name, self._shape(shape)) for name, shape in rows]

    def operations(self) -> list[Operation]:
        """Return every operation, in order of registration."""
        with self.snapshot():
            used = self.rows(
                "SELECT operation, role, name FROM operation_arrays JOIN arrays ON id = array "
                "ORDER BY operation, role, position"
            )
            rows = self.rows(
                "SELECT id, name, args, reused, exact, created, predicted, compared "
                "FROM operations ORDER BY id"
            )
        arrays: dict[tuple[int, int], list[str]] = {}
        for operation, role, name in used:
            arrays.setdefault((operation, role), []).append(name)
        return [self._operation(row, arrays) for row in rows]

    def lineages(self, out: str | None = None, in_: str | None = None) -> list[LineageInfo]:
        """Return lineages, all or those of an output, an input, or a pair."""
        chosen = {"o.name = ?": out, "i.name = ?": in_}
        given = {test: name for test, name in chosen.items() if name is not None}
        where = f" WHERE {' AND '.join(given)}" if given else ""
        rows = self.rows(f"{_LINEAGES}{where} ORDER BY l.id", *given.values())
        return [
            LineageInfo(out, in_, op, num_rows, nbytes, bool(exact), where, body, bool(predicted))
            for out, in_, op, num_rows, nbytes, exact, where, body, predicted in rows
        ]

    def between(self, out: str, in_: str) -> list[Edge]:
        """Return the different lineages of a pair, shared ones once, as a query plans with them."""
        rows = self.rows(
            "SELECT o.name, i.name, b.id, b.num_rows, b.exact, max(coalesce(p.predicted, 0)) "
            "FROM lineages l JOIN arrays o ON o.id = l.output JOIN arrays i ON i.id = l.input "
            "JOIN bodies b ON b.id = l.body LEFT JOIN operations p ON p.id = l.operation "
            "WHERE o.name = ? AND i.name = ? GROUP BY b.id ORDER BY b.id",
            out,
            in_,
        )
        return [_edge(*row) for row in rows]

    def inputs_of(self, name: str) -> list[str]:
        """Return the arrays that ``name`` has lineage from."""
        return self._names(
            "SELECT DISTINCT i.name FROM arrays o JOIN lineages l ON l.output = o.id "
            "JOIN arrays i ON i.id = l.input WHERE o.name = ? ORDER BY i.id",
            name,
        )

    def outputs_of(self, name: str) -> list[str]:
        """Return the arrays that have lineage from ``name``."""
        return self._names(
            "SELECT DISTINCT o.name FROM arrays i JOIN lineages l ON l.input = i.id "
            "JOIN arrays o ON o.id = l.output WHERE i.name = ? ORDER BY o.id",
            name,
        )

    def without_lineage(self, out: str, in_: str) -> list[Edge]:
        """Return an edge without lineage if some operation took ``in_`` and gave ``out``."""
        found = self.rows(
            "SELECT 1 FROM operation_arrays o JOIN operation_arrays i ON i.operation = o.operation "
            "WHERE o.role = ? AND o.array = (SELECT id FROM arrays WHERE name = ?) "
            "AND i.role = ? AND i.array = (SELECT id FROM arrays WHERE name = ?) LIMIT 1",
            _OUTPUT,
            out,
            _INPUT,
            in_,
        )
        return [Edge(out, in_, NOTHING, 0)] if found else []

    def leaks(self) -> list[Leak]:
        """Return every place where values left tracking, in order."""
        return [_leak(row) for row in self.rows(f"{_LEAKS} ORDER BY k.id")]

    def has_losses(self) -> bool:
        """Whether there is a leak that makes answers incomplete."""
        return bool(self.rows("SELECT 1 FROM leaks WHERE loses LIMIT 1"))

    def leaks_between(self, source: str, target: str) -> list[Leak]:
        """Return the leaks through which values of ``source`` may have got into ``target``."""
        if source == target or not self.has_losses():
            return []
        rows = self.rows(
            _LEAKS_BETWEEN,
            source,
            target,
        )
        return [_leak(row) for row in rows]

    def marked_leaks(self) -> list[tuple[Leak, int]]:
        """Return the leaks that make answers incomplete, each with its mark, in order."""
        rows = self.rows(f"{_LEAKS} WHERE k.loses ORDER BY k.id")
        return [(_leak(row), row[-1]) for row in rows]

    def array_numbers(self) -> dict[str, int]:
        """Return the number of every array."""
        return dict(self.rows("SELECT name, id FROM arrays"))

    def last_number(self) -> int:
        """Return the number of the array that was defined last, 0 when there is none."""
        return int(self.rows("SELECT coalesce(max(id), 0) FROM arrays")[0][0])

    def body(self, number: int) -> Body:
        """Return a stored lineage's content; the header's checksum is compared."""
        rows = self.rows(
            "SELECT header, num_rows, exact, checksum FROM bodies WHERE id = ?", number
        )
        if not rows:
            raise CorruptError(f"the catalog {self.path} has no lineage number {number}")
        header, num_rows, exact, checksum = rows[0]
        files = self.rows(
            "SELECT blob, part, name, nbytes, checksum FROM files WHERE body = ? "
            "ORDER BY blob, part",
            number,
        )
        body = Body(header, num_rows, bool(exact), tuple(FileRecord(*file) for file in files))
        if _checksum(body) != checksum:
            raise CorruptError(
                f"lineage number {number} in the catalog {self.path} is damaged: "
                f"its checksum differs; restore the store from a copy"
            )
        return body

    def find_body(self, body: Body) -> int | None:
        """Return the number of a stored body with the same content, if there is one."""
        alike = self.rows("SELECT id FROM bodies WHERE checksum = ?", _checksum(body))
        return next((n for (n,) in alike if self.body(n).content == body.content), None)

    def bodies(self) -> list[int]:
        """Return the numbers of all bodies."""
        return [number for (number,) in self.rows("SELECT id FROM bodies ORDER BY id")]

    def file_names(self) -> set[str]:
        """Return the names of all committed files."""
        return set(self._names("SELECT name FROM files"))

    def signature(self, kind: str, key: str) -> Signature | None:
        """Return one signature, or None."""
        rows = self.rows("SELECT * FROM signatures WHERE kind = ? AND key = ?", kind, key)
        return Signature(*rows[0]) if rows else None

    def signatures(self) -> list[Signature]:
        """Return every signature."""
        rows = self.rows("SELECT * FROM signatures ORDER BY kind, key")
        return [Signature(*row) for row in rows]

    def totals(self) -> Mapping[str, int]:
        """Return how many arrays, operations, lineages, rows, files and bytes are stored."""
        counts = {
            "arrays": "SELECT count(*) FROM arrays",
            "operations": "SELECT count(*) FROM operations",
            "reused_operations": "SELECT count(*) FROM operations WHERE reused IS NOT NULL",
            "lineages": "SELECT count(*) FROM lineages",
            "stored_lineages": "SELECT count(*) FROM bodies",
            "superset_lineages": (
                "SELECT count(*) FROM lineages l JOIN bodies b ON b.id = l.body WHERE NOT b.exact"
            ),
            "predicted_lineages": (
                "SELECT count(*) FROM lineages l JOIN operations p ON p.id = l.operation "
                "WHERE p.predicted"
            ),
            "rows": "SELECT coalesce(sum(num_rows), 0) FROM bodies",
            "lineage_bytes": "SELECT coalesce(sum(nbytes), 0) FROM bodies",
            "files": "SELECT count(*) FROM files",
            "file_bytes": "SELECT coalesce(sum(nbytes), 0) FROM files",
        }
        with self.snapshot():
            return {what: self.rows(sql)[0][0] for what, sql in counts.items()}

    def problems(self) -> list[str]:
        """Check the database itself and return what is wrong with it."""
        found = [text for (text,) in self.rows("PRAGMA integrity_check") if text != "ok"]
        dangling = self.rows("PRAGMA foreign_key_check")
        return found + [
            f"row {row} of table {table} refers to a missing row of {parent}"
            for table, row, parent, _ in dangling
        ]

    # writing

    @contextmanager
    def transaction(self) -> Iterator["SqliteTransaction"]:
        """Begin to write; waits for other writers. Reads inside it see its own changes."""
        with self.writing():
            transaction = SqliteTransaction(self)
            yield transaction
            transaction.finish()

    def _bring_up_to_date(self) -> None:
        if not self.writable:
            self._check_version(self._version())
            return
        if self._check_version(self._version()) < len(schema.MIGRATIONS):
            with self.writing():  # somebody else may have been faster: look again
                version = self._check_version(self._version())
                for statements in schema.MIGRATIONS[version:]:
                    for statement in statements:
                        self.rows(statement)
                self.rows(
                    "CREATE TABLE IF NOT EXISTS meta "
                    "(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
                )
                self.rows(
                    "INSERT OR REPLACE INTO meta VALUES ('format', ?)", str(len(schema.MIGRATIONS))
                )

    def _version(self) -> int:
        tables = self._names("SELECT name FROM sqlite_master WHERE type = 'table'")
        if not tables:
            return 0
        rows = self.rows("SELECT value FROM meta WHERE key = 'format'") if "meta" in tables else []
        if not rows or not str(rows[0][0]).isdecimal():
            raise CorruptError(
                f"{self.path} is no DSLog catalog, or a damaged one: it names no format version"
            )
        return int(rows[0][0])

    def _check_version(self, version: int) -> int:
        newest = len(schema.MIGRATIONS)
        if version > newest:
            raise VersionError(
                f"the store at {self.path} has format version {version}, and this DSLog reads up "
                f"to version {newest}: update DSLog to open it"
            )
        if version < newest and not self.writable:
            raise StoreError(
                f"the store at {self.path} has format version {version} and must be brought to "
                f"version {newest}: open it once with mode='a', in a directory you may write"
            )
        return version

    def _names(self, sql: str, *values: object) -> list[str]:
        return [name for (name,) in self.rows(sql, *values)]

    def _shape(self, text: str) -> Shape:
        return tuple(self._json(text))

    def _json(self, text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError as error:
            raise CorruptError(
                f"the catalog {self.path} is damaged: it holds {text!r} where JSON belongs"
            ) from error

    def _operation(
        self, row: Sequence[Any], arrays: Mapping[tuple[int, int], Sequence[str]]
    ) -> Operation:
        number, name, args, reused, exact, created, predicted, compared = row
        return Operation(
            id=number,
            name=name,
            inputs=tuple(arrays.get((number, _INPUT), ())),
            outputs=tuple(arrays.get((number, _OUTPUT), ())),
            args=self._json(args),
            reused=reused,
            exact=bool(exact),
            created=_EPOCH + created * _MILLISECOND,
            predicted=bool(predicted),
            compared=compared,
        )


class SqliteTransaction:
    """Writes to a catalog, all or none; see :class:`~dslog.store.catalog.Transaction`.

    Rows of operations and lineages, which there may be many of, are written together at the end.
    """

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._numbers: dict[str, int] = {}
        self._texts: dict[int, tuple[object, str]] = {}  # with what it is of: ids are used again
        self._last_operation = -1
        self._operations: list[tuple[object, ...]] = []
        self._sides: list[tuple[int, int, int, int]] = []
        self._lineages: list[tuple[int, int, int | None, int]] = []

    def finish(self) -> None:
        """Write what is left to be written."""
        self._db.insert_all(
            "INSERT INTO operations VALUES (?, ?, ?, ?, ?, ?, ?, ?)", self._operations
        )
        self._db.insert_all("INSERT INTO operation_arrays VALUES (?, ?, ?, ?)", self._sides)
        self._db.insert_all("INSERT INTO lineages VALUES (NULL, ?, ?, ?, ?)", self._lineages)

    def _number(self, name: str) -> int:
        """The number of an array."""
        number = self._numbers.get(name)
        if number is None:
            found = self._db.rows("SELECT id FROM arrays WHERE name = ?", name)
            if not found:
                raise StoreError(f"a row refers to an array {name!r} that is not there")
            number = self._numbers[name] = found[0][0]
        return number

    def _text(self, args: object) -> str:
        """Arguments as JSON, once for calls of one form."""
        known = self._texts.get(id(args))
        if known is None:
            known = self._texts[id(args)] = args, compact(args)
        return known[1]

    def add_array(self, name: str, shape: Shape) -> int:
        """Add an array whose name is free and return its number: later ones have higher ones."""
        row = (name, self._text(shape))
        number = self._db.insert("INSERT INTO arrays (name, shape) VALUES (?, ?)", row)
        self._numbers[name] = number
        return number

    def add_operation(self, operation: Operation) -> int:
        """Add an operation on known arrays and return its number; its ``id`` is ignored."""
        if self._last_operation < 0:
            self._last_operation = self._db.rows("SELECT max(id) FROM operations")[0][0] or 0
        number = self._last_operation = self._last_operation + 1
        created = (operation.created - _EPOCH) // _MILLISECOND
        labels = int(operation.exact), created, int(operation.predicted), operation.compared
        args = self._text(operation.args)
        self._operations.append((number, operation.name, args, operation.reused, *labels))
        for role, names in ((_INPUT, operation.inputs), (_OUTPUT, operation.outputs)):
            for position, name in enumerate(names):
                self._sides.append((number, role, position, self._number(name)))
        return number

    def add_body(self, body: Body) -> int:
        """Add a lineage's content, whose files are on disk already, and return its number."""
        number = self._db.insert(
            "INSERT INTO bodies (header, num_rows, nbytes, exact, checksum) VALUES (?, ?, ?, ?, ?)",
            (body.header, body.num_rows, body.nbytes, int(body.exact), _checksum(body)),
        )
        for file in body.files:
            row = (number, *astuple(file))
            self._db.insert("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)", row)
        return number

    def add_lineage(self, out: str, in_: str, op: int | None, body: int) -> None:
        """Say that ``body`` is lineage from ``out`` to ``in_``."""
        self._lineages.append((self._number(out), self._number(in_), op, body))

    def add_leak(self, leak: Leak, mark: int) -> None:
        """Add a place where values of a known array left, or count it again."""
        array, *rest = astuple(leak)
        self._db.insert(
            "INSERT INTO leaks (array, way, file, line, function, inside, count, loses, mark) "
            "SELECT id, ?, ?, ?, ?, ?, ?, ?, ? FROM arrays WHERE name = ? "
            "ON CONFLICT (array, way, file, line, function, inside) DO UPDATE SET "
            "count = count + excluded.count, loses = max(loses, excluded.loses), "
            "mark = min(mark, excluded.mark)",
            (*rest, mark, array),
        )

    def put_signature(self, signature: Signature) -> None:
        """Add a signature, or replace the one with the same kind and key."""
        self._db.insert(
            "INSERT OR REPLACE INTO signatures VALUES (?, ?, ?, ?, ?, ?, ?, ?)", astuple(signature)
        )

    def count_hit(self, kind: str, key: str, saved: float) -> None:
        """Count one more answer of a signature, and the seconds it saved."""
        self._db.rows(
            "UPDATE signatures SET hits = hits + 1, saved = saved + ? WHERE kind = ? AND key = ?",
            saved,
            kind,
            key,
        )


def _checksum(body: Body) -> int:
    return zlib.crc32(body.content)
