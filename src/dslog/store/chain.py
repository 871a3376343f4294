"""The chain over all that was committed, and its signature.

A commit's digest covers the digest of the commit before, every row that it added, and a sum over
the rows that may change later: of runs, leaks, signatures and kept values. The sum is of hashes of
2048 bits, so that a changed row costs two of them, however many rows there are. Rows of files and
of kept values have the checksums of their files. So whoever edits anything that an answer depends
on has to make the chain anew from there on; and whoever signed its head, or wrote it down, sees it.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

from dslog.errors import StoreError
from dslog.store.connection import SEALED, Connection

# ruff: noqa: S608 (names of tables and columns are ours, all values are parameters)

SEAL = "seal.json"
LOOSE = {"runs": "number", "leaks": "id", "signatures": "kind, key", "kept": "array"}
"""Tables whose rows may change, and their keys."""
_FIXED = {
    "arrays": ("id", "id, name, run, version, shape"),
    "readings": ("id", SEALED["readings"]),
    "places": ("id", SEALED["places"]),
    "operations": ("id", SEALED["operations"]),
    "operation_arrays": ("operation", "operation, role, position, array"),
    "bodies": ("id", f"{SEALED['bodies']}, header"),
    "files": ("body", "body, blob, part, name, nbytes, checksum"),
    "lineages": ("id", SEALED["lineages"]),
    "sources": ("id", SEALED["sources"]),
}
"""Tables whose rows stay what they are: what counts them, and the columns, their keys first."""
_SIZE = 256
_MODULUS = 1 << 8 * _SIZE
_START = "0" * 64


def spread_hash(table: str, row: Sequence[object]) -> int:
    """Return what a row that may change adds to the sum."""
    text = repr((table, *row)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.shake_256(text).digest(_SIZE))


def read_sum(db: Connection) -> int:
    """Return the sum as it is written down."""
    rows = db.rows("SELECT value FROM meta WHERE key = 'loose'")
    try:
        return int(rows[0][0], 16) if rows else 0
    except ValueError:
        return -1  # which fits nothing


def put_loose(db: Connection, table: str, row: Sequence[object], total: int) -> int:
    """Write a row that may change, and return the sum as it is then."""
    keys = LOOSE[table].split(", ")
    columns = SEALED[table].split(", ")
    where = " AND ".join(f"{key} = ?" for key in keys)
    values = [row[columns.index(key)] for key in keys]
    for old in db.rows(f"SELECT {SEALED[table]} FROM {table} WHERE {where}", *values):
        total -= spread_hash(table, old)
    db.insert_sealed(table, row)
    return (total + spread_hash(table, row)) % _MODULUS


def _sum_rows(db: Connection) -> int:
    """The sum over the rows as they are."""
    rows = ((table, row) for table in LOOSE for row in db.rows(_all_of(table)))
    return sum(spread_hash(table, row) for table, row in rows) % _MODULUS


def _all_of(table: str) -> str:
    return f"SELECT {SEALED[table]} FROM {table}"


@dataclass(frozen=True, slots=True)
class _Commit:
    number: int
    made: int
    marks: Mapping[str, int]
    loose: str
    digest: str


def _commits(db: Connection, where: str = "ORDER BY number") -> Iterator[_Commit]:
    for number, made, marks, loose, digest in db.rows(
        f"SELECT number, made, marks, loose, digest FROM commits {where}"
    ):
        try:
            read = json.loads(marks)
            marked = {table: int(read[table]) for table in dict.fromkeys(k for k, _ in _keys())}
        except (ValueError, TypeError, KeyError, AttributeError):
            marked = {}
        yield _Commit(number, made, marked, loose, digest)


def _keys() -> Iterator[tuple[str, str]]:
    """The tables that count rows."""
    yield from ((table, key) for table, (key, _) in _FIXED.items() if key == "id")


def _mark_of(table: str) -> str:
    """Whose count bounds a table's rows."""
    return {"operation_arrays": "operations", "files": "bodies"}.get(table, table)


def _digest(
    db: Connection,
    before: str,
    number: int,
    made: int,
    span: tuple[Mapping[str, int], Mapping[str, int]],
    loose: str,
) -> str:
    """The digest of a commit, from the rows between two marks."""
    whole = hashlib.sha256(f"{before} {number} {made} {json.dumps(span[1])} {loose}".encode())
    for table, (key, columns) in _FIXED.items():
        low, high = (marks.get(_mark_of(table), 0) for marks in span)
        if low == high:
            continue
        order = {"operation_arrays": "1, 2, 3", "files": "1, 2, 3"}.get(table, "1")
        rows = db.rows(
            f"SELECT {columns} FROM {table} WHERE {key} > ? AND {key} <= ? ORDER BY {order}",
            low,
            high,
        )
        text = "\n".join(map(repr, (table, *rows)))
        whole.update(text.encode("utf-8", "surrogatepass"))
    return whole.hexdigest()


