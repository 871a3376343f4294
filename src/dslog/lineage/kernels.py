"""Tight loops over the columns of one table: the cells they name, and the theta-join.

Columns come as matrices with a line for each axis, outputs first, and a place for each row:
``lo[axis, row]``, ``width[axis, row]``, and ``ref[i, row]`` for input axis i. Boxes and bounds are
the other way around, ``lo[box, axis]``, for they are met in no order. Folds are placed row by row,
on a vector of the row's lower and upper ends: ``out_lo, out_hi, in_lo, in_hi``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dslog.kernel import kernel
from dslog.types import I64


@kernel
def _overlap(q_lo: I64, q_hi: I64, q: int, lo: I64, hi: I64, r: int) -> bool:
    for j in range(q_lo.shape[1]):
        if lo[r, j] > q_hi[q, j] or hi[r, j] < q_lo[q, j]:
            return False
    return True


@kernel
def count_pairs(q_lo: I64, q_hi: I64, lo: I64, hi: I64, start: I64, stop: I64) -> I64:
    """Count, per query box, the rows in its stretch that overlap it on every axis."""
    counts = np.zeros(q_lo.shape[0], np.int64)
    for q in range(q_lo.shape[0]):
        c = 0
        for r in range(start[q], stop[q]):
            if _overlap(q_lo, q_hi, q, lo, hi, r):
                c += 1
        counts[q] = c
    return counts


@kernel
def fill_pairs(
    q_lo: I64,
    q_hi: I64,
    lo: I64,
    hi: I64,
    start: I64,
    stop: I64,
    offsets: I64,
    query: I64,
    row: I64,
) -> None:
    """Write the pairs that ``count_pairs`` counted, query by query."""
    for q in range(q_lo.shape[0]):
        k = offsets[q]
        for r in range(start[q], stop[q]):
            if _overlap(q_lo, q_hi, q, lo, hi, r):
                query[k] = q
                row[k] = r
                k += 1


@kernel
def _clip(a: int, s: int, b: int, t0: int, t1: int) -> tuple[int, int]:
    """Narrow ``[t0, t1]`` to the t with ``a + s * t <= b``."""
    if s == 0:
        if a > b:
            return 1, 0
        return t0, t1
    if s > 0:
        return t0, min(t1, (b - a) // s)
    return max(t0, -((b - a) // -s)), t1


@kernel
def _slack(step: I64, count: I64, level: int, plus: int, minus: int) -> int:
    """Least value that the levels inside ``level`` can add to ``vec[plus] - vec[minus]``."""
    least = 0
    for k in range(level + 1, step.shape[0]):
        s = 0
        if plus >= 0:
            s += step[k, plus]
        if minus >= 0:
            s -= step[k, minus]
        if s < 0:
            least += s * (count[k] - 1)
    return least


@kernel
def _narrow(
    vec: I64, step: I64, count: I64, level: int, plus: int, minus: int, b: int, t0: int, t1: int
) -> tuple[int, int]:
    """Narrow ``[t0, t1]`` by ``vec[plus] - vec[minus] <= b`` for some t of the inner levels."""
    a = _slack(step, count, level, plus, minus)
    s = 0
    if plus >= 0:
        a += vec[plus]
        s += step[level, plus]
    if minus >= 0:
        a -= vec[minus]
        s -= step[level, minus]
    return _clip(a, s, b, t0, t1)


@kernel
def _range_backward(
    vec: I64, step: I64, count: I64, level: int, l: int, lo: I64, hi: I64
) -> tuple[int, int]:
    """The t of a level at which the row's output box can meet the query box."""
    t0, t1 = 0, count[level] - 1
    for j in range(l):
        t0, t1 = _narrow(vec, step, count, level, j, -1, hi[j], t0, t1)
        t0, t1 = _narrow(vec, step, count, level, -1, l + j, -lo[j], t0, t1)
    return t0, t1


@kernel
def _range_forward(
    vec: I64, ref: I64, step: I64, count: I64, level: int, l: int, lo: I64, hi: I64
) -> tuple[int, int]:
    """The t of a level at which the row's input box can meet the query box."""
    m = ref.shape[0]
    t0, t1 = 0, count[level] - 1
    a_lo, a_hi = 2 * l, 2 * l + m
    for i in range(m):
        j = ref[i]
        if j < 0:
            t0, t1 = _narrow(vec, step, count, level, a_lo + i, -1, hi[i], t0, t1)
            t0, t1 = _narrow(vec, step, count, level, -1, a_hi + i, -lo[i], t0, t1)
            continue
        # out_lo + in_lo <= q_hi, written with the sum in two parts
        t0, t1 = _narrow_sum(vec, step, count, level, j, a_lo + i, 1, hi[i], t0, t1)
        t0, t1 = _narrow_sum(vec, step, count, level, l + j, a_hi + i, -1, -lo[i], t0, t1)
        for k in range(m):
            if k != i and ref[k] == j:
                # q_lo_i - in_hi_i <= q_hi_k - in_lo_k
                bound = hi[k] - lo[i]
                t0, t1 = _narrow(vec, step, count, level, a_lo + k, a_hi + i, bound, t0, t1)
    return t0, t1


