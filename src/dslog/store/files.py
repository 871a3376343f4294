"""How a store lies on disk: its directory, its files, and lineage as it is stored in them.

A lineage is a :class:`Body`: a header, which may be all of it, in the catalog, and Parquet files
for tables too large for that. A blob may come in several parts, because Spark's executors write
one each.

Files are written once and never changed. Every file gets a name nobody used before, is flushed to
disk together with its directory, and only then named by a committed catalog row. A crash before the
commit leaves a file without a row, which ``gc`` removes; a row without its file can't happen.
"""

import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from uuid import uuid4

import pyarrow as pa

from dslog.errors import CorruptError, ShapeError, StoreError
from dslog.lineage.codec import MOST_TEXT, admit, read_blob, write_blob
from dslog.lineage.large_lineage import Blob, LargeLineage, PartFactor, decode_large, is_large
from dslog.lineage.lineage import Lineage
from dslog.lineage.part_files import PartFile, opened, rows_of, table_bounds
from dslog.lineage.table import Table
from dslog.store.catalog import Body, Catalog, FileRecord, Pair
from dslog.types import Json

MEMORY = ":memory:"
CATALOG = "catalog.sqlite"
FILES = "lineage"
VALUES = "values"
_NAME = re.compile(r"([\w-]+/)?[\w-]+\.parquet")
_ADVICE = "restore it from a copy, or capture that lineage again"


@dataclass(frozen=True, slots=True)
class Location:
    """A store's directory (None: in memory), as it was given, and whether it can be written."""

    directory: Path | None
    given: str
    writable: bool

    @property
    def catalog(self) -> Path | None:
        """The catalog's file."""
        return self.directory / CATALOG if self.directory else None


def locate(path: str | PathLike[str], mode: str) -> Location:
    """Find or make the directory for a store, without touching what is in it.

    Mode ``"a"`` makes what is missing and writes, unless the directory can't be written: then it
    reads. Mode ``"r"`` only reads.
    """
    if mode not in ("a", "r"):
        raise StoreError(f"mode {mode!r} is unknown: use 'a' to read and write, 'r' to read")
    if path == MEMORY:
        if mode == "r":
            raise StoreError("a store in memory starts empty: open it with mode='a'")
        return Location(None, MEMORY, writable=True)
    directory = _directory(path)
    if not directory.exists():
        _make(directory, mode)
    return Location(directory, os.fspath(path), writable=_inspect(directory, mode))


def _directory(path: str | PathLike[str]) -> Path:
    text = os.fspath(path)
    if not isinstance(text, str) or not text:
        raise StoreError(f"{path!r} is no path: give a directory, or ':memory:'")
    if "://" in text:
        raise StoreError(f"{text!r} is a URI, but a store's catalog needs a local directory")
    return Path(os.path.abspath(Path(text).expanduser()))  # noqa: PTH100 (links stay what they are)


def _make(directory: Path, mode: str) -> None:
    if mode == "r":
        raise StoreError(f"there is no store at {directory}; mode='a' would make one")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"can't make a store at {directory}: {error}") from error


def _inspect(directory: Path, mode: str) -> bool:
    """Return whether the store can be written; a directory that holds something else is refused."""
    try:
        names = [entry.name for entry in directory.iterdir()]
    except NotADirectoryError as error:
        raise StoreError(f"{directory} is a file; a store is a directory") from error
    except OSError as error:
        raise StoreError(f"can't read {directory}: {error}") from error
    for name in (CATALOG, f"{CATALOG}-wal", f"{CATALOG}-shm", FILES, VALUES):
        check_plain(directory / name, folder=name in (FILES, VALUES))
    exists = CATALOG in names
    if names and not exists:
        raise StoreError(
            f"{directory} is no store, and not empty: it holds {min(names)!r}. "
            f"Give a store's directory, or one that is new or empty"
        )
    if not exists and (mode == "r" or not os.access(directory, os.W_OK)):
        raise StoreError(f"there is no store at {directory}, and none can be made there")
    catalog = directory / CATALOG
    may_write = os.access(directory, os.W_OK) and (not exists or os.access(catalog, os.W_OK))
    return mode == "a" and may_write


