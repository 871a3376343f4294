"""Storage formats for raw relations, as the paper lists them and as one would choose today.

Each writes one file per relation and flushes it to disk; each reads it back as named columns or as
a table that DuckDB can query by itself.

``PROVRC`` is the paper's own storage: ProvRC's rows, which layer 1 of DSLog's encoder gives
(``method="provrc"``), as one Parquet file whose columns are the lower end and the width of every
interval and the reference of every input axis.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from benchmarks.baselines.turbo import read_turbo, write_turbo
from dslog.compress.encoder import compress
from dslog.lineage.lineage import Lineage
from dslog.relation.relation import schema
from dslog.types import I64


def arrow_table(relation: I64, num_out: int) -> pa.Table:
    """Return a relation as Arrow columns ``b0.. a0..``."""
    names = schema(num_out, relation.shape[1] - num_out).names
    columns = [np.ascontiguousarray(relation[:, k]) for k in range(relation.shape[1])]
    return pa.table(dict(zip(names, columns, strict=True)))


class Format(ABC):
    """A way to keep a relation in one file."""

    name: str
    suffix: str

    @abstractmethod
    def write(self, relation: I64, num_out: int, path: Path) -> None:
        """Write a relation to a new file."""

    @abstractmethod
    def source(self, path: Path) -> Any:
        """Return what DuckDB selects from: SQL text, or an Arrow table."""

    def path(self, stem: Path) -> Path:
        """Return the file's name."""
        return stem.with_name(f"{stem.name}.{self.suffix}")

    def store(self, relation: I64, num_out: int, stem: Path) -> Path:
        """Write a relation and have the system put it on disk, as DSLog does with its own."""
        path = self.path(stem)
        self.write(relation, num_out, path)
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        return path


class RawCsv(Format):
    """Rows of text without compression; the prototype of the paper measured this as Raw."""

    name = "Raw"
    suffix = "csv"

    def write(self, relation: I64, num_out: int, path: Path) -> None:
        """Write rows of text."""
        pacsv.write_csv(arrow_table(relation, num_out), path)

    def source(self, path: Path) -> str:
        """Have DuckDB read the text, with types given so that it need not guess."""
        names = pacsv.open_csv(path).schema.names
        types = ", ".join(f"'{name}': 'BIGINT'" for name in names)
        return f"read_csv('{path}', header = true, columns = {{{types}}})"


class Array(Format):
    """A numpy file of int64 indices, one row per pair."""

    name = "Array"
    suffix = "npy"

    def write(self, relation: I64, num_out: int, path: Path) -> None:  # noqa: ARG002
        """Write the array."""
        np.save(path, relation, allow_pickle=False)

    def source(self, path: Path) -> pa.Table:
        """Load the array into Arrow columns; which of them are outputs does not matter here."""
        relation: I64 = np.load(path, allow_pickle=False)
        return arrow_table(relation, 0)


class Parquet(Format):
    """Parquet as pyarrow writes it by default: dictionaries where they fit, snappy."""

    name = "Parquet"
    suffix = "parquet"
    options: dict[str, Any] = {}  # noqa: RUF012

    def write(self, relation: I64, num_out: int, path: Path) -> None:
        """Write the columns."""
        pq.write_table(arrow_table(relation, num_out), path, **self.options)

    def source(self, path: Path) -> str:
        """Have DuckDB read the file."""
        return f"read_parquet('{path}')"


class ParquetGzip(Parquet):
    """Parquet with gzip, as the paper's Parquet-GZip."""

    name = "Parquet-GZip"
    suffix = "gzip.parquet"
    options = {"compression": "gzip"}  # noqa: RUF012


class ParquetZstd(Parquet):
    """Parquet with delta encoding and zstd: what one would choose for integers today."""

    name = "Parquet-zstd-delta"
    suffix = "zstd.parquet"
    options = {  # noqa: RUF012
        "compression": "zstd",
        "compression_level": 9,
        "use_dictionary": False,
        "column_encoding": "DELTA_BINARY_PACKED",
    }


class TurboRc(Format):
    """Run lengths and a range coder per column; must be decoded before a query."""

    name = "Turbo-RC"
    suffix = "turbo"

    def write(self, relation: I64, num_out: int, path: Path) -> None:
        """Write the coded columns."""
        names = schema(num_out, relation.shape[1] - num_out).names
        columns = {name: np.ascontiguousarray(relation[:, k]) for k, name in enumerate(names)}
        write_turbo(columns, path)

    def source(self, path: Path) -> pa.Table:
        """Decode the file."""
        return pa.table(read_turbo(path))


FORMATS: tuple[Format, ...] = (
    RawCsv(),
    Array(),
    Parquet(),
    ParquetGzip(),
    ParquetZstd(),
    TurboRc(),
)


def rows_table(lineage: Lineage) -> pa.Table:
    """Return the rows of a Lineage of one plain table as Arrow columns."""
    if not lineage.terms:
        return pa.table({"b0": pa.array([], pa.int64())})
    table = lineage.terms[0][0].table
    n = len(table)
    columns = table.named()
    return pa.table({name: np.broadcast_to(c, n).copy() for name, c in columns.items()})


class ProvRc(Format):
    """ProvRC's rows in Parquet as pyarrow writes it by default."""

    name = "ProvRC"
    suffix = "provrc.parquet"
    options: dict[str, Any] = {}  # noqa: RUF012

    def write(self, relation: I64, num_out: int, path: Path) -> None:
        """Compress and write the rows; shapes do not matter to ProvRC, so the bounds will do."""
        bounds = tuple((relation.max(axis=0, initial=0) + 1).tolist())
        lineage = compress(relation, bounds[:num_out], bounds[num_out:], method="provrc")
        self.write_lineage(lineage, path)

    def write_lineage(self, lineage: Lineage, path: Path) -> None:
        """Write rows that are compressed already."""
        pq.write_table(rows_table(lineage), path, **self.options)

    def source(self, path: Path) -> str:
        """Rows of intervals are nothing that an equality join can use."""
        msg = f"{path} holds intervals; query it with DSLog"
        raise NotImplementedError(msg)


class ProvRcGzip(ProvRc):
    """ProvRC's rows in Parquet with gzip: the paper's DSLog."""

    name = "ProvRC-GZip"
    suffix = "provrc.gzip.parquet"
    options = {"compression": "gzip"}  # noqa: RUF012


PROVRC: tuple[ProvRc, ...] = (ProvRc(), ProvRcGzip())
