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

A store may come from a stranger. Kernels check no bounds, so nothing reaches them unchecked: here
the form of a header, axes and sizes; in ``column_code`` that columns are as long as they say; and
in ``Table.is_inside``, asked of every table that is read, references, cells and folds. What is
wrong is a ValueError.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import prod
from os import PathLike
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dslog.lineage.column_code import (
    Spec,
    decode_column,
    decode_text,
    encode_column,
    encode_text,
)
from dslog.lineage.factor import Factor, Term
from dslog.lineage.kernels import all_cells, gapless, is_constant
from dslog.lineage.lineage_cost import LineageCost
from dslog.lineage.table import Fold, Interval, Row, Table, attribute_names, same
from dslog.types import I64, MOST_CELLS, Json, Shape

MOST_TEXT = 1 << 28  # characters of a header
MOST_ROWS = 1 << 34  # of one table
MOST_PLAIN_ROWS = 1 << 20  # of one table that says the same of every row
MOST_LEVELS = 16  # of folds

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
    if factor.is_flat:
        item["flat"] = factor.flat_sides()
    sizes, _ = factor.sizes(out_shape, in_shape)
    if len(table) <= LineageCost.current().readable_rows or inline_rows >= _EVERY_ROW:
        packed = None
    else:
        packed = _encode_text(table, sizes) if inline_rows else None
    if len(table) <= inline_rows:
        rows = {"r": [_encode_row(table.row(r)) for r in range(len(table))]}
        return item | _shorter(rows, packed)
    if packed is not None and len(_dumps(packed)) <= LineageCost.current().inline_bytes:
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
        table = Table.of_rows(l, m, [_decode_row(row, l, m) for row in item["r"]])
    else:
        sizes = [out_shape[j] for j in out_axes]
        sizes = [prod(sizes)] if "b" in flat else sizes
        table = _decode_columns(item, l, m, sizes, blobs)
    return Factor(out_axes, in_axes, table, "b" in flat, "a" in flat)


# --- few rows: JSON ------------------------------------------------------------------------------


def _encode_row(row: Row) -> Json:
    outs = [_encode_ends(ends) for ends in row.outs]
    ins: list[Json] = []
    for (lo, hi), ref in zip(row.ins, row.refs, strict=True):
        if ref < 0:
            ins.append(_encode_ends((lo, hi)))
        elif lo == hi == 0:
            ins.append(f"b{ref}")
        else:
            ins.append([f"b{ref}", lo] if lo == hi else [f"b{ref}", lo, hi])
    folds = [[fold.count, _encode_steps(fold)] for fold in row.folds]
    return [outs, ins, folds] if folds else [outs, ins]


def _encode_ends(ends: Interval) -> Json:
    lo, hi = ends
    return lo if lo == hi else [lo, hi]


def _encode_steps(fold: Fold) -> Json:
    return {
        f"{letter}{axis}": _encode_ends(step)
        for letter, steps in (("b", fold.outs), ("a", fold.ins))
        for axis, step in enumerate(steps)
        if any(step)
    }


def _decode_row(item: Json, l: int, m: int) -> Row:
    """Undo ``_encode_row``."""
    inputs = [_decode_input(value) for value in item[1]]
    return Row(
        tuple(_decode_ends(value) for value in item[0]),
        tuple(ends for _, ends in inputs),
        tuple(ref for ref, _ in inputs),
        tuple(_decode_fold(fold, l, m) for fold in (item[2] if len(item) > 2 else ())),
    )


def _decode_input(value: Json) -> tuple[int, Interval]:
    """The ref and the ends of an input."""
    if isinstance(value, str):
        return int(value[1:]), (0, 0)
    if isinstance(value, list) and isinstance(value[0], str):
        return int(value[0][1:]), (value[1], value[-1])
    return -1, _decode_ends(value)


def _decode_fold(item: Json, l: int, m: int) -> Fold:
    count, steps = item
    outs, ins = (
        tuple(_decode_ends(steps.get(f"{letter}{axis}", 0)) for axis in range(axes))
        for letter, axes in (("b", l), ("a", m))
    )
    return Fold(count, outs, ins)


def _decode_ends(value: Json) -> Interval:
    return (value[0], value[1]) if isinstance(value, list) else (value, value)


