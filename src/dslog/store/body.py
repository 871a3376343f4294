"""Between a Lineage and its stored form.

A lineage as it lies in a store: enough to read it in another process, without the catalog.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa

from dslog.errors import CorruptError, ShapeError
from dslog.lineage.lineage import Lineage
from dslog.lineage.packed import pack, unpack
from dslog.spark.part_files import LargeLineage, large_lineage, rows_of, table_bounds
from dslog.store.catalog import Catalog
from dslog.store.files import Files
from dslog.store.hooks import Pair, Stored
from dslog.store.records import Body


def write_body(lineage: Stored, pair: Pair, files: Files) -> Body | int:
    """Return lineage in stored form, its large tables written to files."""
    if not isinstance(lineage, Lineage):
        return lineage
    check_shapes(lineage, pair)
    packed = pack(lineage)
    return Body(packed.header, lineage.num_rows, lineage.exact, files.write(packed.blobs))


def read_body(number: int, catalog: Catalog, files: Files) -> Lineage:
    """Read a stored lineage; whatever can't be read is a CorruptError."""
    return unpack_body(number, catalog.body(number), files)


def unpack_body(number: int, body: Body, files: Files) -> Lineage:
    """Read what a body says, and the files it names."""
    blobs = files.read(body.files)
    try:
        lineage = unpack(body.header, blobs)
    except (ValueError, TypeError, LookupError, AttributeError, pa.ArrowException) as error:
        raise CorruptError(
            f"lineage number {number} is damaged: {type(error).__name__}: {error}; "
            f"restore the store from a copy, or capture that lineage again"
        ) from error
    if (lineage.num_rows, lineage.exact) != (body.num_rows, body.exact):
        raise CorruptError(
            f"lineage number {number} has {lineage.num_rows} rows, not {body.num_rows} as the "
            f"catalog says, or another label; restore the store from a copy"
        )
    return lineage


def check_shapes(lineage: Lineage, pair: Pair) -> None:
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
