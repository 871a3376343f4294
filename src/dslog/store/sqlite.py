"""The catalog in SQLite: the only module with statements in it, apart from the schema."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from dslog.cells.cellset import PLAIN, Labels, Leak
from dslog.errors import CorruptError, StoreError
from dslog.query.plan import NOTHING, Edge
from dslog.store import schema
from dslog.store.catalog import (
    ArrayInfo,
    Body,
    CodePlace,
    FileRecord,
    LineageInfo,
    Numbered,
    Operation,
    Signature,
    compact,
    parse_shape,
    split_name,
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
from dslog.store.run import NO_RUNS, OWN_RUNS, OwnRuns, RunInfo, program_name
from dslog.store.source import Reading, Source, read_source
from dslog.types import Shape

# ruff: noqa: S608 (names of tables and columns are ours, all values are parameters)

T = TypeVar("T")
INPUT, OUTPUT = 0, 1
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
LEAKS = f"SELECT {SEALED['leaks']}, seal FROM leaks"
SOUND_ARRAY = f"seal = seal({SEALED['arrays']})"
_ADD_USES = f"""
    UPDATE arrays SET made = made + ?1, used = used + ?2, seal =
           iif({SOUND_ARRAY}, seal(id, name, run, version, shape, made + ?1, used + ?2), seal)
    WHERE id = ?3
"""
_NAMED = (
    "(SELECT name, run, version, id AS array FROM arrays UNION ALL "
    "SELECT name, run, version, array FROM readings)"
)
_LAST = "ORDER BY run DESC, version DESC LIMIT 1"
_MEANT = f"""
    coalesce(
        (SELECT array FROM json_each(?1) o, {_NAMED} v
         WHERE v.name = w.value AND v.run = o.value ORDER BY o.key, version DESC LIMIT 1),
        (SELECT array FROM {_NAMED} v WHERE v.name = w.value
         AND (SELECT state FROM runs WHERE number = v.run) = 'done' {_LAST}),
        (SELECT array FROM {_NAMED} v WHERE v.name = w.value {_LAST})
    )
"""
"""The array that a name w.value means to a process whose runs are ?1, the latest first."""

_LINEAGES = f"""
    SELECT l.{SEALED["lineages"].replace(", ", ", l.")}, l.seal,
           b.{SEALED["bodies"].replace(", ", ", b.")}, b.seal,
           p.{SEALED["operations"].replace(", ", ", p.")}, p.seal, 0, 0
    FROM lineages l LEFT JOIN bodies b ON b.id = l.body LEFT JOIN operations p ON p.id = l.operation
