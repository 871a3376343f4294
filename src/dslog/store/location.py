"""Where a store is on disk, and what may be done with it there."""

import os
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from dslog.errors import StoreError

MEMORY = ":memory:"
CATALOG = "catalog.sqlite"
FILES = "lineage"


@dataclass(frozen=True, slots=True)
class Location:
    """A store's directory (None: in memory), and whether it can be written."""

    directory: Path | None
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
        return Location(None, writable=True)
    directory = _directory(path)
    if not directory.exists():
        _make(directory, mode)
    return Location(directory, writable=_inspect(directory, mode))


def _directory(path: str | PathLike[str]) -> Path:
    text = os.fspath(path)
    if not isinstance(text, str) or not text:
        raise StoreError(f"{path!r} is no path: give a directory, or ':memory:'")
    if "://" in text:
        raise StoreError(f"{text!r} is a URI, but a store's catalog needs a local directory")
    return Path(text).expanduser()


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
