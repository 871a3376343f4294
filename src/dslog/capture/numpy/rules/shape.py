"""Rules for functions that copy cells to new places by a formula: reshape, roll, tile and so on.

Functions whose results are views: lineage read off memory, or by an index run where that fails.

All of them only arrange the cells they are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from dslog.algebra.axis import repeated, rolled, tiled
from dslog.algebra.positions import gathered
from dslog.algebra.product import (
    Part,
    all_to_all,
    flat,
    follow,
    matched,
    part,
    place,
    product,
    row,
    same_order,
)
from dslog.capture.numpy.argument_rule import OtherCallError, argument_rule
from dslog.capture.numpy.call import Call, Lineages, arrange
from dslog.capture.numpy.index_run import moves
from dslog.capture.numpy.registry import rule
from dslog.capture.numpy.view import is_view, lineage_of_view
from dslog.compress.encoder import compress
from dslog.lineage.factor import Factor
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table, concat
from dslog.types import Array, Shape


@argument_rule(
    "numpy.reshape", "numpy.ravel", data="a", note="the same cells in the same linear order"
)
def reshape(call: Call, data: Array, out: Array) -> Lineage:
    """C order; other orders are left to the index run."""
    order = call.argument("order") or "C"
    if order == "F" or (order in ("A", "K") and not _is_c_order(data, order)):
        raise OtherCallError
    return same_order(out.shape, data.shape)


def _is_c_order(values: Array, order: str) -> bool:
    """Whether an order that depends on memory is the C order for these values."""
    flags = values.flags
    return flags.c_contiguous or (order == "A" and not flags.f_contiguous)


moves("numpy.reshape", "numpy.ravel", "numpy.resize", data="a")


@argument_rule("numpy.resize", data="a", note="the cells in linear order, again and again")
def resize(_: Call, data: Array, out: Array) -> Lineage:
    """Linear position modulo the number of cells."""
    if not out.ndim:
        raise OtherCallError
    if out.size == data.size:
        return same_order(out.shape, data.shape)
    return on_line(out.shape, data.shape, tiled(data.size, out.size))


def on_axis(out_shape: Shape, in_shape: Shape, axis: int, here: Part | Table) -> Lineage:
    """One axis treated by a table or part of its own; all others unchanged."""
    if isinstance(here, Table):
        here = part([axis], [axis], here)
    return matched(out_shape, in_shape, {k: k for k in range(len(in_shape)) if k != axis}, here)


def on_line(out_shape: Shape, in_shape: Shape, table: Table) -> Lineage:
    """A table over the linear index of both sides."""
    return product(out_shape, in_shape, flat(range(len(out_shape)), range(len(in_shape)), table))


# --- rolling, repeating --------------------------------------------------------------------------


@argument_rule("numpy.roll", data="a", note="two stretches per rolled axis")
def roll(call: Call, data: Array, _: Array) -> Lineage:
    """Shifts on the same axis add up."""
    shift, axis, shape = call.argument("shift"), call.argument("axis"), data.shape
    if axis is None:
        return on_line(shape, shape, rolled(data.size, int(np.sum(shift))))
    return roll_axes(shape, shift, axis)


def roll_axes(shape: Shape, shift: Any, axis: Any) -> Lineage:
    """Roll each axis by itself."""
    shifts: dict[int, int] = {}
    for by, on in np.broadcast(shift, axis):
        shifts[int(on) % len(shape)] = shifts.get(int(on) % len(shape), 0) + int(by)
    parts = [
        part([k], [k], rolled(n, shifts[k])) if k in shifts else follow(k, k, n)
        for k, n in enumerate(shape)
    ]
    return product(shape, shape, *parts)


@argument_rule(
    "numpy.fft.fftshift", "numpy.fft.ifftshift", data="x", note="two stretches per shifted axis"
)
def fftshift(call: Call, data: Array, _: Array) -> Lineage:
    """A roll by half of each axis."""
    shape, axes = data.shape, call.argument("axes")
    axes = range(data.ndim) if axes is None else np.ravel(axes).tolist()
    sign = 1 if call.func == np.fft.fftshift else -1
    return roll_axes(shape, [sign * (shape[axis] // 2) for axis in axes], axes)


@argument_rule("numpy.tile", data="A", note="each axis again and again")
def tile(_: Call, data: Array, out: Array) -> Lineage:
    """Repetitions are aligned to the last axis."""
    lead = out.ndim - data.ndim
    axes = enumerate(data.shape, start=lead)
    parts = (part([j], [j - lead], tiled(n, out.shape[j])) for j, n in axes)
    return matched(out.shape, data.shape, {}, *parts)


@rule("numpy.repeat", note="each cell several times in a row")
def repeat(call: Call) -> Lineages | None:
    """The same number of times for all cells, or one number for each."""
    values, repeats, axis = (call.argument(name) for name in ("a", "repeats", "axis"))
    (output,) = call.outputs
    shape = np.shape(values)
    axis = axis if shape else None
    size = prod(shape) if axis is None else shape[axis]
    if not output.size or not size:
        return arrange(call, [(values, None), (repeats, None)])
    here: Part
    if np.size(repeats) == 1:
        here = part([0], [0], repeated(size, int(np.ravel(repeats)[0])))
    else:
        here = gathered(np.repeat(np.arange(size), repeats), size)
    lineage = _on_axis_or_line(output.shape, shape, axis, here)
    at = 0 if axis is None else axis % len(shape)
    return arrange(call, [(values, lineage), (repeats, _counts(call, repeats, size, at))])


def _counts(call: Call, repeats: Any, size: int, axis: int) -> Lineage | None:
    """Where a cell lies is said by the numbers of repetitions of its item and of those before."""
    if call.which(repeats) is None:
        return None
    (output,) = call.outputs
    times = np.broadcast_to(np.asarray(repeats).reshape(-1), (size,)).astype(np.int64)
    if np.size(repeats) == 1:
        return all_to_all(output.shape, np.shape(repeats))
    items = np.flatnonzero(times)
    ends = np.cumsum(times)[items]
    nothing = np.zeros(len(items), np.int64)
    columns = [ends - times[items], nothing, times[items] - 1, items, nothing - 1]
    here = part([axis], [0], Table(1, 1, np.stack(columns)))
    return matched(output.shape, np.shape(repeats), {}, here)


def on_line_part(out_shape: Shape, in_shape: Shape, here: Part) -> Lineage:
    """A part over one axis, put on the linear index of the input."""
    terms = []
    for term in here:
        factors: list[Factor] = []
        for factor in term:
            axes = tuple(range(len(in_shape))) if factor.in_axes else ()
            factors += part(
                factor.out_axes, axes, factor.table, in_flat=bool(factor.in_axes) and len(axes) != 1
            )[0]
        terms.append(tuple(factors))
    return product(out_shape, in_shape, tuple(terms))


# --- taking, leaving out, putting in -------------------------------------------------------------


@rule("numpy.take", kind="value", note="each cell from the cell taken, and its index")
def take(call: Call) -> Lineages | None:
    """The index's axes stand where the axis was."""
    values, indices, axis = (call.argument(name) for name in ("a", "indices", "axis"))
    (output,) = call.outputs
    shape = np.shape(values)
    axis = axis if shape else None
    size = prod(shape) if axis is None else shape[axis]
    places = _in_range(np.asarray(indices, np.int64), size, call.argument("mode", "raise"))
    if not places.size or not size:
        return arrange(call, [(values, None), (indices, None)])
    at = 0 if axis is None else axis % len(shape)
    here = place(gathered(places, size), range(at, at + places.ndim), [at])
    if axis is None:
        lineage = on_line_part(output.shape, shape, here)
    else:
        follows = {k: k if k < at else k - 1 + places.ndim for k in range(len(shape)) if k != at}
        lineage = matched(output.shape, shape, follows, here)
    chosen = matched(output.shape, places.shape, {k: at + k for k in range(places.ndim)})
    return arrange(call, [(values, lineage), (indices, chosen)])


