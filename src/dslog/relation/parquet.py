"""Check a relation in Parquet files by their footers, before anything is read.

Footers hold the least and greatest value of each column. So a relation that does not fit its arrays
is refused within milliseconds, however large it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dslog.errors import RelationError
from dslog.relation.relation import column_names


def check_footers(
    path: str | PathLike[str], out_shape: Sequence[int], in_shape: Sequence[int]
) -> None:
    """Raise a RelationError unless the files can hold a relation between arrays of these shapes.

    What a footer does not tell is left to whoever reads the rows.
    """
    sizes = dict(
        zip(column_names(len(out_shape), len(in_shape)), [*out_shape, *in_shape], strict=True)
    )
    for file in parquet_files(Path(path)):
        try:
            footer = pq.read_metadata(file)
        except (OSError, pa.ArrowException) as error:
            msg = f"can't read the relation {file} as Parquet: {error}"
            raise RelationError(msg) from error
        _check_columns(file, footer, list(sizes))
        for name, low, high in _ranges(footer):
            size = sizes[name]
            if low < 0 or high >= size:
                msg = (
                    f"column {name} of {file} has values from {low} to {high}, but that axis has "
                    f"{size} cells: indices are 0-based, from 0 to {size - 1}"
                )
                raise RelationError(msg)


def parquet_files(path: Path) -> list[Path]:
    """Return the Parquet files of a path: itself, or those in the directory."""
    if path.is_file():
        return [path]
    hidden = ("_", ".")  # what Spark writes beside its data
    found = [file for file in sorted(path.rglob("*")) if file.is_file()]
    files = [file for file in found if not file.name.startswith(hidden)]
    if not files:
        msg = f"there is no Parquet file at {path}: give a file, or a directory that holds some"
        raise RelationError(msg)
    return files


def _check_columns(file: Path, footer: pq.FileMetaData, names: Sequence[str]) -> None:
    schema = footer.schema.to_arrow_schema()
    if sorted(schema.names) != sorted(names):
        msg = f"{file} has columns {schema.names}, but {list(names)} are needed"
        raise RelationError(msg)
    for name in names:
        kind = schema.field(name).type
        if not pa.types.is_integer(kind):
            msg = f"column {name} of {file} has type {kind}, but must be an integer"
            raise RelationError(msg)


def _ranges(footer: pq.FileMetaData) -> Iterator[tuple[str, int, int]]:
    for group in range(footer.num_row_groups):
        for number in range(footer.num_columns):
            column = footer.row_group(group).column(number)
            told = column.statistics
            if told is not None and told.has_min_max:
                yield column.path_in_schema, told.min, told.max
