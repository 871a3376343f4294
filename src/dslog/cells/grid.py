"""Boxes on the grid between their own edges: set algebra by painting.

Numbering the edges on each axis turns boxes into boxes of a small array, however large the real
one is: at most (2k)**d cells, and never more than the bounding box has.
"""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from dslog.cells.masks import Mask, paint, unpaint
from dslog.cells.merging import Ints, bounds


def grid_cells(*lists: Ints) -> int:
    """An upper bound on the number of grid cells, without looking for the edges."""
    around = bounds(np.concatenate([bounds(boxes)[None] for boxes in lists]))
    edges = 2 * sum(len(boxes) for boxes in lists)
    return prod(min(int(high) - int(low) + 1, edges) for low, high in around)


def on_grid(lists: Sequence[Ints], combine: Callable[..., Mask]) -> Ints:
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


def _number_axis(lists: Sequence[Ints], numbered: list[Ints], axis: int, around: Ints) -> Ints:
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