@kernel
def _narrow_sum(
    vec: I64,
    step: I64,
    count: I64,
    level: int,
    x: int,
    y: int,
    sign: int,
    b: int,
    t0: int,
    t1: int,
) -> tuple[int, int]:
    """Narrow ``[t0, t1]`` by ``sign * (vec[x] + vec[y]) <= b`` for some t of the inner levels."""
    a = sign * (vec[x] + vec[y])
    s = sign * (step[level, x] + step[level, y])
    for k in range(level + 1, step.shape[0]):
        inner = sign * (step[k, x] + step[k, y])
        if inner < 0:
            a += inner * (count[k] - 1)
    return _clip(a, s, b, t0, t1)


@kernel
def _still(s: I64, l: int, m: int, i: int, j: int) -> bool:
    """Whether neither output axis j nor input i, which refers to it, moves with t."""
    return s[j] == 0 and s[l + j] == 0 and s[2 * l + i] == 0 and s[2 * l + m + i] == 0


@kernel
def _inside(vec: I64, s: I64, t: int, ref: I64, l: int, lo: I64, hi: I64, backward: bool) -> bool:
    """Whether, on axes that move with t, the query clips nothing off what refers to them."""
    m = ref.shape[0]
    for i in range(m):
        j = ref[i]
        if j < 0 or _still(s, l, m, i, j):
            continue
        b_lo = vec[j] + t * s[j]
        b_hi = vec[l + j] + t * s[l + j]
        if backward:
            if lo[j] > b_lo or hi[j] < b_hi:
                return False
        else:
            a_lo = vec[2 * l + i] + t * s[2 * l + i]
            a_hi = vec[2 * l + m + i] + t * s[2 * l + m + i]
            if lo[i] > b_lo + a_hi or hi[i] < b_hi + a_lo:
                return False
    return True


@kernel
def _result(
    vec: I64, s: I64, ref: I64, l: int, axis: int, lo: I64, hi: I64, backward: bool
) -> tuple[int, int, int, int]:
    """One result axis: ends at t = 0 and steps; clipped by the query where nothing moves."""
    m = ref.shape[0]
    if backward:
        x, y = 2 * l + axis, 2 * l + m + axis
        a, b, sa, sb = vec[x], vec[y], s[x], s[y]
        j = ref[axis]
        if j >= 0 and _still(s, l, m, axis, j):
            a += max(vec[j], lo[j])
            b += min(vec[l + j], hi[j])
        elif j >= 0:
            a, b, sa, sb = a + vec[j], b + vec[l + j], sa + s[j], sb + s[l + j]
        return a, b, sa, sb
    a, b = vec[axis], vec[l + axis]
    for i in range(m):
        if ref[i] == axis and _still(s, l, m, i, axis):
            a = max(a, lo[i] - vec[2 * l + m + i])
            b = min(b, hi[i] - vec[2 * l + i])
    return a, b, s[axis], s[l + axis]


@kernel
def _moves_as_one(vec: I64, s: I64, ref: I64, l: int, lo: I64, hi: I64) -> bool:
    """Whether each output axis that several inputs refer to holds one cell at a time."""
    for i in range(ref.shape[0]):
        for k in range(i):
            j = ref[i]
            if j >= 0 and ref[k] == j:
                if s[j] != s[l + j]:
                    return False
                if s[j] == 0 and max(vec[j], lo[j]) != min(vec[l + j], hi[j]):
                    return False
                if s[j] != 0 and vec[j] != vec[l + j]:
                    return False
    return True