"""
_FILED = "EXISTS (SELECT 1 FROM files WHERE body = b.id), b.nbytes > length(CAST(header AS BLOB))"
_SIGNATURES = f"SELECT {SEALED['signatures']}, seal FROM signatures"


@dataclass(frozen=True, slots=True)
class _Array:
    """A row of ``arrays``: with ``made`` and ``used`` lineages that it is output and input of."""

    name: str
    run: int
    version: int
    shape: str
    made: int
    used: int


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
        self._own_key: object = self._identity or object()
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

    def _arrays(self, where: str = "", *values: object) -> dict[int, _Array]:
        """Arrays by number, some or all."""
        rows = self.rows(f"SELECT {SEALED['arrays']}, seal FROM arrays {where}", *values)
        return {row[0]: _Array(*self._unsealed(row, "arrays")[1:]) for row in rows}

    def _by_number(self, numbers: Iterable[int]) -> dict[int, _Array]:
        """Arrays with these numbers, in order; each must be there."""
        wanted = set(numbers)
        found = self._arrays(
            "WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id", compact(list(wanted))
        )
        if len(found) != len(wanted):
            raise self._damaged("arrays that lineage names are missing")
        return found

    def meant(self, names: Sequence[str]) -> dict[str, int]:
        """The numbers of the arrays that texts name, those that there are."""
        wanted = list(dict.fromkeys(names))
        sql = f"SELECT value, {_MEANT} FROM json_each(?2) w"
        found = dict(self.rows(sql, compact(self.own.recent), compact(wanted)))
        for text in wanted:
            if found.get(text) is None and (parts := split_name(text)) is not None:
                name, run, version = parts
                which = "" if version is None else f"AND version = {version}"
                rows = self.rows(
                    f"SELECT array FROM {_NAMED} WHERE name = ? AND run = ? {which} {_LAST}",
                    name,
                    run,
                )
                if not rows and version is None:  # what its operations took is its own as well
                    rows = self.rows(
                        "SELECT a.id FROM operations o JOIN operation_arrays s ON s.operation = "
                        "o.id JOIN arrays a ON a.id = s.array WHERE o.run = ? AND a.name = ? "
                        "ORDER BY o.id DESC LIMIT 1",
                        run,
                        name,
                    )
                found[text] = rows[0][0] if rows else None
        return {text: number for text, number in found.items() if number is not None}

    def named(self, names: Sequence[str]) -> dict[int, _Array]:
        """Arrays that these texts name, by number."""
        return self._by_number(self.meant(names).values())

    def _known(self, names: Sequence[str]) -> dict[int, _Array]:
        """The same, of arrays that must be there."""
        found = self.meant(names)
        if len(found) != len(set(names)):
            raise self._damaged(f"some of the arrays {', '.join(names[:3])} are missing")
        return self._by_number(found.values())

    def _numbered(self, numbers: Iterable[int]) -> dict[int, str]:
        """The names of arrays with these numbers, in order; each must be there."""
        return self._texts(self._by_number(numbers))

    def texts(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return what arrays with these numbers are called."""
        with self.snapshot():
            return self._numbered(numbers)

    def is_name(self, text: str) -> bool:
        """Whether an array has this text for a name as it is, whatever it looks like."""
        return bool(self.rows("SELECT 1 FROM arrays WHERE name = ? LIMIT 1", text))

    def is_own(self, name: str) -> bool:
        """Whether a run of this process has an array of this name."""
        sql = f"SELECT 1 FROM {_NAMED} WHERE name = ? AND run = ?"
        return any(self.rows(sql, name, run) for run in self.own.recent[:1])

    def _texts(self, arrays: Mapping[int, _Array]) -> dict[int, str]:
        """What arrays are called: by their name if it means them, else with run and version."""
        meant = self.meant(list({array.name for array in arrays.values()}))
        return {
            number: array.name if meant.get(array.name) == number else self._text(number, array)
            for number, array in arrays.items()
        }

    def _text(self, number: int, array: _Array) -> str:
        """The name of an array with its run, and its version unless that is the run's newest."""
        zeros = ""
        texts = [f"{array.name}@{array.run}"]
        for text in texts:
            if self.meant([text]).get(text) == number:
                return text
            texts.append(f"{array.name}@{array.run}.{zeros}{array.version}")
            zeros += "0"  # an old name may look like this one
        raise AssertionError(texts)

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

    def shapes(self, names: Sequence[str]) -> dict[str, Shape]:
        """Return the shapes of those arrays that there are."""
        return {name: array.shape for name, array in self.found(names).items()}

    def found(self, names: Sequence[str]) -> dict[str, ArrayInfo]:
        """Return those arrays that there are, by the text that names each."""
        with self.snapshot():
            meant = self.meant(names)
            arrays = self._by_number(meant.values())
            texts = self._texts(arrays)
        return {
            text: self._info(number, arrays[number], texts[number])
            for text, number in meant.items()
        }

    def _info(self, number: int, array: _Array, text: str) -> ArrayInfo:
        return ArrayInfo(text, self._shape(array.shape), number, array.run)

    def among(self, names: Sequence[str], *, influence: bool = False) -> list[Edge]:
        """Return what ``between`` gives for every pair of these arrays."""
        with self.snapshot():
            meant = {number: text for text, number in self.meant(names).items()}
            return self._edges(meant, influence=influence)

    def shape(self, name: str) -> Shape | None:
        """Return an array's shape, or None when there is no such array."""
        return self.shapes([name]).get(name)

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

    def _infos_of(self, arrays: Mapping[int, _Array]) -> list[ArrayInfo]:
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
        counts = dict(zip(COUNTED, map(int, text.split()), strict=False))
        if len(counts) != len(COUNTED):
            raise self._damaged("some of its rows were missing before runs were counted")
        return counts

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
        before = self.own
        try:
            with self.writing():
                transaction = SqliteTransaction(self)
                yield transaction
                transaction.finish()
        except BaseException:
            self.own = before
            raise

    @property
    def own(self) -> OwnRuns:
        """The runs of this process."""
        return OWN_RUNS.get(self._own_key, NO_RUNS)

    @own.setter
    def own(self, runs: OwnRuns) -> None:
        OWN_RUNS[self._own_key] = runs

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
            sql = f"SELECT 1 FROM {_NAMED} WHERE name = ? AND run = ?"
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

    def run(self, number: int) -> RunInfo | None:
        """Return a run, or None."""
        found = self.runs(f"WHERE number = {number}")
        return found[0] if found else None

    def runs(self, where: str = "") -> list[RunInfo]:
        """Return runs, all or some, in order."""
        rows = self.rows(f"SELECT {SEALED['runs']}, seal FROM runs {where} ORDER BY number")
        return [RunInfo.read(self._unsealed(row, "runs"), self._parsed) for row in rows]

    def last_runs(self, most: int) -> list[RunInfo]:
        """Return the newest runs, in order."""
        return self.runs(
            f"WHERE number IN (SELECT number FROM runs ORDER BY number DESC LIMIT {most})"
        )

    def counts_of(self, runs: Sequence[int]) -> dict[int, int]:
        """Return how many operations runs have."""
        return dict(
            self.rows(
                "SELECT value, (SELECT count(*) FROM operations WHERE run = value) "
                "FROM json_each(?)",
                compact(list(runs)),
            )
        )

    def readings(self, name: str | None = None, run: int | None = None) -> list[Reading]:
        """Return when sources were read, those of an array or of a run, in order."""
        if name is not None:
            where, value = "array", self.meant([name]).get(name)
        else:
            where, value = "run", run
        rows = self.rows(
            f"SELECT {SEALED['sources']}, seal FROM sources WHERE {where} = ? ORDER BY id", value
        )
        sound = [self._unsealed(row, "sources") for row in rows]
        names = self._numbered(row[2] for row in sound)
        return [
            Reading(
                names[row[2]],
                row[1],
                EPOCH + row[3] * MILLISECOND,
                read_source(self._parsed(row[5], json.loads)),
            )
            for row in sound
        ]

    def kept(self, name: str) -> tuple[str, str] | None:
        """Return the file that holds an array's values, and its checksum."""
        number = self.meant([name]).get(name)
        rows = self.rows(f"SELECT {SEALED['kept']}, seal FROM kept WHERE array = ?", number)
        return (*self._unsealed(rows[0], "kept")[1:],) if rows else None

    def all_kept(self) -> dict[str, tuple[str, str]]:
        """Return the files that hold values, and their checksums, by array."""
        with self.snapshot():
            rows = self.rows(f"SELECT {SEALED['kept']}, seal FROM kept ORDER BY array")
            names = self._numbered(row[0] for row in rows)
        return {names[row[0]]: (row[1], row[2]) for row in rows}


