"""Rules for set routines: a value is from its first cell, a count from all equal cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from dslog.algebra.positions import from_pairs, gathered, lineage_of_positions
from dslog.algebra.product import (
    follow,
    matched,
    place,
    product,
    read,
    same_order,
)
from dslog.capture.numpy.argument_rule import by_argument, cellwise, every_cell
from dslog.capture.numpy.call import Call, Lineages, arrange
from dslog.capture.numpy.index_run import is_nan
from dslog.capture.numpy.registry import rule
from dslog.lineage.lineage import Lineage
from dslog.types import I64, Array

Pairs = list[tuple[Any, Lineage | None]]


def first_cells(values: Array, found: Array, *, equal_nan: bool = True) -> I64:
    """Return the position of the first cell of ``values`` (flat) that equals each found value.

    -1 where there is none.
    """
    order = np.argsort(values, kind="stable")
    line = values[order]
    places = np.searchsorted(line, found, side="left")
    if not equal_nan:  # NaNs are apart: the k-th found is the k-th given
        nan = is_nan(found)
        places[nan] += np.arange(int(nan.sum()))
    inside = np.clip(places, 0, max(len(line) - 1, 0))
    if not len(line):
        return np.full(found.shape, -1, np.int64)
    same = (line[inside] == found) | (is_nan(line[inside]) & is_nan(found))
    return np.where(same & (places < len(line)), order[inside], -1)


_ASKED = {  # index, inverse, counts
    "unique_all": (True, True, True),
    "unique_counts": (False, False, True),
    "unique_inverse": (False, True, False),
}


@rule(
    "numpy.unique", "numpy.unique_all", "numpy.unique_counts", "numpy.unique_inverse",
    "numpy.unique_values", kind="value",
    note="values from their first cell, inverse from its cell, counts from all equal cells",
)  # fmt: skip
def unique(call: Call) -> Lineages | None:
    """Values, and the outputs that were asked for."""
    given = next(iter(call.arguments.values()))
    values = np.asarray(given)
    asked = _ASKED.get(call.func.__name__) or (
        bool(call.argument("return_index", False)),
        bool(call.argument("return_inverse", False)),
        bool(call.argument("return_counts", False)),
    )
    axis = call.argument("axis")
    if axis is not None:
        return _unique_slices(call, given, axis, asked)
    equal_nan = bool(call.argument("equal_nan", call.func == np.unique))
    flat, found = values.reshape(-1), call.outputs[0].reshape(-1)
    first = first_cells(flat, found, equal_nan=equal_nan)
    moved = lineage_of_positions(first, values.shape)
    outputs: list[Pairs] = [[(given, moved)]]
    if asked[0]:
        outputs.append([(given, lineage_of_positions(call.outputs[1], values.shape))])
    if asked[1]:
        inverse = call.outputs[1 + asked[0]]
        outputs.append([(given, same_order(inverse.shape, values.shape))])
    if asked[2]:
        group = _groups(flat, found, equal_nan=equal_nan)
        counted = from_pairs(group, np.arange(flat.size), found.shape, values.shape)
        outputs.append([(given, counted)])
    return arrange(call, *outputs)


def _groups(flat: Array, found: Array, *, equal_nan: bool) -> I64:
    """Return for each cell which of the found values it is, whatever their order."""
    _, inverse = np.unique(flat, return_inverse=True, equal_nan=equal_nan)
    order = np.argsort(found, kind="stable")
    return order[inverse.reshape(-1)]


def _unique_slices(
    call: Call, given: Any, axis: int, asked: tuple[bool, bool, bool]
) -> Lineages | None:
    """Slices along an axis are compared as a whole."""
    values = np.asarray(given)
    axis %= values.ndim
    equal_nan = bool(call.argument("equal_nan", True))
    _, first, inverse = np.unique(
        values, return_index=True, return_inverse=True, axis=axis, equal_nan=equal_nan
    )
    shape, size = values.shape, values.shape[axis]
    if not values.size:
        return arrange(call, *([(given, None)] for _ in call.outputs))
    others = [k for k in range(values.ndim) if k != axis]
    kept = [follow(k, k, shape[k]) for k in others]
    whole = [read(k, 0, shape[k] - 1) for k in others]
    here = place(gathered(first, size), [axis], [axis])
    outputs: list[Pairs] = [[(given, product(call.outputs[0].shape, shape, here, *kept))]]
    if asked[0]:
        line = place(gathered(first, size), [0], [axis])
        outputs.append([(given, product(first.shape, shape, line, *whole))])
    if asked[1]:
        out = call.outputs[len(outputs)]
        along = {axis: 0} if out.ndim == 1 else {axis: axis}
        outputs.append([(given, matched(out.shape, shape, along))])
    if asked[2]:
        groups = from_pairs(inverse.reshape(-1), np.arange(size), first.shape, (size,)).terms
        line = place(groups, [0], [axis])
        outputs.append([(given, product(first.shape, shape, line, *whole))])
    return arrange(call, *outputs)


by_argument(
    "numpy.isin", element=cellwise, test_elements=every_cell,
    note="each answer from its element and all test elements",
)  # fmt: skip


@rule(
    "numpy.intersect1d", "numpy.setdiff1d", kind="value",
    note="values from their first cell in the first array; the other decides",
)  # fmt: skip
def from_first(call: Call) -> Lineages | None:
    """The second array is compared with, not copied from; its index is from its own cell."""
    ar1, ar2 = call.argument("ar1"), call.argument("ar2")
    values, *indices = call.outputs
    first = first_cells(np.asarray(ar1).reshape(-1), values)
    outputs: list[Pairs] = [[(ar1, lineage_of_positions(first, np.shape(ar1))), (ar2, None)]]
    for source, other, index in zip((ar1, ar2), (ar2, ar1), indices, strict=False):
        own = lineage_of_positions(index.astype(np.int64), np.shape(source))
        outputs.append([(source, own), (other, None)])
    return arrange(call, *outputs)


@rule(
    "numpy.union1d", "numpy.setxor1d", kind="value",
    note="values from their first cell in either array",
)  # fmt: skip
def from_either(call: Call) -> Lineages | None:
    """The first array comes before the second."""
    ar1, ar2 = call.argument("ar1"), call.argument("ar2")
    (values,) = call.outputs
    one, two = np.asarray(ar1).reshape(-1), np.asarray(ar2).reshape(-1)
    first = first_cells(one, values)
    second = np.where(first < 0, first_cells(two, values), -1)
    return arrange(
        call,
        [
            (ar1, lineage_of_positions(first, np.shape(ar1))),
            (ar2, lineage_of_positions(second, np.shape(ar2))),
        ],
    )
