"""Set algebra on lists of boxes that may overlap: unite, intersect, subtract.

Each operation takes the cheapest of three ways, none of which depends on the size of the array:

* **sweep**: sort along one axis and compare only boxes that meet there;
* **slabs**: cut the boxes that overlap at each other's edges;
* **grid**: paint the boxes on the grid between their edges and read boxes back.

Numbering the edges on each axis turns boxes into boxes of a small array, however large the real
one is: at most (2k)**d cells, and never more than the bounding box has. The sweep goes along the
axis where the fewest boxes meet. After the cuts of slabs, two pieces of a group are either equal or
disjoint on every axis but the last: what is left is a plain interval problem within each slab,
unite intervals or take the gaps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TypeVar

import numpy as np

from dslog.cells import kernels
from dslog.cells.boxes import (
    bounds,
    coalesce,
    count_up,
    drop_empty,
    lexicographic_order,
    merge_axis,
    merge_neighbours,
    paint,
    unpaint,
    volume,
)
from dslog.cells.cells_cost import CellsCost
from dslog.types import I64, Mask

_UNLIMITED = 1 << 62


def normalise(boxes: I64) -> I64:
    """Disjoint, merged boxes that cover the same cells, sorted by lower corner.

    >>> normalise(np.array([[[0, 5]], [[3, 9]], [[20, 20]]])).tolist()
    [[[0, 9]], [[20, 20]]]
    """
    boxes = drop_empty(boxes)
    if len(boxes) < 2 or boxes.shape[1] < 2:
        return coalesce(boxes)
    if (boxes[1:, 0, 0] > boxes[:-1, 0, 1]).all():
        # in order along the first axis: none overlap, and only neighbours can merge
        return merge_neighbours(boxes, 0)
    return _unite(boxes)


def _unite(boxes: I64) -> I64:
    """Disjoint, merged boxes of at least two that may overlap in any way."""
    cost = CellsCost.current()
    if grid_cells(boxes) <= min(cost.dense * len(boxes), cost.grid_cells):
        return _unite_on_grid(boxes)
    boxes = coalesce(boxes)
    if len(boxes) < 2:
        return boxes
    sweep = plan_self_sweep(boxes)
    if grid_cells(boxes) <= min(sweep.visits, cost.grid_cells):
        return _unite_on_grid(boxes)
    labels = sweep.components(boxes)
    shared = np.bincount(labels, minlength=len(boxes))[labels] > 1
    if not shared.any():
        return boxes
    apart = _untangle(boxes[shared], labels[shared])
    return coalesce(np.concatenate([boxes[~shared], apart]))


def _unite_on_grid(boxes: I64) -> I64:
    """Paint the union; but boxes that turn out to be disjoint, and fewer, are good as they are."""
    united = on_grid([boxes], _same)
    if len(united) > len(boxes) and volume(united) == volume(boxes):
        return coalesce(boxes)
    return united


def _untangle(boxes: I64, components: I64) -> I64:
    """Disjoint boxes of the union, where boxes of different components don't overlap."""
    pieces = cut_slabs(boxes, components, _most_pieces(boxes))
    return on_grid([boxes], _same) if pieces is None else unite_slabs(pieces)


def _most_pieces(*lists: I64) -> int:
    """The number of pieces at which the grid is cheaper than slabs."""
    cells = grid_cells(*lists)
    return cells if cells <= CellsCost.current().grid_cells else _UNLIMITED


def intersect(a: I64, b: I64) -> I64:
    """The cells in both lists; each list is disjoint, and so is the result.

    >>> intersect(np.array([[[0, 5], [0, 5]]]), np.array([[[3, 9], [5, 7]]])).tolist()
    [[[3, 5], [5, 5]]]
    """
    if len(a) == 0 or len(b) == 0:
        return a[:0]
    if a.shape[1] == 0:
        return a[:1]
    sweep = plan_sweep(a, b)
    if grid_cells(a, b) <= min(sweep.visits, CellsCost.current().grid_cells):
        return on_grid([a, b], np.logical_and)
    left, right = sweep.pairs(a, b)
    return coalesce(_clip(a[left], b[right]))


def subtract(a: I64, b: I64) -> I64:
    """The cells of a that are not in b; each list is disjoint, and so is the result.

    >>> subtract(np.array([[[0, 9]]]), np.array([[[3, 4]], [[9, 12]]])).tolist()
    [[[0, 2]], [[5, 8]]]
    """
    if len(a) == 0 or len(b) == 0:
        return a
    if a.shape[1] == 0:
        return a[:0]
    sweep = plan_sweep(a, b)
    if grid_cells(a, b) <= min(sweep.visits, CellsCost.current().grid_cells):
        return on_grid([a, b], np.greater)
    left, right = sweep.pairs(a, b)
    hit = np.zeros(len(a), np.bool_)
    hit[left] = True
    if not hit.any():
        return a
    rest = _pierce(a[hit], np.cumsum(hit)[left] - 1, _clip(a[left], b[right]))
    return coalesce(np.concatenate([a[~hit], rest]))


