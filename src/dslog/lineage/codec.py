"""The physical form of a Lineage: readable JSON for few rows, narrow Arrow columns for many.

A header looks like this (sum over axis 1 of a 3 x 2 array)::

    [[{"r":[[[[0,2]],["b0",[0,1]]]]}]]

that is: terms, each a list of factors, each with its rows ``[outputs, inputs, folds]``. An interval
is ``[lo, hi]``, or ``lo`` alone for one cell. A relative input is ``"b0"``, ``["b0", lo, hi]``
or ``["b0", lo]``. A fold is ``[count, {"b0": step, "a0": [step of lo, step of hi]}]``, outermost
first.

A table of many rows goes to a blob instead, with one column per attribute that varies: lower ends
``b0``, ``a0``; widths ``b0w``, ``a0w``; refs ``a0r``; fold counts ``n0`` and steps ``s0b0``.
Constants stay in the header, and so do output cells that are simply all cells in C order
(``"cells":"all"``) or that follow each other without a gap (``"cells":"next"``). How each column is
written stands under ``"w"`` (see ``dslog.lineage.column_code``).

Between the two, columns that take at most a few KB stay in the header as packed bits, ``"p"``:
no file to write or to open, and less than half of what rows would take.

Blobs as Parquet files.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dslog.lineage.column_code import Spec, decode_column, decode_text, encode_column, encode_text
from dslog.lineage.column_table import ColumnTable
from dslog.lineage.factor import Factor, Term
from dslog.lineage.row_kernels import all_cells, gapless, is_constant, varying
from dslog.lineage.table import Table, axis_columns
from dslog.types import I64, Json, Shape

_READABLE_ROWS = 16  # always written as rows
_INLINE_BYTES = 1 << 11  # packed columns that live in the header; as a file they take more
_EVERY_ROW = 1 << 32
Blobs = Sequence[pa.Table] | Mapping[int, pa.Table]
"""The blobs of a header by number, at least those that are asked for."""


def encode_terms(
    terms: Sequence[Term], out_shape: Shape, in_shape: Shape, inline_rows: int
) -> tuple[Json, list[pa.Table]]:
    """Return the header of a union of products and the blobs it refers to."""
    blobs: list[pa.Table] = []
    header = [
        [encode_factor(f, term, out_shape, in_shape, inline_rows, blobs) for f in term]
        for term in terms
    ]
    return header, blobs


def decode_terms(header: Json, out_shape: Shape, in_shape: Shape, blobs: Blobs) -> tuple[Term, ...]:
    """Undo ``encode_terms``."""
    return tuple(
        tuple(decode_factor(f, out_shape, in_shape, blobs) for f in term) for term in header
    )


def encode_factor(
    factor: Factor,
    term: Sequence[object],
    out_shape: Shape,
    in_shape: Shape,
    inline_rows: int,
    blobs: list[pa.Table],
) -> Json:
    """Return what a header says of one factor of a term; its columns may become a blob."""
    table = factor.table
    item = encode_axes(factor.out_axes, factor.in_axes, term, out_shape, in_shape)
    if factor.out_flat or factor.in_flat:
        item["flat"] = "b" * factor.out_flat + "a" * factor.in_flat
    sizes = [out_shape[j] for j in factor.out_axes]
    sizes = [math.prod(sizes)] if factor.out_flat else sizes
    if len(table) <= _READABLE_ROWS or inline_rows >= _EVERY_ROW:
        packed = None
    else:
        packed = _encode_text(table, sizes) if inline_rows else None
    if len(table) <= inline_rows:
        rows = {"r": [_encode_row(table, r) for r in range(len(table))]}
        return item | _shorter(rows, packed)
    if packed is not None and len(_dumps(packed)) <= _INLINE_BYTES:
        return item | packed
    _encode_columns(table, sizes, item, blobs)
    return item


def encode_axes(
    out_axes: Shape, in_axes: Shape, term: Sequence[object], out_shape: Shape, in_shape: Shape
) -> dict[str, Json]:
    """Return what a header says of a factor's axes: nothing if it has all of them, in order."""
    item: dict[str, Json] = {}
    if len(term) > 1 or out_axes != tuple(range(len(out_shape))):
        item["b"] = list(out_axes)
    if len(term) > 1 or in_axes != tuple(range(len(in_shape))):
        item["a"] = list(in_axes)
    return item


def _shorter(rows: Json, packed: Json | None) -> Json:
    """Rows, which a person can read, unless packed columns take less than half of the bytes."""
    if packed is None or len(_dumps(rows)) <= 2 * len(_dumps(packed)):
        return rows
    return packed


def _dumps(item: Json) -> str:
    return json.dumps(item, separators=(",", ":"))


