"""Rules for ``np.pad``: every mode acts on each axis by itself, so the lineage is a product."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dslog.capture.numpy.arrange import arrange
from dslog.capture.numpy.call import Call, Lineages
from dslog.capture.numpy.patterns import part, product
from dslog.capture.numpy.patterns_axis import rows, shifted, spread, strided
from dslog.capture.numpy.registry import rule
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table

Shape = tuple[int, ...]
Pairs = list[tuple[int, int]]
_STATISTICS = ("maximum", "minimum", "mean")
_FOLDED = ("reflect", "symmetric", "wrap")


@rule("numpy.pad", note="per axis: the edge, the mirrored or the wrapped cell, or the cells read")
def pad(call: Call) -> Lineages | None:
    """All modes but those that depend on values, or that are functions."""
    values, mode = call.argument("array"), call.argument("mode", "constant")
    if not isinstance(mode, str) or mode == "median":
        return None
    shape = np.shape(values)
    widths = pairs_per_axis(call.argument("pad_width"), len(shape))
    odd = call.argument("reflect_type", "even") == "odd" and mode in ("reflect", "symmetric")
    if odd and any(max(w) > max(n - 1, 1) for w, n in zip(widths, shape, strict=True)):
        return None
    read = stat_lengths(call, shape) if mode in _STATISTICS else [(0, 0)] * len(shape)
    return arrange(call, [(values, padded(shape, widths, mode, read, odd=odd))])


@rule("numpy.pad", kind="superset", note="median: all cells that the median is taken of")
def pad_median(call: Call) -> Lineages | None:
    """What the tracer leaves: read as if every cell counted."""
    values, mode = call.argument("array"), call.argument("mode", "constant")
    if mode != "median":
        return None
    shape = np.shape(values)
    widths = pairs_per_axis(call.argument("pad_width"), len(shape))
    lineage = padded(shape, widths, "mean", stat_lengths(call, shape), odd=False)
    return arrange(call, [(values, lineage.with_exact(False))])


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
