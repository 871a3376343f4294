"""Rules for functions that read whole axes, or everything up to a cell: sums, tests, scans.

Rules for scans that depend on values: NaN left out, phases unwrapped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dslog.algebra.axis import scan, shifted
from dslog.algebra.product import (
    all_to_all,
    elementwise,
    flat,
    identity,
    matched,
    numpy_names,
    part,
    product,
    row,
)
from dslog.algebra.restrict import union
from dslog.capture.numpy.argument_rule import (
    argument_rule,
    by_argument,
    cellwise,
    every_cell,
    leading,
    output_place,
)
from dslog.capture.numpy.call import Call, Lineages, arrange
from dslog.capture.numpy.index_run import is_nan
from dslog.capture.numpy.registry import rule
from dslog.capture.numpy.rules.shape import on_axis, on_line
from dslog.lineage.factor import Factor
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table, concat
from dslog.types import Array, Mask, Shape


def axes_of(axis: Any, ndim: int) -> Shape:
    """Return an ``axis`` argument as axes; None means all.

    >>> axes_of((-1, 0), 3)
    (2, 0)
    """
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(int(one) % max(ndim, 1) for one in given)


def reduced(in_shape: Sequence[int], axes: Sequence[int], out_shape: Sequence[int]) -> Lineage:
    """Each output cell from all input cells on some axes, which are gone or of size 1."""
    kept = [i for i in range(len(in_shape)) if i not in axes]
    same = len(out_shape) == len(in_shape) and len(axes) > 0
    return matched(out_shape, in_shape, {i: i if same else n for n, i in enumerate(kept)})


def data_of(call: Call) -> Any:
    """Return the argument that is reduced: the first one."""
    names = ("a", "x", "array", "arr", "m", "y", "filt")
    return next((call.arguments[name] for name in names if name in call.arguments), None)


@rule(
    *numpy_names(
        "",
        "sum prod max min amax amin ptp mean std var any all count_nonzero argmax argmin "
        "linalg.norm linalg.vector_norm",
    ),
    "numpy.ufunc.reduce",
    note="each cell from all cells on the axes",
)
def reduction(call: Call) -> Lineages | None:
    """Reductions read every cell, also those that compare."""
    values = data_of(call)
    shape = np.shape(values)
    default = 0 if call.ufunc is not None else None
    axes = axes_of(call.argument("axis", default), len(shape))
    (output,) = call.outputs
    pairs = [(values, reduced(shape, axes, output.shape))]
    initial = call.argument("initial", np._NoValue)  # noqa: SLF001
    if call.which(initial) is not None:
        pairs.append((initial, all_to_all(output.shape, ())))
    mean = call.argument("mean", np._NoValue)  # noqa: SLF001
    if call.which(mean) is not None:
        follows = [i for i in range(len(shape)) if i not in axes]
        if output.ndim == len(shape):
            pairs.append((mean, elementwise(output.shape, np.shape(mean))))
        else:
            dims = {i: n for n, i in enumerate(follows)}
            pairs.append((mean, matched(output.shape, np.shape(mean), dims)))
    return arrange(call, pairs)


by_argument(
    "numpy.allclose", "numpy.array_equal", "numpy.array_equiv",
    a=every_cell, b=every_cell, a1=every_cell, a2=every_cell, rtol=every_cell, atol=every_cell,
    note="the answer from all cells of both",
)  # fmt: skip


def _averaged(call: Call, data: Array, out: Array) -> Lineage | None:
    """The values on the axes; none of them is in the sum of weights."""
    if output_place(call, out):
        return None
    return reduced(data.shape, axes_of(call.argument("axis"), data.ndim), out.shape)


def _weighed(call: Call, data: Array, out: Array) -> Lineage:
    """Weights for all values, or over the reduced axes only."""
    if data.shape != np.shape(call.argument("a")):
        return matched(out.shape, data.shape, {})
    return reduced(data.shape, axes_of(call.argument("axis"), data.ndim), out.shape)


by_argument(
    "numpy.average", a=_averaged, weights=_weighed,
    note="each cell from all cells and weights on the axes",
)  # fmt: skip


# --- scans ---------------------------------------------------------------------------------------


@rule(
    "numpy.cumsum", "numpy.cumprod", "numpy.cumulative_sum", "numpy.cumulative_prod",
    "numpy.ufunc.accumulate",
    note="each cell from the cells up to it on the axis",
)  # fmt: skip
def cumulative(call: Call) -> Lineages | None:
    """``a in [0, b]`` on the axis, or on the linear index without one."""
    values = data_of(call)
    axis = call.argument("axis", 0 if call.ufunc is not None else None)
    (output,) = call.outputs
    first = int(bool(call.argument("include_initial", False)))
    if np.ndim(values) != output.ndim:
        axis = None
    elif axis is None and output.ndim == 1:
        axis = 0
    return arrange(call, [(values, scanned(output.shape, np.shape(values), axis, first))])


def scanned(out_shape: Shape, in_shape: Shape, axis: int | None, first: int = 0) -> Lineage:
    """A scan along an axis, or in C order; outputs before ``first`` read nothing."""
    if axis is None:
        return on_line(out_shape, in_shape, scan(out_shape[0] - first, first))
    axis %= len(in_shape)
    return on_axis(out_shape, in_shape, axis, scan(out_shape[axis] - first, first))


# --- other methods of ufuncs ---------------------------------------------------------------------


by_argument(
    "numpy.ufunc.outer", A=leading, B=cellwise, note="each cell from the two cells it pairs"
)


@rule("numpy.ufunc.reduceat", note="each cell from the cells of its slice of the axis")
def reduceat(call: Call) -> Lineages | None:
    """Slice k goes from index k up to index k + 1, or is the one cell at index k."""
    values, indices = call.argument("array"), np.asarray(call.argument("indices"), np.int64)
    axis = call.argument("axis", 0) % np.ndim(values)
    (output,) = call.outputs
    size = np.shape(values)[axis]
    stop = np.append(indices[1:], size)
    hi = np.where(stop > indices, stop - 1, indices)
    place = np.arange(len(indices))
    table = Table.of_boxes(place, place, indices, hi)
    lineage = on_axis(output.shape, np.shape(values), axis, table)
    return arrange(
        call,
        [(values, lineage), (call.argument("indices"), _borders(output.shape, axis, len(indices)))],
    )


def _borders(out_shape: Shape, axis: int, count: int) -> Lineage:
    """A slice's own index and the next one."""
    table = row([(0, count - 1)], [(0, 0)], [0])
    if count == 0:
        return Lineage.empty(out_shape, (count,))
    own = matched(out_shape, (count,), {}, part([axis], [0], table))
    if count == 1:
        return own
    after = part([axis], [0], shifted(count - 1, 1))
    more = matched(out_shape, (count,), {}, after)
    return Lineage(out_shape, (count,), own.terms + more.terms)


