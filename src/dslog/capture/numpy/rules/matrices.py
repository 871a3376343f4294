"""Rules for matrix computations that numpy leaves to LAPACK, and products of many matrices.

A factorisation or a solution reads its matrix as a whole: every output cell of a matrix is from
every cell of that matrix, and stacked matrices do not mix. ``cholesky`` and ``eigh`` read one
triangle only. Columns of a right-hand side do not mix either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dslog.capture.numpy.arrange import arrange, union
from dslog.capture.numpy.call import Call, Lineages
from dslog.capture.numpy.patterns import Part, matched, numpy_names, part, row
from dslog.capture.numpy.registry import rule
from dslog.capture.numpy.rules.reduce import axes_of, reduced
from dslog.capture.numpy.structured import all_to_all, identity
from dslog.lineage.lineage import Lineage

Shape = tuple[int, ...]


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
        factor = call.func is np.linalg.cholesky
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
