"""The catalog in SQLite: the only module with statements in it, apart from the schema."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from dslog.cells.cellset import PLAIN, Labels, Leak
from dslog.errors import CorruptError, StoreError
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
    parse_shape,
)
from dslog.store.connection import (
    COUNTED,
    SEALED,
    Connection,
    damaged,
    seal,
    sides_text,
    unsealed,
)
from dslog.types import Shape

# ruff: noqa: S608 (names of tables and columns are ours, all values are parameters)

T = TypeVar("T")
INPUT, OUTPUT = 0, 1
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
LEAKS = f"SELECT {SEALED['leaks']}, seal FROM leaks"
SOUND_ARRAY = f"seal = seal({SEALED['arrays']})"
_ADD_USES = f"""
    UPDATE arrays SET made = made + ?1, used = used + ?2,
           seal = iif({SOUND_ARRAY}, seal(id, name, shape, made + ?1, used + ?2), seal)
    WHERE id = ?3
"""

_LINEAGES = f"""
    SELECT l.{SEALED["lineages"].replace(", ", ", l.")}, l.seal,
           b.{SEALED["bodies"].replace(", ", ", b.")}, b.seal,
           p.{SEALED["operations"].replace(", ", ", p.")}, p.seal, 0, 0
    FROM lineages l LEFT JOIN bodies b ON b.id = l.body LEFT JOIN operations p ON p.id = l.operation