def _pierce(boxes: I64, owner: I64, holes: I64) -> I64:
    """What is left of disjoint boxes after cutting holes; holes[i] lies inside boxes[owner[i]]."""
    rows = np.concatenate([boxes, holes])
    groups = np.concatenate([np.arange(len(boxes)), owner])
    pieces = cut_slabs(rows, groups, _most_pieces(boxes, holes))
    if pieces is None:
        return on_grid([boxes, holes], np.greater)
    return slab_gaps(pieces, np.arange(len(rows)) >= len(boxes))


def _same(mask: Mask) -> Mask:
    return mask


def _clip(a: I64, b: I64) -> I64:
    clipped = np.empty_like(a)
    np.maximum(a[:, :, 0], b[:, :, 0], out=clipped[:, :, 0])
    np.minimum(a[:, :, 1], b[:, :, 1], out=clipped[:, :, 1])
    return clipped


# the grid


def grid_cells(*lists: I64) -> int:
    """An upper bound on the number of grid cells, without looking for the edges."""
    around = bounds(np.concatenate([bounds(boxes)[None] for boxes in lists]))
    edges = 2 * sum(len(boxes) for boxes in lists)
    return prod(min(int(high) - int(low) + 1, edges) for low, high in around)


def on_grid(lists: Sequence[I64], combine: Callable[..., Mask]) -> I64:
    """Paint each list on the common grid, combine the masks, and read disjoint boxes back."""
    around = bounds(np.concatenate([bounds(boxes)[None] for boxes in lists]))
    numbered = [np.empty_like(boxes) for boxes in lists]
    axes = [_number_axis(lists, numbered, axis, around[axis]) for axis in range(len(around))]
    shape = tuple(len(edges) - 1 for edges in axes)
    boxes = unpaint(combine(*(paint(part, shape) for part in numbered)))
    for axis, edges in enumerate(axes):
        boxes[:, axis, 1] = edges[boxes[:, axis, 1] + 1] - 1
        boxes[:, axis, 0] = edges[boxes[:, axis, 0]]
    return boxes


def _number_axis(lists: Sequence[I64], numbered: list[I64], axis: int, around: I64) -> I64:
    """Write the grid coordinates of one axis into `numbered`; return its edges, low to high."""
    low, high = int(around[0]), int(around[1])
    if high - low < 2 * sum(len(boxes) for boxes in lists):
        for boxes, part in zip(lists, numbered, strict=True):
            part[:, axis] = boxes[:, axis] - low
        return np.arange(low, high + 2)
    sides = [side for boxes in lists for side in (boxes[:, axis, 0], boxes[:, axis, 1] + 1)]
    edges = np.unique(np.concatenate(sides))
    for boxes, part in zip(lists, numbered, strict=True):
        part[:, axis, 0] = np.searchsorted(edges, boxes[:, axis, 0])
        part[:, axis, 1] = np.searchsorted(edges, boxes[:, axis, 1] + 1) - 1
    return edges


# the sweep


@dataclass(frozen=True, slots=True)
class Sweep:
    """How to pair two lists of boxes, each in order of lo on the swept axis.

    A row of `a_ranges` spans the boxes of b that start within that box of a; a row of `b_ranges`
    the boxes of a that start within that box of b but after its first cell. Every pair that meets
    on the swept axis is in exactly one of the two, so `visits` counts just the pairs that do.
    """

    a_order: I64
    b_order: I64
    a_ranges: I64
    b_ranges: I64
    visits: int

    def pairs(self, a: I64, b: I64) -> tuple[I64, I64]:
        """Indices i, j of every overlapping pair a[i], b[j]."""
        a, b = a[self.a_order], b[self.b_order]
        left, right = kernels.overlapping_pairs(a, b, self.a_ranges)
        right_too, left_too = kernels.overlapping_pairs(b, a, self.b_ranges)
        left, right = np.append(left, left_too), np.append(right, right_too)
        return self.a_order[left], self.b_order[right]


def plan_sweep(a: I64, b: I64) -> Sweep:
    """The cheapest sweep over two non-empty lists of boxes with at least one axis."""
    return _cheapest(partial(_sweep_axis, a, b), a.shape[1], len(a) + len(b))


def _sweep_axis(a: I64, b: I64, axis: int) -> Sweep:
    a_order = np.argsort(a[:, axis, 0])
    b_order = np.argsort(b[:, axis, 0])
    a_low, a_high = a[a_order, axis].T
    b_low, b_high = b[b_order, axis].T
    a_ranges = _ranges(np.searchsorted(b_low, a_low, "left"), b_low, a_high)
    b_ranges = _ranges(np.searchsorted(a_low, b_low, "right"), a_low, b_high)
    visits = int(np.diff(a_ranges).sum() + np.diff(b_ranges).sum())
    return Sweep(a_order, b_order, a_ranges, b_ranges, visits)


