"""Products, matrix computations, Fourier transforms."""

import numpy as np
import pytest
from numpy_oracles import capture, case, check, contains, floats, make_call

X = floats(3, 4)
SPD = np.eye(3) * 3 + floats(3, 3) * 0.1
EINSUM = [
    ("ij,jk->ik", (3, 3), (3, 3)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ba", (2, 3)),
    ("ii,ij->j", (3, 3), (3, 3)),
    ("ii,jk->", (3, 3), (3, 2)),
    ("ij,ij->i", (3, 4), (3, 4)),
    ("...j,j...->...", (2, 3), (3, 2)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iij->j", (2, 2, 3)),
    ("ijk->kj", (2, 3, 4)),
    ("ij,jk->ik", (3, 1), (4, 2)),
    ("...ij,jk->...ik", (2, 2, 3), (3, 2)),
    ("i...->...", (2, 3)),
    ("ij,j,k->ik", (2, 3), (3,), (2,)),
    (" i , j -> j i ", (2,), (3,)),
    (",i", (), (3,)),
]


@pytest.mark.parametrize("one", EINSUM, ids=str)
def test_einsum(one):
    for lineage in check(case(np.einsum, one[0], *(floats(*s) for s in one[1:])))[0]:
        assert lineage.num_rows == 1


@pytest.mark.parametrize(
    "one",
    [
        case(np.einsum, X, [0, 1], floats(4), [1], [0]),
        case(np.einsum, X, [0, 1], floats(4), [1]),
        case(np.einsum, X, [Ellipsis, 1], floats(4), [1], [Ellipsis]),
        case(np.einsum, "ij,jk,kl->il", floats(2, 3), floats(3, 2), floats(2, 2), optimize=True),
    ],
    ids=str,
)
def test_einsum_in_other_words(one):
    check(one)


PRODUCTS = [
    case(np.matmul, X, floats(4, 2)),
    case(np.matmul, floats(4), floats(4)),
    case(np.matmul, floats(2, 3, 4), floats(4)),
    case(np.matmul, floats(4), floats(2, 4, 3)),
    case(np.matmul, floats(2, 1, 3, 4), floats(5, 4, 2)),
    case(np.matmul, floats(0, 4), floats(4, 2)),
    case(np.linalg.matmul, X, floats(4, 2)),
    case(np.dot, floats(2, 3, 4), floats(5, 4, 2)),
    case(np.dot, floats(), X),
    case(np.dot, floats(4), floats(4)),
    case(np.dot, X, floats(4)),
    case(np.inner, X, floats(2, 4)),
    case(np.inner, floats(3), floats(3)),
    case(np.inner, floats(), floats(3)),
    case(np.tensordot, floats(2, 3, 4), floats(4, 3), axes=([1, 2], [1, 0])),
    case(np.tensordot, floats(2, 3), floats(4), axes=0),
    case(np.tensordot, floats(2, 3, 4), floats(3, 4, 2)),
    case(np.tensordot, X, floats(3, 2), axes=(0, 0)),
    case(np.vdot, X, floats(3, 4)),
    case(np.outer, X, floats(2)),
    case(np.outer, floats(), floats(2)),
    case(np.linalg.outer, floats(3), floats(2)),
    case(np.kron, X, floats(2, 2)),
    case(np.kron, floats(3), floats(2, 2)),
    case(np.kron, floats(2, 2), floats(3)),
    case(np.kron, floats(), X),
    case(np.kron, floats(0), floats(3)),
    case(np.vecdot, floats(2, 3), floats(3)),
    case(np.linalg.vecdot, floats(3, 2), floats(3, 2), axis=0),
    case(np.matvec, floats(2, 3, 4), floats(4)),
    case(np.vecmat, floats(3), floats(2, 3, 4)),
    case(np.linalg.multi_dot, [floats(3), floats(3, 2), floats(2, 4)]),
    case(np.linalg.multi_dot, [floats(2, 3), floats(3, 2), floats(2, 4), floats(4, 3)]),
    case(np.linalg.multi_dot, [floats(2, 3), floats(3)]),
    case(np.linalg.multi_dot, [floats(3), floats(3)]),
    *(case(np.linalg.matrix_power, floats(3, 3), n) for n in (0, 1, 2, 3, 4, -1, -2)),
    case(np.linalg.matrix_power, floats(2, 3, 3), 2),
    case(np.cross, floats(4, 3), floats(3)),
    case(np.cross, floats(3), floats(2, 3)),
    case(np.cross, floats(3, 4), floats(3, 4), axis=0),
    case(np.cross, floats(3, 4), floats(4, 3), axisa=0, axisc=0),
    case(np.cross, floats(4, 2), floats(4, 2)),
    case(np.cross, floats(4, 3), floats(4, 2)),
    case(np.cross, floats(4, 2), floats(4, 3)),
    case(np.linalg.cross, floats(4, 3), floats(4, 3)),
    case(np.cov, floats(3, 5)),
    case(np.cov, floats(3, 5), floats(2, 5)),
    case(np.cov, floats(5), floats(5)),
    case(np.cov, floats(5, 3), rowvar=False),
    case(np.cov, floats(5)),
    case(np.cov, floats(3, 5), aweights=floats(5)),
    contains(np.corrcoef, floats(3, 5)).but(expect=lambda b, a: a[0] in b),
    case(np.polyval, floats(3), X),
    case(np.polyfit, floats(6), floats(6), 2),
    case(np.polyfit, floats(6), floats(6, 2), 1),
    case(np.polyfit, floats(6), floats(6), 1, w=floats(6)),
    contains(np.polyfit, floats(6), floats(6), 1, full=True),
    case(np.polyfit, floats(6), floats(6), 1, cov=True),
    case(np.polyadd, floats(3), floats(5)),
    case(np.polysub, floats(3), floats(2)),
    case(np.polymul, floats(3), floats(4)).but(kind="value"),
    contains(np.polymul, np.array([0, 1.0, 2]), floats(3)).but(
        kind="value", nudge="",
        expect=[[lambda b, a: a[0] > 0 and 0 <= b[0] - a[0] + 1 < 3,
                 lambda b, a: 0 <= b[0] - a[0] < 2]],
    ),
    case(np.polyder, floats(5)),
    case(np.polyder, floats(5), 2),
    case(np.polyint, floats(4)),
    case(np.polyint, floats(4), 2),
    case(np.poly, floats(4)),
    contains(np.poly, floats(3, 3)).but(expect=lambda b, a: b[0] > 0),
    contains(np.roots, np.array([1.0, -6, 11, -6.5])).but(kind="value"),
    contains(np.roots, np.array([0, 1.0, -6, 11, 0, 0])).but(
        kind="value", nudge="", expect=lambda b, a: b[0] < 2 and 1 <= a[0] <= 3
    ),
    case(np.vander, floats(4)),
    case(np.vander, floats(4), 3, increasing=True),
    contains(np.polydiv, floats(5), floats(3)).but(kind="superset", exact=False),
]  # fmt: skip


@pytest.mark.parametrize("one", PRODUCTS, ids=str)
def test_products(one):
    check(one.but(kind=one.kind or "rule"))


MATRICES = [
    case(np.linalg.inv, floats(3, 3)),
    case(np.linalg.inv, floats(2, 3, 3)),
    case(np.linalg.pinv, floats(2, 3, 4)),
    case(np.linalg.det, floats(2, 3, 3)),
    contains(np.linalg.slogdet, floats(3, 3)),
    contains(np.linalg.eig, np.diag(np.arange(3.0)) + floats(3, 3) * 0.1),
    contains(np.linalg.eigvals, np.diag(np.arange(3.0)) + floats(3, 3) * 0.1),
    contains(np.linalg.svd, X),
    contains(np.linalg.svd, floats(2, 3, 4), compute_uv=False),
    contains(np.linalg.svdvals, X),
    contains(np.linalg.qr, floats(2, 4, 3)),
    contains(np.linalg.qr, X, mode="r"),
    contains(np.linalg.qr, X, mode="raw"),
    contains(np.linalg.cond, floats(3, 3)),
    contains(np.linalg.matrix_rank, floats(2, 3, 3)),
    contains(np.linalg.eigh, floats(3, 3)).but(expect=[[lambda b, a: a[0] >= a[1]]] * 2),
    contains(np.linalg.eigvalsh, floats(2, 3, 3), UPLO="U").but(
        expect=lambda b, a: b[0] == a[0] and a[1] <= a[2]
    ),
    contains(np.linalg.cholesky, SPD).but(expect=lambda b, a: b[0] >= b[1] and a[0] >= a[1]),
    contains(np.linalg.cholesky, SPD, upper=True),
    case(np.linalg.solve, floats(3, 3), floats(3)),
    case(np.linalg.solve, floats(3, 3), floats(3, 2)),
    case(np.linalg.solve, floats(2, 3, 3), floats(3, 2)),
    case(np.linalg.solve, floats(3, 3), floats(2, 3, 2)),
    case(np.linalg.solve, floats(2, 3, 3), floats(3)),
    contains(np.linalg.lstsq, floats(5, 3), floats(5, 2)),
    contains(np.linalg.lstsq, floats(5, 3), floats(5)),
    case(np.linalg.tensorsolve, floats(2, 3, 6), floats(2, 3)),
    case(np.linalg.tensorinv, floats(4, 2, 2), ind=1),
    contains(np.linalg.inv, floats(0, 0)),
]


@pytest.mark.parametrize("one", MATRICES, ids=str)
def test_matrices(one):
    check(one.but(kind="rule"))


ONE_AXIS = [np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft, np.fft.hfft, np.fft.ihfft]
SEVERAL = [
    np.fft.fft2, np.fft.ifft2, np.fft.rfft2, np.fft.irfft2,
    np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn,
]  # fmt: skip


@pytest.mark.parametrize("func", ONE_AXIS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kwargs", [{}, {"axis": 0}, {"n": 3}, {"n": 8}], ids=str)
def test_transforms_of_one_axis(func, kwargs):
    n, axis = kwargs.get("n"), kwargs.get("axis", 1)
    x = floats(4, 5)
    read = x.shape[axis] if n is None else n
    if func in (np.fft.irfft, np.fft.hfft):
        read = (2 * (x.shape[axis] - 1) if n is None else n) // 2 + 1
    one = contains(func, x, **kwargs)
    check(one.but(expect=lambda b, a: b[1 - axis] == a[1 - axis] and a[axis] < read))


@pytest.mark.parametrize("func", SEVERAL, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "kwargs", [{}, {"axes": (0, 2)}, {"axes": (1, 2), "s": (2, 4)}, {"axes": (2, 1)}], ids=str
)
def test_transforms_of_several_axes(func, kwargs):
    check(contains(func, floats(2, 3, 5), **kwargs).but(kind="rule"))


def test_an_axis_in_parts_is_left_to_the_tracer():
    call = make_call(np.matmul, (X, floats(4, 2)), {"axes": [(0, 1), (0, 1), (0, 1)]})
    assert capture_or_none(call) is None


def capture_or_none(call):
    try:
        return capture(call)
    except pytest.fail.Exception:
        return None