def decode_factor(item: Json, out_shape: Shape, in_shape: Shape, blobs: Blobs) -> Factor:
    """Undo ``encode_factor``."""
    out_axes = tuple(item.get("b", range(len(out_shape))))
    in_axes = tuple(item.get("a", range(len(in_shape))))
    flat = item.get("flat", "")
    l = 1 if "b" in flat else len(out_axes)
    m = 1 if "a" in flat else len(in_axes)
    if "r" in item:
        table = _decode_rows(item["r"], l, m)
    else:
        sizes = [out_shape[j] for j in out_axes]
        sizes = [math.prod(sizes)] if "b" in flat else sizes
        table = _decode_columns(item, l, m, sizes, blobs)
    return Factor(out_axes, in_axes, table, "b" in flat, "a" in flat)


# --- few rows: JSON ------------------------------------------------------------------------------


def _encode_row(table: Table, r: int) -> Json:
    l, m = table.num_out, table.num_in
    row = table.rows[r].tolist()
    ref = table.ref[r].tolist()
    outs = [_interval(row[j], row[l + j]) for j in range(l)]
    ins = []
    for i in range(m):
        lo, hi = row[2 * l + i], row[2 * l + m + i]
        if ref[i] < 0:
            ins.append(_interval(lo, hi))
        elif lo == hi == 0:
            ins.append(f"b{ref[i]}")
        else:
            ins.append([f"b{ref[i]}", lo] if lo == hi else [f"b{ref[i]}", lo, hi])
    folds = [
        [int(table.count[r, k]), _encode_step(table.step[r, k].tolist(), l, m)]
        for k in range(table.levels)
        if table.count[r, k] > 1
    ]
    return [outs, ins, folds] if folds else [outs, ins]


def _interval(lo: int, hi: int) -> Json:
    return lo if lo == hi else [lo, hi]


def _encode_step(step: list[int], l: int, m: int) -> Json:
    return {
        name: _interval(step[lo], step[hi])
        for name, lo, hi in axis_columns(l, m)
        if step[lo] or step[hi]
    }


def _decode_rows(items: Json, l: int, m: int) -> Table:
    levels = max((len(item[2]) for item in items if len(item) > 2), default=0)
    n, width = len(items), 2 * (l + m)
    rows = np.zeros((n, width), np.int64)
    ref = np.full((n, m), -1, np.int64)
    count = np.ones((n, levels), np.int64)
    step = np.zeros((n, levels, width), np.int64)
    columns = {name: (lo, hi) for name, lo, hi in axis_columns(l, m)}
    for r, item in enumerate(items):
        for j, out in enumerate(item[0]):
            rows[r, j], rows[r, l + j] = _ends(out)
        for i, inp in enumerate(item[1]):
            ref[r, i], ends = _decode_input(inp)
            rows[r, 2 * l + i], rows[r, 2 * l + m + i] = ends
        folds = item[2] if len(item) > 2 else []
        for k, (times, steps) in enumerate(folds, start=levels - len(folds)):
            count[r, k] = times
            for name, ends in steps.items():
                lo, hi = columns[name]
                step[r, k, lo], step[r, k, hi] = _ends(ends)
    return Table(l, m, rows, ref, count, step)


def _decode_input(value: Json) -> tuple[int, tuple[int, int]]:
    """The ref and the ends of an input, as ``_encode_row`` wrote it."""
    if isinstance(value, str):
        return int(value[1:]), (0, 0)
    if isinstance(value, list) and isinstance(value[0], str):
        return int(value[0][1:]), (value[1], value[-1])
    return -1, _ends(value)


def _ends(value: Json) -> tuple[int, int]:
    return (value[0], value[1]) if isinstance(value, list) else (value, value)


# --- many rows: columns --------------------------------------------------------------------------


def column_names(l: int, m: int, levels: int) -> list[str]:
    """Return the names of a table's attributes: ends, widths, refs, folds."""
    axes = [name for name, _, _ in axis_columns(l, m)]
    names = [name + part for name in axes for part in ("", "w")]
    names += [f"a{i}r" for i in range(m)]
    for k in range(levels):
        names += [f"n{k}", *(f"s{k}{name}{part}" for name in axes for part in ("", "w"))]
    return names


def table_columns(table: Table, settled: int = 0) -> dict[str, I64]:
    """Return a table's attributes as named columns, those that never vary as broadcast values.

    The first ``settled`` axes are left out.
    """
    if isinstance(table, ColumnTable) and (settled or table.ordered is None):
        return table.columns
    l, m = table.num_out, table.num_in
    axes = list(axis_columns(l, m))[settled:]
    columns = _ends_and_widths(table.rows, axes, "")
    for i in range(m):
        columns[f"a{i}r"] = table.ref[:, i]
    for k in range(table.levels):
        columns[f"n{k}"] = table.count[:, k]
        columns |= _ends_and_widths(np.ascontiguousarray(table.step[:, k]), axes, f"s{k}")
    return columns


def _ends_and_widths(
    rows: I64, axes: Sequence[tuple[str, int, int]], prefix: str
) -> dict[str, I64]:
    """Lower ends and widths of every axis; one pass over the rows finds what never varies."""
    plan = np.array([p for _, lo, hi in axes for p in ((lo, -1), (hi, lo))], np.int64)
    names = [prefix + name + part for name, _, _ in axes for part in ("", "w")]
    plan = plan.reshape(len(names), 2)
    varies = varying(rows, plan)
    columns: dict[str, I64] = {}
    for name, (c, base), some in zip(names, plan.tolist(), varies.tolist(), strict=True):
        values = rows if some else rows[:1]
        column = values[:, c] if base < 0 else values[:, c] - values[:, base]
        columns[name] = column if some else np.broadcast_to(column, len(rows))
    return columns