@kernel
def _closed(
    vec: I64,
    s: I64,
    ref: I64,
    l: int,
    t0: int,
    t1: int,
    lo: I64,
    hi: I64,
    backward: bool,
    box: I64,
) -> bool:
    """Write the union of the results of t0..t1 into ``box`` if it is one box; say whether it is."""
    for t in (t0, t1):
        if not _inside(vec, s, t, ref, l, lo, hi, backward):
            return False
    if backward and not _moves_as_one(vec, s, ref, l, lo, hi):
        return False
    moving = 0
    for axis in range(box.shape[0]):
        a, b, sa, sb = _result(vec, s, ref, l, axis, lo, hi, backward)
        if sa != 0 or sb != 0:
            moving += 1
            if moving > 1:
                return False
        for t in (t0, t1 - 1):
            if t1 > t0:
                if a + (t + 1) * sa > b + t * sb + 1 or b + (t + 1) * sb < a + t * sa - 1:
                    return False
        box[axis, 0] = min(a + t0 * sa, a + t1 * sa)
        box[axis, 1] = max(b + t0 * sb, b + t1 * sb)
    return True


@kernel
def _emit_fold(
    q: int,
    vec: I64,
    ref: I64,
    step: I64,
    count: I64,
    l: int,
    lo: I64,
    hi: I64,
    backward: bool,
    row_query: I64,
    row_columns: I64,
    box_query: I64,
    boxes: I64,
    fill: bool,
    at: I64,
    box: I64,
) -> None:
    """Emit what one fully placed innermost fold gives: at most one box, and plain rows."""
    level = step.shape[0] - 1
    if backward:
        t0, t1 = _range_backward(vec, step, count, level, l, lo, hi)
    else:
        t0, t1 = _range_forward(vec, ref, step, count, level, l, lo, hi)
    if t0 > t1:
        return
    at[2] += t1 - t0 + 1
    s = step[level]
    first, last = t0, t1
    if not _closed(vec, s, ref, l, t0, t1, lo, hi, backward, box):
        first, last = t0 + 1, t1 - 1
        if last <= first or not _closed(vec, s, ref, l, first, last, lo, hi, backward, box):
            first, last = 1, 0
    if first <= last:
        if fill:
            box_query[at[1]] = q
            boxes[at[1]] = box
        at[1] += 1
    for t in range(t0, t1 + 1):
        if first <= last and first <= t <= last:
            continue
        if fill:
            row_query[at[0]] = q
            _write_row(vec, s, t, ref, l, row_columns, at[0])
        at[0] += 1


@kernel
def _ends_of(columns: I64, r: int, l: int, m: int, vec: I64) -> None:
    """Read the ends of one row, or their steps, from columns of lower ends and widths."""
    for j in range(l):
        vec[j] = columns[j, r]
        vec[l + j] = columns[j, r] + columns[l + m + j, r]
    for i in range(m):
        vec[2 * l + i] = columns[l + i, r]
        vec[2 * l + m + i] = columns[l + i, r] + columns[l + m + l + i, r]


@kernel
def _write_row(vec: I64, s: I64, t: int, ref: I64, l: int, columns: I64, at: int) -> None:
    """Write the plain row at turn t as columns: the opposite of ``_ends_of``."""
    m = ref.shape[0]
    for j in range(l):
        lo = vec[j] + t * s[j]
        columns[j, at] = lo
        columns[l + m + j, at] = vec[l + j] + t * s[l + j] - lo
    for i in range(m):
        lo = vec[2 * l + i] + t * s[2 * l + i]
        columns[l + i, at] = lo
        columns[l + m + l + i, at] = vec[2 * l + m + i] + t * s[2 * l + m + i] - lo
        columns[2 * (l + m) + i, at] = ref[i]


@kernel
def join_folds(
    q_lo: I64,
    q_hi: I64,
    query: I64,
    row: I64,
    columns: I64,
    count: I64,
    step: I64,
    l: int,
    backward: bool,
    row_query: I64,
    row_columns: I64,
    box_query: I64,
    boxes: I64,
    fill: bool,
) -> I64:
    """Place every fold of the given (query, row) pairs; count or write plain rows and boxes.

    The levels but the innermost are walked like an odometer over the t that can match; the
    innermost is solved at once. Returns (plain rows, boxes, plain rows met).
    """
    levels, ends = step.shape[0], step.shape[1]
    m = ends // 2 - l
    at = np.zeros(3, np.int64)
    d = boxes.shape[1]
    box = np.zeros((d, 2), np.int64)
    vec = np.zeros((levels, ends), np.int64)
    by = np.zeros((levels, ends), np.int64)  # the row's own counts, steps and refs
    times = np.zeros(levels, np.int64)
    ref = np.zeros(m, np.int64)
    t = np.zeros(levels, np.int64)
    end = np.zeros(levels, np.int64)
    for p in range(query.shape[0]):
        q, r = query[p], row[p]
        lo, hi = q_lo[q], q_hi[q]
        level = 0
        _ends_of(columns, r, l, m, vec[0])
        for k in range(levels):
            _ends_of(step[k], r, l, m, by[k])
            times[k] = count[k, r]
        for i in range(m):
            ref[i] = columns[ends + i, r]
        opened = False
        while level >= 0:
            if level == levels - 1:
                _emit_fold(
                    q, vec[level], ref, by, times, l, lo, hi, backward,
                    row_query, row_columns, box_query, boxes, fill, at, box,
                )  # fmt: skip
                level -= 1
                opened = True
                continue
            if not opened:
                if backward:
                    t[level], end[level] = _range_backward(vec[level], by, times, level, l, lo, hi)
                else:
                    t[level], end[level] = _range_forward(
                        vec[level], ref, by, times, level, l, lo, hi
                    )
            else:
                t[level] += 1
            if t[level] > end[level]:
                level -= 1
                opened = True
                continue
            vec[level + 1] = vec[level] + t[level] * by[level]
            level += 1
            opened = False
    return at