def _in_range(places: Array, size: int, mode: str) -> Array:
    if mode == "clip":
        return np.clip(places, 0, size - 1)
    return places % size if size else places


@argument_rule(
    "numpy.delete", data="arr", unread="obj", note="the stretches of the axis that are left"
)
def delete(call: Call, data: Array, out: Array) -> Lineage:
    """What is left of the positions on the axis says it all."""
    axis = call.argument("axis")
    size = data.size if axis is None else data.shape[axis]
    here = gathered(np.delete(np.arange(size), call.argument("obj")), size)
    return _on_axis_or_line(out.shape, data.shape, axis, here)


@argument_rule("numpy.insert", data="arr", unread="obj", note="the stretches of the axis, moved")
def insert(call: Call, data: Array, out: Array) -> Lineage:
    """Where the values put in are untracked; else the index run does it."""
    axis = call.argument("axis")
    if not data.ndim:
        raise OtherCallError
    size = data.size if axis is None else data.shape[axis]
    total = out.size if axis is None else out.shape[axis]
    places = np.insert(np.arange(size), call.argument("obj"), np.full(total - size, -1))
    kept = np.flatnonzero(places >= 0)
    pairs = np.stack([kept, places[kept]], axis=1)
    here = compress(pairs, (total,), (size,), orientation="backward").terms
    return _on_axis_or_line(out.shape, data.shape, axis, here)