def extend(db: Connection, total: int) -> None:
    """Add a commit to the chain, if there is anything new."""
    last = next(_commits(db, "ORDER BY number DESC LIMIT 1"), None)
    marks = {
        table: db.rows(f"SELECT coalesce(max(id), 0) FROM {table}")[0][0] for table, _ in _keys()
    }
    loose = hashlib.sha256(f"{total:x}".encode()).hexdigest()
    if last is not None and (last.marks, last.loose) == (marks, loose):
        return
    made = round(datetime.now(UTC).timestamp() * 1000)
    number, before = (last.number + 1, last.digest) if last else (1, _START)
    span = (last.marks if last else {}, marks)
    digest = _digest(db, before, number, made, span, loose)
    row = (number, made, json.dumps(marks), loose, digest)
    db.insert("INSERT INTO commits VALUES (?, ?, ?, ?, ?)", row)
    db.rows("INSERT OR REPLACE INTO meta VALUES ('loose', ?)", f"{total:x}")


def begin(db: Connection) -> None:
    """Begin a chain over all that is there, inside a transaction."""
    extend(db, _sum_rows(db))


def problems(db: Connection) -> Iterator[str]:
    """Compare the chain with all rows."""
    before, marks, expected, loose = _START, dict[str, int](), 1, ""
    for one in _commits(db):
        when = f"commit {one.number}"
        if one.number != expected or not one.marks:
            yield f"{when}: commits before it, or what it says of itself, are not what was written"
        found = _digest(db, before, one.number, one.made, (marks, one.marks), one.loose)
        if found != one.digest:
            moment = datetime.fromtimestamp(one.made / 1000, UTC) if abs(one.made) < 1 << 44 else ""
            yield f"{when} of {moment:%Y-%m-%d %H:%M:%S}: its rows are not what was written"
        before, marks, expected, loose = one.digest, dict(one.marks), one.number + 1, one.loose
    for table, _ in _keys():
        last = db.rows(f"SELECT coalesce(max(id), 0) FROM {table}")[0][0]
        if last != marks.get(table, 0):
            yield f"table {table} has rows that no commit wrote, or lacks its last ones"
    total = _sum_rows(db)
    sums = hashlib.sha256(f"{total:x}".encode()).hexdigest()
    if expected == 1 and total == 0 and not any(marks.values()):
        return
    if sums != loose or read_sum(db) != total:
        yield f"rows of {', '.join(LOOSE)} are not what was written"


def _require_cryptography() -> None:
    if find_spec("cryptography") is None:
        raise StoreError("seals need the package cryptography: pip install 'dslog[seal]'")


@dataclass(frozen=True, slots=True)
class Seal:
    """The signed head of a chain: the digest of its commit ``number``."""

    number: int
    digest: str
    signed: str
    public_key: str
    signature: str

    @property
    def message(self) -> bytes:
        """What is signed."""
        return f"dslog {self.number} {self.digest} {self.signed}".encode()


def sign(db: Connection, directory: Path, key: str | PathLike[str]) -> Seal:
    """Sign the head of the chain with a private key, Ed25519 in a PEM file, and keep the seal."""
    _require_cryptography()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        private = serialization.load_pem_private_key(Path(key).read_bytes(), None)
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"{key} can't be read as a private key in PEM: {error}") from error
    if not isinstance(private, Ed25519PrivateKey):
        raise StoreError(
            f"{key} is no Ed25519 key: make one with 'openssl genpkey -algorithm ed25519'"
        )
    last = next(_commits(db, "ORDER BY number DESC LIMIT 1"), None)
    if last is None:
        raise StoreError("there is nothing to seal: the store is empty")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    public = private.public_key().public_bytes_raw()
    seal = Seal(last.number, last.digest, now, base64.b64encode(public).decode(), "")
    signature = base64.b64encode(private.sign(seal.message)).decode()
    seal = Seal(seal.number, seal.digest, seal.signed, seal.public_key, signature)
    draft = directory / f"{SEAL}.tmp"
    draft.write_text(json.dumps(asdict(seal), indent=1), encoding="utf-8")
    draft.replace(directory / SEAL)
    return seal


def read_seal(directory: Path | None) -> Seal | None:
    """Return a store's seal, if it has one."""
    if directory is None or not (directory / SEAL).is_file():
        return None
    try:
        said: Any = json.loads((directory / SEAL).read_text(encoding="utf-8"))
        return Seal(**{name: said[name] for name in Seal.__slots__})
    except (ValueError, TypeError, KeyError) as error:
        raise StoreError(f"{directory / SEAL} is no seal: {error}") from error


def seal_problems(
    db: Connection, directory: Path | None, public_key: str | PathLike[str]
) -> Iterator[str]:
    """Check a store's seal with a public key in PEM; the chain itself is checked elsewhere."""
    _require_cryptography()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        public = serialization.load_pem_public_key(Path(public_key).read_bytes())
    except (OSError, ValueError) as error:
        raise StoreError(f"{public_key} can't be read as a public key in PEM: {error}") from error
    seal = read_seal(directory)
    if seal is None or not isinstance(public, Ed25519PublicKey):
        yield "the store has no seal" if seal is None else f"{public_key} is no Ed25519 key"
        return
    try:
        public.verify(base64.b64decode(seal.signature), seal.message)
    except (InvalidSignature, ValueError):
        yield "the seal was not made with this key, or is not what was signed"
        return
    sealed = next(_commits(db, f"WHERE number = {int(seal.number)}"), None)
    if sealed is None or sealed.digest != seal.digest:
        yield f"commit {seal.number} is not the one that was sealed on {seal.signed}"
        return
    ((later,),) = db.rows("SELECT count(*) FROM commits WHERE number > ?", seal.number)
    if later:
        yield f"{later} commits came after the seal of {seal.signed}: they are not signed"
