"""The tables that a store offers, as Arrow schemas and rows.

=============== =================================================================================
kind            one row for
=============== =================================================================================
``rows``        a compressed row of the lineage between two arrays
``pairs``       a pair of cells: ``b0 ..`` of the output, ``a0 ..`` of the input
``arrays``      an array
``operations``  an operation
``lineages``    the lineage stored for a pair of arrays
=============== =================================================================================

A compressed row stands for all cells ``b0_lo <= b0 <= b0_hi``, and so on. An input with a ``ref``
moves along: ``a0_ref = 'b1'`` means ``b1 + a0_lo <= a0 <= b1 + a0_hi``. Rows of one ``lineage`` and
``term`` but several ``factor`` are to be multiplied, and have no value for the axes of others.
``folds`` (JSON) repeats a row at regular steps; ``linear`` names the sides, ``b`` or ``a``, whose
axes are counted as one, in C order, in the column of the first of them.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import prod

import numpy as np
import pyarrow as pa

from dslog.lineage.factor import Factor
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table
from dslog.relation.relation import column_names
from dslog.relation.relation import schema as pairs_schema
from dslog.store.lineage_store import LineageStore
from dslog.types import I64

KINDS = ("rows", "pairs", "arrays", "operations", "lineages")

_NAMES = pa.list_(pa.string())
ARRAYS = pa.schema(
    [("name", pa.string()), ("shape", pa.list_(pa.int64())), ("cells", pa.float64())]
)
OPERATIONS = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("inputs", _NAMES),
        ("outputs", _NAMES),
        ("args", pa.string()),
        ("reused", pa.string()),
        ("exact", pa.bool_()),
        ("created", pa.timestamp("us", "UTC")),
        ("predicted", pa.bool_()),
        ("compared", pa.int64()),
    ]
)
LINEAGES = pa.schema(
    [
        ("out", pa.string()),
        ("in", pa.string()),
        ("op", pa.int64()),
        ("rows", pa.int64()),
        ("bytes", pa.int64()),
        ("exact", pa.bool_()),
        ("where", pa.string()),
        ("lineage", pa.int64()),
        ("predicted", pa.bool_()),
    ]
)


def rows_schema(num_out: int, num_in: int) -> pa.Schema:
    """Return the schema of compressed rows."""
    ends = [
        (f"{name}_{end}", pa.string() if end == "ref" else pa.int64())
        for name in column_names(num_out, num_in)
        for end in ("lo", "hi", "ref")
    ]
    head = [("lineage", pa.int64()), ("term", pa.int32()), ("factor", pa.int32())]
    return pa.schema([*head, *ends, ("folds", pa.string()), ("linear", pa.string())])


def catalog_table(store: LineageStore, kind: str) -> pa.Table:
    """Return arrays, operations or lineages, all of them."""
    if kind == "arrays":
        rows = [{**asdict(one), "cells": float(prod(one.shape))} for one in store.arrays()]
        return pa.Table.from_pylist(rows, schema=ARRAYS)
    if kind == "operations":
        rows = [asdict(one) for one in store.operations()]
        rows = [{**row, "args": json.dumps(row["args"], sort_keys=True)} for row in rows]
        return pa.Table.from_pylist(rows, schema=OPERATIONS)
    infos = [
        (i.out, i.in_, i.op, i.num_rows, i.nbytes, i.exact, i.where, i.body, i.predicted)
        for i in store.lineages()
    ]
    rows = [dict(zip(LINEAGES.names, info, strict=True)) for info in infos]
    return pa.Table.from_pylist(rows, schema=LINEAGES)


def rows_batches(lineage: Lineage, number: int) -> Iterator[pa.RecordBatch]:
    """Yield the compressed rows of a lineage, a batch for each factor."""
    for term, factors in enumerate(lineage.terms):
        for place, factor in enumerate(factors):
            yield _factor_batch(lineage, factor, (number, term, place))


def _factor_batch(lineage: Lineage, factor: Factor, where: tuple[int, int, int]) -> pa.RecordBatch:
    table = factor.table
    n = len(table)
    schema = rows_schema(len(lineage.out_shape), len(lineage.in_shape))
    columns: dict[str, object] = {
        name: np.full(n, value) for name, value in zip(schema.names[:3], where, strict=True)
    }
    first, second = ("b", "a") if lineage.is_backward else ("a", "b")
    outs, ins = factor.axis_columns(first, second)
    for axis, name in enumerate([*outs, *ins]):
        lo, width, *ref = table.said_of(axis)
        columns |= {f"{name}_lo": lo, f"{name}_hi": lo + width}
        if ref:
            columns[f"{name}_ref"] = [outs[j] if j >= 0 else None for j in ref[0].tolist()]
    columns["folds"] = _folds(table, outs, ins)
    linear = factor.flat_sides(first, second)
    columns["linear"] = [linear or None] * n
    arrays = [
        pa.array(columns[field.name]).cast(field.type)
        if field.name in columns
        else pa.nulls(n, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _folds(table: Table, outs: Sequence[str], ins: Sequence[str]) -> list[str | None]:
    if not table.levels:
        return [None] * len(table)
    found: list[str | None] = []
    for r in range(len(table)):
        levels = [
            {
                "count": fold.count,
                "step": {
                    name: list(step)
                    for name, step in zip([*outs, *ins], fold.outs + fold.ins, strict=True)
                    if any(step)
                },
            }
            for fold in table.row(r).folds
        ]
        found.append(json.dumps(levels, separators=(",", ":")) if levels else None)
    return found


def pairs_batch(pairs: I64, num_out: int, num_in: int) -> pa.RecordBatch:
    """Return pairs as a batch."""
    schema = pairs_schema(num_out, num_in)
    arrays = [pa.array(np.ascontiguousarray(pairs[:, k])) for k in range(len(schema))]
    if not arrays:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * len(pairs), pa.struct([])))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
