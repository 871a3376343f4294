"""Cut overlapping boxes at each other's edges until one axis is left.

After the cuts, two pieces of a group are either equal or disjoint on every axis but the last. What
is left is a plain interval problem within each slab: unite intervals, or take the gaps.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dslog.cells.merge import lexicographic_order, merge_axis
from dslog.types import I64


@dataclass(frozen=True, slots=True)
class Slabs:
    """Pieces of boxes, the slab each lies in, and the row of the box it was cut from."""

    pieces: I64
    slab: I64
    source: I64


def cut(boxes: I64, groups: I64, limit: int) -> Slabs | None:
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
        total = int(copies.sum())
        if total > limit:
            return None
        row = np.repeat(np.arange(len(pieces)), copies)
        # The k-th piece of a box lies between its k-th edge and the next one of its group.
        slab = np.arange(total) + np.repeat(first - (np.cumsum(copies) - copies), copies)
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


def unite(slabs: Slabs) -> I64:
    """Disjoint boxes of all pieces: merge intervals on the last axis within each slab."""
    return merge_axis(slabs.pieces, slabs.pieces.shape[1] - 1)


def gaps(slabs: Slabs, hole: npt.NDArray[np.bool_]) -> I64:
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