def columns_table(columns: dict[str, I64], l: int, m: int, levels: int) -> Table:
    """Undo ``table_columns``; every column must be there."""
    n = len(next(iter(columns.values()))) if columns else 0
    width = 2 * (l + m)
    rows = np.empty((n, width), np.int64)
    ref = np.empty((n, m), np.int64)
    count = np.empty((n, levels), np.int64)
    step = np.empty((n, levels, width), np.int64)
    for name, lo, hi in axis_columns(l, m):
        rows[:, lo] = columns[name]
        rows[:, hi] = rows[:, lo] + columns[f"{name}w"]
        for k in range(levels):
            step[:, k, lo] = columns[f"s{k}{name}"]
            step[:, k, hi] = step[:, k, lo] + columns[f"s{k}{name}w"]
    for i in range(m):
        ref[:, i] = columns[f"a{i}r"]
    for k in range(levels):
        count[:, k] = columns[f"n{k}"]
    return Table(l, m, rows, ref, count, step)


def _encode_text(table: Table, out_sizes: Sequence[int]) -> Json | None:
    """Return a table as packed columns in the header, or None when they are too many."""
    if len(table) > _INLINE_BYTES:
        return None
    item, columns = _split_columns(table, out_sizes)
    item["p"] = {name: encode_text(column) for name, column in columns.items()}
    return item


def _split_columns(
    table: Table, out_sizes: Sequence[int]
) -> tuple[dict[str, Json], dict[str, I64]]:
    """Return what a header says of a table in any case, and the columns that vary."""
    constants: dict[str, Json] = {}
    cells = _implied_cells(table, out_sizes)
    columns = table_columns(table, settled=table.num_out if cells == "all" else 0)
    if cells:
        constants["cells"] = cells
        for j in range(table.num_out):
            columns.pop(f"b{j}", None)
    varying: dict[str, I64] = {}
    for name, column in columns.items():
        if column.strides == (0,) or is_constant(column):
            if column[0] != _default(name):
                constants[name] = int(column[0])
            continue
        varying[name] = np.ascontiguousarray(column)
    item: dict[str, Json] = {"n": len(table)}
    if table.levels:
        item["k"] = table.levels
    item["c"] = constants
    return item, varying


def _encode_columns(
    table: Table, out_sizes: Sequence[int], item: dict[str, Json], blobs: list[pa.Table]
) -> None:
    """Write a table's constants into the header item and its columns into blobs."""
    head, columns = _split_columns(table, out_sizes)
    item |= head
    arrays: dict[str, pa.Array] = {}
    specs: dict[str, Spec] = {}
    for name, column in columns.items():
        specs[name], some = encode_column(name, column)
        arrays |= some
    if arrays:
        item["w"] = specs
        item["blob"] = len(blobs)
        blobs.append(pa.table(arrays))


def _default(name: str) -> int:
    """The value a column has when neither header nor blob names it."""
    return -1 if name.endswith("r") else 1 if name.startswith("n") else 0


def _implied_cells(table: Table, out_sizes: Sequence[int]) -> str:
    """Whether lower ends on the output axes go without saying: "all", "next" or not ("")."""
    if table.levels or table.num_out == 0:
        return ""
    if isinstance(table, ColumnTable) and table.ordered == tuple(out_sizes):
        return "all"
    if len(table) == math.prod(out_sizes) and all_cells(
        table.rows, table.num_out, np.array(out_sizes, np.int64)
    ):
        return "all"
    if table.num_out != 1:
        return ""
    if isinstance(table, ColumnTable) and not table.has_rows and table.ordered is None:
        return "next" if gapless(table.columns["b0"], table.columns["b0w"]) else ""
    return "next" if gapless(table.rows[:, 0], table.rows[:, 1] - table.rows[:, 0]) else ""


def _decode_columns(item: Json, l: int, m: int, sizes: Sequence[int], blobs: Blobs) -> Table:
    n, levels, constants = item["n"], item.get("k", 0), item["c"]
    specs, texts = item.get("w", {}), item.get("p", {})
    columns: dict[str, I64] = {}
    for name in column_names(l, m, levels):
        if name in texts:
            columns[name] = decode_text(texts[name], n)
        elif name in specs:
            columns[name] = decode_column(name, specs[name], blobs[item["blob"]], n)
        else:
            columns[name] = np.broadcast_to(np.int64(constants.get(name, _default(name))), n)
    cells = constants.get("cells")
    if cells == "next":
        columns["b0"] = np.cumsum(columns["b0w"] + 1) - columns["b0w"] - 1
    if levels:
        return columns_table(columns, l, m, levels)
    if cells == "all":
        for j in range(l):
            columns.pop(f"b{j}")
    return ColumnTable(l, m, n, columns, sizes if cells == "all" else None)


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