class SqliteTransaction:
    """Writes to a catalog, all or none; see :class:`~dslog.store.catalog.Transaction`.

    Rows of operations and lineages, which there may be many of, are written together at the end.
    """

    def __init__(self, db: SqliteCatalog) -> None:
        self._db = db
        self.run = 0
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
        self._db.insert_sealed("runs", run.row())

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
            f"SELECT value, (SELECT max(version) FROM {_NAMED} v WHERE v.name = w.value "
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
            f"SELECT array FROM {_NAMED} WHERE name = ? AND run = ? {_LAST}", name, run
        )
        if not rows and own != run:
            row = (self._next("readings"), name, run, self._version(name), number)
            self._db.insert_sealed("readings", row)

    def turn_to(self, number: int) -> None:
        """Say that a name means this array of its from now on: it was read again."""
        ((name,),) = self._db.rows("SELECT name FROM arrays WHERE id = ?", number)
        run = self.current_run()
        rows = self._db.rows(
            f"SELECT array FROM {_NAMED} WHERE name = ? AND run = ? {_LAST}", name, run
        )
        if not rows or rows[0][0] != number:
            row = (self._next("readings"), name, run, self._version(name), number)
            self._db.insert_sealed("readings", row)

    def add_source(self, number: int, source: Source) -> None:
        """Say what was read as an array."""
        now = (datetime.now(UTC) - EPOCH) // MILLISECOND
        run, about = self.current_run(), compact(source.about)
        known = self._db.rows(
            "SELECT digest, about FROM sources WHERE array = ? AND run = ?", number, run
        )
        if (source.identity, about) not in known:
            row = (self._next("sources"), run, number, now, source.identity, about)
            self._db.insert_sealed("sources", row)

    def same_source(self, name: str, shape: Shape, source: Source) -> int | None:
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
        self._db.insert_sealed("kept", (number, file, checksum))

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
            self._db.rows("DELETE FROM leaks WHERE id = ?", place)
        else:
            place = self._next("leaks")
        row = (place, number, *rest[:5], count, loses, mark)
        self._db.insert_sealed("leaks", row)

    def put_signature(self, signature: Signature) -> None:
        """Add a signature, or replace the one with the same kind and key."""
        *words, saved = astuple(signature)
        self._db.insert_sealed("signatures", (*words, float(saved)))

    def count_hit(self, kind: str, key: str, saved: float) -> None:
        """Count one more answer of a signature, and the seconds it saved."""
        known = self._db.signature(kind, key)
        if known is not None:
            self.put_signature(replace(known, hits=known.hits + 1, saved=known.saved + saved))
