"""Rules for covariance and polynomials."""

from __future__ import annotations

import numpy as np

from dslog.algebra.axis import shifted, window
from dslog.algebra.product import all_to_all, matched, part, product, row
from dslog.capture.numpy.argument_rule import (
    OtherCallError,
    Pattern,
    any_cell,
    argument_rule,
    by_argument,
    cellwise,
    every_cell,
    output_place,
)
from dslog.capture.numpy.call import Call
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import concat
from dslog.types import Array


def _variables(*, last: bool) -> Pattern:
    """Output (i, j) from variables i and j: rows, or columns; the last ones are those of ``y``."""

    def variables(call: Call, data: Array, out: Array) -> Lineage:
        if not out.ndim:
            return all_to_all(out.shape, data.shape)
        axis = None if data.ndim < 2 else 0 if call.argument("rowvar", True) else 1
        n, count = len(out), 1 if axis is None else data.shape[axis]
        start = n - count if last else 0
        tables = []
        for j in (0, 1):
            outs = [(0, n - 1), (0, n - 1)]
            outs[j] = (start, start + count - 1)
            ins = [(0, size - 1) for size in data.shape]
            refs = [-1] * data.ndim
            if axis is not None:
                ins[axis], refs[axis] = (-start, -start), j
            tables.append(row(outs, ins, refs))
        return product(out.shape, data.shape, part([0, 1], range(data.ndim), concat(tables)))

    return variables


_NOTE = "each cell from all observations of its two variables"
_FIRST, _LAST = _variables(last=False), _variables(last=True)
by_argument("numpy.corrcoef", x=_FIRST, y=_LAST, note=_NOTE)
by_argument("numpy.cov", m=_FIRST, y=_LAST, fweights=every_cell, aweights=every_cell, note=_NOTE)


# --- polynomials ---------------------------------------------------------------------------------

by_argument(
    "numpy.polyval", p=every_cell, x=cellwise,
    note="each cell from its place and all coefficients",
)  # fmt: skip
by_argument(
    "numpy.polydiv", u=any_cell, v=any_cell, kind="superset",
    note="each coefficient from all of both",
)  # fmt: skip


def _fitted(call: Call, data: Array, out: Array) -> Lineage | None:
    """Columns of y are fitted apart; rank and singular values are from x and the weights."""
    if call.argument("full", False) and output_place(call, out) > 1:
        return None
    return matched(out.shape, data.shape, {1: out.ndim - 1} if data.ndim == 2 and out.ndim else {})


by_argument(
    "numpy.polyfit", x=every_cell, w=every_cell, y=_fitted,
    note="each coefficient from all points and weights",
)  # fmt: skip


@argument_rule(
    "numpy.polyadd", "numpy.polysub", data="a1 a2",
    note="each coefficient from those of the same power",
)  # fmt: skip
def polyadd(_: Call, data: Array, out: Array) -> Lineage:
    """Aligned at the lowest power, which is last."""
    if out.ndim != 1:
        raise OtherCallError
    start = out.size - data.size
    table = shifted(data.size, -start, start)
    here = part([0], range(data.ndim), table, in_flat=data.ndim != 1)
    return product(out.shape, data.shape, here)


def _window_beside(other: str) -> Pattern:
    """A convolution of what is left when leading zeros are gone."""

    def windows(call: Call, data: Array, out: Array) -> Lineage:
        both = data, np.asarray(call.argument(other))
        if any(v.ndim != 1 or not v.any() for v in both):
            raise OtherCallError
        (skip, size), (_, width) = ((k := int(np.flatnonzero(v)[0]), v.size - k) for v in both)
        table = window(out.size, size, 1 - width, 0).moved(1, skip)
        return product(out.shape, data.shape, part([0], [0], table))

    return windows


by_argument(
    "numpy.polymul", a1=_window_beside("a2"), a2=_window_beside("a1"), kind="value",
    note="each coefficient from a window of both",
)  # fmt: skip


@argument_rule(
    "numpy.polyder", "numpy.polyint", data="p", note="each coefficient from the one it comes from"
)
def polyder(_: Call, data: Array, out: Array) -> Lineage:
    """The same place, counted from the highest power."""
    if data.ndim != 1:
        raise OtherCallError
    return product(out.shape, data.shape, part([0], [0], shifted(min(out.size, data.size))))


@argument_rule(
    "numpy.poly", data="seq_of_zeros", note="each coefficient but the first from all roots"
)  # fmt: skip
def poly(_: Call, data: Array, out: Array) -> Lineage | None:
    """The leading coefficient is 1; for a matrix the roots are its eigenvalues."""
    if out.size < 2:
        return None
    rest = part([0], [], row([(1, out.size - 1)], [], []))
    whole = [(0, n - 1) for n in data.shape]
    inputs = part([], range(len(whole)), row([], whole, [-1] * len(whole)))
    return product(out.shape, data.shape, rest, inputs)


@argument_rule(
    "numpy.roots", data="p", kind="value", note="each root from all coefficients between zeros"
)
def roots(_: Call, data: Array, out: Array) -> Lineage | None:
    """Zeros at the end are roots at 0, which read nothing."""
    found = np.flatnonzero(data)
    if len(found) < 2:
        return None
    first, last = int(found[0]), int(found[-1])
    table = row([(0, last - first - 1)], [(first, last)], [-1])
    return product(out.shape, data.shape, part([0], [0], table))


@argument_rule("numpy.vander", data="x", note="each cell from its row's cell; not the powers 0")
def vander(call: Call, data: Array, out: Array) -> Lineage | None:
    """The column of ones is from nothing."""
    n, powers = out.shape
    if powers < 2:
        return None
    columns = (1, powers - 1) if call.argument("increasing", False) else (0, powers - 2)
    table = row([(0, n - 1), columns], [(0, 0)], [0])
    return product(out.shape, data.shape, part([0, 1], [0], table))
