"""The paper's own storage: ProvRC's rows as Parquet columns, plain or with gzip.

The rows come from layer 1 of DSLog's encoder (``method="provrc"``), which is the paper's algorithm;
the file is what the paper describes: one Parquet file per relation, whose columns are the lower end
and the width of every interval and the reference of every input axis.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.baselines.formats import Format
from dslog.compress.encoder import compress
from dslog.lineage.codec import table_columns
from dslog.lineage.lineage import Lineage

I64 = npt.NDArray[np.int64]


def rows_table(lineage: Lineage) -> pa.Table:
    """Return the rows of a Lineage of one plain table as Arrow columns."""
    if not lineage.terms:
        return pa.table({"b0": pa.array([], pa.int64())})
    table = lineage.terms[0][0].table
    n = len(table)
    columns = table_columns(table)
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
