"""Rules for counting: a bin is from the cells that fell into it, and from its edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dslog.algebra.compose import as_lineage, compose
from dslog.algebra.positions import from_pairs
from dslog.algebra.product import all_to_all, identity, matched, part, product, row
from dslog.capture.numpy.argument_rule import argument_rule
from dslog.capture.numpy.call import Call, Lineages, arrange
from dslog.capture.numpy.registry import rule
from dslog.cells.boxes import unpaint
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Interval, Table
from dslog.types import I64, Array, Mask, Shape

Pairs = list[tuple[Any, Lineage | None]]


@argument_rule(
    "numpy.bincount", data="x weights", kind="value",
    note="each count from the cells that hold its number",
)  # fmt: skip
def bincount(call: Call, data: Array, out: Array) -> Lineage:
    """Cell i counts for output ``x[i]``, with its weight."""
    return from_pairs(call.argument("x"), np.arange(data.size), out.shape, data.shape)


def bins_of(values: Any, edges: Array) -> I64:
    """Return the bin of each value, -1 outside; the last bin includes its upper edge."""
    values = np.asarray(values).reshape(-1)
    places = np.searchsorted(edges, values, side="right") - 1
    places[values == edges[-1]] = len(edges) - 2
    return np.where((values >= edges[0]) & (values <= edges[-1]), places, -1)


@rule("numpy.histogram", kind="value", note="each count from the cells in its bin, and its edges")
def histogram(call: Call) -> Lineages | None:
    """Counts and edges; what sets the edges contributes to both."""
    values, bins, weights = (call.argument(name) for name in ("a", "bins", "weights"))
    counts, edges = call.outputs
    where = bins_of(values, edges)
    dense = bool(call.argument("density", False))
    set_by = values, bins, call.argument("range")
    first: Pairs = [(v, _counted(counts.shape, [where], v, dense)) for v in (values, weights)]
    first += _through_edges(*set_by, counts.shape, 0)
    return arrange(call, first, [*_nothing(call), *_edges(*set_by, edges.shape)])


def _nothing(call: Call) -> Pairs:
    """Name all inputs; what contributes is said beside it."""
    return [(array, None) for array in call.inputs]


def _counted(out_shape: Shape, where: Sequence[I64], values: Any, dense: bool) -> Lineage | None:
    """Cells in their bins; a density divides by the number of all cells counted."""
    if values is None:
        return None
    inside = np.logical_and.reduce([w >= 0 for w in where])
    if dense:
        return _from_cells(out_shape, inside.reshape(np.shape(values)))
    bins = np.ravel_multi_index(tuple(w[inside] for w in where), out_shape)
    return from_pairs(bins, np.flatnonzero(inside), out_shape, np.shape(values))


def _from_cells(out_shape: Shape, mask: Mask, outs: Sequence[Interval] | None = None) -> Lineage:
    """Every output cell, or those of one box, from the marked input cells."""
    if not mask.any():
        return Lineage.empty(out_shape, mask.shape)
    if outs is None and mask.all():
        return all_to_all(out_shape, mask.shape)
    box = [(0, n - 1) for n in out_shape] if outs is None else outs
    boxes = unpaint(mask)
    lo, hi = boxes[:, :, 0].T, boxes[:, :, 1].T
    cells = Table(0, mask.ndim, np.concatenate([lo, hi - lo, np.full_like(lo, -1)]))
    place, marked = (
        part(range(len(box)), [], row(box, [], [])),
        part([], range(mask.ndim), cells),
    )
    return product(out_shape, mask.shape, place, marked)


def _set_by(values: Any, bins: Any, ends: Any) -> list[tuple[Any, Mask, Mask]]:
    """What sets edges that are not given: a value, and its cells that set the two ends.

    Those are the ends given, else the smallest and the largest cells. A rule for the number of
    bins reads all cells between the ends.
    """
    found: list[tuple[Any, Mask, Mask]] = []
    cells = np.asarray(values)
    if ends is not None:
        yes, no = np.ones((), bool), np.zeros((), bool)
        found += [(ends[0], yes, no), (ends[1], no, yes)]
    if isinstance(bins, str):
        inside = np.ones(cells.shape, bool)
        if ends is not None:
            inside = (cells >= ends[0]) & (cells <= ends[1])
        found.append((values, inside, inside))
    elif ends is None and cells.size:
        low, high = cells == cells.min(), cells == cells.max()
        found.append((values, low, high))
    return found


def _edges(values: Any, bins: Any, ends: Any, shape: Shape) -> Pairs:
    """Edges as they were given, or from what sets one end, the other, or both."""
    if np.ndim(bins) == 1:
        return [(bins, identity(np.shape(bins)))]
    last = shape[0] - 1
    pairs: Pairs = []
    for value, low, high in _set_by(values, bins, ends):
        if (low & high).any():  # of the only value numpy makes two ends
            pairs.append((value, _from_cells(shape, low | high)))
            continue
        pairs.append((value, _from_cells(shape, low, [(0, last - 1)])))
        pairs.append((value, _from_cells(shape, high, [(1, last)])))
    return pairs


def _through_edges(values: Any, bins: Any, ends: Any, out_shape: Shape, axis: int) -> Pairs:
    """Each count from the two edges of its bin; edges that are not given are set by both ends."""
    if np.ndim(bins) == 1:
        two = row([(0, out_shape[axis] - 1)], [(0, 1)], [0])
        return [(bins, matched(out_shape, np.shape(bins), {}, part([axis], [0], two)))]
    return [
        (value, _from_cells(out_shape, low | high))
        for value, low, high in _set_by(values, bins, ends)
    ]


@rule("numpy.histogram_bin_edges", kind="value", note="each edge from what sets it, or as given")
def histogram_bin_edges(call: Call) -> Lineages | None:
    """The edges alone."""
    set_by = call.argument("a"), call.argument("bins"), call.argument("range")
    return arrange(call, [*_nothing(call), *_edges(*set_by, call.outputs[0].shape)])


@rule(
    "numpy.histogram2d", kind="value", note="each count from the points in its bin, and its edges"
)
def histogram2d(call: Call) -> Lineages | None:
    """Points are pairs of cells."""
    x, y, weights = (call.argument(name) for name in ("x", "y", "weights"))
    return _several(call, [x, y], weights)


@rule(
    "numpy.histogramdd", kind="value", note="each count from the points in its bin, and its edges"
)
def histogramdd(call: Call) -> Lineages | None:
    """Points are rows of an array, or cells of several arrays."""
    sample, weights = call.argument("sample"), call.argument("weights")
    if not isinstance(sample, np.ndarray):
        return _several(call, list(sample), weights)
    return None if sample.ndim == 1 else _several(call, list(sample.T), weights, sample)


def _several(
    call: Call, columns: list[Any], weights: Any, sample: Array | None = None
) -> Lineages | None:
    """One array per dimension, or one column of a sample."""
    counts, *edges = call.outputs
    dense = bool(call.argument("density", False))
    given, ends = _given(call, len(edges)), call.argument("range")
    where = [bins_of(column, edge) for column, edge in zip(columns, edges, strict=True)]
    first: Pairs = [(v, _counted(counts.shape, where, v, dense)) for v in (*columns, weights)]
    rest = []
    for k, (column, edge) in enumerate(zip(columns, edges, strict=True)):
        set_by = column, given[k], None if ends is None else ends[k]
        first += _through_edges(*set_by, counts.shape, k)
        rest.append([*_nothing(call), *_edges(*set_by, edge.shape)])
    per_output = [first, *rest]
    if sample is not None:
        per_output = [_of_columns(pairs, columns, sample) for pairs in per_output]
    return arrange(call, *per_output)


def _of_columns(pairs: Pairs, columns: Sequence[Array], sample: Array) -> Pairs:
    """Say of the array that has the columns what was said of each column."""
    found: Pairs = []
    for value, lineage in pairs:
        place = next((k for k, column in enumerate(columns) if column is value), None)
        if place is None or lineage is None:
            found.append((value, lineage))
            continue
        cells = part([0], [0, 1], row([(0, len(sample) - 1)], [(0, 0), (place, place)], [0, -1]))
        both = compose(lineage, product(value.shape, sample.shape, cells))
        whole = all_to_all(lineage.out_shape, sample.shape, exact=False)
        found.append((sample, whole if both is None else as_lineage(both)))
    return found


def _given(call: Call, count: int) -> list[Any]:
    """Return the ``bins`` argument per dimension: a number, or edges."""
    bins = call.argument("bins", 10)
    if not isinstance(bins, (list, tuple, np.ndarray)):
        return [bins] * count
    if call.func == np.histogram2d and len(bins) not in (1, 2):
        return [bins] * count
    return list(bins)
