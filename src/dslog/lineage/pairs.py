"""The join of a few boxes with a few rows, in one compiled loop."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

I64 = npt.NDArray[np.int64]


@njit(cache=True)
def join_pairs(
    rows: I64, ref: I64, l: int, q_lo: I64, q_hi: I64, backward: bool, query: I64, boxes: I64
) -> int:
    """Write the result of every plain row that meets a box; return how many there are.

    Backward, no row may have two inputs that refer to the same output. See ``join`` for the rules.
    """
    found = 0
    lo, hi = np.empty(l, np.int64), np.empty(l, np.int64)
    for q in range(q_lo.shape[0]):
        for r in range(rows.shape[0]):
            for j in range(l):
                lo[j], hi[j] = rows[r, j], rows[r, l + j]
            met = _clip(rows, ref, l, r, q_lo[q], q_hi[q], backward, lo, hi)
            for j in range(l):
                met = met and lo[j] <= hi[j]
            if met:
                query[found] = q
                _write(rows, ref, l, r, backward, lo, hi, boxes[found])
                found += 1
    return found


@njit(cache=True)
def _clip(  # noqa: PLR0913, PLR0917
    rows: I64, ref: I64, l: int, r: int, q_lo: I64, q_hi: I64, backward: bool, lo: I64, hi: I64
) -> bool:
    """Narrow the row's outputs to those that the box leaves; False if an input misses it."""
    if backward:
        for j in range(l):
            lo[j], hi[j] = max(lo[j], q_lo[j]), min(hi[j], q_hi[j])
        return True
    m = ref.shape[1]
    for i in range(m):
        in_lo, in_hi, j = rows[r, 2 * l + i], rows[r, 2 * l + m + i], ref[r, i]
        if j >= 0:
            lo[j], hi[j] = max(lo[j], q_lo[i] - in_hi), min(hi[j], q_hi[i] - in_lo)
        elif in_lo > q_hi[i] or in_hi < q_lo[i]:
            return False
    return True


@njit(cache=True)
def _write(rows: I64, ref: I64, l: int, r: int, backward: bool, lo: I64, hi: I64, box: I64) -> None:
    """Write the answer of a row whose outputs are clipped already."""
    if not backward:
        box[:, 0], box[:, 1] = lo, hi
        return
    m = ref.shape[1]
    for i in range(m):
        j = ref[r, i]
        box[i, 0] = rows[r, 2 * l + i] + (lo[j] if j >= 0 else 0)
        box[i, 1] = rows[r, 2 * l + m + i] + (hi[j] if j >= 0 else 0)
