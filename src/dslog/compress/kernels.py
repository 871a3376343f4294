"""Tight loops of ProvRC: from sorted pairs to first rows, then sorting, linking and folding rows.

Raw relations are ``rel[pair, column]``. Rows of a table are ``columns[column, row]``, numbered as
in ``lineage.table``: lower ends of all axes, outputs first, then widths, then refs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dslog.kernel import kernel
from dslog.types import I64

I8 = npt.NDArray[np.int8]

SORTED, UNSORTED, SEVERAL, SCATTERED = 0, 1, 2, 3


@kernel
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


@kernel
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


@kernel
def chain_cells(
    rel: I64,
    l: int,
    most: float,
    probe: int,
    head: I64,
    times: I64,
    length: I64,
    axis: I8,
    pattern: I8,
) -> tuple[int, int]:
    """Compress a sorted relation in which every output cell has one run of input cells.

    One pass: rows become runs along one input axis, runs become chains along the last output axis.
    A chain is written as its first row, its number of runs, the run's length and axis, and the bits
    of the inputs that move with the output. Returns (status, chains); gives up at the first sign
    of disorder, of a cell with several runs, or when the first ``probe`` pairs give more chains
    than a share of ``most``.
    """
    n = rel.shape[0]
    k = -1
    start, run_axis, prev = 0, -1, -1
    prev_len, prev_axis = 0, -1
    for r in range(1, n + 1):
        step = -1
        if r == probe and k > most * r:
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


@kernel
def write_chains(
    rel: I64, l: int, head: I64, times: I64, length: I64, axis: I8, pattern: I8, columns: I64
) -> None:
    """Write the columns of the chains that ``chain_cells`` found."""
    axes = rel.shape[1]
    for k in range(columns.shape[1]):
        s = head[k]
        for x in range(axes):
            columns[x, k] = rel[s, x]
            columns[axes + x, k] = length[k] - 1 if axis[k] == x else 0
        if l:
            columns[axes + l - 1, k] = times[k] - 1
        for i in range(axes - l):
            columns[2 * axes + i, k] = -1
            if (pattern[k] >> i) & 1:
                columns[2 * axes + i, k] = l - 1
                columns[l + i, k] -= rel[s, l - 1]


@kernel
def chain_places(rel: I64, head: I64, outs: I64) -> None:
    """Write the first output cell of each chain along a vector; ``outs`` may be ``head``."""
    for k in range(head.shape[0]):
        outs[k] = rel[head[k], 0]


@kernel
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


@kernel
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


@kernel
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


@kernel
def write_runs(rel: I64, l: int, starts: I64, columns: I64) -> None:
    """Write the rows of the runs that ``last_axis_runs`` found, all of them absolute."""
    n, axes = len(starts), rel.shape[1]
    for k in range(n):
        s = starts[k]
        for x in range(axes):
            columns[x, k] = rel[s, x]
            columns[axes + x, k] = 0
        for i in range(axes - l):
            columns[2 * axes + i, k] = -1
        end = starts[k + 1] if k + 1 < n else rel.shape[0]
        columns[2 * axes - 1, k] = end - s - 1


@kernel
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


@kernel
def linear_column(rel: I64, first: int, strides: I64, view: I64, at: int) -> None:
    """Write the linear cell of the columns from ``first`` on into column ``at`` of a view."""
    for r in range(rel.shape[0]):
        key = 0
        for k in range(len(strides)):
            key += rel[r, first + k] * strides[k]
        view[r, at] = key


@kernel
def is_sorted(columns: I64, order: I64) -> bool:
    """Whether the rows are in lexicographic order of some columns."""
    for r in range(1, columns.shape[1]):
        for c in order:
            if columns[c, r] != columns[c, r - 1]:
                if columns[c, r] < columns[c, r - 1]:
                    return False
                break
    return True


@kernel
def merge_ranges(columns: I64, axis: int, axes: int) -> int:
    """Unite neighbouring rows that agree on all but one interval that touches or overlaps.

    The rows must be sorted by all other columns, then by where the interval begins. Works in place,
    returns the rows that remain.
    """
    c, n = columns.shape
    wide = axes + axis
    k = 0
    for r in range(1, n):
        end = columns[axis, k] + columns[wide, k]
        alike = columns[axis, r] <= end + 1
        if alike:
            for q in range(c):
                if q != axis and q != wide and columns[q, r] != columns[q, k]:
                    alike = False
                    break
        if alike:
            if columns[axis, r] + columns[wide, r] > end:
                columns[wide, k] = columns[axis, r] + columns[wide, r] - columns[axis, k]
        else:
            k += 1
            if k != r:
                for q in range(c):
                    columns[q, k] = columns[q, r]
    return min(n, k + 1)


@kernel
def _same_others(columns: I64, l: int, axes: int, j: int, p: int, r: int) -> bool:
    """Whether two rows say the same of all outputs but j."""
    for k in range(l):
        if k != j and (
            columns[k, p] != columns[k, r] or columns[axes + k, p] != columns[axes + k, r]
        ):
            return False
    return True


@kernel
def _compare(columns: I64, l: int, axes: int, p: int, r: int, bits: int, shift: int) -> int:
    """Order of row p, its inputs in ``bits`` moved by ``shift``, against row r."""
    refs = 2 * axes
    for c in range(refs, columns.shape[0]):
        if columns[c, p] != columns[c, r]:
            return -1 if columns[c, p] < columns[c, r] else 1
    for i in range(axes - l):
        v = columns[l + i, p]
        if (bits >> i) & 1 and columns[refs + i, p] == -1:
            v += shift
        if v != columns[l + i, r]:
            return -1 if v < columns[l + i, r] else 1
    for c in range(axes + l, refs):
        if columns[c, p] != columns[c, r]:
            return -1 if columns[c, p] < columns[c, r] else 1
    return 0


@kernel
def _link_slabs(
    columns: I64,
    l: int,
    axes: int,
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
    shift = columns[j, t0] - columns[j, s0]
    for bits in range(1 << (axes - l)):
        p, r = s0, t0
        while p < s1 and r < t1:
            if after[p] >= 0 or (pattern[p] >= 0 and pattern[p] != bits):
                p += 1
                continue
            if before[r] >= 0 or (pattern[r] >= 0 and pattern[r] != bits):
                r += 1
                continue
            order = _compare(columns, l, axes, p, r, bits, shift)
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


@kernel
def link_rows(
    columns: I64,
    l: int,
    axes: int,
    j: int,
    slabs: I64,
    pattern: I64,
    after: I64,
    before: I64,
) -> None:
    """Link each row to the row that continues it on output axis j.

    Rows are sorted by the other outputs, then the interval on j, then refs and inputs; ``slabs``
    marks where that interval or the other outputs change. Inputs are absolute at the row's lower
    end on j. A row follows another when the other outputs are equal, its interval starts where the
    other's ends, and each input agrees absolutely or moved along (``pattern``, the bits of the
    inputs that move). A chain keeps one pattern throughout.
    """
    count = len(slabs) - 1
    for s in range(count):
        s0, s1 = slabs[s], slabs[s + 1]
        goal = columns[j, s0] + columns[axes + j, s0] + 1
        t = s + 1
        if (
            t < count
            and columns[j, slabs[t]] < goal
            and _same_others(columns, l, axes, j, s0, slabs[t])
        ):
            low, high = t, count  # leap over slabs that start inside this one
            while low < high:
                mid = (low + high) // 2
                at = slabs[mid]
                if _same_others(columns, l, axes, j, s0, at) and columns[j, at] < goal:
                    low = mid + 1
                else:
                    high = mid
            t = low
        while (
            t < count
            and columns[j, slabs[t]] == goal
            and _same_others(columns, l, axes, j, s0, slabs[t])
        ):
            t0, t1 = slabs[t], slabs[t + 1]
            _link_slabs(columns, l, axes, j, s0, s1, t0, t1, pattern, after, before)
            t += 1


@kernel
def find_slabs(columns: I64, l: int, axes: int, j: int, slabs: I64) -> int:
    """Mark where the outputs change; return the number of slabs."""
    k = 0
    for r in range(columns.shape[1]):
        if r > 0:
            p = r - 1
            if (
                columns[j, p] == columns[j, r]
                and columns[axes + j, p] == columns[axes + j, r]
                and _same_others(columns, l, axes, j, p, r)
            ):
                continue
        slabs[k] = r
        k += 1
    slabs[k] = columns.shape[1]
    return k


@kernel
def collapse(columns: I64, l: int, axes: int, j: int, pattern: I64, after: I64, before: I64) -> int:
    """Replace each chain by one row; inputs that move with axis j become relative to it.

    Works in place: a chain's rows come after its first, so nothing is read after it is overwritten.
    """
    k = 0
    for r in range(columns.shape[1]):
        if before[r] >= 0:
            continue
        tail = r
        while after[tail] >= 0:
            tail = after[tail]
        last = columns[j, tail] + columns[axes + j, tail]
        if k != r:
            for q in range(columns.shape[0]):
                columns[q, k] = columns[q, r]
        columns[axes + j, k] = last - columns[j, k]
        if pattern[r] > 0:
            for i in range(axes - l):
                if (pattern[r] >> i) & 1 and columns[2 * axes + i, k] == -1:
                    columns[2 * axes + i, k] = j
                    columns[l + i, k] -= columns[j, k]
        k += 1
    return k


@kernel
def begin_pass(columns: I64, l: int, axes: int, j: int, pattern: I64) -> None:
    """Make inputs that refer to axis j absolute at the row's lower end there.

    ``pattern`` becomes the bits of the inputs that move with j; -1 for a row of one cell on j,
    which may still take any.
    """
    for r in range(columns.shape[1]):
        pattern[r] = 0
        for i in range(axes - l):
            if columns[2 * axes + i, r] == j:
                pattern[r] |= 1 << i
                columns[l + i, r] += columns[j, r]
                columns[2 * axes + i, r] = -1
        if columns[axes + j, r] == 0:
            pattern[r] = -1


@kernel
def progressions(columns: I64, fixed: I64, head: I64, times: I64, least: I64) -> int:
    """Cut rows into arithmetic progressions, greedily from the front.

    ``columns`` are those that may step; ``fixed`` those that may not: refs, counts, inner steps. A
    progression has at least ``least`` of its first row. Writes the first row and the length of
    each; a row in none has length 1.
    """
    n = columns.shape[1]
    k = 0
    r = 0
    while r < n:
        end = r + 1
        if end < n and _same_column(fixed, r, end):
            end += 1
            while end < n and _same_column(fixed, r, end) and _same_step(columns, r, end):
                end += 1
        if end - r < least[r]:
            end = r + 1
        head[k], times[k] = r, end - r
        k += 1
        r = end
    return k


@kernel
def _same_column(fixed: I64, p: int, r: int) -> bool:
    for c in range(fixed.shape[0]):
        if fixed[c, p] != fixed[c, r]:
            return False
    return True


@kernel
def _same_step(columns: I64, first: int, r: int) -> bool:
    for c in range(columns.shape[0]):
        if columns[c, r] - columns[c, r - 1] != columns[c, first + 1] - columns[c, first]:
            return False
    return True


@kernel
def _first_at_or_after(columns: I64, target: I64) -> int:
    """The first row, of rows sorted by their first columns, that is not below a target on them."""
    low, high = 0, columns.shape[1]
    while low < high:
        mid = (low + high) // 2
        less = False
        for k in range(target.shape[0]):
            value = columns[k, mid]
            if value != target[k]:
                less = value < target[k]
                break
        if less:
            low = mid + 1
        else:
            high = mid
    return low


@kernel
def sample_links(columns: I64, l: int, axes: int, j: int, samples: I64, look: int) -> int:
    """Count the sampled rows that some row continues on output axis j.

    The rows must be sorted by their lower ends on the output axes and hold no relation to j yet.
    Of rows that could continue one, ``look`` are looked at.
    """
    hits = 0
    target = np.empty(l, np.int64)
    for p in samples:
        for k in range(l):
            target[k] = columns[k, p]
        target[j] = columns[j, p] + columns[axes + j, p] + 1
        r = _first_at_or_after(columns, target)
        last = r + look
        while (
            r < columns.shape[1]
            and columns[j, r] == target[j]
            and _same_others(columns, l, axes, j, p, r)
        ):
            agree = True
            for i in range(axes - l):
                refs = 2 * axes + i
                d = columns[l + i, r] - columns[l + i, p]
                moved = d == columns[j, r] - columns[j, p] and columns[refs, p] == -1
                alike = columns[refs, r] == columns[refs, p]
                alike &= columns[axes + l + i, r] == columns[axes + l + i, p]
                agree &= alike and (d == 0 or moved)
            if agree or r == last:  # too many to look at: let the pass find out
                hits += 1
                break
            r += 1
    return hits


@kernel
def sample_cells(columns: I64, l: int, j: int, samples: I64) -> int:
    """Count the sampled rows that some row continues on output axis j, with one input axis.

    The rows must be sorted by their lower ends, outputs first, and hold no references: however many
    rows an output cell has, the one that could continue another is found by halving.
    """
    hits = 0
    axes = l + 1
    target = np.empty(axes, np.int64)
    for p in samples:
        for moved in range(2):
            for k in range(l):
                target[k] = columns[k, p]
            target[j] = columns[j, p] + columns[axes + j, p] + 1
            target[l] = columns[l, p] + (target[j] - columns[j, p]) * moved
            r = _first_at_or_after(columns, target)
            if r == columns.shape[1] or columns[l, r] != target[l] or columns[j, r] != target[j]:
                continue
            alike = columns[axes + l, r] == columns[axes + l, p]
            if alike and _same_others(columns, l, axes, j, p, r):
                hits += 1
                break
    return hits


@kernel
def make_relative(columns: I64, l: int, axes: int, i: int, j: int) -> None:
    """Write input i relative to output axis j in every row where that changes nothing."""
    for r in range(columns.shape[1]):
        if columns[2 * axes + i, r] == -1 and columns[axes + j, r] == 0:
            columns[2 * axes + i, r] = j
            columns[l + i, r] -= columns[j, r]


@kernel
def uses_ref(refs: I64, l: int) -> npt.NDArray[np.bool_]:
    """Which output axes an input refers to in some row."""
    used = np.zeros(l + 1, np.bool_)  # the last entry answers for -1
    for ref in refs:
        used[ref] = True
    return used[:l]
