"""Rules for functions that read a neighbourhood: differences, convolutions, bits of bytes.

Rules for ``np.pad``: every mode acts on each axis by itself, so the lineage is a product.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from dslog.algebra.axis import blocks, repeated, rows, shifted, spread, strided, window
from dslog.algebra.product import flat, identity, matched, part, product, read, row
from dslog.capture.numpy.argument_rule import OtherCallError, Pattern, argument_rule, by_argument
from dslog.capture.numpy.call import Call, Lineages, arrange
from dslog.capture.numpy.registry import rule
from dslog.capture.numpy.rules.reduce import reduced
from dslog.capture.numpy.rules.shape import on_axis, on_line
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table
from dslog.types import Array, Shape


@rule("numpy.diff", note="each cell from n + 1 neighbours on the axis")
def diff(call: Call) -> Lineages | None:
    """Prepended and appended arrays lengthen the axis."""
    values, n = call.argument("a"), int(call.argument("n", 1))
    (output,) = call.outputs
    if n == 0:
        return arrange(call, [(values, identity(output.shape))])
    axis = call.argument("axis", -1) % np.ndim(values)
    pairs: list[tuple[Any, Lineage | None]] = []
    start = 0
    for piece in (call.argument("prepend"), values, call.argument("append")):
        if piece is None or piece is np._NoValue:  # noqa: SLF001
            continue
        size = np.shape(piece)[axis] if np.ndim(piece) else 1
        pairs.append((piece, _piece(output.shape, np.shape(piece), axis, start, size, n)))
        start += size
    return arrange(call, pairs)


def _piece(
    out_shape: Shape, in_shape: Shape, axis: int, start: int, size: int, reach: int
) -> Lineage | None:
    """A stretch of the axis, read by windows ``[b, b + reach]`` of the whole."""
    table = window(out_shape[axis], size, -start, reach - start) if size else Table.empty(1, 1)
    if not len(table) or 0 in out_shape:
        return None
    if not in_shape:
        return _scalar(out_shape, axis, table)
    return on_axis(out_shape, in_shape, axis, table)


def _scalar(out_shape: Shape, axis: int, table: Table) -> Lineage:
    """A single cell broadcast along all axes but one."""
    low, high, _, _ = table.bounds
    outs = row([(int(low.min()), int(high.max()))], [], [])
    return matched(out_shape, (), {}, part([axis], [], outs))


@rule("numpy.ediff1d", note="each cell from two neighbours in linear order")
def ediff1d(call: Call) -> Lineages | None:
    """Differences in C order, between what is put before and after."""
    values, before, after = (call.argument(name) for name in ("ary", "to_begin", "to_end"))
    (output,) = call.outputs
    shape = np.shape(values)
    start = 0 if before is None else int(np.size(before))
    count = max(prod(shape) - 1, 0)
    pairs: list[tuple[Any, Lineage | None]] = [(values, None)]
    if count:
        table = row([(start, start + count - 1)], [(-start, 1 - start)], [0])
        pairs.append((values, on_line(output.shape, shape, table)))
    for piece, first in ((before, 0), (after, start + count)):
        if piece is not None and np.size(piece):
            table = shifted(int(np.size(piece)), -first, first)
            pairs.append((piece, on_line(output.shape, np.shape(piece), table)))
    return arrange(call, pairs)


@rule("numpy.trapezoid", note="each cell from all cells on the axis")
def trapezoid(call: Call) -> Lineages | None:
    """An integral reads the axis, and the places of its points."""
    values, x, dx = (call.argument(name) for name in ("y", "x", "dx"))
    axis = call.argument("axis", -1) % np.ndim(values)
    (output,) = call.outputs
    shape = np.shape(values)
    if shape[axis] < 2:
        return arrange(call, [(values, None), (x, None), (dx, None)])
    pairs = [(values, reduced(shape, (axis,), output.shape))]
    if x is not None:
        same = np.ndim(x) == len(shape)
        pairs.append((x, reduced(np.shape(x), (axis if same else 0,), output.shape)))
    pairs.append((dx, matched(output.shape, np.shape(dx), {})))
    return arrange(call, pairs)


# --- convolution ---------------------------------------------------------------------------------


def _convolved(*, last: bool) -> Pattern:
    """Output i of all sums over a[k] v[i' - k], with i' = i + where the mode starts."""

    def windows(call: Call, data: Array, out: Array) -> Lineage:
        n, m = (int(np.size(call.argument(name))) for name in ("a", "v"))
        plain = call.func == np.convolve
        mode = call.argument("mode", "full" if plain else "valid")
        mode = {0: "valid", 1: "same", 2: "full"}.get(mode) or str(mode)
        skip = _skipped(n, m, mode, mirrored=not plain)
        table = window(out.size, data.size, skip - (n if last else m) + 1, skip)
        if last and not plain:  # k falls as i' grows: the window of the mirrored filter, mirrored
            table = _mirrored(table, m)
        return product(out.shape, data.shape, flat([0], range(data.ndim), table))

    return windows


by_argument(
    "numpy.convolve", "numpy.correlate", a=_convolved(last=False), v=_convolved(last=True),
    note="each cell from a window of both",
)  # fmt: skip


def _skipped(n: int, m: int, mode: str, *, mirrored: bool) -> int:
    """How many of the full outputs come before the first of a mode."""
    short = min(n, m)
    if mode.startswith("f"):
        return 0
    if mode.startswith("v"):
        return short - 1
    # numpy puts the shorter one on the left by half of its size; correlate turns it around
    return short // 2 if mirrored and n < m else short - short // 2 - 1


def _mirrored(table: Table, size: int) -> Table:
    """Turn the input axis around: a becomes ``size - 1 - a``; relative rows become folds."""
    tables = []
    for k in range(len(table)):
        one = table.row(k)
        ((lo, hi),), ((in_lo, in_hi),) = one.outs, one.ins
        if one.refs[0] >= 0:
            tables.append(
                row(
                    [(lo, lo)],
                    [(size - 1 - in_hi - lo, size - 1 - in_lo - lo)],
                    [-1],
                    (hi - lo + 1, [(1, 1)], [(-1, -1)]),
                )
            )
            continue
        fold = None
        if one.folds:
            (by_lo, by_hi) = one.folds[0].ins[0]
            fold = (one.folds[0].count, one.folds[0].outs, [(-by_hi, -by_lo)])
        tables.append(row([(lo, hi)], [(size - 1 - in_hi, size - 1 - in_lo)], [-1], fold))
    return rows(*tables)


# --- gradient ------------------------------------------------------------------------------------


@rule("numpy.gradient", note="each cell from its neighbours on the axis")
def gradient(call: Call) -> Lineages | None:
    """Central differences inside, one-sided ones at the ends; one output per axis."""
    values, spacings = call.argument("f"), call.argument("varargs", ())
    shape = np.shape(values)
    axis = call.argument("axis")
    axes = range(len(shape)) if axis is None else np.atleast_1d(axis) % len(shape)
    if len(spacings) == 1 and np.ndim(spacings[0]) == 0:
        spacings = spacings * len(axes)
    order = int(call.argument("edge_order", 1))
    outputs = []
    for k, output in enumerate(call.outputs):
        on = int(axes[k])
        spacing = spacings[k] if spacings else 1.0
        even = np.ndim(spacing) == 0 or bool(np.ptp(np.diff(spacing)) == 0)
        table = _differences(shape[on], order, even=even)
        pairs: list[tuple[Any, Lineage | None]]
        pairs = [(values, on_axis(output.shape, shape, on, table))]
        for j, other in enumerate(spacings):
            pairs.append(
                (other, _spacing(output.shape, on, other, order, even) if j == k else None)
            )
        outputs.append(pairs)
    return arrange(call, *outputs)


def _differences(n: int, order: int, *, even: bool) -> Table:
    """Inside: both neighbours, and the cell itself when they are not equally far."""
    reach = order  # cells beyond the first that an end reads
    inside: list[Table] = []
    if n > 2:
        fold = (2, [(0, 0)], [(2, 2)])
        inside.append(
            row([(1, n - 2)], [(-1, -1)], [0], fold) if even else row([(1, n - 2)], [(-1, 1)], [0])
        )
    return rows(spread(0, 0, 0, reach), *inside, spread(n - 1, n - 1, n - 1 - reach, n - 1))


def _spacing(out_shape: Shape, axis: int, spacing: Any, order: int, even: bool) -> Lineage:
    """Coordinates: those of the cells used; when they are even, only the first two are used."""
    shape = np.shape(spacing)
    if not shape:
        return matched(out_shape, (), {})
    if even:
        return matched(out_shape, shape, {}, read(0, 0, 1))
    table = _differences(shape[0], order, even=False)
    return matched(out_shape, shape, {}, part([axis], [0], table))


# --- bits ----------------------------------------------------------------------------------------


@argument_rule("numpy.packbits", data="a", note="each byte from eight cells")
def packbits(call: Call, data: Array, out: Array) -> Lineage:
    """Eight cells on the axis, or in linear order."""
    axis = call.argument("axis")
    if axis is None:
        return on_line(out.shape, data.shape, blocks(out.size, 8, data.size))
    axis %= data.ndim
    return on_axis(out.shape, data.shape, axis, blocks(out.shape[axis], 8, data.shape[axis]))


@argument_rule("numpy.unpackbits", data="a", note="each bit from its byte")
def unpackbits(call: Call, data: Array, out: Array) -> Lineage:
    """Byte ``b // 8``, as many bits as asked for."""
    axis = call.argument("axis")
    bits = out.size if axis is None else out.shape[axis]
    have = data.size if axis is None else data.shape[axis]
    whole, some = min(have, bits // 8), bits % 8 if bits < 8 * have else 0
    table = rows(repeated(whole, 8), spread(8 * whole, 8 * whole + some - 1, whole, whole))
    if axis is None:
        return on_line(out.shape, data.shape, table)
    return on_axis(out.shape, data.shape, axis % data.ndim, table)


# --- vector products, covariance, polynomials ----------------------------------------------------


@rule("numpy.cross", "numpy.linalg.cross", note="each component from the two others of both")
def cross(call: Call) -> Lineages | None:
    """Vectors of three or two components on an axis; the rest is broadcast."""
    names = ("a", "b") if call.func == np.cross else ("x1", "x2")
    a, b = call.args[:2] if len(call.args) > 1 else (call.argument(n) for n in names)
    axis = call.argument("axis", None if call.func == np.cross else -1)
    (output,) = call.outputs
    on = [call.argument(name, -1) if axis is None else axis for name in ("axisa", "axisb")]
    out_axis = call.argument("axisc", -1) if axis is None else axis
    sizes = [np.shape(v)[k] for v, k in zip((a, b), on, strict=True)]
    pairs = []
    for v, at, size, other in zip((a, b), on, sizes, sizes[::-1], strict=True):
        table = None if sizes == [2, 2] else _components(size, other)
        pairs.append((v, _vectors(output.shape, np.shape(v), at % np.ndim(v), out_axis, table)))
    return arrange(call, pairs)


def _components(size: int, other: int) -> Table:
    """Which components of one vector make each component of the product."""
    reads: dict[int, list[int]] = {}
    for c in range(3):
        i, j = (c + 1) % 3, (c + 2) % 3  # out_c = a_i b_j - a_j b_i
        reads[c] = [x for x, y in ((i, j), (j, i)) if x < size and y < other]
    return rows(*(spread(c, c, x, x) for c, xs in reads.items() for x in sorted(xs)))


def _vectors(
    out_shape: Shape, in_shape: Shape, at: int, out_axis: int, table: Table | None
) -> Lineage:
    """The axis of the vectors by a table, or read whole; the others are broadcast."""
    rest = [i for i in range(len(in_shape)) if i != at]
    kept = list(range(len(out_shape)))
    parts = []
    if table is not None:
        parts.append(part([kept.pop(out_axis % len(out_shape))], [at], table))
    pairs = zip(rest, kept[len(kept) - len(rest) :], strict=True)
    follows = {i: j for i, j in pairs if in_shape[i] == out_shape[j]}
    return matched(out_shape, in_shape, follows, *parts)


Pairs = list[tuple[int, int]]
_STATISTICS = ("maximum", "minimum", "mean")
_FOLDED = ("reflect", "symmetric", "wrap")


@argument_rule(
    "numpy.pad", data="array",
    note="per axis: the edge, the mirrored or the wrapped cell, or the cells read",
)  # fmt: skip
def pad(call: Call, data: Array, _: Array) -> Lineage:
    """All modes but those that depend on values, or that are functions."""
    mode, shape = call.argument("mode", "constant"), data.shape
    if not isinstance(mode, str) or mode == "median":
        raise OtherCallError
    widths = pairs_per_axis(call.argument("pad_width"), data.ndim)
    odd = call.argument("reflect_type", "even") == "odd" and mode in ("reflect", "symmetric")
    if odd and any(max(w) > max(n - 1, 1) for w, n in zip(widths, shape, strict=True)):
        raise OtherCallError
    read = stat_lengths(call, shape) if mode in _STATISTICS else [(0, 0)] * data.ndim
    return padded(shape, widths, mode, read, odd=odd)


@argument_rule(
    "numpy.pad", data="array", kind="superset",
    note="median: all cells that the median is taken of",
)  # fmt: skip
def pad_median(call: Call, data: Array, _: Array) -> Lineage:
    """What the tracer leaves: read as if every cell counted."""
    if call.argument("mode", "constant") != "median":
        raise OtherCallError
    widths = pairs_per_axis(call.argument("pad_width"), data.ndim)
    lineage = padded(data.shape, widths, "mean", stat_lengths(call, data.shape), odd=False)
    return lineage.with_exact(False)


def padded(shape: Shape, widths: Pairs, mode: str, read: Pairs, *, odd: bool) -> Lineage:
    """Multiply what happens on each axis; ``read`` are the cells that statistics read."""
    out_shape = tuple(n + before + after for n, (before, after) in zip(shape, widths, strict=True))
    if 0 in shape:
        return Lineage.empty(out_shape, shape)
    parts = []
    for axis, n in enumerate(shape):
        table = _axis(n, *widths[axis], mode, read[axis])
        if odd and n > 1:
            table = rows(table, _edges(*widths[axis], n))
        parts.append(part([axis], [axis], table))
    return product(out_shape, shape, *parts)


def _axis(n: int, before: int, after: int, mode: str, read: tuple[int, int]) -> Table:
    middle = shifted(n, -before, before)
    end = before + n
    if mode in ("constant", "empty"):
        return middle
    if mode in _STATISTICS:
        return rows(
            spread(0, before - 1, 0, read[0] - 1),
            middle,
            spread(end, end + after - 1, n - read[1], n - 1),
        )
    if mode in _FOLDED and n > 1:
        return rows(
            *_pieces(-before, -1, n, mode, before),
            middle,
            *_pieces(n, n + after - 1, n, mode, before),
        )
    return rows(middle, _edges(before, after, n))  # edge, linear_ramp, and one cell mirrored


def _edges(before: int, after: int, n: int) -> Table:
    end = before + n
    return rows(spread(0, before - 1, 0, 0), spread(end, end + after - 1, n - 1, n - 1))


def _pieces(first: int, last: int, n: int, mode: str, before: int) -> Iterator[Table]:
    """Stretches of the mirrored or repeated axis; position 0 is the first input cell."""
    length = n - 1 if mode == "reflect" else n
    position = first
    while position <= last:
        block = position // length
        stop = min(last, (block + 1) * length - 1)
        start, step = position - block * length, 1
        if mode != "wrap" and block % 2:
            start, step = (block + 1) * length - position - (mode == "symmetric"), -1
        yield strided(stop - position + 1, start, step, position + before)
        position = stop + 1


def pairs_per_axis(given: Any, ndim: int) -> Pairs:
    """Return (before, after) per axis from any form that ``np.pad`` takes."""
    if isinstance(given, dict):
        result = [(0, 0)] * ndim
        for axis, width in given.items():
            before, after = np.broadcast_to(width, (2,)).tolist()
            result[axis] = (int(before), int(after))
        return result
    return [(int(a), int(b)) for a, b in np.broadcast_to(np.asarray(given), (ndim, 2)).tolist()]


def stat_lengths(call: Call, shape: Shape) -> Pairs:
    """How many cells at each end of an axis a statistic reads."""
    given = call.argument("stat_length")
    if given is None:
        return [(n, n) for n in shape]
    pairs = pairs_per_axis(given, len(shape))
    return [(min(a, n), min(b, n)) for (a, b), n in zip(pairs, shape, strict=True)]
