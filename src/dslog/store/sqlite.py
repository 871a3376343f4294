"""The catalog in SQLite; statements are in modules of this name, in the schema and the chain."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dslog.cells.cellset import PLAIN, Labels, Leak
from dslog.errors import CorruptError, StoreError
from dslog.query.plan import NOTHING, Edge
from dslog.store import chain, schema
from dslog.store.catalog import (
    ArrayInfo,
    Body,
    CodePlace,
    FileRecord,
    LineageInfo,
    Operation,
    Signature,
    compact,
)
from dslog.store.connection import (
    COUNTED,
    SEALED,
    seal,
    sides_text,
)
from dslog.store.run import OWN_RUNS, OwnRuns, RunInfo
from dslog.store.sqlite_runs import (
    EPOCH,
    INPUT,
    LEAKS,
    MILLISECOND,
    NAMED,
    OUTPUT,
    SOUND_ARRAY,
    ArrayRow,
    SqliteRuns,
)
from dslog.store.sqlite_transaction import SqliteTransaction

# ruff: noqa: S608 (names of tables and columns are ours, all values are parameters)

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


class SqliteCatalog(SqliteRuns):
    """A :class:`~dslog.store.catalog.Catalog` in one SQLite file, or in memory (``path=None``)."""

    def __init__(self, path: Path | None, *, writable: bool = True, durable: bool = False) -> None:
        super().__init__(path, writable=writable, durable=durable)
        try:
            self.was_old = schema.bring_up_to_date(self)
            self._own_key = self._identity or self._own_key
            known = self.own.process or self.own.explicit
            if known is not None and self.run(known.number) != known:
                OWN_RUNS.pop(self._own_key)  # of a store that is gone, whose place this one got
        except BaseException:
            self.close()
            raise

    # reading

    def _lineage(self, row: Sequence[Any]) -> _Lineage:
        """Check a row of ``_LINEAGES``."""
        _, out, in_, op, body, influence = self._unsealed(row[:7], "lineages")
        if row[7] is None or (op is not None and row[13] is None):
            raise self._damaged(f"the body or the operation of lineage row {row[0]} is missing")
        _, num_rows, nbytes, exact, _ = self._unsealed(row[7:13], "bodies")
        predicted = op is not None and self._unsealed(row[13:27], "operations")[6]
        if row[27] != row[28]:
            raise self._damaged(f"files of lineage number {body} are missing")
        labels = map(bool, (exact, predicted, row[27], influence))
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

    def _edges(self, names: Mapping[int, str], *, influence: bool) -> list[Edge]:
        """The different lineages between any two of these arrays, those shared by calls once."""
        arrays = self._by_number(names)
        self._check_degrees({number: array.made for number, array in arrays.items()}, "output")
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
            ends = names[one.out], names[one.in_]
            found[key] = Edge(*ends, one.body, one.num_rows, labels)
        return list(found.values())

    def among(self, names: Sequence[str], *, influence: bool = False) -> list[Edge]:
        """Return what ``between`` gives for every pair of these arrays."""
        with self.snapshot():
            meant = {number: text for text, number in self.meant(names).items()}
            return self._edges(meant, influence=influence)

    def columns(self, name: str) -> tuple[str, ...]:
        """Return the names of a table's columns, as the operation that made it has them."""
        rows = self.rows(
            "SELECT args FROM operation_arrays JOIN operations ON id = operation "
            "WHERE role = 1 AND array = ? ORDER BY id DESC",
            self.meant([name]).get(name),
        )
        found = (json.loads(args).get("columns") for (args,) in rows)
        return next((tuple(map(str, some)) for some in found if isinstance(some, list)), ())

    def arrays(self) -> list[ArrayInfo]:
        """Return every array, in order of definition."""
        with self.snapshot():
            found = self._arrays("ORDER BY id")
            self._check_count("arrays", len(found))
            return self._infos_of(found)

    def _infos_of(self, arrays: Mapping[int, ArrayRow]) -> list[ArrayInfo]:
        texts = self._texts(arrays)
        return [self._info(number, array, texts[number]) for number, array in arrays.items()]

    def first_arrays(self, most: int) -> list[ArrayInfo]:
        """Return the arrays that were defined first."""
        with self.snapshot():
            return self._infos_of(self._arrays("ORDER BY id LIMIT ?", most))

    def operations(self) -> list[Operation]:
        """Return every operation, in order of registration."""
        return self._operations("")

    def operations_of(self, run: int) -> tuple[list[Operation], list[LineageInfo]]:
        """Return the operations of a run, and the lineage of its arrays without one."""
        with self.snapshot():
            inside = "(SELECT id FROM operations WHERE run = ?)"
            operations = self._operations(f"WHERE id IN {inside}", run)
            lineages = self._infos(
                f"WHERE l.operation IN {inside} AND NOT l.influence OR l.operation IS NULL AND "
                f"l.output IN (SELECT id FROM arrays WHERE run = ?)",
                run,
                run,
            )
        return operations, lineages

    def used_by(self, names: Sequence[str]) -> tuple[list[Operation], list[LineageInfo]]:
        """Return the operations that took any of these arrays, and all lineage from them."""
        with self.snapshot():
            numbers = compact(list(self._known(names)))
            inside = "IN (SELECT value FROM json_each(?))"
            took = f"SELECT operation FROM operation_arrays WHERE array {inside} AND role = {INPUT}"
            operations = self._operations(f"WHERE id IN ({took})", numbers)
            lineages = self._infos(f"WHERE l.input {inside} AND NOT l.influence", numbers)
        return operations, lineages

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
        (number,) = self._known([name])
        met = (
            f"WITH RECURSIVE met(id) AS (SELECT ? "
            f"UNION SELECT l.{other} FROM met JOIN lineages l ON l.{side} = met.id)"
        )
        ((said, found, wrong),) = self.rows(
            f"{met} SELECT total({count}), (SELECT count(*) FROM met JOIN lineages l "
            f"ON l.{side} = met.id), total(NOT {SOUND_ARRAY}) FROM met JOIN arrays USING (id)",
            number,
        )
        if said != found or wrong:
            raise self._damaged(f"lineage that {name!r} is part of is missing")
        behind = self.rows(f"{met} SELECT id FROM met", number)
        return list(self._numbered(one for (one,) in behind).values())

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
            ends = self.meant([out or "", in_ or ""])
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
            ((number, array),) = self._known([name]).items()
            rows = self.rows(
                f"SELECT {SEALED['lineages']}, seal FROM lineages WHERE {side} = ?", number
            )
            if len(rows) != (array.made if side == "output" else array.used):
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
            "WHERE o.role = ? AND o.array = ? AND (i.array IS NULL OR i.array = ?) LIMIT 1",
            INPUT,
            OUTPUT,
            *(self.meant([out, in_]).get(name) for name in (out, in_)),
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
        self._known(names)
        return self.meant(names)

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

    def signatures(self) -> list[Signature]:
        """Return every signature."""
        rows = self.rows(f"{_SIGNATURES} ORDER BY kind, key")
        return [Signature(*self._unsealed(row, "signatures")) for row in rows]

    def totals(self) -> Mapping[str, int]:
        """Return how many arrays, operations, lineages, rows, files and bytes are stored."""
        counts = {
            "runs": "SELECT count(*) FROM runs",
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

    def head(self) -> str:
        """Return the digest of the last commit."""
        rows = self.rows("SELECT digest FROM commits ORDER BY number DESC LIMIT 1")
        return str(rows[0][0]) if rows else ""

    def chain_problems(self) -> list[str]:
        """Compare the chain of commits with all rows."""
        with self.snapshot():
            return list(chain.problems(self))

    # writing

    @contextmanager
    def transaction(self) -> Iterator[SqliteTransaction]:
        """Begin to write; waits for other writers. Reads inside it see its own changes."""
        before = self.own
        try:
            with self.writing():
                transaction = SqliteTransaction(self)
                yield transaction
                transaction.finish()
        except BaseException:
            self.own = before
            raise

    def begin_run(self, name: str, params: Mapping[str, object]) -> RunInfo:
        """Begin a run that all that is written belongs to until it ends."""
        if self.own.explicit is not None:
            raise StoreError(
                f"run {self.own.explicit.number}, {self.own.explicit.name!r}, is not over: end it "
                f"before another one begins"
            )
        with self.transaction() as transaction:
            number = transaction.begin_run(RunInfo.new(name, params))
            begun = self.run(number)
            assert begun is not None  # noqa: S101 (it was just written)
            self.own = replace(self.own, explicit=begun, recent=(number, *self.own.recent[:1]))
        return begun

    def go_on(self, name: str) -> None:
        """Write to the newest run if it is done, and has no array of this name yet."""
        last = self.last_runs(1)
        own = self.own
        if last and last[0].state == "done" and own.process is None and own.explicit is None:
            (run,) = last
            sql = f"SELECT 1 FROM {NAMED} WHERE name = ? AND run = ?"
            if not self.rows(sql, name, run.number):
                self.own = OwnRuns(run, None, (run.number,))

    def end_run(self, error: BaseException | None = None) -> RunInfo | None:
        """End the run that was begun; a failed one's arrays are not what names mean."""
        own = self.own
        if own.explicit is None:
            return None
        with self.transaction() as transaction:
            ended = own.explicit.over(error)
            transaction.put_run(ended)
            recent = own.recent if error is None else own.recent[1:]
            self.own = replace(own, explicit=None, recent=recent)
        return ended

    def end_process(self, error: BaseException | str | None = None) -> None:
        """Say that this process's own run is over, unless it goes on, or is another one's."""
        own = self.own
        if self.writable and own.process is not None and own.process.is_ours and own.running:
            with self.transaction() as transaction:
                ended = own.process.over(error)
                transaction.put_run(ended)
                self.own = replace(own, process=ended, running=False)

    def _names(self, sql: str, *values: object) -> list[str]:
        return [name for (name,) in self.rows(sql, *values)]

    def _operation(
        self,
        row: Sequence[Any],
        sides: Sequence[tuple[int, int, int]],
        names: Mapping[int, str],
    ) -> Operation:
        found = self._unsealed(row, "operations")
        number, name, args, reused, exact, created, predicted, compared, sealed = found[:9]
        run, place, took, text = found[9:]
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
            run=run,
            place=self._place(place),
            seconds=None if took is None else took / 1e6,
            text=text,
        )

    def _place(self, number: int | None) -> CodePlace | None:
        if number is None:
            return None
        rows = self.rows(f"SELECT {SEALED['places']}, seal FROM places WHERE id = ?", number)
        if not rows:
            raise self._damaged(f"place number {number} is missing")
        return CodePlace(*self._unsealed(rows[0], "places")[1:])

    # runs and sources
