"""Between a Lineage and its stored form."""

import pyarrow as pa

from dslog.errors import CorruptError, ShapeError
from dslog.lineage.lineage import Lineage
from dslog.lineage.serial import pack, unpack
from dslog.store.catalog import Catalog
from dslog.store.files import Files
from dslog.store.records import Body
from dslog.store.seams import Pair, Stored


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
