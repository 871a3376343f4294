"""Rules for counting: a bin is from the cells that fell into it, and from its edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dslog.algebra.positions import from_pairs
from dslog.algebra.product import all_to_all, free, identity, part, product, row
from dslog.capture.numpy.call import Call, Lineages, arrange
from dslog.capture.numpy.registry import rule
from dslog.lineage.lineage import Lineage
from dslog.types import I64, Array, Shape

Pairs = list[tuple[Any, Lineage | None]]


@rule("numpy.bincount", kind="value", note="each count from the cells that hold its number")
def bincount(call: Call) -> Lineages | None:
    """Cell i counts for output ``x[i]``, with its weight."""
    x, weights = call.argument("x"), call.argument("weights")
    (out,) = call.outputs
    pairs: Pairs = [(x, from_pairs(x, _all(x), out.shape, np.shape(x)))]
    if weights is not None:
        pairs.append((weights, from_pairs(x, _all(weights), out.shape, np.shape(weights))))
    return arrange(call, pairs)


def _all(values: Any) -> I64:
    return np.arange(np.size(values), dtype=np.int64)


def bins_of(values: Any, edges: Array) -> I64:
    """Return the bin of each value, -1 outside; the last bin includes its upper edge."""
    values = np.asarray(values).reshape(-1)
    places = np.searchsorted(edges, values, side="right") - 1
    places[values == edges[-1]] = len(edges) - 2
    return np.where((values >= edges[0]) & (values <= edges[-1]), places, -1)


@rule("numpy.histogram", kind="value", note="each count from the cells in its bin, and its edges")
def histogram(call: Call) -> Lineages | None:
    """Counts; and edges, which are from all cells when numpy had to find the range."""
    values, bins, weights = (call.argument(name) for name in ("a", "bins", "weights"))
    counts, edges = call.outputs
    where = bins_of(values, edges)
    dense = bool(call.argument("density", False))
    first: Pairs = [(v, _counted(counts.shape, [where], v, dense)) for v in (values, weights)]
    if np.ndim(bins) == 1:
        first.append((bins, _edges_of(counts.shape, 0, np.shape(bins))))
    return arrange(call, first, _edges(call, edges.shape, values, bins, [weights]))


def _counted(out_shape: Shape, where: Sequence[I64], values: Any, dense: bool) -> Lineage | None:
    """Cells in their bins; a density divides by the number of all cells counted."""
    if values is None:
        return None
    inside = np.logical_and.reduce([w >= 0 for w in where])
    cells = np.flatnonzero(inside)
    if not dense:
        bins = np.ravel_multi_index(tuple(w[inside] for w in where), out_shape)
        return from_pairs(bins, cells, out_shape, np.shape(values))
    if len(cells) == np.size(values):
        return all_to_all(out_shape, np.shape(values))
    size = int(np.prod(out_shape))
    return from_pairs(
        np.repeat(np.arange(size), len(cells)), np.tile(cells, size), out_shape, np.shape(values)
    )


def _edges_of(out_shape: Shape, axis: int, in_shape: Shape) -> Lineage:
    """Each bin from its two edges."""
    table = row([(0, out_shape[axis] - 1)], [(0, 1)], [0])
    others = [free(j, n) for j, n in enumerate(out_shape) if j != axis]
    return product(out_shape, in_shape, part([axis], [0], table), *others)


def _edges(call: Call, shape: Shape, values: Any, bins: Any, others: Sequence[Any]) -> Pairs:
    """Edges that were given are copied; else they are from the smallest and largest cell."""
    pairs: Pairs = [(other, None) for other in others]
    if np.ndim(bins) == 1:
        return [*pairs, (values, None), (bins, identity(np.shape(bins)))]
    found = call.argument("range") is None or isinstance(bins, str)
    return [*pairs, (values, all_to_all(shape, np.shape(values)) if found else None)]


@rule("numpy.histogram_bin_edges", kind="value", note="each edge from all cells, or as given")
def histogram_bin_edges(call: Call) -> Lineages | None:
    """The edges alone."""
    values, bins, weights = (call.argument(name) for name in ("a", "bins", "weights"))
    (edges,) = call.outputs
    return arrange(call, _edges(call, edges.shape, values, bins, [weights]))


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
    if sample.ndim == 1:
        return None
    counts, *edges = call.outputs
    dense = bool(call.argument("density", False))
    where = [bins_of(sample[:, k], edge) for k, edge in enumerate(edges)]
    cells = np.arange(sample.size).reshape(sample.shape)
    inside = np.logical_and.reduce([w >= 0 for w in where])
    if dense:
        size = counts.size
        chosen = cells[inside].reshape(-1)
        lineage = from_pairs(
            np.repeat(np.arange(size), len(chosen)), np.tile(chosen, size),
            counts.shape, sample.shape,
        )  # fmt: skip
    else:
        bins = np.ravel_multi_index(tuple(w[inside] for w in where), counts.shape)
        lineage = from_pairs(
            np.repeat(bins, sample.shape[1]), cells[inside], counts.shape, sample.shape
        )
    first: Pairs = [(sample, lineage), (weights, _counted(counts.shape, where, weights, dense))]
    first += _bin_edges(call, counts.shape, len(edges))
    given = _given(call, len(edges))
    rest = []
    for k, edge in enumerate(edges):
        pairs: Pairs = [(sample, None), (weights, None), *((one, None) for one in given)]
        if np.ndim(given[k]) == 1:
            pairs.append((given[k], identity(np.shape(given[k]))))
        elif _range(call, k) is None:
            column = part([], [0, 1], row([], [(0, len(sample) - 1), (k, k)], [-1, -1]))
            every = free(0, edge.size)
            pairs.append((sample, product(edge.shape, sample.shape, every, column)))
        rest.append(pairs)
    return arrange(call, first, *rest)


def _several(call: Call, columns: list[Any], weights: Any) -> Lineages | None:
    """One array per dimension."""
    counts, *edges = call.outputs
    dense = bool(call.argument("density", False))
    where = [bins_of(column, edge) for column, edge in zip(columns, edges, strict=True)]
    first: Pairs = [(v, _counted(counts.shape, where, v, dense)) for v in (*columns, weights)]
    first += _bin_edges(call, counts.shape, len(edges))
    given = _given(call, len(edges))
    rest = []
    for k, edge in enumerate(edges):
        pairs: Pairs = [(v, None) for v in (*columns, weights, *given)]
        if np.ndim(given[k]) == 1:
            pairs.append((given[k], identity(np.shape(given[k]))))
        elif _range(call, k) is None:
            pairs.append((columns[k], all_to_all(edge.shape, np.shape(columns[k]))))
        rest.append(pairs)
    return arrange(call, first, *rest)


def _given(call: Call, count: int) -> list[Any]:
    """Return the ``bins`` argument per dimension: a number, or edges."""
    bins = call.argument("bins", 10)
    if not isinstance(bins, (list, tuple, np.ndarray)):
        return [bins] * count
    if call.func is np.histogram2d and len(bins) not in (1, 2):
        return [bins] * count
    return list(bins)


def _range(call: Call, k: int) -> Any:
    given = call.argument("range")
    return None if given is None else given[k]


def _bin_edges(call: Call, out_shape: Shape, count: int) -> Pairs:
    return [
        (one, _edges_of(out_shape, k, np.shape(one)))
        for k, one in enumerate(_given(call, count))
        if np.ndim(one) == 1
    ]
