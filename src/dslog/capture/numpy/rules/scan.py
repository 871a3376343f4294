"""Rules for scans that depend on values: NaN left out, phases unwrapped."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dslog.capture.numpy.arrange import arrange, union
from dslog.capture.numpy.call import Call, Lineages
from dslog.capture.numpy.registry import rule
from dslog.capture.numpy.rules.reduce import scanned
from dslog.capture.numpy.structured import identity
from dslog.capture.numpy.values import has_nan, is_nan
from dslog.lineage.factor import Factor
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table

Bool = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]
Shape = tuple[int, ...]


@rule(
    "numpy.nancumsum", "numpy.nancumprod", kind="value",
    note="each cell from the cells up to it on the axis that are not NaN",
)  # fmt: skip
def nan_cumulative(call: Call) -> Lineages | None:
    """Two rows per run of cells that are not NaN: within the run, and after it."""
    given, axis = call.argument("a"), call.argument("axis")
    values = np.asarray(given)
    (output,) = call.outputs
    if values.ndim < 2:
        axis = 0 if values.ndim else None
    if not has_nan(values):
        return arrange(call, [(given, scanned(output.shape, values.shape, axis))])
    keep = ~is_nan(values)
    if not keep.any():
        return arrange(call, [(given, None)])
    if axis is None:
        table = _runs(keep.reshape(1, -1), [])
        factor = Factor((0,), tuple(range(values.ndim)), table, in_flat=values.ndim != 1)
        lineage = Lineage(output.shape, values.shape, ((factor,),))
        return arrange(call, [(given, lineage)])
    axis %= values.ndim
    others = [k for k in range(values.ndim) if k != axis]
    by_line = keep.transpose([*others, axis]).reshape(-1, values.shape[axis])
    table = _runs(by_line, [values.shape[k] for k in others])
    factor = Factor((*others, axis), (*others, axis), table)
    return arrange(call, [(given, Lineage(output.shape, values.shape, ((factor,),)))])


def _runs(keep: Bool, lead: list[int]) -> Table:
    """Return rows over (axes of the line, place in it) for the runs of kept cells of each line."""
    n = keep.shape[1]
    edge = np.diff(np.pad(keep, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    line, start = np.nonzero(edge == 1)
    stop = np.nonzero(edge == -1)[1] - 1
    at = np.stack(np.unravel_index(line, lead), 1) if lead else np.zeros((len(line), 0), np.int64)
    inside = _rows(at, start, start, start, start)
    grow = np.zeros((len(line), 1, inside.shape[1]), np.int64)
    d = len(lead) + 1
    for column in (d - 1, 2 * d - 1, 4 * d - 1):  # output place, both ends; upper end of input
        grow[:, 0, column] = 1
    later = stop < n - 1
    after = _rows(
        at[later], stop[later] + 1, np.full(int(later.sum()), n - 1), start[later], stop[later]
    )
    rows = np.concatenate([inside, after])
    count = np.concatenate([stop - start + 1, np.ones(len(after), np.int64)])[:, None]
    step = np.concatenate([grow, np.zeros((len(after), 1, inside.shape[1]), np.int64)])
    return Table(d, d, rows, np.full((len(rows), d), -1, np.int64), count, step)


def _rows(at: I64, out_lo: I64, out_hi: I64, in_lo: I64, in_hi: I64) -> I64:
    columns = [at, out_lo[:, None], at, out_hi[:, None], at, in_lo[:, None], at, in_hi[:, None]]
    return np.concatenate(columns, axis=1)


@rule(
    "numpy.unwrap", kind="value",
    note="each cell from its cell and the jumps before it",
)  # fmt: skip
def unwrap(call: Call) -> Lineages | None:
    """A jump that is corrected is two cells that all later cells on the axis read."""
    given, axis = call.argument("p"), call.argument("axis", -1)
    values = np.asarray(given)
    axis %= values.ndim
    period = call.argument("period", 2 * math.pi)
    discont = call.argument("discont")
    lineage = identity(values.shape)
    if values.size:
        jump = np.abs(np.diff(values, axis=axis)) >= (period / 2 if discont is None else discont)
        if jump.any():
            lineage = union(lineage, _jumps(jump, values.shape, axis))
    return arrange(call, [(given, lineage)])


def _jumps(jump: Bool, shape: Shape, axis: int) -> Lineage:
    """One row per corrected jump: outputs from the second cell on, inputs both cells."""
    at = np.argwhere(jump)
    out_lo, out_hi = at.copy(), at.copy()
    out_lo[:, axis] += 1
    out_hi[:, axis] = shape[axis] - 1
    in_hi = at.copy()
    in_hi[:, axis] += 1
    rows = np.concatenate([out_lo, out_hi, at, in_hi], axis=1)
    table = Table.plain(len(shape), len(shape), rows, np.full((len(rows), len(shape)), -1))
    return Lineage.of_table(shape, shape, table)
