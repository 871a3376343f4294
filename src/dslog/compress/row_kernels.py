"""Tight loops over compressed rows: sorting, merging, linking and folding them.

Matrices of rows have the columns out_lo, out_hi, in_lo, in_hi, ref (l, l, m, m, m of them), unless
refs come apart.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dslog.types import I64

_LOOK = 64


@njit(cache=True)
def is_sorted(rows: I64, columns: I64) -> bool:
    """Whether the rows are in lexicographic order of the given columns."""
    for r in range(1, rows.shape[0]):
        for c in columns:
            if rows[r, c] != rows[r - 1, c]:
                if rows[r, c] < rows[r - 1, c]:
                    return False
                break
    return True


@njit(cache=True)
def key_spans(rows: I64, plan: I64) -> I64:
    """Least value and number of values of each sort column, a (column, counted from) pair or -1."""
    spans = np.empty((plan.shape[0], 2), np.int64)
    for k in range(plan.shape[0]):
        c, base = plan[k]
        low = high = rows[0, c] - (rows[0, base] if base >= 0 else 0)
        for r in range(rows.shape[0]):
            v = rows[r, c] - (rows[r, base] if base >= 0 else 0)
            low = min(low, v)
            high = max(high, v)
        spans[k, 0], spans[k, 1] = low, high - low + 1
    return spans


@njit(cache=True)
def sort_keys(rows: I64, plan: I64, spans: I64) -> I64:
    """Pack the sort columns of each row into one integer that sorts like them."""
    keys = np.zeros(rows.shape[0], np.int64)
    for r in range(rows.shape[0]):
        key = 0
        for k in range(plan.shape[0]):
            c, base = plan[k]
            v = rows[r, c] - (rows[r, base] if base >= 0 else 0)
            key = key * spans[k, 1] + (v - spans[k, 0])
        keys[r] = key
    return keys


@njit(cache=True)
def merge_ranges(rows: I64, lo: int, hi: int) -> int:
    """Unite neighbouring rows that agree on all columns but one interval that touches or overlaps.

    The rows must be sorted by all other columns, then by ``lo``. Works in place, returns the rows
    that remain.
    """
    n, c = rows.shape
    k = 0
    for r in range(1, n):
        same = rows[r, lo] <= rows[k, hi] + 1
        if same:
            for q in range(c):
                if q not in (lo, hi) and rows[r, q] != rows[k, q]:
                    same = False
                    break
        if same:
            if rows[r, hi] > rows[k, hi]:
                rows[k, hi] = rows[r, hi]
        else:
            k += 1
            if k != r:
                rows[k] = rows[r]
    return min(n, k + 1)


@njit(cache=True)
def _same_others(rows: I64, l: int, j: int, p: int, r: int) -> bool:
    for k in range(l):
        if k != j and (rows[p, k] != rows[r, k] or rows[p, l + k] != rows[r, l + k]):
            return False
    return True


@njit(cache=True)
def _compare(rows: I64, l: int, m: int, p: int, r: int, bits: int, shift: int) -> int:
    """Order of row p, its inputs in ``bits`` moved by ``shift``, against row r."""
    for i in range(m):
        c = 2 * l + 2 * m + i
        if rows[p, c] != rows[r, c]:
            return -1 if rows[p, c] < rows[r, c] else 1
    for half in range(2):
        for i in range(m):
            c = 2 * l + half * m + i
            v = rows[p, c]
            if (bits >> i) & 1 and rows[p, 2 * l + 2 * m + i] == -1:
                v += shift
            if v != rows[r, c]:
                return -1 if v < rows[r, c] else 1
    return 0


@njit(cache=True)
def _link_slabs(
    rows: I64,
    l: int,
    m: int,
    j: int,
    s0: int,
    s1: int,
    t0: int,
    t1: int,
    pattern: I64,
    after: I64,
    before: I64,
) -> None:
    """Link rows of slab s0..s1 to rows of the following slab t0..t1, pattern by pattern."""
    shift = rows[t0, j] - rows[s0, j]
    for bits in range(1 << m):
        p, r = s0, t0
        while p < s1 and r < t1:
            if after[p] >= 0 or (pattern[p] >= 0 and pattern[p] != bits):
                p += 1
                continue
            if before[r] >= 0 or (pattern[r] >= 0 and pattern[r] != bits):
                r += 1
                continue
            order = _compare(rows, l, m, p, r, bits, shift)
            if order == 0:
                after[p], before[r] = r, p
                pattern[p] = bits
                pattern[r] = bits
                p += 1
                r += 1
            elif order < 0:
                p += 1
            else:
                r += 1


@njit(cache=True)
def link_rows(
    rows: I64,
    l: int,
    m: int,
    j: int,
    slabs: I64,
    pattern: I64,
    after: I64,
    before: I64,
) -> int:
    """Link each row to the row that continues it on output axis j; return the number of links.

    Rows are sorted by the other outputs, then the interval on j, then refs and inputs; ``slabs``
    marks where that interval or the other outputs change. Inputs are absolute at the row's lower
    end on j. A row follows another when the other outputs are equal, its interval starts where the
    other's ends, and each input agrees absolutely or moved along (``pattern``, the bits of the
    inputs that move). A chain keeps one pattern throughout.
    """
    count = len(slabs) - 1
    links = 0
    for s in range(count):
        s0, s1 = slabs[s], slabs[s + 1]
        goal = rows[s0, l + j] + 1
        t = s + 1
        if t < count and _same_others(rows, l, j, s0, slabs[t]) and rows[slabs[t], j] < goal:
            low, high = t, count  # leap over slabs that start inside this one
            while low < high:
                mid = (low + high) // 2
                at = slabs[mid]
                if _same_others(rows, l, j, s0, at) and rows[at, j] < goal:
                    low = mid + 1
                else:
                    high = mid
            t = low
        while t < count and rows[slabs[t], j] == goal and _same_others(rows, l, j, s0, slabs[t]):
            _link_slabs(rows, l, m, j, s0, s1, slabs[t], slabs[t + 1], pattern, after, before)
            t += 1
    for r in range(rows.shape[0]):
        if after[r] >= 0:
            links += 1
    return links


@njit(cache=True)
def find_slabs(rows: I64, l: int, j: int, slabs: I64) -> int:
    """Mark where the outputs change; return the number of slabs."""
    k = 0
    for r in range(rows.shape[0]):
        if r > 0:
            p = r - 1
            if (
                rows[p, j] == rows[r, j]
                and rows[p, l + j] == rows[r, l + j]
                and _same_others(rows, l, j, p, r)
            ):
                continue
        slabs[k] = r
        k += 1
    slabs[k] = rows.shape[0]
    return k


@njit(cache=True)
def collapse(rows: I64, l: int, m: int, j: int, pattern: I64, after: I64, before: I64) -> int:
    """Replace each chain by one row; inputs that move with axis j become relative to it.

    Works in place: a chain's rows come after its first, so nothing is read after it is overwritten.
    """
    k = 0
    for r in range(rows.shape[0]):
        if before[r] >= 0:
            continue
        tail = r
        while after[tail] >= 0:
            tail = after[tail]
        last = rows[tail, l + j]
        if k != r:
            rows[k] = rows[r]
        rows[k, l + j] = last
        if pattern[r] > 0:
            for i in range(m):
                c = 2 * l + 2 * m + i
                if (pattern[r] >> i) & 1 and rows[k, c] == -1:
                    rows[k, c] = j
                    rows[k, 2 * l + i] -= rows[k, j]
                    rows[k, 2 * l + m + i] -= rows[k, j]
        k += 1
    return k


@njit(cache=True)
def begin_pass(rows: I64, l: int, m: int, j: int, pattern: I64) -> None:
    """Make inputs that refer to axis j absolute at the row's lower end there.

    ``pattern`` becomes the bits of the inputs that move with j; -1 for a row of one cell on j,
    which may still take any.
    """
    for r in range(rows.shape[0]):
        pattern[r] = 0
        for i in range(m):
            c = 2 * l + 2 * m + i
            if rows[r, c] == j:
                pattern[r] |= 1 << i
                rows[r, 2 * l + i] += rows[r, j]
                rows[r, 2 * l + m + i] += rows[r, j]
                rows[r, c] = -1
        if rows[r, j] == rows[r, l + j]:
            pattern[r] = -1


@njit(cache=True)
def progressions(rows: I64, ref: I64, head: I64, times: I64, least: I64) -> int:
    """Cut rows into arithmetic progressions, greedily from the front.

    ``rows`` holds every column that may step (fold counts and inner steps, which may not, belong
    into ``ref``). A progression has at least ``least`` of its first row. Writes the first row and
    the length of each; a row in none has length 1.
    """
    n = rows.shape[0]
    k = 0
    r = 0
    while r < n:
        end = r + 1
        if end < n and _same_row(ref, r, end):
            end += 1
            while end < n and _same_row(ref, r, end) and _same_step(rows, r, end):
                end += 1
        if end - r < least[r]:
            end = r + 1
        head[k], times[k] = r, end - r
        k += 1
        r = end
    return k


@njit(cache=True)
def _same_row(ref: I64, p: int, r: int) -> bool:
    for i in range(ref.shape[1]):
        if ref[p, i] != ref[r, i]:
            return False
    return True


@njit(cache=True)
def _same_step(rows: I64, first: int, r: int) -> bool:
    for c in range(rows.shape[1]):
        if rows[r, c] - rows[r - 1, c] != rows[first + 1, c] - rows[first, c]:
            return False
    return True


@njit(cache=True)
def _first_at_or_after(rows: I64, columns: I64, target: I64) -> int:
    """The first row, of rows sorted by some columns, that is not below the target on them."""
    low, high = 0, rows.shape[0]
    while low < high:
        mid = (low + high) // 2
        less = False
        for k in range(columns.shape[0]):
            value = rows[mid, columns[k]]
            if value != target[k]:
                less = value < target[k]
                break
        if less:
            low = mid + 1
        else:
            high = mid
    return low


@njit(cache=True)
def sample_links(rows: I64, refs: I64, l: int, j: int, samples: I64) -> int:
    """Count the sampled rows that some row continues on output axis j.

    The rows must be sorted by their lower ends on the output axes and hold no relation to j yet.
    """
    hits = 0
    m = refs.shape[1]
    columns = np.arange(l)
    target = np.empty(l, np.int64)
    for p in samples:
        for k in range(l):
            target[k] = rows[p, k]
        target[j] = rows[p, l + j] + 1
        r = _first_at_or_after(rows, columns, target)
        last = r + _LOOK
        while r < rows.shape[0] and rows[r, j] == target[j] and _same_others(rows, l, j, p, r):
            agree = True
            for i in range(m):
                lo, hi = 2 * l + i, 2 * l + m + i
                d = rows[r, lo] - rows[p, lo]
                moved = d == rows[r, j] - rows[p, j] and refs[p, i] == -1
                same = refs[r, i] == refs[p, i] and rows[r, hi] - rows[p, hi] == d
                agree &= same and (d == 0 or moved)
            if agree or r == last:  # too many to look at: let the pass find out
                hits += 1
                break
            r += 1
    return hits


@njit(cache=True)
def sample_cells(rows: I64, l: int, j: int, samples: I64) -> int:
    """Count the sampled rows that some row continues on output axis j, with one input axis.

    The rows must be sorted by their lower ends, outputs first, and hold no references: however many
    rows an output cell has, the one that could continue another is found by halving.
    """
    hits = 0
    columns = np.arange(l + 1)
    columns[l] = 2 * l  # the lower end of the input
    target = np.empty(l + 1, np.int64)
    for p in samples:
        for moved in range(2):
            for k in range(l):
                target[k] = rows[p, k]
            target[j] = rows[p, l + j] + 1
            shift = (target[j] - rows[p, j]) * moved
            target[l] = rows[p, 2 * l] + shift
            r = _first_at_or_after(rows, columns, target)
            if r == rows.shape[0] or rows[r, 2 * l] != target[l] or rows[r, j] != target[j]:
                continue
            if _same_others(rows, l, j, p, r) and rows[r, 2 * l + 1] == rows[p, 2 * l + 1] + shift:
                hits += 1
                break
    return hits


@njit(cache=True)
def make_relative(rows: I64, refs: I64, l: int, i: int, j: int) -> None:
    """Write input i relative to output axis j in every row where that changes nothing."""
    lo, hi = 2 * l + i, 2 * l + refs.shape[1] + i
    for r in range(rows.shape[0]):
        if refs[r, i] == -1 and rows[r, j] == rows[r, l + j]:
            refs[r, i] = j
            rows[r, lo] -= rows[r, j]
            rows[r, hi] -= rows[r, j]


@njit(cache=True)
def uses_ref(refs: I64, l: int) -> npt.NDArray[np.bool_]:
    """Which output axes an input refers to in some row."""
    used = np.zeros(l + 1, np.bool_)  # the last entry answers for -1
    for ref in refs:
        used[ref] = True
    return used[:l]