def _on_axis_or_line(out_shape: Shape, in_shape: Shape, axis: int | None, here: Part) -> Lineage:
    if not here:
        return Lineage.empty(out_shape, in_shape)
    if axis is None:
        return on_line_part(out_shape, in_shape, here)
    axis %= len(in_shape)
    return on_axis(out_shape, in_shape, axis, place(here, [axis], [axis]))


moves("numpy.insert", data=("arr", "values"))


# --- triangles and diagonals ---------------------------------------------------------------------


@argument_rule("numpy.tril", "numpy.triu", data="m", note="the cells of the triangle")
def triangle(call: Call, data: Array, out: Array) -> Lineage:
    """On the last two axes, rows of growing or shrinking width."""
    if data.ndim < 2:
        raise OtherCallError
    shape, k = out.shape, int(call.argument("k", 0))
    n, m = shape[-2:]
    table = lower(n, m, k) if call.func == np.tril else _upper(n, m, k)
    axes = [data.ndim - 2, data.ndim - 1]
    return matched(shape, shape, {j: j for j in range(data.ndim - 2)}, part(axes, axes, table))


def lower(n: int, m: int, k: int) -> Table:
    """Cells with column <= row + k: rows of growing width, then whole rows."""
    first, full = max(0, -k), max(0, min(n, m - 1 - k))
    grow, rest = full - first, n - max(first, full)
    tables = []
    if grow > 0:
        steps = (grow, [(1, 1), (0, 1)], [(0, 0), (0, 0)])
        tables.append(row([(first, first), (0, first + k)], [(0, 0), (0, 0)], [0, 1], steps))
    if rest > 0:
        tables.append(row([(n - rest, n - 1), (0, m - 1)], [(0, 0), (0, 0)], [0, 1]))
    return _stacked(tables)


def _upper(n: int, m: int, k: int) -> Table:
    """Cells with column >= row + k: whole rows, then rows of shrinking width."""
    full, last = max(0, min(n, 1 - k)), min(n, m - k)
    tables = []
    if full > 0:
        tables.append(row([(0, full - 1), (0, m - 1)], [(0, 0), (0, 0)], [0, 1]))
    if last > full:
        steps = (last - full, [(1, 1), (1, 0)], [(0, 0), (0, 0)])
        tables.append(row([(full, full), (full + k, m - 1)], [(0, 0), (0, 0)], [0, 1], steps))
    return _stacked(tables)


def _stacked(tables: Sequence[Table]) -> Table:
    return concat(list(tables)) if tables else Table.empty(2, 2)


