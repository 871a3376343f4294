"""Rules for order statistics: a quantile is from the one or two cells of its line that it uses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dslog.algebra.positions import from_pairs
from dslog.algebra.product import matched, numpy_names
from dslog.capture.numpy.argument_rule import argument_rule
from dslog.capture.numpy.call import Call, Lineages, arrange
from dslog.capture.numpy.index_run import has_nan, is_nan, lines, ordered
from dslog.capture.numpy.registry import rule
from dslog.capture.numpy.rules.reduce import axes_of, reduced
from dslog.lineage.lineage import Lineage
from dslog.types import I64, Array, Shape


def _quantile(call: Call) -> Lineages | None:
    """Which ranks are used, numpy itself says when it is run on the ranks 0, 1, 2 ..."""
    given, q, weights = (call.argument(name) for name in ("a", "q", "weights"))
    skip_nan = call.func.__name__.startswith("nan")
    values = np.asarray(given)
    (output,) = call.outputs
    axes = axes_of(call.argument("axis"), values.ndim)
    if not values.size or not output.size:
        return arrange(call, [(given, None), (q, None), (weights, None)])
    rows, positions = lines(values, axes)
    if weights is not None:
        return _weighted(call, rows, positions, axes, skip_nan=skip_nan)
    order = ordered(rows, 1)
    nan = is_nan(rows).sum(axis=1)
    counted = rows.shape[1] - nan if skip_nan else np.where(nan > 0, 0, rows.shape[1])
    out_cells, in_cells = [], []
    per_q = np.arange(output.size).reshape(np.size(q) if q is not None else 1, -1)
    for count in np.unique(counted):
        here = np.flatnonzero(counted == count)
        if count == 0:  # NaN: from the NaN that sorts last, or from nothing
            if not skip_nan:
                out_cells.append(per_q[:, here].ravel())
                last = positions[here, order[here, -1]]
                in_cells.append(np.broadcast_to(last, (len(per_q), len(here))).ravel())
            continue
        for k, ranks in enumerate(_ranks(call, int(count))):
            for rank in ranks:
                out_cells.append(per_q[k, here])
                in_cells.append(positions[here, order[here, rank]])
    lineage = _pairs(out_cells, in_cells, output.shape, values.shape)
    return arrange(call, [(given, lineage), (q, _levels(q, output.shape))])


for _prefix, _note in (("", ""), ("nan", ", NaN left out")):
    rule(
        *numpy_names(_prefix, "median quantile percentile"), kind="value",
        note=f"each cell from the order statistics it uses{_note}",
    )(_quantile)  # fmt: skip


def _pairs(outs: list[I64], ins: list[I64], out_shape: Shape, in_shape: Shape) -> Lineage:
    if not outs:
        return Lineage.empty(out_shape, in_shape)
    return from_pairs(np.concatenate(outs), np.concatenate(ins), out_shape, in_shape)


def _ranks(call: Call, count: int) -> list[list[int]]:
    """Return for each level the ranks used among ``count`` cells."""
    ranks = np.arange(count, dtype=float)
    name = call.func.__name__.removeprefix("nan")
    if name == "median":
        found = np.atleast_1d(np.median(ranks))
    else:
        method = call.argument("method", "linear")
        function = np.quantile if name == "quantile" else np.percentile
        found = np.ravel(function(ranks, call.argument("q"), method=method))
    return [sorted({math.floor(r), math.ceil(r)}) for r in found.tolist()]


def _levels(q: Any, out_shape: Shape) -> Lineage | None:
    """Each cell from its level, whose axes come first."""
    if q is None:
        return None
    return matched(out_shape, np.shape(q), {k: k for k in range(np.ndim(q))})


def _weighted(
    call: Call, rows: Array, positions: I64, axes: Shape, *, skip_nan: bool
) -> Lineages | None:
    """Weighted quantiles are one of the cells: the first, in order, of that value."""
    given, q, weights = (call.argument(name) for name in ("a", "q", "weights"))
    (output,) = call.outputs
    if skip_nan and has_nan(rows):
        return None
    found = output.reshape(np.size(q), -1)
    outs, ins = [], []
    order = ordered(rows, 1)
    for k, level in enumerate(found):
        hit = np.take_along_axis(rows, order, 1) == level[:, None]
        place = hit.argmax(axis=1)
        good = np.flatnonzero(hit.any(axis=1))
        outs.append(k * found.shape[1] + good)
        ins.append(positions[good, order[good, place[good]]])
    lineage = _pairs(outs, ins, output.shape, np.shape(given))
    extra = np.ndim(q)
    if np.shape(weights) == np.shape(given):
        kept = [k for k in range(np.ndim(given)) if k not in axes]
        same = output.ndim - extra == np.ndim(given)
        follows = {k: extra + (k if same else n) for n, k in enumerate(kept)}
    else:
        follows = {}
    return arrange(
        call,
        [
            (given, lineage),
            (weights, matched(output.shape, np.shape(weights), follows)),
            (q, _levels(q, output.shape)),
        ],
    )


# --- reductions that leave NaN out ---------------------------------------------------------------


@argument_rule(
    *(f"numpy.nan{name}" for name in ("sum", "prod", "max", "min", "mean", "var", "std")),
    "numpy.nanargmax", "numpy.nanargmin", data="a", kind="value",
    note="each cell from the cells on the axes that are not NaN",
)  # fmt: skip
def nan_reduction(call: Call, data: Array, out: Array) -> Lineage:
    """Without NaN, a plain reduction."""
    axes = axes_of(call.argument("axis"), data.ndim)
    if not has_nan(data):
        return reduced(data.shape, axes, out.shape)
    rows, positions = lines(data, axes)
    line, place = np.nonzero(~is_nan(rows))
    return from_pairs(line, positions[line, place], out.shape, data.shape)