@kernel
def join_pairs(
    columns: I64, l: int, q_lo: I64, q_hi: I64, backward: bool, query: I64, boxes: I64
) -> int:
    """Join every plain row with every box; return how many meet.

    Writes the box asked and the answer of each. Backward, no row may have two inputs that refer to
    the same output. See ``join`` for the rules.
    """
    found = 0
    first, last = np.empty(l, np.int64), np.empty(l, np.int64)
    for q in range(q_lo.shape[0]):
        for r in range(columns.shape[1]):
            if _join_row(columns, l, r, q_lo[q], q_hi[q], backward, first, last, boxes[found]):
                query[found] = q
                found += 1
    return found


@kernel
def join_rows(
    columns: I64, l: int, q_lo: I64, q_hi: I64, row: I64, backward: bool, query: I64, boxes: I64
) -> int:
    """Do the same for given rows, each with the box that ``query`` names, and write over that."""
    found = 0
    first, last = np.empty(l, np.int64), np.empty(l, np.int64)
    for p in range(len(row)):
        q = query[p]
        if _join_row(columns, l, row[p], q_lo[q], q_hi[q], backward, first, last, boxes[found]):
            query[found] = q
            found += 1
    return found


@kernel
def _join_row(
    columns: I64,
    l: int,
    r: int,
    q_lo: I64,
    q_hi: I64,
    backward: bool,
    first: I64,
    last: I64,
    box: I64,
) -> bool:
    """Write the answer of a row to a box, if they meet; ``first`` and ``last`` are scratch."""
    axes = (columns.shape[0] + l) // 3  # 2 l + 3 m columns
    for j in range(l):
        first[j], last[j] = columns[j, r], columns[j, r] + columns[axes + j, r]
        if backward:
            first[j], last[j] = max(first[j], q_lo[j]), min(last[j], q_hi[j])
    if not backward:
        for i in range(axes - l):
            in_lo, j = columns[l + i, r], columns[2 * axes + i, r]
            in_hi = in_lo + columns[axes + l + i, r]
            if j >= 0:
                first[j], last[j] = max(first[j], q_lo[i] - in_hi), min(last[j], q_hi[i] - in_lo)
            elif in_lo > q_hi[i] or in_hi < q_lo[i]:
                return False
    for j in range(l):
        if first[j] > last[j]:
            return False
    if not backward:
        box[:, 0], box[:, 1] = first, last
        return True
    for i in range(axes - l):
        in_lo, j = columns[l + i, r], columns[2 * axes + i, r]
        box[i, 0] = in_lo + (first[j] if j >= 0 else 0)
        box[i, 1] = in_lo + columns[axes + l + i, r] + (last[j] if j >= 0 else 0)
    return True


@kernel
def any_overlap(
    lo: I64, hi: I64, q_lo: I64, q_hi: I64, start: I64, stop: I64, found: npt.NDArray[np.bool_]
) -> None:
    """Mark the boxes that meet some query box in their stretch."""
    for r in range(lo.shape[0]):
        for q in range(start[r], stop[r]):
            meets = True
            for j in range(lo.shape[1]):
                if lo[r, j] > q_hi[q, j] or hi[r, j] < q_lo[q, j]:
                    meets = False
                    break
            if meets:
                found[r] = True
                break


@kernel
def is_constant(column: I64) -> bool:
    """Whether all values of a column are the same."""
    for v in column:
        if v != column[0]:
            return False
    return True


@kernel
def all_cells(lo: I64, width: I64, sizes: I64) -> bool:
    """Whether the rows' outputs are single cells, all of the array's, in C order."""
    l = len(sizes)
    for r in range(lo.shape[1]):
        linear = 0
        for j in range(l):
            if width[j, r] != 0:
                return False
            linear = linear * sizes[j] + lo[j, r]
        if linear != r:
            return False
    return True


