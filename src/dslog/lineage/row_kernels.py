"""Tight loops over the rows and columns of one table: what they are, and the cells they name."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from dslog.types import I64


@njit(cache=True)
def is_constant(column: I64) -> bool:
    """Whether all values of a column are the same."""
    for v in column:
        if v != column[0]:
            return False
    return True


@njit(cache=True)
def all_cells(rows: I64, l: int, sizes: I64) -> bool:
    """Whether the rows' outputs are single cells, all of the array's, in C order."""
    for r in range(rows.shape[0]):
        linear = 0
        for j in range(l):
            if rows[r, j] != rows[r, l + j]:
                return False
            linear = linear * sizes[j] + rows[r, j]
        if linear != r:
            return False
    return True


@njit(cache=True)
def gapless(starts: I64, widths: I64) -> bool:
    """Whether intervals follow each other from 0 on."""
    at = 0
    for r in range(starts.shape[0]):
        if starts[r] != at:
            return False
        at += widths[r] + 1
    return True


@njit(cache=True)
def varying(rows: I64, plan: I64) -> npt.NDArray[np.bool_]:
    """Which columns vary, each a (column, column taken off it) pair, the second -1 for none."""
    varies = np.zeros(plan.shape[0], np.bool_)
    for r in range(1, rows.shape[0]):
        for k in range(plan.shape[0]):
            if not varies[k]:
                c, base = plan[k]
                d = rows[r, c] - rows[0, c]
                if base >= 0:
                    d -= rows[r, base] - rows[0, base]
                varies[k] = d != 0
    return varies


@njit(cache=True)
def plain_bounds(rows: I64, ref: I64, l: int) -> tuple[I64, I64, I64, I64]:
    """Per row, the lower and upper ends on the output and on the input axes, all absolute."""
    n, m = ref.shape
    out_lo, out_hi = np.empty((n, l), np.int64), np.empty((n, l), np.int64)
    in_lo, in_hi = np.empty((n, m), np.int64), np.empty((n, m), np.int64)
    for r in range(n):
        for j in range(l):
            out_lo[r, j] = rows[r, j]
            out_hi[r, j] = rows[r, l + j]
        for i in range(m):
            j = ref[r, i]
            in_lo[r, i] = rows[r, 2 * l + i] + (rows[r, j] if j >= 0 else 0)
            in_hi[r, i] = rows[r, 2 * l + m + i] + (rows[r, l + j] if j >= 0 else 0)
    return out_lo, out_hi, in_lo, in_hi


@njit(cache=True)
def expand_rows(rows: I64, ref: I64, l: int, pairs: I64) -> None:
    """Write every pair of plain rows, each row's in C order of its output and input cells."""
    n, m = ref.shape
    cell = np.empty(l + m, np.int64)
    last = np.empty(l + m, np.int64)
    at = 0
    for r in range(n):
        for j in range(l):
            cell[j], last[j] = rows[r, j], rows[r, l + j]
        _place_inputs(rows, ref, r, l, cell, last)
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
                cell[later] = rows[r, later]
            if axis < l:
                _place_inputs(rows, ref, r, l, cell, last)
            else:
                for i in range(axis + 1 - l, m):
                    j = ref[r, i]
                    cell[l + i] = rows[r, 2 * l + i] + (cell[j] if j >= 0 else 0)


@njit(cache=True)
def linear_rows(
    rows: I64, ref: I64, l: int, out_strides: I64, in_strides: I64, outs: I64, ins: I64
) -> None:
    """Write the linear output and input cell of every pair, in the order of ``expand_rows``."""
    n, m = ref.shape
    cell = np.zeros(l + m + 1, np.int64)  # one place more: there may be no axis at all
    last = np.zeros(l + m + 1, np.int64)
    inner = l + m - 1
    at = 0
    for r in range(n):
        for j in range(l):
            cell[j], last[j] = rows[r, j], rows[r, l + j]
        _place_inputs(rows, ref, r, l, cell, last)
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
                cell[later] = rows[r, later]
            if axis < l:
                _place_inputs(rows, ref, r, l, cell, last)
            else:
                for i in range(axis + 1 - l, m):
                    j = ref[r, i]
                    cell[l + i] = rows[r, 2 * l + i] + (cell[j] if j >= 0 else 0)


@njit(cache=True)
def row_sizes(rows: I64, l: int, m: int, sizes: I64) -> float:
    """Count the pairs of plain rows, each row's into ``sizes``; the sum can't overflow."""
    total = 0.0
    for r in range(len(rows)):
        size = 1
        about = 1.0
        for j in range(l):
            width = rows[r, l + j] - rows[r, j] + 1
            size *= width
            about *= width
        for i in range(m):
            width = rows[r, 2 * l + m + i] - rows[r, 2 * l + i] + 1
            size *= width
            about *= width
        sizes[r] = size
        total += about
    return total


@njit(cache=True)
def _place_inputs(rows: I64, ref: I64, r: int, l: int, cell: I64, last: I64) -> None:
    """Set the first and the last input cell that goes with an output cell."""
    m = ref.shape[1]
    for i in range(m):
        j = ref[r, i]
        base = cell[j] if j >= 0 else 0
        cell[l + i] = rows[r, 2 * l + i] + base
        last[l + i] = rows[r, 2 * l + m + i] + base
