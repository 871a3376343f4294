"""What a linear map reads, found by running it: interpolations, resamplings, fits.

Cells of which no output reads two share a colour. The map of a colour's mask is the weights of its
cells, and that of their places divided by it says which cells they are; that of random marks shows
whether two of them did meet. So a map whose outputs read
a few neighbours each takes a few runs, however many cells there are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dslog.algebra.positions import lineage_of_positions, pairs_of_cells
from dslog.algebra.product import Part, follow, place, product
from dslog.capture.foreign.data_rule import UnknownCallError
from dslog.compress.encoder import compress
from dslog.lineage.lineage import Lineage
from dslog.types import I64, Array, Floats, Shape

Run = Callable[[Floats], Any]

MOST_WORK = 1 << 26  # cells times runs up to which a map is run
TINY = 1e-12  # weights this much smaller than the largest are rounding


def probed(run: Run, shape: Shape, span: int) -> Lineage:
    """Return the lineage of a map whose outputs read at most ``span`` cells in a row of an axis."""
    for attempt in range(3):
        found = _pairs(run, shape, [_colours(size, span, attempt) for size in shape])
        if found is not None:
            return found
    raise UnknownCallError


def _colours(size: int, span: int, attempt: int) -> int:
    """How many colours an axis has; so many that they do not meet where both ends are joined."""
    if size <= span + 2:
        return size
    good = [n for n in range(span, 3 * span + 2) if size % n == 0 or size % n >= span] or [span]
    return good[min(attempt, len(good) - 1)]


def _pairs(run: Run, shape: Shape, colours: Sequence[int]) -> Lineage | None:
    """Run the map on each colour; None where two cells of a colour meet."""
    places = np.indices(shape)
    marks = np.random.default_rng(0).random(shape) + 1
    single = [n == c for n, c in zip(shape, colours, strict=True)]
    runs = math.prod(colours) * (2 + single.count(False))
    if runs * math.prod(shape) > MOST_WORK:
        raise UnknownCallError
    outs, cells = [], []
    out_shape: Shape = ()
    least = TINY * np.abs(np.asarray(run(marks))).max(initial=0)
    for colour in itertools.product(*map(range, colours)):
        mask = np.all([p % c == k for p, c, k in zip(places, colours, colour, strict=True)], axis=0)
        weights = np.asarray(run(mask.astype(float)))
        out_shape, weights = weights.shape, weights.reshape(-1)
        out = np.flatnonzero(np.abs(weights) > least)
        weights = weights[out]
        at = [
            np.full(len(out), colour[k]) if alone else _read(run, mask * places[k], out, weights)
            for k, alone in enumerate(single)
        ]
        if any((p < 0).any() or (p >= n).any() for p, n in zip(at, shape, strict=True)):
            return None
        cell = np.ravel_multi_index(at, shape)
        marked = np.asarray(run(mask * marks)).reshape(-1)[out]
        if not np.allclose(marked, weights * marks.reshape(-1)[cell], rtol=1e-9, atol=0):
            return None
        outs.append(out)
        cells.append(cell)
    pairs = pairs_of_cells(np.concatenate(outs), out_shape, np.concatenate(cells), shape)
    return compress(pairs, out_shape, shape, orientation="backward")


def _read(run: Run, values: Array, out: I64, weights: Floats) -> I64:
    """The whole number that stands in the one cell that each output reads."""
    found = np.asarray(run(values.astype(float))).reshape(-1)[out] / weights
    return np.rint(found).astype(np.int64)


def moved(run: Run, shape: Shape) -> Lineage:
    """Return the lineage of a map that picks one cell, or nothing, for each output."""
    codes = np.arange(1, math.prod(shape) + 1, dtype=float).reshape(shape)
    positions = np.rint(np.asarray(run(codes))).astype(np.int64) - 1
    if positions.size and positions.max() >= codes.size:
        raise UnknownCallError
    return lineage_of_positions(positions, shape)


def interpolated(run: Run, shape: Shape, order: int) -> Lineage:
    """Return the lineage of an interpolation without a prefilter, of some order."""
    return moved(run, shape) if order == 0 else probed(run, shape, order + 1)


def on_axes_alone(data: Array, out: Array, axes: Sequence[int], found: Lineage) -> Lineage:
    """Return what happens on some axes, found for them alone, with the other axes unchanged."""
    others = [follow(k, k, n) for k, n in enumerate(data.shape) if k not in axes]
    return product(out.shape, data.shape, backward_part(found, axes), *others)


def backward_part(found: Lineage, axes: Sequence[int]) -> Part:
    """Return a lineage between axes as a part, put on other axes."""
    if not found.is_backward:
        pairs = found.to_relation()
        found = compress(pairs, found.out_shape, found.in_shape, orientation="backward")
    return place(found.terms, axes, axes)