# --- many rows: columns --------------------------------------------------------------------------


def _encode_text(table: Table, out_sizes: Sequence[int]) -> Json | None:
    """Return a table as packed columns in the header, or None when they are too many."""
    if len(table) > LineageCost.current().inline_bytes:
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
    columns = table.named(implied=bool(cells))
    if cells:
        constants["cells"] = cells
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
    if table.ordered is not None:
        return "all" if table.ordered == tuple(out_sizes) else ""
    l = table.num_out
    if len(table) == prod(out_sizes) and all_cells(
        table.lo[:l], table.width[:l], np.array(out_sizes, np.int64)
    ):
        return "all"
    return "next" if l == 1 and gapless(*table.said_of(0)) else ""


def _decode_columns(item: Json, l: int, m: int, sizes: Sequence[int], blobs: Blobs) -> Table:
    n, levels, constants = item["n"], item.get("k", 0), item["c"]
    specs, texts = item.get("w", {}), item.get("p", {})
    columns: dict[str, I64] = {}
    for name in attribute_names(l, m, levels):
        if name in texts:
            columns[name] = decode_text(texts[name], n)
        elif name in specs:
            columns[name] = decode_column(name, specs[name], blobs[item["blob"]], n)
        else:
            columns[name] = same(constants.get(name, _default(name)), n)
    cells = constants.get("cells")
    if cells == "next":
        columns["b0"] = np.cumsum(columns["b0w"] + 1) - columns["b0w"] - 1
    if cells == "all":
        for j in range(l):
            columns.pop(f"b{j}")
    return Table.of_named(l, m, columns, levels, sizes if cells == "all" else None)


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


def admit(header: Json) -> None:
    """Raise a ValueError unless a header, parsed, has the form of one."""
    shapes = _shape(header["b"]), _shape(header["a"])
    _require(isinstance(header.get("exact", True), bool), "exact")
    absolute, relative = shapes[::-1] if header.get("forward") else shapes
    for term in _list(header["t"]):
        for item in _list(term):
            _factor(item, absolute, relative)
        for letter, shape in (("b", absolute), ("a", relative)):
            axes = [axis for item in term for axis in item.get(letter, range(len(shape)))]
            _require(sorted(axes) == list(range(len(shape))), "the axes of a product")


def _factor(item: Json, absolute: Shape, relative: Shape) -> None:
    outs = _axes(item.get("b", range(len(absolute))), absolute)
    ins = _axes(item.get("a", range(len(relative))), relative)
    _require(item.get("flat", "") in ("", "b", "a", "ba"), "flat")
    l, m = (1 if s in item.get("flat", "") else len(axes) for s, axes in (("b", outs), ("a", ins)))
    if "r" in item:
        for row in _list(item["r"]):
            _require(len(row[0]) == l and len(row[1]) == m, "the length of a row")
            _require(len(row) < 3 or len(row[2]) <= MOST_LEVELS, "the folds of a row")
        return
    n, levels = item["n"], item.get("k", 0)
    _require(_is_count(n, MOST_ROWS) and _is_count(levels, MOST_LEVELS), "the size of a table")
    varying = item.get("p") or item.get("w")
    _require(bool(varying) or n <= MOST_PLAIN_ROWS, "the number of rows")
    for name, value in item["c"].items():
        _require(name == "cells" or type(value) is int, "a constant")
    cells = item["c"].get("cells")
    if cells == "all":
        sizes = [absolute[axis] for axis in outs]
        _require(n == prod(sizes) and not levels, "the cells")
    _require(cells in (None, "all") or (cells == "next" and l == 1 and not levels), "the cells")


def _axes(axes: Sequence[Json], shape: Shape) -> list[int]:
    _require(all(_is_count(axis, len(shape) - 1) for axis in axes), "an axis")
    return list(axes)


def _shape(value: Json) -> Shape:
    shape = _list(value)
    _require(all(_is_count(size, MOST_CELLS) for size in shape), "a shape")
    _require(prod(size or 1 for size in shape) <= MOST_CELLS, "the number of cells")
    return tuple(shape)


def _list(value: Json) -> list[Json]:
    _require(isinstance(value, list), "a list")
    return value  # type: ignore[no-any-return]


def _is_count(value: Json, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"{what} can't be right")
