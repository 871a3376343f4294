"""Rules for products of arrays: each input axis follows an output axis or is summed over.

Reading the two forms of ``np.einsum``'s arguments as labels per axis.

Rules for matrix computations that numpy leaves to LAPACK, and products of many matrices.

A factorisation or a solution reads its matrix as a whole: every output cell of a matrix is from
every cell of that matrix, and stacked matrices do not mix. ``cholesky`` and ``eigh`` read one
triangle only. Columns of a right-hand side do not mix either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from dslog.algebra.axis import repeated, tiled
from dslog.algebra.product import (
    Part,
    flat,
    identity,
    matched,
    numpy_names,
    part,
    row,
    shift_all,
)
from dslog.algebra.restrict import union
from dslog.capture.numpy.argument_rule import (
    Pattern,
    argument_rule,
    by_argument,
    every_cell,
    leading,
    output_place,
)
from dslog.capture.numpy.call import Call, Lineages, arrange
from dslog.capture.numpy.registry import rule
from dslog.capture.numpy.rules.reduce import axes_of, reduced
from dslog.lineage.lineage import Lineage
from dslog.types import Array, Shape

TermLabels = list[Hashable]
Parsed = tuple[list[Any], list[TermLabels], TermLabels]


def read_subscripts(arguments: Sequence[Any]) -> Parsed | None:
    """Return operands, labels of each, labels of the output; None when they can't be read.

    >>> read_subscripts(("ij,jk", np.zeros((2, 3)), np.zeros((3, 4))))[1:]
    ([['i', 'j'], ['j', 'k']], ['i', 'k'])
    """
    if not arguments:
        return None
    if isinstance(arguments[0], (str, bytes)):
        text = arguments[0] if isinstance(arguments[0], str) else arguments[0].decode()
        operands = list(arguments[1:])
        left, arrow, right = text.replace(" ", "").partition("->")
        terms = [_split(one) for one in left.split(",")]
        out = _split(right) if arrow else None
    else:
        count = len(arguments) // 2
        operands = [arguments[2 * k] for k in range(count)]
        terms = [list(arguments[2 * k + 1]) for k in range(count)]
        out = list(arguments[-1]) if len(arguments) % 2 else None
    if len(terms) != len(operands):
        return None
    return _with_ellipsis(operands, terms, out)


def _split(text: str) -> TermLabels:
    labels: TermLabels = list(text.replace("...", "."))
    return [Ellipsis if label == "." else label for label in labels]


def _with_ellipsis(operands: list[Any], terms: list[TermLabels], out: TermLabels | None) -> Parsed:
    """Number the axes under each ellipsis from the last, and find an implicit output."""
    widest = 0
    labels = []
    for operand, term in zip(operands, terms, strict=True):
        covered = np.ndim(operand) - (len(term) - term.count(Ellipsis))
        widest = max(widest, covered if Ellipsis in term else 0)
        labels.append(_expand(term, covered))
    if out is None:
        seen = Counter(label for term in terms for label in term if label is not Ellipsis)
        once = sorted((label for label, n in seen.items() if n == 1), key=_order)
        out = [Ellipsis, *once] if widest else list(once)
    return operands, labels, _expand(out, widest)


def _expand(term: TermLabels, covered: int) -> TermLabels:
    hidden: TermLabels = [("...", k) for k in range(covered, 0, -1)]
    result: TermLabels = []
    for label in term:
        result += hidden if label is Ellipsis else [label]
    return result


def _order(label: Any) -> tuple[str, int]:
    """Implicit outputs are in alphabetical order: upper case before lower, numbers by size."""
    return (label, 0) if isinstance(label, str) else ("", label)


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


def _summed_over(
    call: Call, one: tuple[Any, Sequence[int]], two: tuple[Any, Sequence[int]]
) -> Lineages | None:
    """The contraction of two arrays over some axes of each, pair by pair."""
    (a, in_a), (b, in_b) = one, two
    left: list[Hashable] = [("a", i) for i in range(np.ndim(a))]
    right: list[Hashable] = [("b", i) for i in range(np.ndim(b))]
    summed = [left[i] for i in in_a]
    for label, j in zip(summed, in_b, strict=True):
        right[j] = label
    out = [label for label in left + right if label not in summed]
    return contract(call, (a, left), (b, right), out=out)


@rule("numpy.dot", note="each cell from a row and a column")
def dot(call: Call) -> Lineages | None:
    """The last axis of a with the last but one of b."""
    a, b = call.argument("a"), call.argument("b")
    both = np.ndim(a) and np.ndim(b)
    axes = ([-1], [max(np.ndim(b) - 2, 0)]) if both else ([], [])
    return _summed_over(call, (a, axes[0]), (b, axes[1]))


@rule("numpy.inner", note="each cell from two lines along the last axes")
def inner(call: Call) -> Lineages | None:
    """The last axes with each other."""
    a, b = call.argument("a"), call.argument("b")
    last = [-1] if np.ndim(a) and np.ndim(b) else []
    return _summed_over(call, (a, last), (b, last))


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
    in_a, in_b = (np.ravel(one).tolist() for one in axes)
    return _summed_over(call, (a, in_a), (b, in_b))


by_argument("numpy.vdot", a=every_cell, b=every_cell, note="the cell from all cells of both")


@rule("numpy.outer", "numpy.linalg.outer", note="each cell from the two cells it pairs")
def outer(call: Call) -> Lineages | None:
    """Both flattened: rows from the first, columns from the second."""
    a, b = call.args[:2] if len(call.args) > 1 else (call.argument("a"), call.argument("b"))
    (out,) = call.outputs
    pairs = []
    for axis, v in enumerate((a, b)):
        whole = flat([axis], range(np.ndim(v)), shift_all(out.shape[axis]))
        pairs.append((v, matched(out.shape, np.shape(v), {}, whole)))
    return arrange(call, pairs)


def _repeated(name: str, other: str) -> Pattern:
    """On each axis, a's cells are repeated and b's tiled."""

    def factor(call: Call, data: Array, out: Array) -> Lineage:
        lead, sizes = out.ndim - data.ndim, np.shape(call.argument(other))
        times = (*(1,) * (out.ndim - len(sizes)), *sizes)
        parts = []
        for j, n in enumerate(data.shape, start=lead):
            table = repeated(n, times[j]) if name == "a" else tiled(n, n * times[j])
            parts.append(part([j], [j - lead], table))
        return matched(out.shape, data.shape, {}, *parts)

    return factor


by_argument(
    "numpy.kron", a=_repeated("a", "b"), b=_repeated("b", "a"),
    note="each cell from the two cells it multiplies",
)  # fmt: skip


def per_matrix(out_shape: Sequence[int], in_shape: Sequence[int], core: int = 2) -> Lineage:
    """Every output cell from all cells of its matrix: stack axes follow, ``core`` axes are read."""
    stack = len(in_shape) - core
    return matched(out_shape, in_shape, {i: i for i in range(stack)})


def _whole_matrix(_: Call, data: Array, out: Array) -> Lineage:
    """All of a matrix; those on leading axes do not mix."""
    return per_matrix(out.shape, data.shape, min(data.ndim, 2))


by_argument(
    *numpy_names("linalg.", "inv pinv det slogdet eig eigvals svd svdvals qr cond matrix_rank"),
    a=_whole_matrix, x=_whole_matrix, A=_whole_matrix, tol=leading, rtol=leading, rcond=leading,
    note="each cell from all cells of its matrix",
)  # fmt: skip


@argument_rule(
    "numpy.linalg.eigh", "numpy.linalg.eigvalsh", "numpy.linalg.cholesky", data="a",
    note="each cell from one triangle of its matrix",
)  # fmt: skip
def one_triangle(call: Call, data: Array, out: Array) -> Lineage:
    """Only the named triangle is read; a Cholesky factor has one triangle of cells that read."""
    upper = str(call.argument("UPLO", "L")).upper() == "U" or bool(call.argument("upper", False))
    n, axes = data.shape[-1], [data.ndim - 2, data.ndim - 1]
    stack = {i: i for i in range(data.ndim - 2)}
    parts = [_triangle([], axes, n, upper=upper)]
    if call.func == np.linalg.cholesky:
        parts.append(_triangle(axes, [], n, upper=upper))
    return matched(out.shape, data.shape, stack, *parts)


def _triangle(outs: list[int], ins: list[int], n: int, *, upper: bool) -> Part:
    """The cells of a triangle, on two output axes or two input axes."""
    start, step = ((0, n - 1), (1, 0)) if upper else ((0, 0), (0, 1))
    box, steps = [(0, 0), start], [(1, 1), step]
    if outs:
        return part(outs, [], row(box, [], [], (n, steps, [])))
    return part([], ins, row([], box, [-1, -1], (n, [], steps)))


def _solved(*, right: bool) -> Pattern:
    """``x[..., i, k]`` from all of ``a[...]`` and from ``b[..., :, k]``; stack axes broadcast."""

    def side(call: Call, data: Array, out: Array) -> Lineage:
        vector = np.ndim(call.argument("b")) == 1
        stack = data.ndim - min(data.ndim, 2)
        lead = out.ndim - (1 if vector else 2) - stack
        follows = {
            i: lead + i for i in range(stack) if data.shape[i] != 1 or out.shape[lead + i] == 1
        }
        if right and not vector:
            follows[data.ndim - 1] = out.ndim - 1
        return matched(out.shape, data.shape, follows)

    return side


by_argument(
    "numpy.linalg.solve", a=_solved(right=False), b=_solved(right=True),
    note="each cell from the matrix and its right-hand side's column",
)  # fmt: skip


def _fitted(call: Call, data: Array, out: Array) -> Lineage | None:
    """The solution and the residuals; rank and singular values are from the matrix alone."""
    if output_place(call, out) > 1:
        return None
    return matched(out.shape, data.shape, {1: out.ndim - 1} if data.ndim == 2 and out.ndim else {})


by_argument(
    "numpy.linalg.lstsq", a=every_cell, b=_fitted,
    note="each cell from the matrix and its right-hand side's column",
)  # fmt: skip


by_argument(
    "numpy.linalg.tensorsolve", "numpy.linalg.tensorinv", a=every_cell, b=every_cell,
    note="each cell from all cells",
)  # fmt: skip


@argument_rule("numpy.linalg.matrix_norm", data="x", note="each cell from all cells of its matrix")
def matrix_norm(_: Call, data: Array, out: Array) -> Lineage:
    """A norm over the last two axes."""
    return reduced(data.shape, axes_of((-2, -1), data.ndim), out.shape)


@argument_rule(
    "numpy.linalg.matrix_power", data="a",
    note="each cell from rows and columns; from all for powers > 2",
)  # fmt: skip
def matrix_power(call: Call, data: Array, _: Array) -> Lineage | None:
    """Power 1 copies, power 2 reads a row and a column, others everything, power 0 nothing."""
    power, shape, last = int(call.argument("n")), data.shape, data.ndim - 1
    if power in (0, 1):
        return identity(shape) if power else None
    if power == 2:
        stack = {i: i for i in range(last - 1)}
        rows, columns = (matched(shape, shape, stack | {k: k}) for k in (last - 1, last))
        return union(rows, columns)
    return per_matrix(shape, shape)


@rule("numpy.linalg.multi_dot", note="each cell from a row, a column, and all between")
def multi_dot(call: Call) -> Lineages | None:
    """The first gives rows, the last columns, those between are read whole."""
    arrays: Sequence[Any] = call.argument("arrays")
    (out,) = call.outputs
    pairs = []
    for k, v in enumerate(arrays):
        follows = {}
        if k == 0 and np.ndim(v) == 2:
            follows = {0: 0}
        elif k == len(arrays) - 1 and np.ndim(v) == 2:
            follows = {1: out.ndim - 1}
        pairs.append((v, matched(out.shape, np.shape(v), follows)))
    return arrange(call, pairs)
