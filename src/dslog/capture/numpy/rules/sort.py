"""Rules for sorting and searching: the cell that moved, or that an index points to, contributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from dslog.algebra.positions import from_pairs, lineage_of_positions
from dslog.algebra.product import elementwise
from dslog.capture.numpy.argument_rule import argument_rule, by_argument, cellwise
from dslog.capture.numpy.call import Call, Lineages, arrange
from dslog.capture.numpy.index_run import along_axis, ordered, positions_of
from dslog.capture.numpy.registry import rule
from dslog.lineage.lineage import Lineage
from dslog.types import Array, Shape


@argument_rule(
    "numpy.sort", "numpy.sort_complex", data="a", kind="value",
    note="each cell from the cell that moved",
)  # fmt: skip
def sort(call: Call, data: Array, _: Array) -> Lineage:
    """Equal cells keep their order."""
    axis = call.argument("axis", -1)
    order = np.argsort(data, axis=axis, kind="stable", order=call.argument("order"))
    return along_axis(order, data.shape, axis)


@argument_rule("numpy.partition", data="a", kind="value", note="each cell from the cell that moved")
def partition(call: Call, data: Array, out: Array) -> Lineage:
    """Cells are recognised by their rank, which a move does not change."""
    values, axis = data, call.argument("axis", -1)
    if axis is None:
        values, axis = data.reshape(-1), 0
    came = np.empty(out.shape, np.int64)
    by_rank = np.take_along_axis(positions_of(values.shape), ordered(values, axis), axis)
    np.put_along_axis(came, ordered(out, axis), by_rank, axis)
    return lineage_of_positions(came, data.shape)


@argument_rule(
    "numpy.argsort", "numpy.argpartition", data="a", kind="value",
    note="each index from the cell it names",
)  # fmt: skip
def argsort(call: Call, data: Array, out: Array) -> Lineage:
    """The result itself says which cell."""
    if not data.ndim:
        return elementwise(out.shape, ())
    return along_axis(out, data.shape, call.argument("axis", -1))


@rule("numpy.lexsort", kind="value", note="each index from the cells of all keys that it names")
def lexsort(call: Call) -> Lineages | None:
    """All keys at the place that an index names."""
    keys, axis = call.argument("keys"), call.argument("axis", -1)
    (output,) = call.outputs
    if isinstance(keys, np.ndarray):
        lead = positions_of(keys.shape).reshape(len(keys), -1)
        pairs = [
            from_pairs(
                np.arange(output.size),
                np.take_along_axis(k.reshape(keys.shape[1:]), output, axis),
                output.shape,
                keys.shape,
            )
            for k in lead
        ]
        return arrange(call, [(keys, one) for one in pairs])
    return arrange(call, [(key, along_axis(output, np.shape(key), axis)) for key in keys])


# --- where cells are set -------------------------------------------------------------------------


@rule(
    "numpy.nonzero", "numpy.flatnonzero", "numpy.argwhere", kind="value",
    note="each index from the cell it names",
)  # fmt: skip
def nonzero(call: Call) -> Lineages | None:
    """Row k is about the k-th cell that is not zero."""
    (values,) = call.args or call.kwargs.values()
    return indices_of_set(call, values)


def indices_of_set(call: Call, values: Any) -> Lineages | None:
    """Outputs that list the places of the cells that are not zero."""
    found = np.flatnonzero(np.asarray(values) != 0) if np.ndim(values) else np.zeros(1, np.int64)
    shape = np.shape(values)
    outputs = []
    for out in call.outputs:
        if not out.size:
            outputs.append([(values, None)])
            continue
        came = np.broadcast_to(found.reshape(-1, *[1] * (out.ndim - 1)), out.shape)
        outputs.append([(values, lineage_of_positions(came, shape))])  # type: ignore[list-item]
    return arrange(call, *outputs)


@argument_rule(
    "numpy.extract", "numpy.compress", data="a arr", unread="condition", kind="value",
    note="each cell from the cell that stayed; not the condition",
)  # fmt: skip
def compressed(call: Call, data: Array, _: Array) -> Lineage:
    """Cells, or slices of an axis, where the condition holds."""
    condition, axis = np.asarray(call.argument("condition")), call.argument("axis")
    positions = positions_of(data.shape)
    if axis is None:
        came = positions.reshape(-1)[np.flatnonzero(condition)]
    else:
        came = np.compress(condition, positions, axis=axis)
    return lineage_of_positions(came, data.shape)


def _taken(call: Call, data: Array, _: Array) -> Lineage:
    """The index array names a cell of each line."""
    return along_axis(call.argument("indices"), data.shape, call.argument("axis", -1))


by_argument(
    "numpy.take_along_axis", arr=_taken, indices=cellwise, kind="value",
    note="each cell from the cell taken, and its index",
)  # fmt: skip


@argument_rule(
    "numpy.trim_zeros", data="filt", kind="value", note="each cell from the cell that stayed"
)
def trim_zeros(call: Call, data: Array, out: Array) -> Lineage:
    """What is left is a box; the first cell that is not zero says where it starts."""
    trim, axis = call.argument("trim", "fb").lower(), call.argument("axis")
    axes = range(data.ndim) if axis is None else np.atleast_1d(axis) % data.ndim
    where = np.argwhere(data != 0)
    start = [int(where[:, k].min()) if k in axes and "f" in trim else 0 for k in range(data.ndim)]
    box = tuple(slice(s, s + n) for s, n in zip(start, out.shape, strict=True))
    return lineage_of_positions(positions_of(data.shape)[box], data.shape)


# --- places in sorted arrays ---------------------------------------------------------------------


def edges(_: Call, data: Array, out: Array) -> Lineage:
    """The cells on both sides of each place."""
    return between(out, data.size, None, data.shape)


def _neighbours(call: Call, data: Array, out: Array) -> Lineage:
    """The neighbours decide; the cells that the search also looked at do not."""
    return between(out, data.size, call.argument("sorter"), data.shape)


by_argument(
    "numpy.searchsorted", v=cellwise, a=_neighbours, sorter=edges, kind="value",
    note="each index from its value and the two cells it falls between",
)  # fmt: skip


by_argument(
    "numpy.digitize", x=cellwise, bins=edges, kind="value",
    note="each index from its value and the two edges it falls between",
)  # fmt: skip


def between(places: Any, size: int, order: Any, shape: Shape) -> Lineage:
    """The cells before and at each insertion place, as far as there are any."""
    places = np.asarray(places, np.int64)
    outs, ins = [], []
    for cells in (places - 1, places):
        inside = (cells >= 0) & (cells < size)
        outs.append(np.flatnonzero(inside))
        ins.append(cells[inside].reshape(-1))
    found = np.concatenate(ins)
    if order is not None:
        found = np.asarray(order)[found]
    return from_pairs(np.concatenate(outs), found, places.shape, shape)


@rule(
    "numpy.interp",
    kind="value",
    note="each cell from its place and the points it lies between",
)
def interp(call: Call) -> Lineages | None:
    """Two points inside, one where x is a point, an end outside.

    Periodic points are wrapped, sorted, and continued by one on both sides.
    """
    at, points = np.asarray(call.argument("x")), np.asarray(call.argument("xp"))
    cells = np.arange(len(points))
    if call.argument("period") is not None:
        period = abs(call.argument("period"))
        points, at = points % period, at % period
        order = np.argsort(points)
        ends = points[order[-1:]] - period, points[order[:1]] + period
        points = np.concatenate([ends[0], points[order], ends[1]])
        cells = np.concatenate([order[-1:], order, order[:1]])
    places = np.searchsorted(points, at, side="right") - 1
    return _interpolated(call, at, points, places, cells, call.outputs[0].shape)


def _interpolated(
    call: Call, at: Any, points: Any, places: Any, cells: Any, out_shape: Shape
) -> Lineages | None:
    """The point at or before each place, and the next one unless the place is a point.

    Outside, ``left`` and ``right`` stand for the values at the ends.
    """
    x, xp, fp = (call.argument(name) for name in ("x", "xp", "fp"))
    last = len(points) - 1
    before, after = places < 0, places >= last
    hit = ~before & (points[np.clip(places, 0, last)] == at)
    beyond = after & ~hit
    lower = cells[np.clip(places, 0, last)]
    upper = cells[np.clip(places + 1, 0, last)]
    between_two = ~before & ~after & ~hit
    everywhere = np.arange(np.size(at)).reshape(np.shape(at))
    outs = np.concatenate([everywhere.ravel(), everywhere[between_two]])
    ins = np.concatenate([np.ravel(lower), upper[between_two]])
    reads = np.ones(np.shape(at), bool)
    for side, name in ((before, "left"), (beyond, "right")):
        if call.argument(name) is not None and call.argument("period") is None:
            reads &= ~side
    keep = reads.ravel()[outs]
    values = from_pairs(outs[keep], ins[keep], out_shape, np.shape(fp))
    return arrange(
        call,
        [
            (x, elementwise(out_shape, np.shape(x))),
            (xp, from_pairs(outs, ins, out_shape, np.shape(xp))),
            (fp, values),
            (call.argument("left"), None),
            (call.argument("right"), None),
        ],
    )
