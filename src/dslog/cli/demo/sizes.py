"""What lineage takes, beside the same pairs as raw integers and as Parquet."""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from dslog.lineage.lineage import Lineage
from dslog.relation.relation import column_names
from dslog.store.records import LineageInfo
from dslog.store.store import Store


@dataclass(frozen=True, slots=True)
class Size:
    """One lineage three times: raw int64, Parquet (zstd), and as DSLog stores it."""

    step: str
    pairs: int
    raw: int
    parquet: int
    dslog: int


def total(sizes: Sequence[Size], step: str = "together") -> Size:
    """Return the sum of some sizes."""
    parts = ("pairs", "raw", "parquet", "dslog")
    return Size(step, *(sum(getattr(size, part) for size in sizes) for part in parts))


def measure(store: Store, steps: Iterable[tuple[str, Sequence[LineageInfo]]]) -> list[Size]:
    """Expand the lineages of each step and write them as Parquet, to have what to compare with."""
    return [
        total([_measure(lineage, info) for info in infos for lineage in _load(store, info)], step)
        for step, infos in steps
    ]


def of_file(step: str, parquet: int, pairs: int, axes: int, info: LineageInfo) -> Size:
    """Return the size of lineage whose relation is in a Parquet file already."""
    return Size(step, pairs, pairs * axes * 8, parquet, info.nbytes)


def _load(store: Store, info: LineageInfo) -> list[Lineage]:
    return store.load(info.out, info.in_)


def _measure(lineage: Lineage, info: LineageInfo) -> Size:
    relation = lineage.to_relation()
    names = column_names(len(lineage.out_shape), len(lineage.in_shape))
    return Size("", len(relation), relation.nbytes, _parquet(relation, names), info.nbytes)


def _parquet(relation: npt.NDArray[np.int64], names: Sequence[str]) -> int:
    sink = io.BytesIO()
    columns = {name: relation[:, number] for number, name in enumerate(names)}
    pq.write_table(pa.table(columns), sink, compression="zstd")
    return sink.tell()
