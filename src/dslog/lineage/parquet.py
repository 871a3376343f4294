"""Blobs as Parquet files."""

from __future__ import annotations

from os import PathLike
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq


def write_blob(
    table: pa.Table, where: str | PathLike[str] | IO[bytes], codec: str = "zstd"
) -> None:
    """Write a blob as Parquet; byte planes are squeezed, bit-packed columns are not."""
    pq.write_table(
        table,
        where,
        compression={f.name: codec if "." in f.name else "none" for f in table.schema},
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,
    )


def read_blob(where: str | PathLike[str] | IO[bytes]) -> pa.Table:
    """Read a blob."""
    # a dataset, which read_table would make, costs more than a small file
    return pq.ParquetFile(where).read(use_threads=False)