def check_plain(path: Path, *, folder: bool = False) -> None:
    """Raise a StoreError if there is something else than a plain file, or a plain directory.

    A link leads out of the store, a pipe or a device may give bytes without end.
    """
    try:
        mode = path.lstat().st_mode
    except OSError:
        return  # who opens it will say what is wrong
    if not (stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode)):
        kind = "a link" if stat.S_ISLNK(mode) else "a special file"
        wanted = "directory" if folder else "file"
        raise CorruptError(
            f"{path} is {kind}, and a store holds plain files only: put the {wanted} itself there"
        )


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file in the store's directory, committed or not."""

    name: str
    nbytes: int
    age: float


class Files:
    """The files of one store, under ``root``; the directory is made when the first one comes."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, name: str) -> Path:
        """Return where the file of this name is, or will be: below the root, in no link."""
        if not _NAME.fullmatch(name):
            raise CorruptError(f"{name!r} is no name of a file in {self.root}")
        path = self.root / name
        if path.parent != self.root:
            check_plain(path.parent, folder=True)
        return path

    def write(self, blobs: Sequence[Blob]) -> tuple[FileRecord, ...]:
        """Write each blob to a file of its own, or take in its part files; all or none."""
        if not blobs:
            return ()
        names = [f"{uuid4().hex}.parquet" for _ in blobs]
        records: list[FileRecord] = []
        with self._writing(), self.removed_on_error(names):
            self.root.mkdir(exist_ok=True)
            for number, (name, blob) in enumerate(zip(names, blobs, strict=True)):
                if isinstance(blob, tuple):
                    records += [part_record(number, k, part) for k, part in enumerate(blob)]
                    continue
                write_blob(blob, self.path(name))
                records.append(self._record(number, name))
            for directory in {self.path(record.name).parent for record in records} | {self.root}:
                flush(directory)
        return tuple(records)

    def _record(self, blob: int, name: str) -> FileRecord:
        """Flush a file to disk and describe it."""
        path = self.path(name)
        flush(path)
        return FileRecord(blob, 0, name, path.stat().st_size, checksum(path))

    def read(self, records: Sequence[FileRecord]) -> list[pa.Table]:
        """Read all blobs of a lineage, each put together from its parts; damage is an error."""
        blobs: dict[int, list[pa.Table]] = {}
        for record in records:
            blobs.setdefault(record.blob, []).append(self._read_part(record))
        return [pa.concat_tables(blobs[number]) for number in sorted(blobs)]

    def require(self, records: Iterable[FileRecord]) -> None:
        """Raise a StoreError unless all files are there, to be called right before a commit.

        ``gc`` holds the lock of the commit while it removes files: what is there then stays.
        """
        for record in records:
            if not self.path(record.name).is_file():
                raise StoreError(
                    f"{record.name} vanished before it was committed; nothing was stored. "
                    f"Don't run gc with force while others write"
                )

    def remove(self, names: Iterable[str]) -> None:
        """Remove files that no row names, and directories this leaves empty."""
        for name in names:
            path = self.root / name  # as it was found there
            path.unlink(missing_ok=True)
            if path.parent != self.root:
                with suppress(OSError):
                    path.parent.rmdir()

    def move(self, fresh: Sequence[FileRecord], stored: Sequence[FileRecord]) -> None:
        """Put fresh files in the place of stored ones with the same content."""
        for source, target in zip(fresh, stored, strict=True):
            if source.name != target.name:
                path = self.path(target.name)
                path.parent.mkdir(exist_ok=True)
                self.path(source.name).replace(path)
                self.remove([source.name])
                flush(path.parent)

    def listing(self) -> list[FoundFile]:
        """Return every file there is, committed or not."""
        now = time.time()
        found = []
        check_plain(self.root, folder=True)
        for place, _, names in os.walk(self.root):  # follows no links
            for path in (Path(place, name) for name in names):
                with suppress(FileNotFoundError):  # another process may remove files
                    status = path.lstat()
                    name = path.relative_to(self.root).as_posix()
                    found.append(FoundFile(name, status.st_size, now - status.st_mtime))
        return sorted(found, key=lambda file: file.name)

    @contextmanager
    def removed_on_error(self, names: Iterable[str]) -> Iterator[None]:
        """Remove files if the block, which was to commit them, fails."""
        try:
            yield
        except BaseException:
            with suppress(OSError):
                self.remove(names)
            raise

    def close(self) -> None:
        """Let go of what the files hold; nothing, for a directory."""

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except StoreError:
            raise
        except OSError as error:
            raise StoreError(
                f"can't write into {self.root}: {error}. Nothing was stored; check that the "
                f"directory is writable and the disk not full"
            ) from error

    def _read_part(self, record: FileRecord) -> pa.Table:
        path = self.path(record.name)
        with opened(path, record.nbytes) as file:
            content = file.read(record.nbytes)
        if hashlib.sha256(content).digest()[:16] != record.checksum:
            raise CorruptError(f"the file {path} is damaged: its checksum differs; {_ADVICE}")
        try:
            return read_blob(pa.BufferReader(content))
        except (pa.ArrowException, OSError) as error:
            raise CorruptError(f"the file {path} can't be read as Parquet: {error}") from error


def part_record(blob: int, place: int, part: PartFile) -> FileRecord:
    """Describe a part file, which whoever wrote it has flushed."""
    return FileRecord(blob, place, part.name, part.nbytes, part.checksum)


class TemporaryFiles(Files):
    """Files of a store in memory: a temporary directory, made when needed, gone at the end.

    A process that is forked from the one that made them gets its own, with what is there by then:
    who ends first takes nothing from the other.
    """

    def __init__(self) -> None:
        self._move_to(Path(tempfile.gettempdir()) / f"dslog-{uuid4().hex}")

    @property
    def root(self) -> Path:  # type: ignore[override]
        """The directory of this process."""
        if self._pid != os.getpid():
            old, new = self._root, self._root.with_name(f"dslog-{uuid4().hex}")
            self._cleanup.detach()
            if old.exists():
                shutil.copytree(old, new, copy_function=os.link)
            self._move_to(new)
        return self._root

    def _move_to(self, root: Path) -> None:
        self._root, self._pid = root, os.getpid()
        self._cleanup = weakref.finalize(self, _remove_own, root, self._pid)

    def close(self) -> None:
        """Remove the directory."""
        self._cleanup()


def _remove_own(root: Path, pid: int) -> None:
    """Remove a directory that this process made."""
    if pid == os.getpid():
        shutil.rmtree(root, ignore_errors=True)


def checksum(path: Path) -> bytes:
    """Return the checksum of a file's bytes.

    SHA-256, for processors compute it faster than a disk reads, cut to 16 bytes.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()[:16]


