"""Lineage too large for the catalog, as Parquet files that are written once and never changed.

Every file gets a name nobody used before, is flushed to disk together with its directory, and only
then named by a committed catalog row. A crash before the commit leaves a file without a row, which
``gc`` removes; a row without its file can't happen. A blob may come in several parts, because
Spark's executors write one each.
"""

import hashlib
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa

from dslog.errors import CorruptError, StoreError
from dslog.lineage.packed import read_blob, write_blob
from dslog.store.records import FileRecord

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file in the store's directory, committed or not."""

    name: str
    nbytes: int
    age: float


class Files:
    """The files of one store, under ``root``; the directory is made when the first one comes."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def root(self) -> Path:
        """The directory that holds the files."""
        return self._root

    def fresh_name(self) -> str:
        """Return a name that no other file has, for a file or for a directory of parts."""
        return uuid4().hex

    def path(self, name: str) -> Path:
        """Return where the file of this name is, or will be."""
        return self.root / name

    def write(self, blobs: Sequence[pa.Table]) -> tuple[FileRecord, ...]:
        """Write each blob to a file of its own; all of them or none."""
        if not blobs:
            return ()
        names = [f"{self.fresh_name()}.parquet" for _ in blobs]
        with self._writing(), self.removed_on_error(names):
            self.root.mkdir(parents=True, exist_ok=True)
            for name, blob in zip(names, blobs, strict=True):
                write_blob(blob, self.path(name))
            return self.record([[name] for name in names])

    def record(self, blobs: Sequence[Sequence[str]]) -> tuple[FileRecord, ...]:
        """Flush files that were written to disk and describe them; one list of parts per blob."""
        records = []
        for blob, parts in enumerate(blobs):
            for part, name in enumerate(parts):
                path = self.path(name)
                _flush(path)
                records.append(FileRecord(blob, part, name, path.stat().st_size, checksum(path)))
        for directory in {self.path(record.name).parent for record in records} | {self.root}:
            _flush(directory)
        return tuple(records)

    def adopt(self, records: Iterable[FileRecord]) -> None:
        """Take in files that others wrote and flushed: flush the directories that name them."""
        for directory in {self.path(record.name).parent for record in records} | {self.root}:
            _flush(directory)

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
            path = self.path(name)
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
                _flush(path.parent)

    def listing(self) -> list[FoundFile]:
        """Return every file there is, committed or not."""
        now = time.time()
        found = []
        for path in sorted(self.root.rglob("*")):
            with suppress(FileNotFoundError):  # another process may remove files
                status = path.stat()
                if path.is_file():
                    name = path.relative_to(self.root).as_posix()
                    found.append(FoundFile(name, status.st_size, now - status.st_mtime))
        return found

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
        try:
            content = path.read_bytes()
        except OSError as error:
            raise CorruptError(f"can't read the file {path}: {error}; {_ADVICE}") from error
        if len(content) != record.nbytes:
            raise CorruptError(
                f"the file {path} has {len(content)} bytes, not the {record.nbytes} that were "
                f"written; {_ADVICE}"
            )
        if _digest(content) != record.checksum:
            raise CorruptError(f"the file {path} is damaged: its checksum differs; {_ADVICE}")
        try:
            return read_blob(pa.BufferReader(content))
        except (pa.ArrowException, OSError) as error:
            raise CorruptError(f"the file {path} can't be read as Parquet: {error}") from error


class TemporaryFiles(Files):
    """Files of a store in memory: a temporary directory, made when needed, gone at the end."""

    def __init__(self) -> None:
        super().__init__(Path(tempfile.gettempdir()) / f"dslog-{uuid4().hex}")
        self._cleanup = weakref.finalize(self, shutil.rmtree, self.root, ignore_errors=True)

    def close(self) -> None:
        """Remove the directory."""
        self._cleanup()


_ADVICE = "restore it from a copy, or capture that lineage again"


def checksum(path: Path) -> bytes:
    """Return the checksum of a file's bytes.

    SHA-256, for processors compute it faster than a disk reads, cut to 16 bytes.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.digest()[:16]


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:16]


def _flush(path: Path) -> None:
    """Have the system write a file, or a directory's entries, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
