"""What lineage takes, beside the same pairs as raw integers and as Parquet."""

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from dslog.lineage.lineage import Lineage
from dslog.relation.relation import column_names
from dslog.store.catalog import LineageInfo
from dslog.store.lineage_store import LineageStore


@dataclass(frozen=True, slots=True)
class Size:
    """One lineage three times: raw int64, Parquet (zstd), and as DSLog stores it."""

    step: str
    pairs: int
    raw: int
    parquet: int
    dslog: int

    @property
    def times(self) -> str:
        """How many times less than Parquet DSLog takes."""
        ratio = self.parquet / self.dslog
        return f"{ratio:,.0f}x" if ratio >= 9.5 else f"{ratio:.1f}x"


def total(sizes: Sequence[Size], step: str = "together") -> Size:
    """Return the sum of some sizes."""
    parts = ("pairs", "raw", "parquet", "dslog")
    return Size(step, *(sum(getattr(size, part) for size in sizes) for part in parts))


def measure_steps(store: LineageStore, named: set[str], begin: int = 0) -> list[Size]:
    """Expand lineages and write them as Parquet, to have what to compare with.

    The calls that led to each of the ``named`` arrays count together, from operation ``begin`` on.
    """
    infos: dict[int | None, list[LineageInfo]] = {}
    for info in store.lineages():
        infos.setdefault(info.op, []).append(info)
    sizes, calls = [], []
    for operation in store.operations()[begin:]:
        calls += [
            _measure(lineage, info)
            for info in infos.get(operation.id, ())
            for lineage in store.load(info.out, info.in_)
        ]
        step = next((name for name in operation.outputs if name in named), None)
        if step is not None:
            sizes.append(total(calls, step))
            calls = []
    return sizes


def _measure(lineage: Lineage, info: LineageInfo) -> Size:
    relation = lineage.to_relation()
    names = column_names(len(lineage.out_shape), len(lineage.in_shape))
    return Size("", len(relation), relation.nbytes, _parquet(relation, names), info.nbytes)


def _parquet(relation: npt.NDArray[np.int64], names: Sequence[str]) -> int:
    sink = io.BytesIO()
    columns = {name: relation[:, number] for number, name in enumerate(names)}
    pq.write_table(pa.table(columns), sink, compression="zstd")
    return sink.tell()
