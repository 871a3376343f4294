"""Repair a store: a new catalog of what is sound, and a list of what is not.

Rows are taken over where their seals fit, and lineage where it can be read, too. Where some is
lost, answers would miss cells in silence: each array that lost lineage gets a leak, so that what
leads from it anywhere says that it may be incomplete.
"""

import os
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from dslog.errors import DslogError, StoreError
from dslog.store import chain
from dslog.store.catalog import ArrayInfo, Body, FileRecord, Pair, parse_shape
from dslog.store.connection import COUNTED, SEALED, seal, sides_text
from dslog.store.files import CATALOG, FILES, StoredLineage, check_shapes, locate
from dslog.store.sqlite import SqliteCatalog

# ruff: noqa: S608 (names of tables and columns are ours, all values are parameters)

_UNSEALED = {
    "operation_arrays": "operation, role, position, array",
    "files": "body, blob, part, name, nbytes, checksum",
}
_KEYS = {"operation_arrays": 3, "files": 3, "signatures": 2}


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What is lost; and where the catalog is that was there before, if there is a new one."""

    lost: tuple[str, ...]
    kept: str | None = None

    def __str__(self) -> str:
        return "\n".join(self.lost) or "nothing is lost"


def repair(path: str | PathLike[str]) -> RepairReport:
    """Keep what is sound of a store that nobody has open, and say what is lost.

    The catalog as it was stays beside the new one. A store without damage stays as it is.
    """
    location = locate(path, "a")
    if location.catalog is None or location.directory is None or not location.writable:
        raise StoreError(f"{path!r} can't be repaired: give a store's directory that you may write")
    SqliteCatalog(location.catalog, writable=False).close()  # of this format, and with a header
    salvage = Salvage(location.directory)
    salvage.read()
    salvage.sift()
    if not salvage.lost:
        return RepairReport(())
    return RepairReport(tuple(salvage.lost), salvage.replace())


@dataclass
class Salvage:
    """Rows of a damaged catalog by table and key, those that are sound, and what is lost."""

    directory: Path
    rows: dict[str, dict[Any, Sequence[Any]]] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    doubtful: bool = False  # whether leaks may be lost: then every answer may be incomplete

    def read(self) -> None:
        """Read every row that can be read and whose seal fits."""
        with closing(sqlite3.connect(self.directory / CATALOG)) as db:
            db.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
            for table, columns in SEALED.items():
                found = self._readable(db, table, f"{columns}, seal")
                sound = {key: row for key, row in found.items() if seal(*row[:-1]) == row[-1]}
                self.rows[table] = {key: row[:-1] for key, row in sound.items()}
                self._note(table, len(found) - len(sound), "are not what was written")
            for table, columns in _UNSEALED.items():
                self.rows[table] = self._readable(db, table, columns)
            self.rows["headers"] = self._readable(db, "bodies", "id, header")
            meta = self._readable(db, "meta", "key, value")
            try:
                said = [text for (text,) in db.execute("PRAGMA integrity_check(5)")]
            except sqlite3.Error as error:
                said = [str(error)]
            self.lost += [f"its pages, which are made new: {text}" for text in said if text != "ok"]
        text, _, sealed = str(meta.get("rows", ("", ""))[1]).rpartition(" ")
        counts = dict(zip(COUNTED, text.split(), strict=False)) if sealed == str(seal(text)) else {}
        for table in COUNTED:
            missing = int(counts.get(table, -1)) - len(self.rows[table])
            if missing:
                self._note(table, missing, "are missing")

    def _readable(self, db: sqlite3.Connection, table: str, columns: str) -> dict[Any, Any]:
        """Read from the first row on and, where that ends early, from the last one back."""
        count = _KEYS.get(table, 1)
        order, found = ", ".join(map(str, range(1, count + 1))), {}
        for direction in ("", " DESC"):
            keys = order.replace(",", f"{direction},") + direction
            try:
                for row in db.execute(f"SELECT {columns} FROM {table} NOT INDEXED ORDER BY {keys}"):
                    found[row[0] if count == 1 else row[:count]] = row
                break
            except sqlite3.Error as error:
                self.lost.append(f"table {table} can't be read as a whole: {error}")
                self.doubtful |= table in ("leaks", "arrays")
        return found

    def _note(self, table: str, count: int, what: str) -> None:
        if count:
            self.doubtful |= table in ("leaks", "arrays")
            self.lost.append(f"{count if count > 0 else 'some'} rows of table {table} {what}")

    def sift(self) -> None:
        """Drop what refers to something that is lost, and lineage that can't be read."""
        arrays, operations = self.rows["arrays"], self.rows["operations"]
        sides: dict[int, list[tuple[int, int, int]]] = {}
        for operation, *side in self.rows["operation_arrays"].values():
            sides.setdefault(operation, []).append((side[0], side[1], side[2]))
        for number, row in list(operations.items()):
            own = sorted(sides.get(number, []))
            if seal(sides_text(own)) != row[8] or any(array not in arrays for *_, array in own):
                self.lost.append(f"operation {number}, {row[1]!r}: its arrays are not all there")
                del operations[number]
        self.rows["operation_arrays"] = {
            key: row for key, row in self.rows["operation_arrays"].items() if key[0] in operations
        }
        pairs: dict[int, list[Pair]] = {}
        for key, (_, out, in_, op, body, _) in list(self.rows["lineages"].items()):
            if out in arrays and in_ in arrays and (op is None or op in operations):
                ends = (ArrayInfo(arrays[n][1], parse_shape(arrays[n][4])) for n in (out, in_))
                pairs.setdefault(body, []).append(Pair(*ends))
            else:
                del self.rows["lineages"][key]
        unreadable = {body for body, some in pairs.items() if not self._is_sound(body, some)}
        for table, place in (("lineages", 4), ("bodies", 0), ("files", 0)):
            kept = self.rows["bodies"].keys() - unreadable
            found = self.rows[table].items()
            self.rows[table] = {key: row for key, row in found if row[place] in kept}
        for table, place in (("readings", 4), ("sources", 2), ("kept", 0)):
            found = self.rows[table].items()
            self.rows[table] = {key: row for key, row in found if row[place] in arrays}
        self._restore_runs()
        self.rows["leaks"] = {k: row for k, row in self.rows["leaks"].items() if row[1] in arrays}

    def _restore_runs(self) -> None:
        """Put a run without a word about it in the place of one that is lost."""
        runs = self.rows["runs"]
        of = (("arrays", 2), ("readings", 2), ("sources", 1), ("operations", 9))
        named = {row[place] for table, place in of for row in self.rows[table].values()}
        for number in sorted(named - runs.keys()):
            runs[number] = (number, "lost", "{}", 0, "{}", "{}", 0, "done", None)

    def _is_sound(self, number: int, pairs: Sequence[Pair]) -> bool:
        names = f"lineage between {pairs[0].out.name!r} and {pairs[0].in_.name!r}"
        try:
            _, rows, _, exact, checksum = self.rows["bodies"][number]
            files = [row for key, row in sorted(self.rows["files"].items()) if key[0] == number]
            records = tuple(FileRecord(*row[1:]) for row in files)
            body = Body(self.rows["headers"][number][1], rows, bool(exact), records)
            if body.checksum != checksum:
                raise StoreError("its checksum differs")
            for piece in StoredLineage(number, body, self.directory / FILES).pieces():
                for pair in pairs:
                    check_shapes(piece, pair)
                if not piece.is_inside():
                    raise StoreError("it names cells outside its arrays")
        except (DslogError, KeyError, TypeError, ValueError) as error:
            self.lost.append(f"{names}, number {number}: {error}")
            return False
        return True

    def replace(self) -> str:
        """Put a new catalog in the place of the old one and return what that is called now."""
        draft = self.directory / f"{CATALOG}.{os.getpid()}.new"
        SqliteCatalog(draft).close()
        with closing(sqlite3.connect(draft, isolation_level=None)) as db:
            db.execute("BEGIN")
            self._write(db)
            db.execute("COMMIT")
        catalog = SqliteCatalog(draft)
        with catalog.writing():
            chain.begin(catalog)
        catalog.close()
        numbers = (f"catalog-damaged-{number}.sqlite" for number in range(1, 1 << 30))
        kept = next(name for name in numbers if not (self.directory / name).exists())
        for end in ("-wal", "-shm", ""):
            if (old := self.directory / f"{CATALOG}{end}").exists():
                old.rename(self.directory / f"{kept}{end}")
        draft.rename(self.directory / CATALOG)
        return kept

    def _write(self, db: sqlite3.Connection) -> None:
        """Write what is sound, and a leak for every array that lost lineage."""
        rows = self.rows
        made = Counter(row[1] for row in rows["lineages"].values())
        used = Counter(row[2] for row in rows["lineages"].values())
        arrays = rows["arrays"]
        leaking = [n for n, row in arrays.items() if self.doubtful or used[n] != row[6]]
        last = max(rows["leaks"], default=0)
        for number, array in enumerate(leaking, last + 1):
            leak = (number, array, "damage", "", 0, "", "dslog repair", 1, 1, 0)
            rows["leaks"][number] = leak
        rows["arrays"] = {n: (*row[:5], made[n], used[n]) for n, row in arrays.items()}
        for table in SEALED:
            for key, row in rows[table].items():
                more = {"header": rows["headers"][key][1]} if table == "bodies" else {}
                own = zip(SEALED[table].split(", "), row, strict=True)
                _insert(db, table, dict(own) | more | {"seal": seal(*row)})
        for table, names in _UNSEALED.items():
            for row in rows[table].values():
                _insert(db, table, dict(zip(names.split(", "), row, strict=True)))
        text = " ".join(str(len(rows[table])) for table in COUNTED)
        db.execute("UPDATE meta SET value = ? WHERE key = 'rows'", (f"{text} {seal(text)}",))


def _insert(db: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> None:
    marks = ", ".join("?" * len(row))
    db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