"""
_FILED = "EXISTS (SELECT 1 FROM files WHERE body = b.id), b.nbytes > length(CAST(header AS BLOB))"
_SIGNATURES = f"SELECT {SEALED['signatures']}, seal FROM signatures"


@dataclass(frozen=True, slots=True)
class _Lineage:
    """A row of ``lineages`` with those of its body and its operation, all checked."""

    out: int
    in_: int
    op: int | None
    body: int
    num_rows: int
    nbytes: int
    exact: bool
    predicted: bool
    filed: bool
    influence: bool

    @property
    def labels(self) -> Labels:
        """Those of its body and of its operation."""
        plain = self.exact and not self.predicted
        return PLAIN if plain else Labels(self.exact, self.predicted)


class SqliteCatalog(Connection):
    """A :class:`~dslog.store.catalog.Catalog` in one SQLite file, or in memory (``path=None``)."""

    def __init__(self, path: Path | None, *, writable: bool = True, durable: bool = False) -> None:
        super().__init__(path, writable=writable, durable=durable)
        try:
            self.was_unsealed = schema.bring_up_to_date(self)
        except BaseException:
            self.close()
            raise

    # reading

    def _arrays(self, where: str = "", *values: object) -> dict[int, tuple[str, str, int, int]]:
        """Arrays by number: name, shape, and how many lineages they are output and input of."""
        rows = self.rows(f"SELECT {SEALED['arrays']}, seal FROM arrays {where}", *values)
        return {row[0]: tuple(self._unsealed(row, "arrays")[1:]) for row in rows}

    def named(self, names: Sequence[str]) -> dict[int, tuple[str, str, int, int]]:
        """Arrays that have these names, by number."""
        return self._arrays("WHERE name IN (SELECT value FROM json_each(?))", compact(names))

    def _known(self, names: Sequence[str]) -> dict[int, tuple[str, str, int, int]]:
        """The same, of arrays that must be there."""
        found = self.named(names)
        if len(found) != len(set(names)):
            raise self._damaged(f"some of the arrays {', '.join(names[:3])} are missing")
        return found

    def _numbered(self, numbers: Iterable[int]) -> dict[int, str]:
        """The names of arrays with these numbers, in order; each must be there."""
        wanted = list(set(numbers))
        found = self._arrays("WHERE id IN (SELECT value FROM json_each(?))", compact(wanted))
        if len(found) != len(wanted):
            raise self._damaged("arrays that lineage names are missing")
        return {number: found[number][0] for number in sorted(wanted)}

    def _unsealed(self, row: Sequence[Any], table: str) -> Sequence[Any]:
        return unsealed(row, table, self.label)

    def _damaged(self, what: str) -> CorruptError:
        return damaged(self.label, what)

    def _lineage(self, row: Sequence[Any]) -> _Lineage:
        """Check a row of ``_LINEAGES``."""
        _, out, in_, op, body, influence = self._unsealed(row[:7], "lineages")
        if row[7] is None or (op is not None and row[13] is None):
            raise self._damaged(f"the body or the operation of lineage row {row[0]} is missing")
        _, num_rows, nbytes, exact, _ = self._unsealed(row[7:13], "bodies")
        predicted = op is not None and self._unsealed(row[13:23], "operations")[6]
        if row[23] != row[24]:
            raise self._damaged(f"files of lineage number {body} are missing")
        labels = map(bool, (exact, predicted, row[23], influence))
        return _Lineage(out, in_, op, body, num_rows, nbytes, *labels)

    def _check_degrees(self, arrays: Mapping[int, int], side: str) -> None:
        """Raise unless there are as many lineages with these arrays on a side as they say."""
        counts = dict(
            self.rows(
                f"SELECT {side}, count(*) FROM json_each(?) JOIN lineages ON {side} = value "
                f"GROUP BY {side}",
                compact(list(arrays)),
            )
        )
        wrong = [number for number, many in arrays.items() if counts.get(number, 0) != many]
        if wrong:
            names = ", ".join(map(repr, self._numbered(wrong[:3]).values()))
            raise self._damaged(f"lineage with {names} as {side} is missing")

    def _edges(
        self, arrays: Mapping[int, tuple[str, str, int, int]], *, influence: bool
    ) -> list[Edge]:
        """The different lineages between any two of these arrays, those shared by calls once."""
        self._check_degrees({number: made for number, (_, _, made, _) in arrays.items()}, "output")
        numbers = compact(list(arrays))
        rows = self.rows(
            f"{_LINEAGES} WHERE l.output IN (SELECT value FROM json_each(?)) "
            f"AND l.input IN (SELECT value FROM json_each(?)) ORDER BY l.body",
            numbers,
            numbers,
        )
        found: dict[tuple[int, int, int], Edge] = {}
        for one in map(self._lineage, rows):
            if one.influence != influence:
                continue
            key, labels = (one.body, one.out, one.in_), one.labels
            if key in found:  # of several calls: one that was predicted makes it so
                labels = labels.joined(found[key].labels)
            names = arrays[one.out][0], arrays[one.in_][0]
            found[key] = Edge(*names, one.body, one.num_rows, labels)
        return list(found.values())

    def shapes(self, names: Sequence[str]) -> dict[str, Shape]:
        """Return the shapes of those arrays that there are."""
        return {name: self._shape(shape) for name, shape, _, _ in self.named(names).values()}

    def among(self, names: Sequence[str], *, influence: bool = False) -> list[Edge]:
        """Return what ``between`` gives for every pair of these arrays."""
        with self.snapshot():
            return self._edges(self.named(names), influence=influence)

    def shape(self, name: str) -> Shape | None:
        """Return an array's shape, or None when there is no such array."""
        return self.shapes([name]).get(name)

    def identity(self) -> str:
        """Return what tells this store from all others, wherever it lies; made when first asked."""
        query = "SELECT value FROM meta WHERE key = 'identity'"
        if not self.rows(query) and self.writable:
            with self.writing():
                self.rows("INSERT OR IGNORE INTO meta VALUES ('identity', ?)", uuid4().hex)
        return next((str(value) for (value,) in self.rows(query)), "")

    def columns(self, name: str) -> tuple[str, ...]:
        """Return the names of a table's columns, as the operation that made it has them."""
        rows = self.rows(
            "SELECT args FROM operation_arrays JOIN operations ON id = operation "
            "WHERE role = 1 AND array = (SELECT id FROM arrays WHERE name = ?) ORDER BY id DESC",
            name,
        )
        found = (json.loads(args).get("columns") for (args,) in rows)
        return next((tuple(map(str, some)) for some in found if isinstance(some, list)), ())

    def arrays(self) -> list[ArrayInfo]:
        """Return every array, in order of definition."""
        with self.snapshot():
            found = self._arrays("ORDER BY id")
            self._check_count("arrays", len(found))
        return [ArrayInfo(name, self._shape(shape)) for name, shape, _, _ in found.values()]

    def first_arrays(self, most: int) -> list[ArrayInfo]:
        """Return the arrays that were defined first."""
        found = self._arrays("ORDER BY id LIMIT ?", most)
        return [ArrayInfo(name, self._shape(shape)) for name, shape, _, _ in found.values()]

    def operations(self) -> list[Operation]:
        """Return every operation, in order of registration."""
        return self._operations("")

    def made_by(self, names: Sequence[str]) -> tuple[list[Operation], list[LineageInfo]]:
        """Return the operations that gave any of these arrays, and their lineage without one."""
        with self.snapshot():
            numbers = compact(list(self._known(names)))
            inside = "IN (SELECT value FROM json_each(?))"
            made = (
                f"SELECT operation FROM operation_arrays WHERE array {inside} AND role = {OUTPUT}"
            )
            operations = self._operations(f"WHERE id IN ({made})", numbers)
            given = self._infos(f"WHERE l.output {inside} AND l.operation IS NULL", numbers)
        return operations, given

    def behind(self, name: str) -> list[str]:
        """Return an array and all that it has lineage from, over any number of steps."""
        with self.snapshot():
            return self._reached(name, "output", "input", "made")

    def _reached(self, name: str, side: str, other: str, count: str) -> list[str]:
        """An array, and all on the other side of its lineages, and of theirs, which are counted."""
        self._known([name])
        met = (
            f"WITH RECURSIVE met(id) AS (SELECT id FROM arrays WHERE name = ? "
            f"UNION SELECT l.{other} FROM met JOIN lineages l ON l.{side} = met.id)"
        )
        ((said, found, wrong),) = self.rows(
            f"{met} SELECT total({count}), (SELECT count(*) FROM met JOIN lineages l "
            f"ON l.{side} = met.id), total(NOT {SOUND_ARRAY}) FROM met JOIN arrays USING (id)",
            name,
        )
        if said != found or wrong:
            raise self._damaged(f"lineage that {name!r} is part of is missing")
        return self._names(f"{met} SELECT name FROM met JOIN arrays USING (id)", name)

    def _operations(self, where: str, *values: object) -> list[Operation]:
        """Return operations, all or some; ``where`` is about their numbers, ``id``."""
        with self.snapshot():
            rows = self.rows(
                f"SELECT {SEALED['operations']}, seal FROM operations {where} ORDER BY id", *values
            )
            used = self.rows(
                f"SELECT operation AS id, role, position, array FROM operation_arrays {where} "
                f"ORDER BY operation, role, position",
                *values,
            )
            if not where:
                self._check_count("operations", len(rows))
            names = self._numbered(array for *_, array in used)
        sides: dict[int, list[tuple[int, int, int]]] = {}
        for operation, role, position, array in used:
            sides.setdefault(operation, []).append((role, position, array))
        return [self._operation(row, sides.get(row[0], []), names) for row in rows]

    def lineages(
        self, out: str | None = None, in_: str | None = None, *, influence: bool | None = False
    ) -> list[LineageInfo]:
        """Return lineages, all or those of an output, an input, or a pair."""
        with self.snapshot():
            ends = {
                name: number for number, (name, *_) in self.named([out or "", in_ or ""]).items()
            }
            chosen = [(s, n) for s, n in (("output", out), ("input", in_)) if n is not None]
            if any(name not in ends for _, name in chosen):
                return []
            where = " AND ".join(f"l.{side} = ?" for side, _ in chosen)
            found = self._infos(where and f"WHERE {where}", *(ends[name] for _, name in chosen))
            if not chosen:
                self._check_count("lineages", len(found))
        return [one for one in found if influence is None or one.influence == influence]

    def _infos(self, where: str, *values: object) -> list[LineageInfo]:
        """Lineages, all or some, in order."""
        sql = _LINEAGES.replace("0, 0", _FILED)
        rows = self.rows(f"{sql} {where} ORDER BY l.id", *values)
        found = [self._lineage(row) for row in rows]
        names = self._numbered(number for one in found for number in (one.out, one.in_))
        return [
            LineageInfo(
                names[one.out],
                names[one.in_],
                one.op,
                one.num_rows,
                one.nbytes,
                one.exact,
                "files" if one.filed else "catalog",
                one.body,
                one.predicted,
                one.influence,
            )
            for one in found
        ]

    def between(self, out: str, in_: str, *, influence: bool = False) -> list[Edge]:
        """Return the different lineages of a pair, shared ones once, as a query plans with them."""
        found = self.among([out, in_], influence=influence)
        return [edge for edge in found if (edge.out, edge.in_) == (out, in_)]

    def _neighbours(self, name: str, side: str, other: str, *, influence: bool) -> list[str]:
        """The arrays on the other side of lineages that have an array on one side."""
        with self.snapshot():
            ((number, (_, _, made, used)),) = self._known([name]).items()
            rows = self.rows(
                f"SELECT {SEALED['lineages']}, seal FROM lineages WHERE {side} = ?", number
            )
            if len(rows) != (made if side == "output" else used):
                raise self._damaged(f"lineage with {name!r} as {side} is missing")
            place = ("output", "input").index(other) + 1
            sound = [self._unsealed(row, "lineages") for row in rows]
            found = self._numbered(row[place] for row in sound if bool(row[5]) == influence)
        return list(found.values())

    def inputs_of(self, name: str, *, influence: bool = False) -> list[str]:
        """Return the arrays that ``name`` has lineage from."""
        return self._neighbours(name, "output", "input", influence=influence)

    def outputs_of(self, name: str, *, influence: bool = False) -> list[str]:
        """Return the arrays that have lineage from ``name``."""
        return self._neighbours(name, "input", "output", influence=influence)

    def without_lineage(self, out: str, in_: str) -> list[Edge]:
        """Return an edge without lineage if ``out`` was made with ``in_``, or with nothing."""
        found = self.rows(
            "SELECT 1 FROM operation_arrays o LEFT JOIN operation_arrays i "
            "ON i.operation = o.operation AND i.role = ? "
            "WHERE o.role = ? AND o.array = (SELECT id FROM arrays WHERE name = ?) "
            "AND (i.array IS NULL OR i.array = (SELECT id FROM arrays WHERE name = ?)) LIMIT 1",
            INPUT,
            OUTPUT,
            out,
            in_,
        )
        return [Edge(out, in_, NOTHING, 0)] if found else []

    def _leaks(self, where: str = "", *values: object) -> list[tuple[Leak, int]]:
        """Leaks, all or some, each with its mark, in order."""
        with self.snapshot():
            rows = [
                self._unsealed(row, "leaks")
                for row in self.rows(f"{LEAKS} {where} ORDER BY id", *values)
            ]
            if not where:
                self._check_count("leaks", len(rows))
            names = self._numbered(row[1] for row in rows)
        return [
            (Leak(names[array], way, file, line, function, inside, count, bool(loses)), mark)
            for _, array, way, file, line, function, inside, count, loses, mark in rows
        ]

    def leaks(self) -> list[Leak]:
        """Return every place where values left tracking, in order."""
        return [leak for leak, _ in self._leaks()]

    def has_losses(self) -> bool:
        """Whether there is a leak that makes answers incomplete."""
        return any(leak.loses for leak in self.leaks())

    def leaks_between(self, source: str, target: str) -> list[Leak]:
        """Return the leaks through which values of ``source`` may have got into ``target``."""
        if source == target:
            return []
        with self.snapshot():
            lost = [(leak, mark) for leak, mark in self._leaks() if leak.loses]
            if not lost:
                return []
            ends = self.array_numbers([source, target])
            inside = set(self._reached(source, "input", "output", "used"))
        return [leak for leak, mark in lost if leak.array in inside and mark < ends[target]]

    def marked_leaks(self) -> list[tuple[Leak, int]]:
        """Return the leaks that make answers incomplete, each with its mark, in order."""
        return [(leak, mark) for leak, mark in self._leaks() if leak.loses]

    def array_numbers(self, names: Sequence[str]) -> dict[str, int]:
        """Return the numbers of arrays."""
        return {name: number for number, (name, *_) in self._known(names).items()}

    def last_number(self) -> int:
        """Return the number of the array that was defined last, 0 when there is none."""
        return int(self.rows("SELECT coalesce(max(id), 0) FROM arrays")[0][0])

    def body(self, number: int) -> Body:
        """Return a stored lineage's content; the header's checksum is compared."""
        rows = self.rows(
            f"SELECT header, {SEALED['bodies']}, seal FROM bodies WHERE id = ?", number
        )
        if not rows:
            raise self._damaged(f"there is no lineage number {number}")
        header = rows[0][0]
        _, num_rows, _, exact, checksum = self._unsealed(rows[0][1:], "bodies")
        files = self.rows(
            "SELECT blob, part, name, nbytes, checksum FROM files WHERE body = ? "
            "ORDER BY blob, part",
            number,
        )
        body = Body(header, num_rows, bool(exact), tuple(FileRecord(*file) for file in files))
        if body.checksum != checksum:
            raise self._damaged(f"the checksum of lineage number {number} differs")
        return body

    def find_body(self, body: Body) -> int | None:
        """Return the number of a stored body with the same content, if there is one."""
        alike = self.rows("SELECT id FROM bodies WHERE checksum = ?", body.checksum)
        return next((n for (n,) in alike if self.body(n).content == body.content), None)

    def bodies(self) -> list[int]:
        """Return the numbers of all bodies."""
        return [number for (number,) in self.rows("SELECT id FROM bodies ORDER BY id")]

    def file_names(self) -> set[str]:
        """Return the names of all committed files."""
        return set(self._names("SELECT name FROM files"))

    def signature(self, kind: str, key: str) -> Signature | None:
        """Return one signature, or None."""
        rows = self.rows(f"{_SIGNATURES} WHERE kind = ? AND key = ?", kind, key)
        return Signature(*self._unsealed(rows[0], "signatures")) if rows else None

    def signatures(self) -> list[Signature]:
        """Return every signature."""
        rows = self.rows(f"{_SIGNATURES} ORDER BY kind, key")
        return [Signature(*self._unsealed(row, "signatures")) for row in rows]

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

    def _check_count(self, table: str, count: int) -> None:
        """Raise unless a table has as many rows as the catalog counted."""
        if self.counts()[table] != count:
            raise self._damaged(f"rows of table {table} are missing: {count} are left")

    def counts(self) -> dict[str, int]:
        """Return how many arrays, operations, lineages, bodies and leaks there are."""
        rows = self.rows("SELECT value FROM meta WHERE key = 'rows'")
        text, _, sealed = str(rows[0][0] if rows else "").rpartition(" ")
        if str(seal(text)) != sealed:
            raise self._damaged("the numbers of its rows are not what was written")
        return dict(zip(COUNTED, map(int, text.split()), strict=True))

    def problems(self) -> list[str]:
        """Check the database itself and return what is wrong with it."""
        found = [text for (text,) in self.rows("PRAGMA integrity_check") if text != "ok"]
        dangling = self.rows("PRAGMA foreign_key_check")
        found += [
            f"row {row} of table {table} refers to a missing row of {parent}"
            for table, row, parent, _ in dangling
        ]
        for table, columns in SEALED.items():
            key = columns.split(",")[0]
            wrong = self.rows(f"SELECT {key} FROM {table} WHERE seal != seal({columns}) LIMIT 10")
            found += [f"row {row!r} of table {table} is not what was written" for (row,) in wrong]
        for side, count in (("output", "made"), ("input", "used")):
            wrong = self.rows(
                f"SELECT name FROM arrays WHERE {count} != "
                f"(SELECT count(*) FROM lineages WHERE {side} = arrays.id) LIMIT 10"
            )
            found += [f"lineage with {name!r} as {side} is missing" for (name,) in wrong]
        try:
            self.operations()
        except CorruptError as error:
            found.append(str(error))
        for table in COUNTED:
            ((count,),) = self.rows(f"SELECT count(*) FROM {table}")
            try:
                self._check_count(table, count)
            except CorruptError as error:
                found.append(str(error))
        return found

    # writing

    @contextmanager
    def transaction(self) -> Iterator["SqliteTransaction"]:
        """Begin to write; waits for other writers. Reads inside it see its own changes."""
        with self.writing():
            transaction = SqliteTransaction(self)
            yield transaction
            transaction.finish()

    def _names(self, sql: str, *values: object) -> list[str]:
        return [name for (name,) in self.rows(sql, *values)]

    def _shape(self, text: str) -> Shape:
        return self._parsed(text, parse_shape)

    def _parsed(self, text: str, parse: Callable[[str], T]) -> T:
        try:
            return parse(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise self._damaged(f"it holds {str(text)[:100]!r}: {error}") from error

    def _operation(
        self,
        row: Sequence[Any],
        sides: Sequence[tuple[int, int, int]],
        names: Mapping[int, str],
    ) -> Operation:
        found = self._unsealed(row, "operations")
        number, name, args, reused, exact, created, predicted, compared, sealed = found
        if seal(sides_text(sides)) != sealed:
            raise self._damaged(f"arrays of operation {number}, {name!r}, are missing")
        return Operation(
            id=number,
            name=name,
            inputs=tuple(names[array] for role, _, array in sides if role == INPUT),
            outputs=tuple(names[array] for role, _, array in sides if role == OUTPUT),
            args=self._parsed(args, json.loads),
            reused=reused,
            exact=bool(exact),
            created=EPOCH + created * MILLISECOND,
            predicted=bool(predicted),
            compared=compared,
        )


class SqliteTransaction:
    """Writes to a catalog, all or none; see :class:`~dslog.store.catalog.Transaction`.

    Rows of operations and lineages, which there may be many of, are written together at the end.
    """

    def __init__(self, db: SqliteCatalog) -> None:
        self._db = db
        self._numbers: dict[str, int] = {}
        self._texts: dict[int, tuple[object, str]] = {}  # with what it is of: ids are used again
        self._last: dict[str, int] = {}
        self._added = dict.fromkeys(COUNTED, 0)
        self._operations: list[tuple[object, ...]] = []
        self._sides: list[tuple[int, int, int, int]] = []
        self._lineages: list[tuple[object, ...]] = []
        self._made: Counter[int] = Counter()
        self._used: Counter[int] = Counter()

    def finish(self) -> None:
        """Write what is left to be written."""
        marks = ", ".join("?" * 10)
        self._db.insert_all(f"INSERT INTO operations VALUES ({marks})", self._operations)
        self._db.insert_all("INSERT INTO operation_arrays VALUES (?, ?, ?, ?)", self._sides)
        self._db.insert_all("INSERT INTO lineages VALUES (?, ?, ?, ?, ?, ?, ?)", self._lineages)
        touched = self._made.keys() | self._used.keys()
        uses = [(self._made[number], self._used[number], number) for number in touched]
        self._db.insert_all(_ADD_USES, uses)
        if any(self._added.values()):
            counts = self._db.counts()
            text = " ".join(str(counts[table] + self._added[table]) for table in COUNTED)
            self._db.rows("UPDATE meta SET value = ? WHERE key = 'rows'", f"{text} {seal(text)}")

    def _next(self, table: str) -> int:
        """The number of a new row."""
        if table not in self._last:
            self._last[table] = self._db.rows(f"SELECT max(id) FROM {table}")[0][0] or 0
        self._last[table] += 1
        self._added[table] += 1
        return self._last[table]

    def _number(self, name: str) -> int:
        """The number of an array."""
        number = self._numbers.get(name)
        if number is None:
            found = self._db.named([name])
            if not found:
                raise StoreError(f"a row refers to an array {name!r} that is not there")
            number = self._numbers[name] = next(iter(found))
        return number

    def _text(self, args: object) -> str:
        """Arguments as JSON, once for calls of one form."""
        known = self._texts.get(id(args))
        if known is None:
            known = self._texts[id(args)] = args, compact(args)
        return known[1]

    def add_array(self, name: str, shape: Shape) -> int:
        """Add an array whose name is free and return its number: later ones have higher ones."""
        number = self._next("arrays")
        row = (number, name, self._text(shape), 0, 0)
        self._db.insert("INSERT INTO arrays VALUES (?, ?, ?, ?, ?, ?)", (*row, seal(*row)))
        self._numbers[name] = number
        return number

    def add_operation(self, operation: Operation) -> int:
        """Add an operation on known arrays and return its number; its ``id`` is ignored."""
        number = self._next("operations")
        created = (operation.created - EPOCH) // MILLISECOND
        labels = int(operation.exact), created, int(operation.predicted), operation.compared
        sides = [
            (role, position, self._number(name))
            for role, names in ((INPUT, operation.inputs), (OUTPUT, operation.outputs))
            for position, name in enumerate(names)
        ]
        args, sealed = self._text(operation.args), seal(sides_text(sides))
        row = (number, operation.name, args, operation.reused, *labels, sealed)
        self._operations.append((*row, seal(*row)))
        self._sides += [(number, *side) for side in sides]
        return number

    def add_body(self, body: Body) -> int:
        """Add a lineage's content, whose files are on disk already, and return its number."""
        number = self._next("bodies")
        row = (number, body.num_rows, body.nbytes, int(body.exact), body.checksum)
        self._db.insert(
            "INSERT INTO bodies VALUES (?, ?, ?, ?, ?, ?, ?)",
            (number, body.header, *row[1:], seal(*row)),
        )
        files = [(number, *astuple(file)) for file in body.files]
        self._db.insert_all("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)", files)
        return number

    def add_lineage(
        self, out: str, in_: str, op: int | None, body: int, *, influence: bool = False
    ) -> None:
        """Say that ``body`` is lineage from ``out`` to ``in_``."""
        ends = self._number(out), self._number(in_)
        row = (self._next("lineages"), *ends, op, body, int(influence))
        self._lineages.append((*row, seal(*row)))
        self._made[row[1]] += 1
        self._used[row[2]] += 1

    def add_leak(self, leak: Leak, mark: int) -> None:
        """Add a place where values of a known array left, or count it again."""
        array, *rest = astuple(leak)
        number = self._number(array)
        key = "array = ? AND way = ? AND file = ? AND line = ? AND function = ? AND inside = ?"
        found = self._db.rows(f"{LEAKS} WHERE {key}", number, *rest[:5])
        count, loses = rest[5], int(leak.loses)
        if found:
            place, *_, old, lost, before, _ = found[0]
            unsealed(found[0], "leaks", self._db.label)
            count, loses, mark = count + old, max(loses, lost), min(mark, before)
            self._db.rows("DELETE FROM leaks WHERE id = ?", place)
        else:
            place = self._next("leaks")
        row = (place, number, *rest[:5], count, loses, mark)
        marks = ", ".join("?" * 11)
        self._db.insert(f"INSERT INTO leaks VALUES ({marks})", (*row, seal(*row)))

    def put_signature(self, signature: Signature) -> None:
        """Add a signature, or replace the one with the same kind and key."""
        *words, saved = astuple(signature)
        row = (*words, float(saved))
        self._db.insert(
            "INSERT OR REPLACE INTO signatures VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*row, seal(*row)),
        )

    def count_hit(self, kind: str, key: str, saved: float) -> None:
        """Count one more answer of a signature, and the seconds it saved."""
        known = self._db.signature(kind, key)
        if known is not None:
            self.put_signature(replace(known, hits=known.hits + 1, saved=known.saved + saved))
