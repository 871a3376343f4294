"""Rules for choosing between cells: the condition and the chosen cell contribute.

Rules for functions that call a function: its cells are followed, or all of a line are taken.

``np.vectorize`` and ``np.frompyfunc`` make ufuncs, which the rule for ufuncs knows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dslog.algebra.positions import lineage_of_positions
from dslog.algebra.product import elementwise, matched
from dslog.capture.numpy.argument_rule import OtherCallError, argument_rule
from dslog.capture.numpy.call import Call, Lineages, arrange, is_tracked
from dslog.capture.numpy.index_run import chosen, positions_of
from dslog.capture.numpy.registry import REGISTRY, rule
from dslog.capture.numpy.rules.reduce import axes_of, reduced
from dslog.capture.numpy.rules.sort import indices_of_set
from dslog.capture.numpy.trace import trace
from dslog.lineage.lineage import Lineage
from dslog.types import Array

Pairs = list[tuple[Any, Lineage | None]]


@rule("numpy.where", kind="value", note="each cell from the condition and the chosen side")
def where(call: Call) -> Lineages | None:
    """With a condition alone, the places where it holds."""
    condition = call.argument("condition")
    if "x" not in call.arguments or call.argument("x") is None:
        return indices_of_set(call, condition)
    x, y = call.argument("x"), call.argument("y")
    (output,) = call.outputs
    shape = output.shape
    holds = np.asarray(condition, bool)
    return arrange(
        call,
        [
            (condition, elementwise(shape, np.shape(condition))),
            (x, chosen(holds, shape, np.shape(x)) if is_tracked(call, x) else None),
            (y, chosen(~holds, shape, np.shape(y)) if is_tracked(call, y) else None),
        ],
    )


@rule("numpy.choose", kind="value", note="each cell from the index and the chosen cell")
def choose(call: Call) -> Lineages | None:
    """Choice k where the index is k."""
    index, choices = call.argument("a"), call.argument("choices")
    (output,) = call.outputs
    shape, count = output.shape, len(choices)
    which = np.asarray(index, np.int64)
    mode = call.argument("mode", "raise")
    which = np.clip(which, 0, count - 1) if mode == "clip" else which % count
    pairs: Pairs = [(index, elementwise(shape, np.shape(index)))]
    if isinstance(choices, np.ndarray):
        size = choices[0].size
        layer = np.broadcast_to(positions_of(choices.shape[1:]), shape)
        came = layer + size * np.broadcast_to(which, shape)
        return arrange(call, [*pairs, (choices, lineage_of_positions(came, choices.shape))])
    for k, choice in enumerate(choices):
        if is_tracked(call, choice):
            pairs.append((choice, chosen(which == k, shape, np.shape(choice))))
    return arrange(call, pairs)


@rule("numpy.select", kind="value", note="each cell from the conditions up to the one that holds")
def select(call: Call) -> Lineages | None:
    """Conditions up to the first that holds, and what it chooses."""
    conditions, choices = call.argument("condlist"), call.argument("choicelist")
    default = call.argument("default", 0)
    (output,) = call.outputs
    shape = output.shape
    undecided = np.ones(shape, bool)
    pairs: Pairs = []
    for condition, choice in zip(conditions, choices, strict=True):
        holds = undecided & np.broadcast_to(np.asarray(condition, bool), shape)
        pairs.append((condition, chosen(undecided, shape, np.shape(condition))))
        if is_tracked(call, choice):
            pairs.append((choice, chosen(holds, shape, np.shape(choice))))
        undecided &= ~holds
    pairs.append((default, chosen(undecided, shape, np.shape(default))))
    return arrange(call, pairs)


_REDUCTIONS = (
    "sum prod mean std var max min amax amin ptp any all argmax argmin count_nonzero average"
)
WHOLE_LINE = {getattr(np, name) for name in _REDUCTIONS.split()}


@argument_rule(
    "numpy.apply_along_axis", data="arr", note="a reduction: each cell from all cells of its line"
)
def reduce_lines(call: Call, data: Array, out: Array) -> Lineage:
    """Numpy's own reductions read whole lines."""
    if call.argument("func1d") not in WHOLE_LINE or call.arguments.get("args"):
        raise OtherCallError
    return _per_line(call, data, out)


@argument_rule(
    "numpy.apply_along_axis", data="arr", kind="superset",
    note="a function that can't be followed: each cell from all cells of its line",
)  # fmt: skip
def any_line(call: Call, data: Array, out: Array) -> Lineage:
    """Lines do not mix."""
    return _per_line(call, data, out).with_exact(False)


def _per_line(call: Call, data: Array, out: Array) -> Lineage:
    """The axes before the line come first in the output, those after it last."""
    axis = call.argument("axis") % data.ndim
    later = data.ndim - axis - 1
    follows = {i: i for i in range(axis)}
    follows |= {axis + 1 + k: out.ndim - later + k for k in range(later)}
    return matched(out.shape, data.shape, follows)


@argument_rule(
    "numpy.apply_over_axes", data="a", note="a reduction: each cell from all cells on the axes"
)
def reduce_axes(call: Call, data: Array, out: Array) -> Lineage:
    """One reduction after the other; the axes stay with size 1."""
    if call.argument("func") not in WHOLE_LINE:
        raise OtherCallError
    axes = axes_of(np.atleast_1d(call.argument("axes")).tolist(), data.ndim)
    return reduced(data.shape, axes, out.shape)


for _name in ("pad", "polyint", "vecdot"):
    REGISTRY.add(f"numpy.{_name}", "trace", trace, "functions of one's own: each cell is followed")