def _ranges(first: I64, starts: I64, high: I64) -> I64:
    return np.stack([first, np.searchsorted(starts, high, "right")], axis=1)


@dataclass(frozen=True, slots=True)
class SelfSweep:
    """How to find overlaps within one list of boxes."""

    order: I64
    ends: I64
    visits: int

    def components(self, boxes: I64) -> I64:
        """A label per box, shared exactly by boxes connected through overlaps."""
        labels: I64 = kernels.overlap_components(boxes[self.order], self.ends)
        back = np.empty_like(labels)
        back[self.order] = labels
        return back


def plan_self_sweep(boxes: I64) -> SelfSweep:
    """The cheapest sweep over one non-empty list of boxes with at least one axis."""
    return _cheapest(partial(_self_axis, boxes), boxes.shape[1], len(boxes))


AnySweep = TypeVar("AnySweep", Sweep, SelfSweep)


def _cheapest(sweep: Callable[[int], AnySweep], axes: int, boxes: int) -> AnySweep:
    """Try the axes in turn, until one is good enough."""
    best, good = sweep(0), CellsCost.current().good_sweep * boxes
    for axis in range(1, axes):
        if best.visits <= good:
            break
        best = min(best, sweep(axis), key=lambda one: one.visits)
    return best


def _self_axis(boxes: I64, axis: int) -> SelfSweep:
    order = np.argsort(boxes[:, axis, 0])
    low, high = boxes[order, axis].T
    ends = np.searchsorted(low, high, "right")
    visits = int((ends - np.arange(1, len(ends) + 1)).sum())
    return SelfSweep(order, ends, visits)


# slabs


@dataclass(frozen=True, slots=True)
class Slabs:
    """Pieces of boxes, the slab each lies in, and the row of the box it was cut from."""

    pieces: I64
    slab: I64
    source: I64


def cut_slabs(boxes: I64, groups: I64, limit: int) -> Slabs | None:
    """Cut boxes at the edges of their own group only; None if that takes more than `limit` pieces.

    Groups are small non-negative integers, one per box.
    """
    source = np.arange(len(boxes))
    pieces, slab = boxes, groups
    for axis in range(boxes.shape[1] - 1):
        low, past = pieces[:, axis, 0], pieces[:, axis, 1] + 1
        number, edges = _number_edges(slab, low, past)
        first, stop = number[: len(pieces)], number[len(pieces) :]
        copies = stop - first
        if int(copies.sum()) > limit:
            return None
        # The k-th piece of a box lies between its k-th edge and the next one of its group.
        row, piece = count_up(copies)
        slab = first[row] + piece
        pieces, source = pieces[row], source[row]
        pieces[:, axis, 0] = edges[slab]
        pieces[:, axis, 1] = edges[slab + 1] - 1
    return Slabs(pieces, slab, source)


def _number_edges(slab: I64, low: I64, past: I64) -> tuple[I64, I64]:
    """The rank of every (slab, edge) among the distinct ones, and the edges by rank."""
    slabs = np.concatenate([slab, slab])
    edges = np.concatenate([low, past])
    order = lexicographic_order([slabs, edges])
    slabs, edges = slabs[order], edges[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (slabs[1:] != slabs[:-1]) | (edges[1:] != edges[:-1])
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(new) - 1
    return number, edges[new]


def unite_slabs(slabs: Slabs) -> I64:
    """Disjoint boxes of all pieces: merge intervals on the last axis within each slab."""
    return merge_axis(slabs.pieces, slabs.pieces.shape[1] - 1)


def slab_gaps(slabs: Slabs, hole: Mask) -> I64:
    """What the holes leave of their slab's outer box.

    `hole` marks the source rows that are holes. Each slab has exactly one outer piece, and its
    holes are disjoint and lie inside it.
    """
    inner = hole[slabs.source].astype(np.int64)
    order = lexicographic_order([slabs.slab, inner, slabs.pieces[:, -1, 0]])
    pieces, outer = slabs.pieces[order], inner[order] == 0
    last = np.append(outer[1:], True)
    slab_end = pieces[outer, -1, 1][np.cumsum(outer) - 1]
    # An outer piece opens the gap before the first hole, a hole the gap behind itself.
    result = pieces
    result[:, -1, 0] = np.where(outer, pieces[:, -1, 0], pieces[:, -1, 1] + 1)
    result[:, -1, 1] = np.where(last, slab_end, np.append(slabs.pieces[order][1:, -1, 0], 0) - 1)
    return result[result[:, -1, 0] <= result[:, -1, 1]]
