"""Rules for products of arrays: each input axis follows an output axis or is summed over."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from dslog.capture.numpy.arrange import arrange
from dslog.capture.numpy.call import Call, Lineages
from dslog.capture.numpy.einsum import read_subscripts
from dslog.capture.numpy.patterns import Part, free, matched, part, product, row
from dslog.capture.numpy.patterns_axis import repeated, tiled
from dslog.capture.numpy.registry import rule
from dslog.capture.numpy.structured import all_to_all
from dslog.lineage.lineage import Lineage

Shape = tuple[int, ...]
Labels = Sequence[Hashable]


def contraction(out_shape: Shape, out: Labels, in_shape: Shape, labels: Labels) -> Lineage:
    """Each label names an axis; an input axis whose label the output lacks is summed over.

    A label that one input has twice is a diagonal. Axes of size 1 are broadcast.

    >>> print(contraction((2, 4), "ik", (2, 3), "ij").describe())
    a0 = b0, a1 in [0, 2], for b0 in [0, 1], b1 in [0, 3]
    """
    places = {label: j for j, label in enumerate(out)}
    follows = {
        i: places[label]
        for i, label in enumerate(labels)
        if label in places and (in_shape[i] != 1 or out_shape[places[label]] == 1)
    }
    summed: dict[Hashable, list[int]] = {}
    for i, label in enumerate(labels):
        if label not in places:
            summed.setdefault(label, []).append(i)
    return matched(
        out_shape, in_shape, follows,
        *(_diagonal(axes, in_shape) for axes in summed.values() if len(axes) > 1),
    )  # fmt: skip


def _diagonal(axes: list[int], in_shape: Shape) -> Part:
    """The cells whose indices on some axes are equal, read for every output."""
    size = max((in_shape[i] for i in axes), default=1)
    steps = [(1, 1) if in_shape[i] != 1 else (0, 0) for i in axes]
    start = [(0, 0)] * len(axes)
    return part([], axes, row([], start, [-1] * len(axes), (size, [], steps))) if size else ()


def contract(call: Call, *operands: tuple[Any, Labels], out: Labels) -> Lineages | None:
    """Arrange the contraction of some operands into the one output."""
    (output,) = call.outputs
    return arrange(
        call,
        [(v, contraction(output.shape, out, np.shape(v), labels)) for v, labels in operands],
    )


@rule("numpy.einsum", note="each cell from the cells whose subscripts fit")
def einsum(call: Call) -> Lineages | None:
    """Letters of the output are followed, others summed over."""
    parsed = read_subscripts(call.argument("operands", ()))
    if parsed is None:
        return None
    operands, labels, out = parsed
    return contract(call, *zip(operands, labels, strict=True), out=out)


_CORE: dict[str, tuple[str, str, str]] = {
    "matmul": ("ij", "jk", "ik"),
    "matvec": ("ij", "j", "i"),
    "vecmat": ("i", "ij", "j"),
    "vecdot": ("i", "i", ""),
}


@rule(
    *(f"numpy.{name}" for name in _CORE), "numpy.linalg.matmul", "numpy.linalg.vecdot",
    note="each cell from a row and a column",
)  # fmt: skip
def stacked_product(call: Call) -> Lineages | None:
    """A product over the last axes, broadcast over the others."""
    a, b = call.args[:2]
    core = list(_CORE[call.func.__name__])
    if call.argument("axes") is not None:
        return None
    if core[0] == "ij" and np.ndim(a) == 1 and call.func.__name__ == "matmul":
        core[0], core[2] = "j", core[2].removeprefix("i")
    if np.ndim(b) == 1 and core[1] == "jk":
        core[1], core[2] = "j", core[2].removesuffix("k")
    axis = call.argument("axis", -1)
    labels = [_stack_labels(np.ndim(v), c, axis) for v, c in zip((a, b), core, strict=False)]
    (output,) = call.outputs
    if call.argument("keepdims"):
        return None
    out = _stack_labels(output.ndim, core[2], -1)
    return contract(call, (a, labels[0]), (b, labels[1]), out=out)


def _stack_labels(ndim: int, core: str, axis: int) -> list[Hashable]:
    """Labels of a stack of cores: the stack's axes are numbered from the last."""
    lead = ndim - len(core)
    stack: list[Hashable] = list(range(lead, 0, -1))
    if len(core) == 1 and axis != -1:
        stack.insert(axis % ndim, core)
        return stack
    return stack + list(core)


