"""Factors of a Lineage that is too large for one process: the counting test, as counts on Spark.

A relation is the product of its projections on groups of axes exactly when their sizes multiply to
its own. What depends on what is guessed from approximate counts over the compressed rows; each
projection is then taken exactly. If the sizes fit, the distinct pairs themselves are counted, so
that rows which name a pair twice can't make up for one that is missing. Only projections come to
the driver, and only small ones: a relation that isn't a product of those stays in its part files.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dslog.compress.encoder import refine
from dslog.compress.factors import Group, axis_groups, may_factor, unite_axes
from dslog.compress.provrc import provrc_ranges
from dslog.lineage.factor import Factor, Term
from dslog.lineage.part_files import PartFile, read_part, rows_of
from dslog.lineage.table import Table, attribute_names, concat
from dslog.spark.job import cores
from dslog.spark.spark_cost import SparkCost
from dslog.types import Shape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

_FILES = pa.schema([("name", pa.string()), ("levels", pa.int64())])
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Rows:
    """Compressed rows, in part files below ``root`` and in tables on the driver."""

    root: Path
    parts: Sequence[PartFile]
    loose: Sequence[Table]
    out_shape: Shape
    in_shape: Shape


def product_of(
    rows: Rows, keys: DataFrame, most: int, session: SparkSession
) -> tuple[Term, ...] | None:
    """Return the rows as one product of tables of at most ``most`` rows in all, or None.

    ``keys`` are the pairs that were compressed, one number or a few for each.
    """
    if not _may_factor(rows):
        return None
    frame = _plain_rows(rows, session)
    groups = _independent(frame, len(rows.out_shape), len(rows.in_shape))
    if len(groups) < 2:
        return None
    factors: list[Factor] = []
    for group in groups:
        factor = _projection(frame, rows, group, most)
        if factor is None:
            return None
        most -= len(factor.table)
        factors.append(factor)
    size = prod(_volume(factor.table) for factor in factors)
    if not math.isclose(size, _pairs(frame, rows), rel_tol=_ROUNDING):
        return None
    if size != keys.distinct().count():
        return None
    return refine(tuple(factors), rows.out_shape, rows.in_shape)


def _may_factor(rows: Rows) -> bool:
    """Rule most relations out by the first rows of one file."""
    if not rows.parts:
        return True
    part = rows.parts[0]
    path = rows.root / part.name
    blob = pq.ParquetFile(path, page_checksum_verification=True).read_row_group(0)
    table = rows_of(blob, len(rows.out_shape), len(rows.in_shape), part.levels)
    return may_factor(table.take(slice(0, SparkCost.current().head_rows)).unfold())


def _plain_rows(rows: Rows, session: SparkSession) -> DataFrame:
    """All rows, without folds, as a frame that is read anew from the files for each question."""
    l, m = len(rows.out_shape), len(rows.in_shape)
    names = attribute_names(l, m)
    schema = ", ".join(f"{name} bigint" for name in names)
    files = pa.table(
        {"name": [p.name for p in rows.parts], "levels": [p.levels for p in rows.parts]}, _FILES
    )
    tasks = min(len(rows.parts), SparkCost.current().tasks_per_core * cores(session))
    listed = session.createDataFrame(files).repartition(max(tasks, 1))
    frame = listed.mapInArrow(partial(_read_rows, root=rows.root, num_out=l, num_in=m), schema)
    if rows.loose:
        frame = frame.unionAll(session.createDataFrame(_columns(concat(list(rows.loose)))))
    return frame


def _read_rows(
    batches: Iterator[pa.RecordBatch], root: Path, num_out: int, num_in: int
) -> Iterator[pa.RecordBatch]:
    """Read the part files that the batches name."""
    for batch in batches:
        for name, levels in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            table = read_part(root / name, num_out, num_in, levels)
            yield from _columns(table).to_batches(max_chunksize=1 << 16)


def _columns(table: Table) -> pa.Table:
    """Return the columns of a table without folds; inputs of a single output cell are absolute.

    One cell's inputs can be written relative to it or not, which must not look like two things.
    """
    columns = table.unfold().named()
    for i, j in itertools.product(range(table.num_in), range(table.num_out)):
        single = (columns[f"a{i}r"] == j) & (columns[f"b{j}w"] == 0)
        columns[f"a{i}"] = np.where(single, columns[f"a{i}"] + columns[f"b{j}"], columns[f"a{i}"])
        columns[f"a{i}r"] = np.where(single, -1, columns[f"a{i}r"])
    return pa.table(columns)


def _independent(frame: DataFrame, l: int, m: int) -> list[Group]:
    """Group the axes by what the counts show to depend on each other."""
    from pyspark.sql import functions as F

    axes = [_names_of(axis, l) for axis in range(l + m)]
    pairs = list(itertools.combinations(range(l + m), 2))
    counts = [
        F.approx_count_distinct(F.struct(*names), 0.02).alias(f"n{x}")
        for x, names in enumerate(axes)
    ]
    counts += [
        F.approx_count_distinct(F.struct(*axes[x], *axes[y]), 0.02).alias(f"n{x}_{y}")
        for x, y in pairs
    ]
    counts += [
        F.max(F.col(f"a{i}r") == j).alias(f"r{j}_{l + i}") for j in range(l) for i in range(m)
    ]
    found = frame.agg(*counts).first()
    leader = list(range(l + m))
    for x, y in pairs:
        if found is not None and _depend(found, x, y, l):
            unite_axes(leader, x, y)
    return axis_groups(leader)


def _depend(found: Row, x: int, y: int, l: int) -> bool:
    if x < l <= y and found[f"r{x}_{y}"]:
        return True
    return bool(found[f"n{x}_{y}"] < SparkCost.current().near * found[f"n{x}"] * found[f"n{y}"])


def _names_of(axis: int, l: int) -> list[str]:
    if axis < l:
        return [f"b{axis}", f"b{axis}w"]
    return [f"a{axis - l}", f"a{axis - l}w", f"a{axis - l}r"]


def _projection(frame: DataFrame, rows: Rows, group: Group, most: int) -> Factor | None:
    """Return what the rows say of a group of axes, if that takes few rows."""
    l = len(rows.out_shape)
    names = [name for axis in group for name in _names_of(axis, l)]
    found = frame.select(*names).distinct().limit(most + 1).toArrow()
    if found.num_rows > most:
        return None
    outs, ins = [a for a in group if a < l], [a - l for a in group if a >= l]
    place = np.full(l + 1, -1, np.int64)  # the last entry answers for -1
    place[outs] = np.arange(len(outs))
    renamed = {f"b{j}{end}": f"b{at}{end}" for at, j in enumerate(outs) for end in ("", "w")}
    renamed |= {f"a{i}{end}": f"a{at}{end}" for at, i in enumerate(ins) for end in ("", "w", "r")}
    blob = found.rename_columns([renamed[name] for name in names])
    table = rows_of(blob, len(outs), len(ins), 0)
    table = table.with_columns(np.concatenate([table.lo, table.width, place[table.ref]]))
    return Factor(tuple(outs), tuple(ins), provrc_ranges(table))


def _volume(table: Table) -> int:
    """Count the pairs of a plain table, each as often as rows name it."""
    return int(np.prod((table.width + 1).astype(object), axis=0).sum())


def _pairs(frame: DataFrame, rows: Rows) -> float:
    """Count the pairs of all rows, about, each as often as rows name it."""
    from pyspark.sql import functions as F

    size = F.lit(1.0)
    for axis in range(len(rows.out_shape) + len(rows.in_shape)):
        size = size * (F.col(_names_of(axis, len(rows.out_shape))[1]) + 1)
    found = frame.agg(F.sum(size).alias("pairs")).first()
    return 0.0 if found is None else float(found["pairs"])
