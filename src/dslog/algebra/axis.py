"""What can happen on one axis: tables from one output axis to one input axis, of a few rows each.

A progression (a strided slice, a repetition, a scan) is one folded row, see ``lineage.table``.
"""

from __future__ import annotations

from dslog.algebra.product import row
from dslog.lineage.table import Table, concat

_ONE = [(1, 1)]


def rows(*tables: Table) -> Table:
    """Put rows together, leaving empty tables out."""
    kept = [t for t in tables if len(t)]
    return concat(kept) if kept else Table.empty(1, 1)


def shifted(size: int, offset: int = 0, first: int = 0) -> Table:
    """``a = b + offset`` for ``size`` outputs from ``first`` on."""
    if size <= 0:
        return Table.empty(1, 1)
    return row([(first, first + size - 1)], [(offset, offset)], [0])


def spread(first: int, last: int, lo: int, hi: int) -> Table:
    """``a`` in [lo, hi] for every b in [first, last]."""
    if last < first or hi < lo:
        return Table.empty(1, 1)
    return row([(first, last)], [(lo, hi)], [-1])


def strided(size: int, start: int, step: int, first: int = 0) -> Table:
    """``a = start + step * (b - first)`` for ``size`` outputs: slices and flips.

    >>> strided(3, 9, -2).expand().tolist()
    [[0, 9], [1, 7], [2, 5]]
    """
    if step == 1:
        return shifted(size, start - first, first)
    if size <= 0:
        return Table.empty(1, 1)
    return row([(first, first)], [(start, start)], [-1], (size, _ONE, [(step, step)]))


def repeated(size: int, times: int) -> Table:
    """Each of ``size`` inputs fills ``times`` outputs in a row: ``a = b // times``."""
    if size <= 0 or times <= 0:
        return Table.empty(1, 1)
    if times == 1:
        return shifted(size)
    return row([(0, times - 1)], [(0, 0)], [-1], (size, [(times, times)], _ONE))


def tiled(size: int, outputs: int) -> Table:
    """The inputs again and again, cut off after ``outputs``: ``a = b % size``."""
    if size <= 0 or outputs <= 0:
        return Table.empty(1, 1)
    times, rest = divmod(outputs, size)
    tail = shifted(rest, -times * size, times * size)
    if times <= 1:
        return rows(shifted(times * size), tail)
    steps = (times, [(size, size)], [(-size, -size)])
    return rows(row([(0, size - 1)], [(0, 0)], [0], steps), tail)


def blocks(outputs: int, size: int, inputs: int) -> Table:
    """Output b from inputs ``[size * b, size * (b + 1) - 1]``, as far as there are any."""
    whole = min(outputs, inputs // size)
    steps = (whole, _ONE, [(size, size)])
    full = row([(0, 0)], [(0, size - 1)], [-1], steps) if whole > 0 else Table.empty(1, 1)
    cut = spread(whole, min(whole, outputs - 1), whole * size, inputs - 1)
    return rows(full, cut)


def scan(size: int, first: int = 0) -> Table:
    """Output b from inputs 0 to b; outputs start at ``first``.

    >>> scan(3).expand().tolist()
    [[0, 0], [1, 0], [1, 1], [2, 0], [2, 1], [2, 2]]
    """
    if size <= 0:
        return Table.empty(1, 1)
    return row([(first, first)], [(0, 0)], [-1], (size, _ONE, [(0, 1)]))


def rolled(size: int, shift: int) -> Table:
    """``a = (b - shift) % size``."""
    shift %= size
    return rows(shifted(shift, size - shift), shifted(size - shift, -shift, shift))


def window(outputs: int, inputs: int, lo: int, hi: int) -> Table:
    """Output b from those of the inputs ``[b + lo, b + hi]`` that exist.

    One row when nothing is cut off the windows, or nothing off the stretch of outputs that an input
    reaches; else up to three: windows that start before the first input, whole ones, and windows
    that end after the last.
    """
    first, last = max(0, -hi), min(outputs - 1, inputs - 1 - lo)  # outputs that read anything
    if last < first or hi < lo:
        return Table.empty(1, 1)
    if lo >= 0 and outputs - 1 + hi <= inputs - 1:
        return row([(0, outputs - 1)], [(lo, hi)], [0])
    if hi <= 0 and inputs - 1 - lo <= outputs - 1:
        return row([(-hi, -lo)], [(0, 0)], [-1], (inputs, _ONE, _ONE))
    starts, ends = -lo, inputs - 1 - hi  # where a window starts at the first, ends at the last
    low, high = max(first, min(starts, ends)), min(last, max(starts, ends))
    middle = Table.empty(1, 1)
    if low <= high and starts <= ends:
        middle = row([(low, high)], [(lo, hi)], [0])
    elif low <= high:
        middle = spread(low, high, 0, inputs - 1)
    return rows(
        _growing(first, min(low - 1, last), hi),
        middle,
        _shrinking(max(high + 1, first), last, lo, inputs),
    )


def _growing(first: int, last: int, hi: int) -> Table:
    """``a`` in [0, b + hi]."""
    if last < first:
        return Table.empty(1, 1)
    return row([(first, first)], [(0, first + hi)], [-1], (last - first + 1, _ONE, [(0, 1)]))


def _shrinking(first: int, last: int, lo: int, inputs: int) -> Table:
    """``a`` in [b + lo, inputs - 1]."""
    if last < first:
        return Table.empty(1, 1)
    steps = (last - first + 1, _ONE, [(1, 0)])
    return row([(first, first)], [(first + lo, inputs - 1)], [-1], steps)
