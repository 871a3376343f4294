"""Rules for choosing between cells: the condition and the chosen cell contribute."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dslog.capture.numpy.arrange import arrange, is_tracked
from dslog.capture.numpy.call import Call, Lineages
from dslog.capture.numpy.indexrun import lineage_of_positions
from dslog.capture.numpy.patterns import elementwise
from dslog.capture.numpy.registry import rule
from dslog.capture.numpy.rules.sort import indices_of_set
from dslog.capture.numpy.tracer import trace
from dslog.capture.numpy.values import chosen, positions_of
from dslog.lineage.lineage import Lineage

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


@rule(
    "numpy.piecewise",
    kind="value",
    note="each cell from its cell and the conditions that decide",
)
def piecewise(call: Call) -> Lineages | None:
    """The last condition that holds decides; its function must be a ufunc or a constant.

    Other functions may read any of the cells they are given, so they are traced instead.
    """
    functions = list(call.argument("funclist"))
    if call.arguments.get("args") or call.arguments.get("kw"):
        return None
    if any(callable(f) and not isinstance(f, np.ufunc) for f in functions):
        return None
    conditions = _conditions(call)
    if conditions is None:
        return None
    x = call.argument("x")
    pairs, reads = _deciding(conditions, functions, np.shape(x))
    return arrange(call, [*pairs, (x, chosen(reads, np.shape(x), np.shape(x)))])


@rule("numpy.piecewise", kind="trace", note="functions of one's own: each cell is followed")
def piecewise_traced(call: Call) -> Lineages | None:
    """The cells that the functions read, and the conditions that decide."""
    conditions, x = _conditions(call), call.argument("x")
    if conditions is None or call.which(x) is None:
        return None
    found = trace(replace(call, inputs=(x,)))
    if found is None:
        return None
    pairs, _ = _deciding(conditions, list(call.argument("funclist")), np.shape(x))
    return arrange(call, [*pairs, (x, found[0][0])])


def _conditions(call: Call) -> list[Any] | None:
    """Return the conditions one by one; None for a tracked array of all of them."""
    given, shape = call.argument("condlist"), np.shape(call.argument("x"))
    if isinstance(given, np.ndarray):
        if given.shape == shape:
            return [given]
        return None if call.which(given) is not None else list(given)
    if np.ndim(given[0]) == 0 and shape:
        return [np.asarray(given)]
    return list(given)


def _deciding(
    conditions: list[Any], functions: list[Any], shape: tuple[int, ...]
) -> tuple[Pairs, npt.NDArray[np.bool_]]:
    """Return the conditions with their lineage, and where a function reads the cell."""
    undecided = np.ones(shape, bool)  # no later condition holds
    reads = np.zeros(shape, bool)
    pairs: Pairs = []
    for condition, function in reversed(list(zip(conditions, functions, strict=False))):
        pairs.append((condition, chosen(undecided, shape, np.shape(condition))))
        holds = undecided & np.asarray(condition, bool)
        if callable(function):
            reads |= holds
        undecided &= ~holds
    if len(functions) > len(conditions) and callable(functions[-1]):
        reads |= undecided
    return pairs, reads
