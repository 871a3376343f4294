"""Rules for ``scipy.linalg``: as for numpy's, what LAPACK does to a matrix is taken as a whole."""

from __future__ import annotations

from dslog.algebra.product import Part, all_to_all, matched, part, row
from dslog.capture.foreign.data_rule import (
    UnknownCallError,
    data_rule,
    everything,
    names_of,
    option,
    place_of,
)
from dslog.capture.numpy.call import Call
from dslog.capture.numpy.index_run import moves
from dslog.lineage.lineage import Lineage
from dslog.types import Array


@data_rule(
    *names_of("scipy.linalg", "det inv pinv expm logm sqrtm sinm cosm tanm sinhm coshm tanhm"),
    *names_of("scipy.linalg", "signm fractional_matrix_power svd svdvals qr rq lu lu_factor qz"),
    *names_of("scipy.linalg", "schur hessenberg polar null_space orth eig eigvals"),
    data="a A b B", note="each cell from all cells of its matrix",
)  # fmt: skip
def whole_matrix(call: Call, data: Array, out: Array) -> Lineage:
    """Matrices in a stack do not mix."""
    lead = data.ndim - 2
    stacks = {array.shape[:-2] for array in call.inputs}
    if lead < 0 or len(stacks) > 1 or out.shape[:lead] != data.shape[:-2]:
        raise UnknownCallError
    return matched(out.shape, data.shape, {k: k for k in range(lead)})


def _triangle(n: int, *, upper: bool, outputs: bool = False) -> Part:
    """The cells of a triangle, on both input axes or both output axes."""
    first, step = ((0, n - 1), (1, 0)) if upper else ((0, 0), (0, 1))
    box, steps = [(0, 0), first], [(1, 1), step]
    if outputs:
        return part([0, 1], [], row(box, [], [], (n, steps, [])))
    return part([], [0, 1], row([], box, [-1, -1], (n, [], steps)))


@data_rule(
    *names_of("scipy.linalg", "cholesky eigh eigvalsh pinvh"),
    data="a b", note="each cell from one triangle of its matrix",
)  # fmt: skip
def one_triangle(call: Call, data: Array, out: Array) -> Lineage:
    """Only the named triangle is read; a Cholesky factor has one triangle of cells that read."""
    if data.ndim != 2 or not data.size:
        raise UnknownCallError
    upper, n = not option(call, "lower"), data.shape[0]
    factor = call.func.__name__ == "cholesky"
    own = [_triangle(n, upper=upper, outputs=True)] if factor else []
    return matched(out.shape, data.shape, {}, _triangle(n, upper=upper), *own)


@data_rule(
    *names_of("scipy.linalg", "solve solve_triangular solve_banded solveh_banded solve_toeplitz"),
    *names_of("scipy.linalg", "lu_solve cho_solve cho_solve_banded"),
    data="a b ab c_or_cr lu_and_piv c_and_lower cb_and_lower",
    note="each cell from the matrix and its right-hand side's column",
)  # fmt: skip
def solve(call: Call, data: Array, out: Array) -> Lineage:
    """Columns of a right-hand side do not mix; of a matrix with structure some is not read."""
    if data is option(call, "b"):
        if data.ndim > 2 or out.ndim != data.ndim:
            raise UnknownCallError
        return matched(out.shape, data.shape, {1: 1} if data.ndim == 2 else {})
    dense = call.func.__name__ in ("solve", "solve_toeplitz")
    if data.ndim > 2 or out.ndim > 2:
        raise UnknownCallError
    structured = option(call, "assume_a") not in (None, "gen", "general")
    return all_to_all(out.shape, data.shape, exact=dense and not structured)


@data_rule(
    "scipy.linalg.lstsq", data="a b", note="each cell from the matrix and its right-hand side"
)
def lstsq(call: Call, data: Array, out: Array) -> Lineage | None:
    """The solution and the residuals; rank and singular values from the matrix alone."""
    if data.ndim > 2:
        raise UnknownCallError
    if data is not option(call, "b"):
        return all_to_all(out.shape, data.shape)
    if place_of(call, out) > 1:
        return None
    columns = {1: out.ndim - 1} if data.ndim == 2 and out.ndim else {}
    return matched(out.shape, data.shape, columns)


data_rule(
    *names_of("scipy.linalg", "solve_sylvester subspace_angles"),
    data="a b q A B", note="each cell from all cells",
)(everything)  # fmt: skip

moves("scipy.linalg.diagsvd", data="s", note="the cell that moved")
