"""Arrays by their names, and the runs that names belong to, in SQLite."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from dslog.errors import CorruptError
from dslog.store.catalog import (
    ArrayInfo,
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
    unsealed,
)
from dslog.store.run import NO_RUNS, OWN_RUNS, OwnRuns, RunInfo
from dslog.store.source_identity import Reading, read_source
from dslog.types import Shape

# ruff: noqa: S608 (names of tables and columns are ours, all values are parameters)

T = TypeVar("T")
INPUT, OUTPUT = 0, 1
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
LEAKS = f"SELECT {SEALED['leaks']}, seal FROM leaks"
SOUND_ARRAY = f"seal = seal({SEALED['arrays']})"
NAMED = (
    "(SELECT name, run, version, id AS array FROM arrays UNION ALL "
    "SELECT name, run, version, array FROM readings)"
)
NEWEST = "ORDER BY run DESC, version DESC LIMIT 1"


def _has(run: str) -> str:
    """The run, if it has an array of the name ``w.value``."""
    rows = (f"SELECT 1 FROM {table} WHERE name = w.value AND run = {run}" for table in _TABLES)
    return f"CASE WHEN {' OR '.join(f'EXISTS ({one})' for one in rows)} THEN {run} END"


def _newest(which: str) -> str:
    """The newest run that has an array of the name ``w.value``."""
    rows = (
        f"(SELECT run FROM {table} t WHERE name = w.value AND {which} ORDER BY run DESC LIMIT 1)"
        for table in _TABLES
    )
    return f"nullif(max({', '.join(f'coalesce({one}, 0)' for one in rows)}), 0)"


_TABLES = ("arrays", "readings")
_DONE = "(SELECT state FROM runs WHERE number = t.run) = 'done'"
_MEANT = f"""
    WITH w(value) AS (SELECT value FROM json_each(?3)), c(name, run) AS MATERIALIZED (
        SELECT value, coalesce({_has("?1")}, {_has("?2")}, {_newest(_DONE)}, {_newest("1")}) FROM w)
    SELECT name, (
        SELECT array FROM (
            SELECT id AS array, version FROM arrays WHERE name = c.name AND run = c.run
            UNION ALL
            SELECT array, version FROM readings WHERE name = c.name AND run = c.run
        ) ORDER BY version DESC LIMIT 1
    ) FROM c
"""
"""The arrays that names mean to a process whose last runs are ?1 and ?2."""


@dataclass(frozen=True, slots=True)
class ArrayRow:
    """A row of ``arrays``: with ``made`` and ``used`` lineages that it is output and input of."""

    name: str
    run: int
    version: int
    shape: str
    made: int
    used: int


class SqliteRuns(Connection):
    """What names mean: read by the catalog, and by what writes to it."""

    def __init__(self, path: Path | None, *, writable: bool, durable: bool = False) -> None:
        super().__init__(path, writable=writable, durable=durable)
        self._own_key: object = self._identity or object()

    def _arrays(self, where: str = "", *values: object) -> dict[int, ArrayRow]:
        """Arrays by number, some or all."""
        rows = self.rows(f"SELECT {SEALED['arrays']}, seal FROM arrays {where}", *values)
        return {row[0]: ArrayRow(*self._unsealed(row, "arrays")[1:]) for row in rows}

    def _by_number(self, numbers: Iterable[int]) -> dict[int, ArrayRow]:
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
        own = (*self.own.recent, None, None)[:2]
        found = dict(self.rows(_MEANT, *own, compact(wanted)))
        for text in wanted:
            if found.get(text) is None and (parts := split_name(text)) is not None:
                name, run, version = parts
                which = "" if version is None else f"AND version = {version}"
                rows = self.rows(
                    f"SELECT array FROM {NAMED} WHERE name = ? AND run = ? {which} {NEWEST}",
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

    def named(self, names: Sequence[str]) -> dict[int, ArrayRow]:
        """Arrays that these texts name, by number."""
        return self._by_number(self.meant(names).values())

    def _known(self, names: Sequence[str]) -> dict[int, ArrayRow]:
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
        sql = f"SELECT 1 FROM {NAMED} WHERE name = ? AND run = ?"
        return any(self.rows(sql, name, run) for run in self.own.recent[:1])

    def _texts(self, arrays: Mapping[int, ArrayRow]) -> dict[int, str]:
        """What arrays are called: by their name if it means them, else with run and version."""
        meant = self.meant(list({array.name for array in arrays.values()}))
        return {
            number: array.name if meant.get(array.name) == number else self._text(number, array)
            for number, array in arrays.items()
        }

    def _text(self, number: int, array: ArrayRow) -> str:
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

    def _info(self, number: int, array: ArrayRow, text: str) -> ArrayInfo:
        return ArrayInfo(text, self._shape(array.shape), number, array.run, array.name)

    def shape(self, name: str) -> Shape | None:
        """Return an array's shape, or None when there is no such array."""
        return self.shapes([name]).get(name)

    def signature(self, kind: str, key: str) -> Signature | None:
        """Return one signature, or None."""
        rows = self.rows(
            f"SELECT {SEALED['signatures']}, seal FROM signatures WHERE kind = ? AND key = ?",
            kind,
            key,
        )
        return Signature(*self._unsealed(rows[0], "signatures")) if rows else None

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

    @property
    def own(self) -> OwnRuns:
        """The runs of this process."""
        return OWN_RUNS.get(self._own_key, NO_RUNS)

    @own.setter
    def own(self, runs: OwnRuns) -> None:
        OWN_RUNS[self._own_key] = runs

    def _shape(self, text: str) -> Shape:
        return self._parsed(text, parse_shape)

    def _parsed(self, text: str, parse: Callable[[str], T]) -> T:
        try:
            return parse(text)
        except (ValueError, TypeError, RecursionError) as error:
            raise self._damaged(f"it holds {str(text)[:100]!r}: {error}") from error

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
