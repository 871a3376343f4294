"""Set algebra on lists of boxes.

A list of boxes is an int64 array of shape (k, d, 2) with inclusive ``[lo, hi]`` per axis; d may be
0, where a box is the single cell. Each operation takes the cheapest of three ways, none of which
depends on the size of the array:

* **sweep** (``overlaps``): sort along one axis and compare only boxes that meet there;
* **slabs** (``slabs``): cut the boxes that overlap at each other's edges;
* **grid** (``grid``): paint the boxes on the grid between their edges and read boxes back.
"""

import numpy as np

from dslog.cells import slabs
from dslog.cells.flat import from_flat, to_flat
from dslog.cells.grid import grid_cells, on_grid
from dslog.cells.masks import Mask, paint, unpaint
from dslog.cells.merging import (
    Ints,
    bounds,
    coalesce,
    drop_empty,
    merge_neighbours,
    sort_boxes,
    volume,
)
from dslog.cells.overlaps import plan_self_sweep, plan_sweep

__all__ = [
    "Ints",
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


def normalise(boxes: Ints) -> Ints:
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


def _unite(boxes: Ints) -> Ints:
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


def _unite_on_grid(boxes: Ints) -> Ints:
    """Paint the union; but boxes that turn out to be disjoint, and fewer, are good as they are."""
    united = on_grid([boxes], _same)
    if len(united) > len(boxes) and volume(united) == volume(boxes):
        return coalesce(boxes)
    return united


def _untangle(boxes: Ints, components: Ints) -> Ints:
    """Disjoint boxes of the union, where boxes of different components don't overlap."""
    cells = grid_cells(boxes)
    pieces = slabs.cut(boxes, components, cells if cells <= _GRID_LIMIT else _UNLIMITED)
    return on_grid([boxes], _same) if pieces is None else slabs.unite(pieces)


def intersect(a: Ints, b: Ints) -> Ints:
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


def subtract(a: Ints, b: Ints) -> Ints:
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


def _pierce(boxes: Ints, owner: Ints, holes: Ints) -> Ints:
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


def _clip(a: Ints, b: Ints) -> Ints:
    clipped = np.empty_like(a)
    np.maximum(a[:, :, 0], b[:, :, 0], out=clipped[:, :, 0])
    np.minimum(a[:, :, 1], b[:, :, 1], out=clipped[:, :, 1])
    return clipped
