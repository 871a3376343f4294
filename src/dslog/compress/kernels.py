"""Tight loops over raw relations: from sorted pairs to the first rows of ProvRC."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dslog.types import I64

I8 = npt.NDArray[np.int8]

SORTED, UNSORTED, SEVERAL, SCATTERED = 0, 1, 2, 3
_PROBE = 1 << 14


@njit(cache=True)
def _run_step(rel: I64, r: int, l: int) -> int:
    """Compare a sorted relation's row with the one before.

    Returns the input column that alone grew by one; -1 for another cell; -2 for another place in
    the same cell; -3 when out of order or equal.
    """
    c = rel.shape[1]
    j = 0
    while j < c and rel[r, j] == rel[r - 1, j]:
        j += 1
    if j == c or rel[r, j] < rel[r - 1, j]:
        return -3
    if j < l:
        return -1
    if rel[r, j] - rel[r - 1, j] != 1:
        return -2
    for q in range(j + 1, c):
        if rel[r, q] != rel[r - 1, q]:
            return -2
    return j


@njit(cache=True)
def _chain_bits(rel: I64, l: int, p: int, s: int) -> int:
    """Which inputs of run s moved with the last output axis since run p; -1 if s can't follow p."""
    for j in range(l - 1):
        if rel[s, j] != rel[p, j]:
            return -1
    if l == 0 or rel[s, l - 1] != rel[p, l - 1] + 1:
        return -1
    bits = 0
    for i in range(rel.shape[1] - l):
        d = rel[s, l + i] - rel[p, l + i]
        if d == 1:
            bits |= 1 << i
        elif d != 0:
            return -1
    return bits


@njit(cache=True)
def chain_cells(
    rel: I64, l: int, most: float, head: I64, times: I64, length: I64, axis: I8, pattern: I8
) -> tuple[int, int]:
    """Compress a sorted relation in which every output cell has one run of input cells.

    One pass: rows become runs along one input axis, runs become chains along the last output axis.
    A chain is written as its first row, its number of runs, the run's length and axis, and the bits
    of the inputs that move with the output. Returns (status, chains); gives up at the first sign
    of disorder, of a cell with several runs, or when early rows give more chains than ``most`` of
    them.
    """
    n = rel.shape[0]
    k = -1
    start, run_axis, prev = 0, -1, -1
    prev_len, prev_axis = 0, -1
    for r in range(1, n + 1):
        step = -1
        if r == _PROBE and k > most * r:
            return SCATTERED, 0
        if r < n:
            step = _run_step(rel, r, l)
            if step == -3:
                return UNSORTED, 0
            if step >= 0 and (run_axis == -1 or run_axis == step):
                run_axis = step
                continue
            if step != -1:
                return SEVERAL, 0
        # the run start..r-1 is complete: extend the chain, or begin one
        run_len = r - start
        bits = -1
        if prev >= 0 and run_len == prev_len and run_axis == prev_axis:
            bits = _chain_bits(rel, l, prev, start)
            if bits >= 0 and times[k] > 1 and bits != pattern[k]:
                bits = -1
        if bits >= 0:
            times[k] += 1
            pattern[k] = bits
        else:
            k += 1
            head[k], times[k], length[k], axis[k], pattern[k] = start, 1, run_len, run_axis, 0
        prev, prev_len, prev_axis = start, run_len, run_axis
        start, run_axis = r, -1
    return SORTED, k + 1


@njit(cache=True)
def write_chains(
    rel: I64,
    l: int,
    head: I64,
    times: I64,
    length: I64,
    axis: I8,
    pattern: I8,
    rows: I64,
    refs: I64,
) -> None:
    """Write the rows and refs of the chains that ``chain_cells`` found."""
    m = rel.shape[1] - l
    for k in range(rows.shape[0]):
        s = head[k]
        for j in range(l):
            rows[k, j] = rel[s, j]
            rows[k, l + j] = rel[s, j]
        if l:
            rows[k, 2 * l - 1] += times[k] - 1
        for i in range(m):
            lo = rel[s, l + i]
            hi = lo
            if axis[k] == l + i:
                hi += length[k] - 1
            ref = -1
            if (pattern[k] >> i) & 1:
                ref = l - 1
                lo -= rel[s, l - 1]
                hi -= rel[s, l - 1]
            rows[k, 2 * l + i] = lo
            rows[k, 2 * l + m + i] = hi
            refs[k, i] = ref


