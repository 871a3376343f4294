"""Seals: checksums of rows, stored in them, without which nothing that is read is believed.

A row's seal covers its number and all its columns, so a row that was damaged, or changed places
with another one, is found out. A row that is missing, from a table or from an index, has no seal to
check: arrays know how many lineages they have on either side, operations what their arrays are, and
the catalog how many rows it has.
"""

import zlib
from collections.abc import Sequence
from typing import Any

from dslog.errors import CorruptError

SEALED = {
    "arrays": "id, name, shape, made, used",
    "operations": "id, name, args, reused, exact, created, predicted, compared, sides",
    "bodies": "id, num_rows, nbytes, exact, checksum",
    "lineages": "id, output, input, operation, body, influence",
    "leaks": "id, array, way, file, line, function, inside, count, loses, mark",
    "signatures": "kind, key, state, content, hits, misses, refusals, saved",
}
"""The columns of each table that its seal covers, in order."""
COUNTED = ("arrays", "operations", "lineages", "bodies", "leaks")
"""The tables whose rows the catalog counts."""


def seal(*values: object) -> int:
    """Return the seal of a row: integers, text, floats and None as SQLite gives them."""
    return zlib.crc32(repr(values).encode("utf-8", "surrogatepass"))


def unsealed(row: Sequence[Any], table: str, where: str) -> Sequence[Any]:
    """Return a row without the seal at its end, which must fit."""
    if seal(*row[:-1]) != row[-1]:
        name = "number" if isinstance(row[0], int) else "of kind"
        raise damaged(where, f"row {name} {row[0]} of table {table} is not what was written")
    return row[:-1]


def damaged(where: str, what: str) -> CorruptError:
    """Make the error that says what is damaged, and what to do."""
    return CorruptError(
        f"the catalog {where} is damaged: {what}; restore it from a copy, or keep what is sound "
        f"with 'dslog repair'"
    )


def sides_text(sides: Sequence[tuple[int, int, int]]) -> str:
    """Write down the arrays of an operation, as (role, position, number), in order."""
    return ",".join(f"{role}:{position}:{array}" for role, position, array in sides)
