"""A lineage as it lies in a store: enough to read it in another process, without the catalog."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dslog.engine.large import LargeLineage, large_lineage
from dslog.lineage.lineage import Lineage
from dslog.store.content import unpack_body
from dslog.store.files import Files
from dslog.store.records import Body


@dataclass(frozen=True)
class StoredLineage:
    """A body, its number, and the directory that holds its files."""

    number: int
    body: Body
    root: Path

    @cached_property
    def large(self) -> LargeLineage | None:
        """Its part files, if that is how it is stored; None when it has to be read whole."""
        if '"parts":' not in self.body.header:
            return None
        paths: dict[int, list[Path]] = {}
        for file in self.body.files:
            paths.setdefault(file.blob, []).append(self.root / file.name)
        return large_lineage(self.body.header, [paths[blob] for blob in sorted(paths)])

    def read(self) -> Lineage:
        """Read all of it; checksums are compared."""
        return unpack_body(self.number, self.body, Files(self.root))