@kernel
def gapless(starts: I64, widths: I64) -> bool:
    """Whether intervals follow each other from 0 on."""
    at = 0
    for r in range(starts.shape[0]):
        if starts[r] != at:
            return False
        at += widths[r] + 1
    return True


@kernel
def plain_bounds(lo: I64, width: I64, ref: I64, l: int) -> tuple[I64, I64, I64, I64]:
    """Per row, the lower and upper ends on the output and on the input axes, all absolute."""
    m, n = ref.shape
    out_lo, out_hi = np.empty((n, l), np.int64), np.empty((n, l), np.int64)
    in_lo, in_hi = np.empty((n, m), np.int64), np.empty((n, m), np.int64)
    for r in range(n):
        for j in range(l):
            out_lo[r, j] = lo[j, r]
            out_hi[r, j] = lo[j, r] + width[j, r]
        for i in range(m):
            j = ref[i, r]
            start = lo[l + i, r]
            in_lo[r, i] = start + (out_lo[r, j] if j >= 0 else 0)
            in_hi[r, i] = start + width[l + i, r] + (out_hi[r, j] if j >= 0 else 0)
    return out_lo, out_hi, in_lo, in_hi


@kernel
def row_sizes(width: I64) -> I64:
    """Count the pairs of each plain row."""
    sizes = np.ones(width.shape[1], np.int64)
    for axis in range(width.shape[0]):
        for r in range(width.shape[1]):
            sizes[r] *= width[axis, r] + 1
    return sizes


@kernel
def _place_inputs(lo: I64, width: I64, ref: I64, r: int, l: int, cell: I64, last: I64) -> None:
    """Set the first and the last input cell that goes with an output cell."""
    for i in range(ref.shape[0]):
        j = ref[i, r]
        cell[l + i] = lo[l + i, r] + (cell[j] if j >= 0 else 0)
        last[l + i] = cell[l + i] + width[l + i, r]


# The next two step through the cells of a row like an odometer. The steps are written out in both:
# as a function of their own they take three times as long.


@kernel
def expand_rows(lo: I64, width: I64, ref: I64, l: int, pairs: I64) -> None:
    """Write every pair of plain rows, each row's in C order of its output and input cells."""
    m, n = ref.shape
    cell = np.empty(l + m, np.int64)
    last = np.empty(l + m, np.int64)
    at = 0
    for r in range(n):
        for j in range(l):
            cell[j], last[j] = lo[j, r], lo[j, r] + width[j, r]
        _place_inputs(lo, width, ref, r, l, cell, last)
        while True:
            pairs[at] = cell
            at += 1
            axis = l + m - 1
            while axis >= 0 and cell[axis] == last[axis]:
                axis -= 1
            if axis < 0:
                break
            cell[axis] += 1
            for later in range(axis + 1, l):
                cell[later] = lo[later, r]
            if axis < l:
                _place_inputs(lo, width, ref, r, l, cell, last)
            else:
                for i in range(axis + 1 - l, m):
                    cell[l + i] = last[l + i] - width[l + i, r]


@kernel
def linear_rows(
    lo: I64,
    width: I64,
    ref: I64,
    l: int,
    out_strides: I64,
    in_strides: I64,
    outs: I64,
    ins: I64,
) -> None:
    """Write the linear output and input cell of every pair, in the order of ``expand_rows``."""
    m, n = ref.shape
    cell = np.zeros(l + m + 1, np.int64)  # one place more: there may be no axis at all
    last = np.zeros(l + m + 1, np.int64)
    inner = l + m - 1
    at = 0
    for r in range(n):
        for j in range(l):
            cell[j], last[j] = lo[j, r], lo[j, r] + width[j, r]
        _place_inputs(lo, width, ref, r, l, cell, last)
        while True:
            out = 0
            for j in range(l):
                out += cell[j] * out_strides[j]
            inp = 0
            for i in range(m):
                inp += cell[l + i] * in_strides[i]
            length = last[inner] - cell[inner] + 1 if m else 1
            for step in range(length):
                outs[at] = out
                ins[at] = inp + step
                at += 1
            axis = inner - 1 if m else inner
            while axis >= 0 and cell[axis] == last[axis]:
                axis -= 1
            if axis < 0:
                break
            cell[axis] += 1
            for later in range(axis + 1, l):
                cell[later] = lo[later, r]
            if axis < l:
                _place_inputs(lo, width, ref, r, l, cell, last)
            else:
                for i in range(axis + 1 - l, m):
                    cell[l + i] = last[l + i] - width[l + i, r]