@njit(cache=True)
def chain_places(rel: I64, head: I64, outs: I64) -> None:
    """Write the first output cell of each chain along a vector; ``outs`` may be ``head``."""
    for k in range(head.shape[0]):
        outs[k] = rel[head[k], 0]


@njit(cache=True)
def chain_inputs(
    rel: I64, i: int, head: I64, times: I64, pattern: I8, follow: bool, values: I64
) -> int:
    """Write where input i of each chain along a vector begins; return how many are relative.

    Those that move with the output are, and with ``follow`` those of a single output cell too.
    """
    relative = 0
    for k in range(head.shape[0]):
        s = head[k]
        values[k] = rel[s, 1 + i]
        if (pattern[k] >> i) & 1 or (follow and times[k] == 1):
            values[k] -= rel[s, 0]
            relative += 1
    return relative


@njit(cache=True)
def split_cells(rel: I64, l: int, follows: I64, columns: I64) -> bool:
    """Write the inputs of a sorted relation of one input cell per output cell as columns.

    Input i is written relative to output axis ``follows[i]``, or absolutely for -1. Gives up, and
    says so, where two pairs are out of order or of the same output cell.
    """
    for r in range(rel.shape[0]):
        if r > 0 and _run_step(rel, r, l) != -1:
            return False
        for i in range(columns.shape[0]):
            j = follows[i]
            columns[i, r] = rel[r, l + i] - (rel[r, j] if j >= 0 else 0)
    return True


@njit(cache=True)
def last_axis_runs(rel: I64, l: int, starts: I64) -> int:
    """Mark where runs along the last input begin; return how many, -1 for rows out of order."""
    n, c = rel.shape
    k = 0
    for r in range(n):
        if r > 0:
            step = _run_step(rel, r, l)
            if step == -3:
                return -1
            if step == c - 1:
                continue
        starts[k] = r
        k += 1
    return k


@njit(cache=True)
def write_runs(rel: I64, l: int, starts: I64, rows: I64) -> None:
    """Write the rows of the runs that ``last_axis_runs`` found; their refs, all -1, come last."""
    n, m = len(starts), rel.shape[1] - l
    for k in range(n):
        s = starts[k]
        for j in range(l):
            rows[k, j] = rel[s, j]
            rows[k, l + j] = rel[s, j]
        for i in range(m):
            rows[k, 2 * l + i] = rel[s, l + i]
            rows[k, 2 * l + m + i] = rel[s, l + i]
            rows[k, 2 * l + 2 * m + i] = -1
        end = starts[k + 1] if k + 1 < n else rel.shape[0]
        rows[k, 2 * l + 2 * m - 1] += end - s - 1


@njit(cache=True)
def each_once(rel: I64, l: int, strides: I64, cells: int) -> bool:
    """Whether every input cell stands in exactly one pair."""
    seen = np.zeros(cells, np.bool_)
    for r in range(rel.shape[0]):
        key = 0
        for i in range(len(strides)):
            key += rel[r, l + i] * strides[i]
        if seen[key]:
            return False
        seen[key] = True
    return rel.shape[0] == cells


@njit(cache=True)
def linear_column(rel: I64, first: int, strides: I64, view: I64, at: int) -> None:
    """Write the linear cell of the columns from ``first`` on into column ``at`` of a view."""
    for r in range(rel.shape[0]):
        key = 0
        for k in range(len(strides)):
            key += rel[r, first + k] * strides[k]
        view[r, at] = key
