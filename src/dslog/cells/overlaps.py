"""Which boxes overlap: a sweep along the axis where the fewest boxes meet."""

from dataclasses import dataclass

import numpy as np

from dslog.cells import kernels
from dslog.cells.merging import Ints

# Looking for a better axis stops at this many candidate pairs per box.
_GOOD_ENOUGH = 4


@dataclass(frozen=True, slots=True)
class Sweep:
    """How to pair two lists of boxes, each in order of lo on the swept axis.

    A row of `a_ranges` spans the boxes of b that start within that box of a; a row of `b_ranges`
    the boxes of a that start within that box of b but after its first cell. Every pair that meets
    on the swept axis is in exactly one of the two, so `visits` counts just the pairs that do.
    """

    a_order: Ints
    b_order: Ints
    a_ranges: Ints
    b_ranges: Ints
    visits: int

    def pairs(self, a: Ints, b: Ints) -> tuple[Ints, Ints]:
        """Indices i, j of every overlapping pair a[i], b[j]."""
        a, b = a[self.a_order], b[self.b_order]
        left, right = kernels.overlapping_pairs(a, b, self.a_ranges)
        right_too, left_too = kernels.overlapping_pairs(b, a, self.b_ranges)
        left, right = np.append(left, left_too), np.append(right, right_too)
        return self.a_order[left], self.b_order[right]


def plan_sweep(a: Ints, b: Ints) -> Sweep:
    """The cheapest sweep over two non-empty lists of boxes with at least one axis."""
    best = _sweep_axis(a, b, 0)
    for axis in range(1, a.shape[1]):
        if best.visits <= _GOOD_ENOUGH * (len(a) + len(b)):
            break
        other = _sweep_axis(a, b, axis)
        best = other if other.visits < best.visits else best
    return best


def _sweep_axis(a: Ints, b: Ints, axis: int) -> Sweep:
    a_order = np.argsort(a[:, axis, 0])
    b_order = np.argsort(b[:, axis, 0])
    a_low, a_high = a[a_order, axis].T
    b_low, b_high = b[b_order, axis].T
    a_ranges = _ranges(np.searchsorted(b_low, a_low, "left"), b_low, a_high)
    b_ranges = _ranges(np.searchsorted(a_low, b_low, "right"), a_low, b_high)
    visits = int(np.diff(a_ranges).sum() + np.diff(b_ranges).sum())
    return Sweep(a_order, b_order, a_ranges, b_ranges, visits)


def _ranges(first: Ints, starts: Ints, high: Ints) -> Ints:
    return np.stack([first, np.searchsorted(starts, high, "right")], axis=1)


@dataclass(frozen=True, slots=True)
class SelfSweep:
    """How to find overlaps within one list of boxes."""

    order: Ints
    ends: Ints
    visits: int

    def components(self, boxes: Ints) -> Ints:
        """A label per box, shared exactly by boxes connected through overlaps."""
        labels: Ints = kernels.overlap_components(boxes[self.order], self.ends)
        back = np.empty_like(labels)
        back[self.order] = labels
        return back


def plan_self_sweep(boxes: Ints) -> SelfSweep:
    """The cheapest sweep over one non-empty list of boxes with at least one axis."""
    best = _self_axis(boxes, 0)
    for axis in range(1, boxes.shape[1]):
        if best.visits <= _GOOD_ENOUGH * len(boxes):
            break
        other = _self_axis(boxes, axis)
        best = other if other.visits < best.visits else best
    return best


def _self_axis(boxes: Ints, axis: int) -> SelfSweep:
    order = np.argsort(boxes[:, axis, 0])
    low, high = boxes[order, axis].T
    ends = np.searchsorted(low, high, "right")
    visits = int((ends - np.arange(1, len(ends) + 1)).sum())
    return SelfSweep(order, ends, visits)
