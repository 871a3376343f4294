"""A lineage as it lies in a store: enough to read it in another process, without the catalog."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dslog.engine.large import LargeLineage, large_lineage
from dslog.engine.parts import rows_of, table_bounds
from dslog.errors import CorruptError
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

    def pieces(self) -> Iterator[Lineage]:
        """Read it piece by piece, a part file at a time; damage is a CorruptError.

        What the header says of a part, its rows and the cells it names, is compared too: queries
        rely on it to leave parts unread.
        """
        if self.large is None:
            yield self.read()
            return
        l, m = len(self.large.out_shape), len(self.large.in_shape)
        for record, part in zip(self.body.files, self.large.parts, strict=True):
            (blob,) = Files(self.root).read([record])
            table = rows_of(blob, l, m, part.levels)
            inside = all(
                low <= lo and hi <= high
                for (lo, hi), (low, high) in zip(table_bounds(table), part.bounds, strict=True)
            )
            if len(table) != part.rows or not inside:
                raise CorruptError(
                    f"the file {part.path} does not hold the rows that the catalog says; "
                    f"restore the store from a copy, or capture that lineage again"
                )
            yield Lineage.of_table(self.large.out_shape, self.large.in_shape, table)

    def read(self) -> Lineage:
        """Read all of it; checksums are compared."""
        return unpack_body(self.number, self.body, Files(self.root))
