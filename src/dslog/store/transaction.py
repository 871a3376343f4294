"""What is written to a catalog in SQLite at once, all or none."""

from __future__ import annotations

from collections import Counter
from dataclasses import astuple, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from dslog.cells.cellset import Leak
from dslog.errors import StoreError
from dslog.store.catalog import Body, Operation, Signature, compact
from dslog.store.seal import COUNTED, SEALED, seal, sides_text, unsealed
from dslog.types import Shape

if TYPE_CHECKING:
    from dslog.store.sqlite import SqliteCatalog

# ruff: noqa: S608 (names of tables and columns are ours, all values are parameters)

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
