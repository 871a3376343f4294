"""One transaction of the catalog in SQLite."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, replace
from datetime import UTC, datetime

from dslog.cells.cellset import Leak
from dslog.errors import StoreError
from dslog.store import chain
from dslog.store.catalog import (
    Body,
    CodePlace,
    Numbered,
    Operation,
    Signature,
    compact,
)
from dslog.store.connection import (
    COUNTED,
    SEALED,
    seal,
    sides_text,
    unsealed,
)
from dslog.store.run import OwnRuns, RunInfo, program_name
from dslog.store.source_identity import SourceIdentity

# ruff: noqa: S608 (names of tables and columns are ours, all values are parameters)
from dslog.store.sqlite_runs import (
    EPOCH,
    INPUT,
    LEAKS,
    MILLISECOND,
    NAMED,
    NEWEST,
    OUTPUT,
    SOUND_ARRAY,
    SqliteRuns,
)
from dslog.types import Shape

_ADD_USES = f"""
    UPDATE arrays SET made = made + ?1, used = used + ?2, seal =
           iif({SOUND_ARRAY}, seal(id, name, run, version, shape, made + ?1, used + ?2), seal)
    WHERE id = ?3
"""


class SqliteTransaction:
    """Writes to a catalog, all or none; see :class:`~dslog.store.catalog.Transaction`.

    Rows of operations and lineages, which there may be many of, are written together at the end.
    """

    def __init__(self, db: SqliteRuns) -> None:
        self._db = db
        self.run = 0
        self._total = chain.read_sum(db)
        self._taken: set[int] = set()
        self._versions: dict[str, int | None] = {}
        self._places: dict[CodePlace, int] = {}
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
        marks = ", ".join("?" * (len(SEALED["operations"].split()) + 1))
        self._db.insert_all(
            f"INSERT INTO operations ({SEALED['operations']}, seal) VALUES ({marks})",
            self._operations,
        )
        self._db.insert_all("INSERT INTO operation_arrays VALUES (?, ?, ?, ?)", self._sides)
        self._db.insert_all("INSERT INTO lineages VALUES (?, ?, ?, ?, ?, ?, ?)", self._lineages)
        touched = self._made.keys() | self._used.keys()
        uses = [(self._made[number], self._used[number], number) for number in touched]
        self._db.insert_all(_ADD_USES, uses)
        if any(self._added.values()):
            counts = self._db.counts()
            text = " ".join(str(counts[table] + self._added[table]) for table in COUNTED)
            self._db.rows("UPDATE meta SET value = ? WHERE key = 'rows'", f"{text} {seal(text)}")
        chain.extend(self._db, self._total)

    def _put(self, table: str, row: Sequence[object]) -> None:
        """Write a row that may change again."""
        self._total = chain.put_loose(self._db, table, row, self._total)

    def _next(self, table: str, key: str = "id") -> int:
        """The number of a new row."""
        if table not in self._last:
            self._last[table] = self._db.rows(f"SELECT max({key}) FROM {table}")[0][0] or 0
        self._last[table] += 1
        if table in self._added:
            self._added[table] += 1
        return self._last[table]

    def number(self, array: Numbered | str) -> int:
        """The number of an array."""
        if not isinstance(array, str):
            if array.number:
                return array.number
            array = array.name
        found = self._db.meant([array]).get(array)
        if found is None:
            raise StoreError(f"a row refers to an array {array!r} that is not there")
        return found

    def begin_run(self, run: RunInfo) -> int:
        """Add a run and return its number."""
        number = self._next("runs", "number")
        self.put_run(replace(run, number=number))
        return number

    def put_run(self, run: RunInfo) -> None:
        """Write a run down as it is now."""
        self._put("runs", run.row())

    def current_run(self) -> int:
        """The run that is written to: one that was begun, else this process's own."""
        if self.run:
            return self.run
        own = self._db.own
        if own.explicit is not None:
            self.run = own.explicit.number
            return self.run
        if own.process is None:
            number = self.begin_run(RunInfo.new(program_name(), {}))
            process = self._db.run(number)
        else:
            number, process = own.process.number, own.process.going_on()
            if not own.running:
                self.put_run(process)
        self._db.own = OwnRuns(process, None, (number, *own.recent[:1]), running=True)
        self.run = number
        return number

    def _text(self, args: object) -> str:
        """Arguments as JSON, once for calls of one form."""
        known = self._texts.get(id(args))
        if known is None:
            known = self._texts[id(args)] = args, compact(args)
        return known[1]

    def add_array(self, name: str, shape: Shape) -> int:
        """Add a version of an array to the run and return its number: later ones are higher."""
        number, run = self._next("arrays"), self.current_run()
        row = (number, name, run, self._version(name), self._text(shape), 0, 0)
        self._db.insert_sealed("arrays", row)
        self._taken.add(number)
        return number

    def expect(self, names: Sequence[str]) -> None:
        """Look up at once how many versions of names the run has."""
        sql = (
            f"SELECT value, (SELECT max(version) FROM {NAMED} v WHERE v.name = w.value "
            f"AND v.run = ?) FROM json_each(?) w"
        )
        self._versions.update(self._db.rows(sql, self.current_run(), compact(list(names))))

    def is_taken(self, name: str) -> bool:
        """Whether the run has an array of this name."""
        if name not in self._versions:
            self.expect([name])
        return bool(self._versions[name])

    def _version(self, name: str) -> int:
        self.is_taken(name)
        self._versions[name] = (self._versions[name] or 0) + 1
        return self._versions[name] or 0

    def name_of(self, number: int) -> str:
        """The name of an array, without its run."""
        return str(self._db.rows("SELECT name FROM arrays WHERE id = ?", number)[0][0])

    def take(self, number: int) -> None:
        """Say that the run takes up an array, as what its name means from now on."""
        if number in self._taken:
            return
        self._taken.add(number)
        run = self.current_run()
        ((name, own),) = self._db.rows("SELECT name, run FROM arrays WHERE id = ?", number)
        rows = self._db.rows(
            f"SELECT array FROM {NAMED} WHERE name = ? AND run = ? {NEWEST}", name, run
        )
        if not rows and own != run:
            row = (self._next("readings"), name, run, self._version(name), number)
            self._db.insert_sealed("readings", row)

    def turn_to(self, number: int) -> None:
        """Say that a name means this array of its from now on: it was read again."""
        ((name,),) = self._db.rows("SELECT name FROM arrays WHERE id = ?", number)
        run = self.current_run()
        rows = self._db.rows(
            f"SELECT array FROM {NAMED} WHERE name = ? AND run = ? {NEWEST}", name, run
        )
        if not rows or rows[0][0] != number:
            row = (self._next("readings"), name, run, self._version(name), number)
            self._db.insert_sealed("readings", row)

    def add_source(self, number: int, source: SourceIdentity) -> None:
        """Say what was read as an array."""
        now = (datetime.now(UTC) - EPOCH) // MILLISECOND
        run, about = self.current_run(), compact(source.about)
        known = self._db.rows(
            "SELECT digest, about FROM sources WHERE array = ? AND run = ?", number, run
        )
        if (source.identity, about) not in known:
            row = (self._next("sources"), run, number, now, source.identity, about)
            self._db.insert_sealed("sources", row)

    def same_source(self, name: str, shape: Shape, source: SourceIdentity) -> int | None:
        """The array of this name and shape that was read of the same source, if there is one."""
        rows = self._db.rows(
            "SELECT a.id FROM sources s JOIN arrays a ON a.id = s.array "
            "WHERE s.digest = ? AND a.name = ? AND a.shape = ? ORDER BY a.id DESC LIMIT 1",
            source.identity,
            name,
            self._text(shape),
        )
        return rows[0][0] if rows else None

    def is_made(self, number: int) -> bool:
        """Whether an operation on other arrays, or lineage without one, made an array."""
        rows = self._db.rows("SELECT made FROM arrays WHERE id = ?", number)
        return bool(rows and rows[0][0])

    def is_read(self, number: int) -> bool:
        """Whether it is known what was read as an array."""
        return bool(self._db.rows("SELECT 1 FROM sources WHERE array = ? LIMIT 1", number))

    def keep(self, number: int, file: str, checksum: str) -> None:
        """Say which file holds the values of an array."""
        self._put("kept", (number, file, checksum))

    def _place_number(self, place: CodePlace | None) -> int | None:
        if place is None:
            return None
        number = self._places.get(place)
        if number is None:
            where = (place.file, place.line, place.function)
            rows = self._db.rows(
                "SELECT id FROM places WHERE file = ? AND line = ? AND function = ?", *where
            )
            number = rows[0][0] if rows else self._next("places")
            self._places[place] = number
            if not rows:
                self._db.insert_sealed("places", (number, *where))
        return number

    def add_operation(
        self,
        operation: Operation,
        inputs: Sequence[Numbered | str] | None = None,
        outputs: Sequence[Numbered | str] | None = None,
    ) -> int:
        """Add an operation on known arrays and return its number; its ``id`` is ignored."""
        number, run = self._next("operations"), self.current_run()
        created = (operation.created - EPOCH) // MILLISECOND
        labels = int(operation.exact), created, int(operation.predicted), operation.compared
        ins = [self.number(one) for one in (operation.inputs if inputs is None else inputs)]
        outs = [self.number(one) for one in (operation.outputs if outputs is None else outputs)]
        for one in ins:
            self.take(one)
        sides = [
            (role, position, one)
            for role, some in ((INPUT, ins), (OUTPUT, outs))
            for position, one in enumerate(some)
        ]
        args, sealed = self._text(operation.args), seal(sides_text(sides))
        took = None if operation.seconds is None else round(operation.seconds * 1e6)
        done = run, self._place_number(operation.place), took, operation.text
        row = (number, operation.name, args, operation.reused, *labels, sealed, *done)
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
        self,
        out: Numbered | str,
        in_: Numbered | str,
        op: int | None,
        body: int,
        *,
        influence: bool = False,
    ) -> None:
        """Say that ``body`` is lineage from ``out`` to ``in_``."""
        ends = self.number(out), self.number(in_)
        if op is None:
            self.take(ends[1])
        row = (self._next("lineages"), *ends, op, body, int(influence))
        self._lineages.append((*row, seal(*row)))
        self._made[row[1]] += 1
        self._used[row[2]] += 1

    def add_leak(self, leak: Leak, mark: int, number: int = 0) -> None:
        """Add a place where values of a known array left, or count it again."""
        array, *rest = astuple(leak)
        number = number or self.number(array)
        key = "array = ? AND way = ? AND file = ? AND line = ? AND function = ? AND inside = ?"
        found = self._db.rows(f"{LEAKS} WHERE {key}", number, *rest[:5])
        count, loses = rest[5], int(leak.loses)
        if found:
            place, *_, old, lost, before, _ = found[0]
            unsealed(found[0], "leaks", self._db.label)
            count, loses, mark = count + old, max(loses, lost), min(mark, before)
        else:
            place = self._next("leaks")
        row = (place, number, *rest[:5], count, loses, mark)
        self._put("leaks", row)

    def put_signature(self, signature: Signature) -> None:
        """Add a signature, or replace the one with the same kind and key."""
        *words, saved = astuple(signature)
        self._put("signatures", (*words, float(saved)))

    def count_hit(self, kind: str, key: str, saved: float) -> None:
        """Count one more answer of a signature, and the seconds it saved."""
        known = self._db.signature(kind, key)
        if known is not None:
            self.put_signature(replace(known, hits=known.hits + 1, saved=known.saved + saved))
