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
    all_to_all,
    free,
    identity,
    matched,
    numpy_names,
    part,
    product,
    row,
)
from dslog.algebra.restrict import union
from dslog.capture.numpy.call import Call, Lineages, arrange
from dslog.capture.numpy.registry import rule
from dslog.capture.numpy.rules.reduce import axes_of, reduced
from dslog.lineage.lineage import Lineage
from dslog.types import Shape

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


def per_matrix(out_shape: Sequence[int], in_shape: Sequence[int], core: int = 2) -> Lineage:
    """Every output cell from all cells of its matrix: stack axes follow, ``core`` axes are read."""
    stack = len(in_shape) - core
    return matched(out_shape, in_shape, {i: i for i in range(stack)})


@rule(
    *numpy_names(
        "linalg.",
        "inv pinv det slogdet eig eigvals svd svdvals qr cond matrix_rank",
    ),
    note="each cell from all cells of its matrix",
)
def whole_matrix(call: Call) -> Lineages | None:
    """Functions of one matrix, stacked on leading axes; tolerances are read too."""
    matrix = next(iter(call.arguments.values()))
    more = [call.argument(name) for name in ("tol", "rtol", "rcond")]
    shape = np.shape(matrix)
    if len(shape) < 2:
        return arrange(call, *([(matrix, all_to_all(out.shape, shape))] for out in call.outputs))
    return arrange(
        call,
        *(
            [(matrix, per_matrix(out.shape, shape))]
            + [(m, per_matrix(out.shape, np.shape(m), 0)) for m in more if m is not None]
            for out in call.outputs
        ),
    )


@rule(
    "numpy.linalg.eigh", "numpy.linalg.eigvalsh", "numpy.linalg.cholesky",
    note="each cell from one triangle of its matrix",
)  # fmt: skip
def one_triangle(call: Call) -> Lineages | None:
    """Only the named triangle is read; a Cholesky factor has one triangle of cells that read."""
    matrix = call.argument("a")
    upper = str(call.argument("UPLO", "L")).upper() == "U" or bool(call.argument("upper", False))
    shape = np.shape(matrix)
    stack, n = {i: i for i in range(len(shape) - 2)}, shape[-1]
    rows, columns = len(shape) - 2, len(shape) - 1
    inputs = _triangle([], [rows, columns], n, upper=upper)
    outputs = []
    for out in call.outputs:
        factor = call.func == np.linalg.cholesky
        own = [_triangle([rows, columns], [], n, upper=upper)] if factor else []
        outputs.append([(matrix, matched(out.shape, shape, stack, inputs, *own))])
    return arrange(call, *outputs)


def _triangle(outs: list[int], ins: list[int], n: int, *, upper: bool) -> Part:
    """The cells of a triangle, on two output axes or two input axes."""
    if n == 0:
        return ()
    start, step = ((0, n - 1), (1, 0)) if upper else ((0, 0), (0, 1))
    box, steps = [(0, 0), start], [(1, 1), step]
    if outs:
        return part(outs, [], row(box, [], [], (n, steps, [])))
    return part([], ins, row([], box, [-1, -1], (n, [], steps)))


@rule("numpy.linalg.solve", note="each cell from the matrix and its right-hand side's column")
def solve(call: Call) -> Lineages | None:
    """``x[..., i, k]`` from all of ``a[...]`` and from ``b[..., :, k]``."""
    a, b = call.argument("a"), call.argument("b")
    (out,) = call.outputs
    vector = np.ndim(b) == 1
    core = 1 if vector else 2
    return arrange(
        call,
        [
            (a, _stacked(out.shape, np.shape(a), core, [])),
            (b, _stacked(out.shape, np.shape(b), core, [] if vector else [np.ndim(b) - 1])),
        ],
    )


def _stacked(out_shape: Shape, in_shape: Shape, core: int, columns: list[int]) -> Lineage:
    """Stack axes broadcast; of the core axes only ``columns`` follow, the output's last."""
    in_stack = len(in_shape) - (1 if len(in_shape) == 1 else 2)
    out_stack = len(out_shape) - core
    follows = {
        i: out_stack - in_stack + i
        for i in range(in_stack)
        if in_shape[i] != 1 or out_shape[out_stack - in_stack + i] == 1
    }
    return matched(out_shape, in_shape, follows | {i: len(out_shape) - 1 for i in columns})


@rule("numpy.linalg.lstsq", note="each cell from the matrix and its right-hand side's column")
def lstsq(call: Call) -> Lineages | None:
    """The solution and the residuals; rank and singular values from the matrix alone."""
    a, b = call.argument("a"), call.argument("b")
    outputs = []
    for k, out in enumerate(call.outputs):
        column = {1: out.ndim - 1} if k < 2 and np.ndim(b) == 2 and out.ndim else {}
        right = matched(out.shape, np.shape(b), column) if k < 2 else None
        outputs.append([(a, all_to_all(out.shape, np.shape(a))), (b, right)])
    return arrange(call, *outputs)


@rule(
    "numpy.linalg.tensorsolve", "numpy.linalg.tensorinv",
    note="each cell from all cells",
)  # fmt: skip
def tensor_equation(call: Call) -> Lineages | None:
    """One large matrix equation."""
    return arrange(
        call,
        *([(v, all_to_all(out.shape, np.shape(v))) for v in call.args] for out in call.outputs),
    )


@rule("numpy.linalg.matrix_norm", note="each cell from all cells of its matrix")
def matrix_norm(call: Call) -> Lineages | None:
    """A norm over the last two axes."""
    matrix = call.argument("x")
    (out,) = call.outputs
    axes = axes_of((-2, -1), np.ndim(matrix))
    return arrange(call, [(matrix, reduced(np.shape(matrix), axes, out.shape))])


@rule("numpy.linalg.matrix_power", note="each cell from rows and columns; from all for powers > 2")
def matrix_power(call: Call) -> Lineages | None:
    """Power 1 copies, power 2 reads a row and a column, others everything, power 0 nothing."""
    matrix, power = call.argument("a"), int(call.argument("n"))
    (out,) = call.outputs
    shape = np.shape(matrix)
    stack = {i: i for i in range(len(shape) - 2)}
    last = len(shape) - 1
    if power == 0:
        return arrange(call, [(matrix, None)])
    if power == 1:
        return arrange(call, [(matrix, identity(shape))])
    if power == 2:
        rows = matched(shape, shape, stack | {last - 1: last - 1})
        columns = matched(shape, shape, stack | {last: last})
        return arrange(call, [(matrix, union(rows, columns))])
    return arrange(call, [(matrix, per_matrix(out.shape, shape))])


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