@rule("numpy.dot", note="each cell from a row and a column")
def dot(call: Call) -> Lineages | None:
    """The last axis of a with the last but one of b."""
    a, b = call.argument("a"), call.argument("b")
    left: list[Hashable] = [("a", i) for i in range(np.ndim(a))]
    right: list[Hashable] = [("b", i) for i in range(np.ndim(b))]
    if left and right:
        left[-1] = right[max(len(right) - 2, 0)] = "sum"
    out = [label for label in left + right if label != "sum"]
    return contract(call, (a, left), (b, right), out=out)


@rule("numpy.inner", note="each cell from two lines along the last axes")
def inner(call: Call) -> Lineages | None:
    """The last axes with each other."""
    a, b = call.argument("a"), call.argument("b")
    left: list[Hashable] = [("a", i) for i in range(np.ndim(a))]
    right: list[Hashable] = [("b", i) for i in range(np.ndim(b))]
    if left and right:
        left[-1] = right[-1] = "sum"
    return contract(
        call, (a, left), (b, right), out=[label for label in left + right if label != "sum"]
    )


@rule(
    "numpy.tensordot", "numpy.linalg.tensordot",
    note="each cell from the cells on the axes summed over",
)  # fmt: skip
def tensordot(call: Call) -> Lineages | None:
    """The given axes of a with those of b."""
    a, b = call.args[:2] if len(call.args) > 1 else (call.argument("a"), call.argument("b"))
    axes = call.argument("axes", 2)
    if isinstance(axes, (int, np.integer)):
        axes = (range(np.ndim(a) - int(axes), np.ndim(a)), range(int(axes)))
    pairs = [[one] if isinstance(one, (int, np.integer)) else list(one) for one in axes]
    left: list[Hashable] = [("a", i) for i in range(np.ndim(a))]
    right: list[Hashable] = [("b", i) for i in range(np.ndim(b))]
    summed = []
    for i, j in zip(*pairs, strict=True):
        right[j] = left[i]
        summed.append(left[i])
    out = [label for label in left + right if label not in summed]
    return contract(call, (a, left), (b, right), out=out)


@rule("numpy.vdot", note="the cell from all cells of both")
def vdot(call: Call) -> Lineages | None:
    """Everything, flattened."""
    return arrange(call, [(v, all_to_all((), np.shape(v))) for v in call.args])


@rule("numpy.outer", "numpy.linalg.outer", note="each cell from the two cells it pairs")
def outer(call: Call) -> Lineages | None:
    """Both flattened: rows from the first, columns from the second."""
    a, b = call.args[:2] if len(call.args) > 1 else (call.argument("a"), call.argument("b"))
    (output,) = call.outputs
    pairs = []
    for axis, v in enumerate((a, b)):
        shape = np.shape(v)
        whole = part([axis], range(len(shape)), _line(output.shape[axis]), in_flat=len(shape) != 1)
        other = part([1 - axis], [], row([(0, output.shape[1 - axis] - 1)], [], []))
        pairs.append((v, product(output.shape, shape, whole, other)))
    return arrange(call, pairs)


def _line(size: int) -> Any:
    return row([(0, size - 1)], [(0, 0)], [0])


@rule("numpy.kron", note="each cell from the two cells it multiplies")
def kron(call: Call) -> Lineages | None:
    """On each axis, a's cells are repeated and b's tiled."""
    a, b = call.argument("a"), call.argument("b")
    (output,) = call.outputs
    if 0 in output.shape:
        return arrange(call, [(a, None), (b, None)])
    pairs = []
    for v, other, first in ((a, b, True), (b, a, False)):
        lead = output.ndim - np.ndim(v)
        times = (1,) * (output.ndim - np.ndim(other)) + np.shape(other)
        parts = [free(j, output.shape[j]) for j in range(lead)]
        for i, n in enumerate(np.shape(v)):
            table = repeated(n, times[lead + i]) if first else tiled(n, n * times[lead + i])
            parts.append(part([lead + i], [i], table))
        pairs.append((v, product(output.shape, np.shape(v), *parts)))
    return arrange(call, pairs)
