"""Blobs as Parquet: one file, each column in the encoding that suits its values."""

from __future__ import annotations

from os import PathLike
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def write_blob(
    table: pa.Table, where: str | PathLike[str] | IO[bytes], codec: str = "zstd"
) -> None:
    """Write a blob as Parquet; each column gets the encoding that suits its values."""
    pq.write_table(
        table,
        where,
        compression=codec,
        use_dictionary=False,
        column_encoding={name: _encoding(table.column(name)) for name in table.column_names},
        row_group_size=1 << 20,
        store_schema=False,
    )


def read_blob(where: str | PathLike[str] | IO[bytes]) -> pa.Table:
    """Read a blob."""
    return pq.read_table(where)


def _encoding(column: pa.ChunkedArray) -> str:
    """Steady columns as deltas; scattered ones byte by byte, so that zstd sees each byte's range."""
    values = column.to_numpy()
    if values.dtype.itemsize < 4:
        return "PLAIN"
    sample = values[: 1 << 14].astype(np.int64)
    deltas = np.diff(sample)
    if len(deltas) and np.ptp(deltas) * 16 < np.ptp(sample):
        return "DELTA_BINARY_PACKED"
    return "BYTE_STREAM_SPLIT"
