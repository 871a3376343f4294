"""Rules for functions that put arrays side by side: each input is a box of the output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dslog.algebra.axis import shifted
from dslog.algebra.product import part, product, row
from dslog.capture.numpy.call import Call, Lineages, arrange
from dslog.capture.numpy.registry import rule
from dslog.lineage.lineage import Lineage
from dslog.types import Shape

Placed = list[tuple[Any, Sequence[int]]]


def boxed(
    out_shape: Shape, in_shape: Shape, axes: Mapping[int, int], first: Sequence[int]
) -> Lineage:
    """An input as a box of the output: its axis i on output axis ``axes[i]``, from ``first`` on.

    Output axes that no input axis is on have one place; input axes that are on none have one cell.
    """
    if 0 in out_shape or 0 in in_shape:
        return Lineage.empty(out_shape, in_shape)
    sizes = {j: in_shape[i] for i, j in axes.items()}
    outs = [(start, start + sizes.get(j, 1) - 1) for j, start in enumerate(first)]
    ins = [(-first[axes[i]],) * 2 if i in axes else (0, 0) for i in range(len(in_shape))]
    table = row(outs, ins, [axes.get(i, -1) for i in range(len(in_shape))])
    return product(out_shape, in_shape, part(range(len(outs)), range(len(ins)), table))


@rule("numpy.concatenate", "numpy.concat", note="each input is a box of the output")
def concatenate(call: Call) -> Lineages | None:
    """One after the other on an axis, or flattened."""
    arrays = call.argument("arrays") if "arrays" in call.arguments else call.args[0]
    return joined(call, list(arrays), call.argument("axis", 0))


def joined(call: Call, arrays: Sequence[Any], axis: int | None) -> Lineages | None:
    """Arrange inputs one after the other on an axis."""
    (output,) = call.outputs
    pairs: list[tuple[Any, Lineage | None]] = []
    start = 0
    for array in arrays:
        shape = np.shape(array)
        if axis is None:
            table = shifted(int(np.size(array)), -start, start)
            here = part([0], range(len(shape)), table, in_flat=len(shape) != 1)
            pairs.append((array, product(output.shape, shape, here) if here else None))
            start += int(np.size(array))
            continue
        at = axis % len(shape)
        first = [start if j == at else 0 for j in range(len(shape))]
        pairs.append((array, boxed(output.shape, shape, {i: i for i in range(len(shape))}, first)))
        start += shape[at]
    return arrange(call, pairs)


@rule("numpy.append", note="each input is a box of the output")
def append(call: Call) -> Lineages | None:
    """A concatenation of two."""
    return joined(call, [call.argument("arr"), call.argument("values")], call.argument("axis"))


@rule("numpy.stack", note="each input is a layer of the output")
def stack(call: Call) -> Lineages | None:
    """One layer of a new axis each."""
    (output,) = call.outputs
    arrays = list(call.argument("arrays"))
    new = call.argument("axis", 0) % output.ndim
    pairs = []
    for k, array in enumerate(arrays):
        axes = {i: i + (i >= new) for i in range(np.ndim(array))}
        first = [k if j == new else 0 for j in range(output.ndim)]
        pairs.append((array, boxed(output.shape, np.shape(array), axes, first)))
    return arrange(call, pairs)


@rule(
    "numpy.vstack", "numpy.row_stack", "numpy.hstack", "numpy.dstack", "numpy.column_stack",
    note="each input is a box of the output",
)  # fmt: skip
def stack_along(call: Call) -> Lineages | None:
    """Inputs get axes of size 1 until they have enough, then follow each other on one."""
    (output,) = call.outputs
    name = call.func.__name__
    name = "vstack" if name == "row_stack" else name
    arrays = list(call.argument("tup"))
    if name == "hstack" and output.ndim == 1:
        return joined(call, arrays, None)
    axis = {"vstack": 0, "hstack": 1, "dstack": 2, "column_stack": 1}[name]
    pairs = []
    start = 0
    for array in arrays:
        axes = _promoted(name, np.ndim(array), output.ndim)
        first = [start if j == axis else 0 for j in range(output.ndim)]
        pairs.append((array, boxed(output.shape, np.shape(array), axes, first)))
        sizes = {j: np.shape(array)[i] for i, j in axes.items()}
        start += sizes.get(axis, 1)
    return arrange(call, pairs)


def _promoted(name: str, ndim: int, out_ndim: int) -> dict[int, int]:
    """Where the axes of an input go."""
    if name == "column_stack" and ndim < 2:
        return {0: 0} if ndim else {}
    if name == "dstack" and ndim < 3:
        return {0: 1} if ndim == 1 else {i: i for i in range(ndim)}
    if ndim < out_ndim:  # a line among matrices is a row
        return {i: out_ndim - ndim + i for i in range(ndim)}
    return {i: i for i in range(ndim)}


@rule("numpy.block", note="each input is a box of the output")
def block(call: Call) -> Lineages | None:
    """Innermost lists along the last axis, lists of those along the one before, and so on."""
    (output,) = call.outputs
    arrays = call.argument("arrays")
    depth = _depth(arrays)
    placed: Placed = []
    _place(arrays, depth, [0] * output.ndim, placed)
    pairs = []
    for array, first in placed:
        lead = output.ndim - np.ndim(array)
        axes = {i: lead + i for i in range(np.ndim(array))}
        pairs.append((array, boxed(output.shape, np.shape(array), axes, first)))
    return arrange(call, pairs)


def _depth(item: Any) -> int:
    return 1 + max(map(_depth, item)) if isinstance(item, list) else 0


def _place(item: Any, depth: int, first: list[int], placed: Placed) -> Shape:
    """Note where each array starts; return the shape, of as many axes as the output."""
    ndim = len(first)
    shape: Shape
    if not isinstance(item, list):
        placed.append((item, list(first)))
        shape = np.shape(item)
        return (*((1,) * (ndim - len(shape))), *shape)
    axis = ndim - depth
    start, total = list(first), 0
    shape = ()
    for one in item:
        shape = _place(one, depth - 1, start, placed)
        start[axis] += shape[axis]
        total += shape[axis]
    return (*shape[:axis], total, *shape[axis + 1 :])
