"""Set algebra on lists of boxes.

A list of boxes is an int64 array of shape (k, d, 2) with inclusive ``[lo, hi]`` per axis; d may be
0, where a box is the single cell. Each operation takes the cheapest of three ways, none of which
depends on the size of the array:

* **sweep**: sort along one axis and compare only boxes that meet there;
* **slabs** (``slabs``): cut the boxes that overlap at each other's edges;
* **grid**: paint the boxes on the grid between their edges and read boxes back.

Numbering the edges on each axis turns boxes into boxes of a small array, however large the real
one is: at most (2k)**d cells, and never more than the bounding box has. The sweep goes along the
axis where the fewest boxes meet.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from dslog.cells import kernels, slabs
from dslog.cells.linear import from_flat, to_flat
from dslog.cells.mask import paint, unpaint
from dslog.cells.merge import (
    bounds,
    coalesce,
    drop_empty,
    merge_neighbours,
    sort_boxes,
    volume,
)
from dslog.types import I64, Mask


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


# Looking for a better axis stops at this many candidate pairs per box.
_GOOD_ENOUGH = 4


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
    best = _sweep_axis(a, b, 0)
    for axis in range(1, a.shape[1]):
        if best.visits <= _GOOD_ENOUGH * (len(a) + len(b)):
            break
        other = _sweep_axis(a, b, axis)
        best = other if other.visits < best.visits else best
    return best


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
    best = _self_axis(boxes, 0)
    for axis in range(1, boxes.shape[1]):
        if best.visits <= _GOOD_ENOUGH * len(boxes):
            break
        other = _self_axis(boxes, axis)
        best = other if other.visits < best.visits else best
    return best


def _self_axis(boxes: I64, axis: int) -> SelfSweep:
    order = np.argsort(boxes[:, axis, 0])
    low, high = boxes[order, axis].T
    ends = np.searchsorted(low, high, "right")
    visits = int((ends - np.arange(1, len(ends) + 1)).sum())
    return SelfSweep(order, ends, visits)


__all__ = [
    "I64",
    "Mask",
    "bounds",
    "coalesce",
    "drop_empty",
    "from_flat",
    "intersect",
    "normalise",
    "paint",
    "sort_boxes",
    "subtract",
    "to_flat",
    "unpaint",
    "volume",
]

# Grid cells per box up to which the grid beats sorting the boxes even once.
_DENSE = 128
# Grid cells that may be allocated (four bytes each while painting).
_GRID_LIMIT = 1 << 25
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
    if grid_cells(boxes) <= min(_DENSE * len(boxes), _GRID_LIMIT):
        return _unite_on_grid(boxes)
    boxes = coalesce(boxes)
    if len(boxes) < 2:
        return boxes
    sweep = plan_self_sweep(boxes)
    if grid_cells(boxes) <= min(sweep.visits, _GRID_LIMIT):
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
    cells = grid_cells(boxes)
    pieces = slabs.cut(boxes, components, cells if cells <= _GRID_LIMIT else _UNLIMITED)
    return on_grid([boxes], _same) if pieces is None else slabs.unite(pieces)


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
    if grid_cells(a, b) <= min(sweep.visits, _GRID_LIMIT):
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
    if grid_cells(a, b) <= min(sweep.visits, _GRID_LIMIT):
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
    cells = grid_cells(boxes, holes)
    rows = np.concatenate([boxes, holes])
    groups = np.concatenate([np.arange(len(boxes)), owner])
    pieces = slabs.cut(rows, groups, cells if cells <= _GRID_LIMIT else _UNLIMITED)
    if pieces is None:
        return on_grid([boxes, holes], np.greater)
    return slabs.gaps(pieces, np.arange(len(rows)) >= len(boxes))


def _same(mask: Mask) -> Mask:
    return mask


def _clip(a: I64, b: I64) -> I64:
    clipped = np.empty_like(a)
    np.maximum(a[:, :, 0], b[:, :, 0], out=clipped[:, :, 0])
    np.minimum(a[:, :, 1], b[:, :, 1], out=clipped[:, :, 1])
    return clipped
