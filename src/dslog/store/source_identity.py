"""What a tracked source is: the file, table or values that an array was read of."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np

from dslog.store.arguments import fingerprint
from dslog.store.store_cost import StoreCost
from dslog.types import Array, Json


@dataclass(frozen=True, slots=True)
class SourceIdentity:
    """What an array was read of, as far as is known; whoever reads it hands this over.

    ``path`` is a file or a URI, with its ``size`` in bytes and when it was ``modified``, in seconds
    since 1970. ``digest`` is of the file's bytes, or, without a path, of the values as they were
    tracked; None where there are too many. ``version`` is a snapshot of a table.
    """

    path: str | None = None
    size: int | None = None
    modified: float | None = None
    digest: str | None = None
    rows: int | None = None
    schema: tuple[str, ...] | None = None
    version: str | None = None

    @property
    def about(self) -> dict[str, Json]:
        """What is known, as JSON values."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    @property
    def identity(self) -> str | None:
        """Text that is the same for the same source; None where that can't be told."""
        if self.digest is not None:
            return f"{self.digest} {self.version or ''}".strip()
        if self.path is None or (self.modified is None and self.version is None):
            return None
        known = (self.path, self.size, self.modified, self.rows, self.version)
        return hashlib.sha256(repr(known).encode()).hexdigest()[:32]

    def __str__(self) -> str:
        parts = [self.path or "values"]
        parts += [] if self.version is None else [f"version {self.version}"]
        parts += [] if self.digest is None else [self.digest[:12]]
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Reading:
    """A source, as a run read it under the name of an array."""

    array: str
    run: int
    read: datetime
    source: SourceIdentity

    def __str__(self) -> str:
        return f"{self.source}, read {self.read:%Y-%m-%d %H:%M} UTC"


@dataclass(frozen=True, slots=True)
class SourceChange:
    """A source that is not any more what was read; ``now`` is None where it is gone."""

    reading: Reading
    now: SourceIdentity | None

    def __str__(self) -> str:
        was, now = self.reading.source, self.now
        if now is None:
            return f"{self.reading.array}: {was.path} is not there any more"
        return f"{self.reading.array}: {was.path} changed: {_facts(was)} -> {_facts(now)}"


def _facts(source: SourceIdentity) -> str:
    digest = f", {source.digest[:12]}" if source.digest else ""
    return f"{source.size or 0:,} bytes{digest}"


def source_of_values(values: Array) -> SourceIdentity:
    """Say what values are: hashed where that takes no longer than a fraction of a second."""
    rows = values.shape[0] if values.ndim else 1
    schema = (str(values.dtype),)
    if values.nbytes > StoreCost.current().hashed_bytes or values.dtype.hasobject:
        return SourceIdentity(size=values.nbytes, rows=rows, schema=schema)
    digest = fingerprint(np.asarray(values))
    return SourceIdentity(size=values.nbytes, digest=digest, rows=rows, schema=schema)


def source_of_file(
    path: str | os.PathLike[str],
    *,
    rows: int | None = None,
    schema: tuple[str, ...] | None = None,
    version: str | None = None,
) -> SourceIdentity:
    """Say what a file, or a folder of files, is; of a URI that is not local, only its name."""
    text = os.fspath(path)
    local = local_path(text)
    if local is None or not local.exists():
        return SourceIdentity(text, rows=rows, schema=schema, version=version)
    files = [local] if local.is_file() else sorted(one for one in local.rglob("*") if one.is_file())
    files = [one for one in files if one == local or not one.name.startswith((".", "_"))]
    stats = [one.stat() for one in files]
    size = sum(stat.st_size for stat in stats)
    modified = max((stat.st_mtime for stat in stats), default=None)
    digest = None
    if size <= StoreCost.current().hashed_bytes:
        whole = hashlib.sha256()
        for one in files:
            with one.open("rb") as file:
                own = hashlib.file_digest(file, "sha256").digest()
            name = b"" if one == local else os.fsencode(one.relative_to(local))
            whole.update(hashlib.sha256(name).digest() + own)
        digest = whole.hexdigest()[:32]
    return SourceIdentity(str(local), size, modified, digest, rows, schema, version)


def local_path(text: str) -> Path | None:
    """Return where a path or a file URI leads on this machine; None for other URIs."""
    if "://" not in text and not text.startswith("file:"):
        return Path(text).absolute()
    parts = urlparse(text)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def change_of(reading: Reading) -> SourceChange | None:
    """Look whether a source is what was read; None if it is, or nobody can tell."""
    was = reading.source
    local = None if was.path is None else local_path(was.path)
    if local is None or was.size is None:
        return None
    if not local.exists():
        return SourceChange(reading, None)
    now = source_of_file(local, rows=was.rows, schema=was.schema, version=was.version)
    same = (
        now.digest == was.digest
        if now.digest is not None and was.digest is not None
        else (now.size, now.modified) == (was.size, was.modified)
    )
    return None if same else SourceChange(reading, now)


def read_source(about: Mapping[str, Json]) -> SourceIdentity:
    """Read what ``about`` gave."""
    schema = about.get("schema")
    return SourceIdentity(**{**about, "schema": None if schema is None else tuple(schema)})