def flush(path: Path) -> None:
    """Have the system write a file, or a directory's entries, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_UNREADABLE = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    *(MemoryError, RecursionError, pa.ArrowException),
)
"""What decoding something raises that is no lineage."""
Stored = Lineage | LargeLineage | int
"""Lineage to be stored, maybe with part files written already, or the number of one to share."""


def write_body(lineage: Stored, pair: Pair, files: Files) -> Body | int:
    """Return lineage in stored form, its large tables written to files."""
    if isinstance(lineage, int):
        return lineage
    check_shapes(lineage, pair)
    header, blobs = lineage.encode()
    return Body(header, lineage.num_rows, lineage.exact, files.write(blobs))


def read_body(number: int, catalog: Catalog, files: Files) -> Lineage:
    """Read a stored lineage; whatever can't be read is a CorruptError."""
    return unpack_body(number, catalog.body(number), files)


def unpack_body(number: int, body: Body, files: Files) -> Lineage:
    """Read what a body says, and the files it names."""
    blobs = files.read(body.files)
    with _decoding(number):
        lineage = Lineage.decode(parse_header(body.header), blobs)
        if not lineage.is_inside():
            raise ValueError("it names cells outside its arrays")
    if (lineage.num_rows, lineage.exact) != (body.num_rows, body.exact):
        raise CorruptError(
            f"lineage number {number} has {lineage.num_rows} rows, not {body.num_rows} as the "
            f"catalog says, or another label; restore the store from a copy"
        )
    return lineage