moves("numpy.tril", "numpy.triu", data="m")


@argument_rule("numpy.diag", "numpy.diagflat", data="v", note="the cells of the diagonal")
def diagonal_matrix(call: Call, data: Array, out: Array) -> Lineage:
    """A vector on a diagonal, or the diagonal of a matrix."""
    k, shape = int(call.argument("k", 0)), data.shape
    r, c = max(0, -k), max(0, k)
    if call.func == np.diag and data.ndim == 2:
        table = row([(0, out.size - 1)], [(r, r), (c, c)], [0, 0])
        return product(out.shape, shape, part([0], [0, 1], table))
    table = row([(r, r), (c, c)], [(0, 0)], [-1], (data.size, [(1, 1), (1, 1)], [(1, 1)]))
    here = part([0, 1], range(data.ndim), table, in_flat=data.ndim != 1)
    return product(out.shape, shape, here)


@argument_rule("numpy.trace", "numpy.linalg.trace", data="a x", note="each cell from a diagonal")
def trace(call: Call, data: Array, out: Array) -> Lineage | None:
    """The diagonal of two axes, read for each cell of the others."""
    offset, shape = int(call.argument("offset", 0)), data.shape
    default = (-2, -1) if call.func == np.linalg.trace else (0, 1)
    one, two = (
        int(call.argument(name, d)) % data.ndim
        for name, d in zip(("axis1", "axis2"), default, strict=True)
    )
    r, c = max(0, -offset), max(0, offset)
    count = min(shape[one] - r, shape[two] - c)
    if count <= 0:
        return None
    here = part([], [one, two], row([], [(r, r), (c, c)], [-1, -1], (count, [], [(1, 1), (1, 1)])))
    others = [k for k in range(data.ndim) if k not in (one, two)]
    return matched(out.shape, shape, {k: j for j, k in enumerate(others)}, here)


_DATA = {
    "a": "transpose permute_dims moveaxis rollaxis swapaxes expand_dims squeeze diagonal",
    "x": "matrix_transpose linalg.matrix_transpose linalg.diagonal unstack "
    "lib.stride_tricks.sliding_window_view lib.stride_tricks.as_strided",
    "m": "flip fliplr flipud rot90",
    "ary": "split array_split hsplit vsplit dsplit",
    "array": "broadcast_to",
}
_NAMES = [f"numpy.{name}" for names in _DATA.values() for name in names.split()]


@rule(*_NAMES, note="each cell from the cell it was; read off the view's memory layout")
def view(call: Call) -> Lineages | None:
    """All outputs are views of the one input."""
    if len(call.inputs) != 1:
        return None
    return per_view(call, [call.inputs[0]] * len(call.outputs))


@rule(
    "numpy.atleast_1d", "numpy.atleast_2d", "numpy.atleast_3d",
    note="each cell from the cell it was; read off the view's memory layout",
)  # fmt: skip
def at_least(call: Call) -> Lineages | None:
    """Output k is a view of argument k."""
    return per_view(call, call.argument("arys", ()))


def per_view(call: Call, sources: Sequence[Any]) -> Lineages | None:
    """Output k is a view of source k."""
    outputs = []
    for output, source in zip(call.outputs, sources, strict=True):
        lineage = None
        if call.which(source) is not None:
            lineage = _lineage(output, source)
            if lineage is None:
                return None
        outputs.append([*((array, None) for array in call.inputs), (source, lineage)])
    return arrange(call, *outputs)


def _lineage(output: Array, source: Array) -> Lineage | None:
    """Return a view's lineage; None for a copy, or where memory does not tell cells apart."""
    if not output.size or not source.size:
        return Lineage.empty(output.shape, source.shape)
    if not (output is source or is_view(output, source)):
        return None
    return lineage_of_view(output, source)


for _data, _names in _DATA.items():
    moves(*(f"numpy.{name}" for name in _names.split()), data=_data)
moves("numpy.atleast_1d", "numpy.atleast_2d", "numpy.atleast_3d", data="arys")
