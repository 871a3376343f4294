"""Rules for covariance and polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

from dslog.algebra.axis import shifted, window
from dslog.algebra.product import all_to_all, elementwise, matched, part, product, row
from dslog.capture.numpy.call import Call, Lineages, arrange
from dslog.capture.numpy.registry import rule
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import concat
from dslog.types import Shape

Pairs = list[tuple[Any, Lineage | None]]


@rule("numpy.cov", "numpy.corrcoef", note="each cell from all observations of its two variables")
def covariance(call: Call) -> Lineages | None:
    """Variables are rows, or columns; those of ``y`` come after those of ``m``."""
    names = ("m", "y") if call.func == np.cov else ("x", "y")
    (out,) = call.outputs
    by_row = call.argument("rowvar", True)
    pairs: Pairs = []
    start = 0
    for values in (call.argument(name) for name in names):
        if values is None:
            continue
        shape = np.shape(values)
        axis = None if len(shape) < 2 else 0 if by_row else 1
        count = 1 if axis is None else shape[axis]
        pairs.append((values, _variables(out.shape, shape, axis, start, count)))
        start += count
    pairs += [
        (weights, all_to_all(out.shape, np.shape(weights)))
        for weights in (call.argument("fweights"), call.argument("aweights"))
        if weights is not None
    ]
    return arrange(call, pairs)


def _variables(
    out_shape: Shape, in_shape: Shape, axis: int | None, start: int, count: int
) -> Lineage:
    """Output (i, j) from variables i and j, which start at ``start``."""
    if not out_shape or 0 in in_shape:
        return all_to_all(out_shape, in_shape)
    n = out_shape[0]
    tables = []
    for j in (0, 1):
        outs = [(0, n - 1), (0, n - 1)]
        outs[j] = (start, start + count - 1)
        ins = [(0, size - 1) for size in in_shape]
        refs = [-1] * len(in_shape)
        if axis is not None:
            ins[axis], refs[axis] = (-start, -start), j
        tables.append(row(outs, ins, refs))
    return product(out_shape, in_shape, part([0, 1], range(len(in_shape)), concat(tables)))


# --- polynomials ---------------------------------------------------------------------------------


@rule("numpy.polyval", note="each cell from its place and all coefficients")
def polyval(call: Call) -> Lineages | None:
    """Horner's scheme reads every coefficient."""
    p, x = call.argument("p"), call.argument("x")
    (out,) = call.outputs
    return arrange(
        call,
        [(p, all_to_all(out.shape, np.shape(p))), (x, elementwise(out.shape, np.shape(x)))],
    )


@rule("numpy.polyfit", note="each coefficient from all points and weights")
def polyfit(call: Call) -> Lineages | None:
    """Columns of y are fitted apart; rank and singular values are from x and the weights."""
    x, y, w = (call.argument(name) for name in ("x", "y", "w"))
    full = bool(call.argument("full", False))
    outputs = []
    for k, out in enumerate(call.outputs):
        columns = {1: out.ndim - 1} if np.ndim(y) == 2 and out.ndim else {}
        reads_y = not full or k < 2
        pairs: Pairs = [(v, all_to_all(out.shape, np.shape(v))) for v in (x, w) if v is not None]
        pairs.append((y, matched(out.shape, np.shape(y), columns) if reads_y else None))
        outputs.append(pairs)
    return arrange(call, *outputs)


@rule("numpy.polyadd", "numpy.polysub", note="each coefficient from those of the same power")
def polyadd(call: Call) -> Lineages | None:
    """Aligned at the lowest power, which is last."""
    (out,) = call.outputs
    pairs: Pairs = []
    for value in (call.argument("a1"), call.argument("a2")):
        shape = np.shape(value)
        if len(shape) > 1:
            return None
        start = out.size - int(np.size(value))
        table = shifted(int(np.size(value)), -start, start)
        here = part([0], range(len(shape)), table, in_flat=len(shape) != 1)
        pairs.append((value, product(out.shape, shape, here)))
    return arrange(call, pairs)


@rule("numpy.polymul", kind="value", note="each coefficient from a window of both")
def polymul(call: Call) -> Lineages | None:
    """A convolution of what is left when leading zeros are gone."""
    a, b = call.argument("a1"), call.argument("a2")
    if np.ndim(a) != 1 or np.ndim(b) != 1 or not np.any(a) or not np.any(b):
        return None
    (out,) = call.outputs
    skips = [int(np.flatnonzero(v)[0]) for v in (a, b)]
    sizes = [np.size(v) - skip for v, skip in zip((a, b), skips, strict=True)]
    pairs: Pairs = []
    for value, skip, size, other in zip((a, b), skips, sizes, sizes[::-1], strict=True):
        table = window(out.size, size, 1 - other, 0).moved(1, skip)
        pairs.append((value, product(out.shape, np.shape(value), part([0], [0], table))))
    return arrange(call, pairs)


@rule("numpy.polyder", "numpy.polyint", note="each coefficient from the one it comes from")
def polyder(call: Call) -> Lineages | None:
    """The same place, counted from the highest power."""
    p = call.argument("p")
    (out,) = call.outputs
    if np.ndim(p) != 1:
        return None
    table = shifted(min(out.size, np.size(p)))
    return arrange(call, [(p, product(out.shape, np.shape(p), part([0], [0], table)))])


@rule("numpy.poly", note="each coefficient but the first from all roots")
def poly(call: Call) -> Lineages | None:
    """The leading coefficient is 1; for a matrix the roots are its eigenvalues."""
    roots = call.argument("seq_of_zeros")
    (out,) = call.outputs
    if out.size < 2:
        return arrange(call, [(roots, None)])
    rest = part([0], [], row([(1, out.size - 1)], [], []))
    whole = [(0, n - 1) for n in np.shape(roots)]
    inputs = part([], range(len(whole)), row([], whole, [-1] * len(whole)))
    return arrange(call, [(roots, product(out.shape, np.shape(roots), rest, inputs))])


@rule("numpy.roots", kind="value", note="each root from all coefficients between zeros")
def roots(call: Call) -> Lineages | None:
    """Zeros at the end are roots at 0, which read nothing."""
    p = call.argument("p")
    (out,) = call.outputs
    found = np.flatnonzero(p)
    if not out.size or not len(found):
        return arrange(call, [(p, None)])
    first, last = int(found[0]), int(found[-1])
    if last == first:
        return arrange(call, [(p, None)])
    table = row([(0, last - first - 1)], [(first, last)], [-1])
    return arrange(call, [(p, product(out.shape, np.shape(p), part([0], [0], table)))])


@rule("numpy.vander", note="each cell from its row's cell; not the powers 0")
def vander(call: Call) -> Lineages | None:
    """The column of ones is from nothing."""
    x = call.argument("x")
    (out,) = call.outputs
    n, powers = out.shape
    if powers < 2 or not n:
        return arrange(call, [(x, None)])
    columns = (1, powers - 1) if call.argument("increasing", False) else (0, powers - 2)
    table = row([(0, n - 1), columns], [(0, 0)], [0])
    return arrange(call, [(x, product(out.shape, np.shape(x), part([0, 1], [0], table)))])


@rule("numpy.polydiv", kind="superset", note="each coefficient from all of both")
def polydiv(call: Call) -> Lineages | None:
    """Long division."""
    values = (call.argument("u"), call.argument("v"))
    return arrange(
        call,
        *(
            [(v, all_to_all(out.shape, np.shape(v), exact=False)) for v in values]
            for out in call.outputs
        ),
    )