def parse_header(text: str) -> Json:
    """Parse a header and check its form."""
    if len(text) > MOST_TEXT:
        raise ValueError("its header is too long")
    header = json.loads(text)
    admit(header)
    return header


@contextmanager
def _decoding(number: int) -> Iterator[None]:
    """Say which lineage is damaged if it can't be decoded."""
    try:
        yield
    except CorruptError:
        raise
    except _UNREADABLE as error:
        raise CorruptError(
            f"lineage number {number} is damaged: {type(error).__name__}: {error}; "
            f"restore the store from a copy, or capture that lineage again"
        ) from error


def check_shapes(lineage: Lineage | LargeLineage, pair: Pair) -> None:
    """Raise a ShapeError unless the lineage is between arrays of this pair's shapes."""
    have = (lineage.out_shape, lineage.in_shape)
    want = (pair.out.shape, pair.in_.shape)
    if have != want:
        raise ShapeError(
            f"the lineage is between shapes {have[0]} (output) and {have[1]} (input), but "
            f"{pair.out.name!r} has shape {want[0]} and {pair.in_.name!r} has {want[1]}"
        )


@dataclass(frozen=True)
class StoredLineage:
    """A body, its number, and the directory that holds its files."""

    number: int
    body: Body
    root: Path

    @cached_property
    def large(self) -> LargeLineage | None:
        """Its form in part files, if they can be read one by one; None if it is read whole."""
        if not self.body.files:
            return None
        with _decoding(self.number):
            header = parse_header(self.body.header)
            if not is_large(header):
                return None
            for file in self.body.files:
                Files(self.root).path(file.name)  # a name that is one
            parts = {f["blob"] for term in header["t"] for f in term if "parts" in f}
            files: dict[int, list[FileRecord]] = {}
            for file in self.body.files:
                files.setdefault(file.blob, []).append(file)
            whole = sorted(files.keys() - parts)
            blobs = Files(self.root).read([file for blob in whole for file in files[blob]])
            return decode_large(header, files, dict(zip(whole, blobs, strict=True)), self.root)

    def pieces(self) -> Iterator[Lineage]:
        """Read it piece by piece, a part file at a time; damage is a CorruptError.

        What the header says of a part, its rows and the cells it names, is compared too: queries
        rely on it to leave parts unread.
        """
        if self.large is None:
            yield self.read()
            return
        yield self.large.in_memory()
        for number, term in enumerate(self.large.terms):
            for factor in term:
                if isinstance(factor, PartFactor):
                    for part in factor.table.parts:
                        table = self._checked(factor, part)
                        yield self.large.of_tables([(number, table)])

    def _checked(self, factor: PartFactor, part: PartFile) -> Table:
        (blob,) = Files(self.root).read([part_record(0, 0, part)])
        table = rows_of(blob, factor.table.num_out, factor.table.num_in, part.levels)
        inside = all(
            low <= lo and hi <= high
            for (lo, hi), (low, high) in zip(table_bounds(table), part.bounds, strict=True)
        )
        if len(table) != part.rows or not inside:
            raise CorruptError(
                f"the file {self.root / part.name} does not hold the rows that the catalog says; "
                f"restore the store from a copy, or capture that lineage again"
            )
        return table

    def read(self) -> Lineage:
        """Read all of it; checksums are compared."""
        return unpack_body(self.number, self.body, Files(self.root))