@argument_rule(
    "numpy.nancumsum", "numpy.nancumprod", data="a", kind="value",
    note="each cell from the cells up to it on the axis that are not NaN",
)  # fmt: skip
def nan_cumulative(call: Call, data: Array, out: Array) -> Lineage | None:
    """Two rows per run of cells that are not NaN: within the run, and after it."""
    axis, shape = call.argument("axis"), data.shape
    if data.ndim < 2:
        axis = 0 if data.ndim else None
    keep = ~is_nan(data)
    if keep.all():
        return scanned(out.shape, shape, axis)
    if not keep.any():
        return None
    if axis is None:
        runs = flat([0], range(data.ndim), _runs(keep.reshape(1, -1), []))
        return product(out.shape, shape, runs)
    axis %= data.ndim
    others = [k for k in range(data.ndim) if k != axis]
    by_line = keep.transpose([*others, axis]).reshape(-1, shape[axis])
    table = _runs(by_line, [shape[k] for k in others])
    factor = Factor((*others, axis), (*others, axis), table)
    return Lineage(out.shape, shape, ((factor,),))


def _runs(keep: Mask, lead: list[int]) -> Table:
    """Return rows over (axes of the line, place in it) for the runs of kept cells of each line."""
    n = keep.shape[1]
    edge = np.diff(np.pad(keep, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    line, start = np.nonzero(edge == 1)
    stop = np.nonzero(edge == -1)[1] - 1
    at = np.unravel_index(line, lead) if lead else ()
    first = Table.of_boxes(*([*at, end] for end in (start,) * 4))
    axes = first.num_axes
    step = np.zeros((1, 2 * axes, len(first)), np.int64)
    step[0, [len(lead), 2 * axes - 1]] = 1  # the output's place, and how much it reads
    inside = Table(len(lead) + 1, len(lead) + 1, first.matrix, (stop - start + 1)[None], step)
    later = stop < n - 1
    ends = stop[later] + 1, np.full(int(later.sum()), n - 1), start[later], stop[later]
    after = Table.of_boxes(*([*(index[later] for index in at), end] for end in ends))
    return concat([inside, after])


@argument_rule(
    "numpy.unwrap", data="p", kind="value", note="each cell from its cell and the jumps before it"
)
def unwrap(call: Call, data: Array, _: Array) -> Lineage:
    """A jump that is corrected is two cells that all later cells on the axis read."""
    axis = call.argument("axis", -1) % data.ndim
    period, discont = call.argument("period", 2 * math.pi), call.argument("discont")
    jump = np.abs(np.diff(data, axis=axis)) >= (period / 2 if discont is None else discont)
    lineage = identity(data.shape)
    return union(lineage, _jumps(jump, data.shape, axis)) if jump.any() else lineage


def _jumps(jump: Mask, shape: Shape, axis: int) -> Lineage:
    """One row per corrected jump: outputs from the second cell on, inputs both cells."""
    at = np.argwhere(jump)
    out_lo, out_hi = at.copy(), at.copy()
    out_lo[:, axis] += 1
    out_hi[:, axis] = shape[axis] - 1
    in_hi = at.copy()
    in_hi[:, axis] += 1
    table = Table.of_boxes(out_lo.T, out_hi.T, at.T, in_hi.T)
    return Lineage.of_table(shape, shape, table)
