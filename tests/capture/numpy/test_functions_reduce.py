"""Reductions, scans, and the methods of ufuncs."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_oracles import capture, case, check, contains, floats, make_call, pairs_of, traced

X, Y = floats(3, 4), floats(2, 3, 4)


def same_outside(axes, *, keepdims=False):
    """Whether input and output agree on the axes that are not reduced."""

    def test(b, a):
        kept = [x for k, x in enumerate(a) if k not in axes]
        left = [x for k, x in enumerate(b) if not keepdims or k not in axes]
        return kept == left

    return test


SMOOTH = [np.sum, np.prod, np.mean, np.std, np.var, np.linalg.norm]
COMPARING = [np.max, np.min, np.amax, np.amin, np.ptp, np.any, np.all, np.argmax, np.argmin]


@pytest.mark.parametrize("func", SMOOTH, ids=lambda f: f.__name__)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (1,)])
def test_reductions(func, axis, keepdims):
    if func is np.linalg.norm and (axis is None or np.ndim(axis)):
        axis = 2
    ((lineage,),) = check(case(func, Y, axis=axis, keepdims=keepdims).but(kind="rule"))
    assert lineage.num_rows == 1


@pytest.mark.parametrize("func", [*COMPARING, np.count_nonzero], ids=lambda f: f.__name__)
@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_reductions_that_compare_read_every_cell(func, axis):
    axes = range(3) if axis is None else (axis,)
    check(contains(func, Y, axis=axis).but(expect=same_outside(axes)))


@given(st.lists(st.integers(0, 3), max_size=4), st.data(), st.booleans())
def test_any_reduction(shape, data, keepdims):
    axes = data.draw(st.sets(st.integers(0, max(len(shape) - 1, 0)), max_size=len(shape)))
    axes = tuple(sorted(axes)) if shape else ()
    call = make_call(np.sum, (np.zeros(shape),), {"axis": axes, "keepdims": keepdims})
    _, ((lineage,),) = capture(call)
    test = same_outside(axes, keepdims=keepdims)
    cells = itertools.product(
        *(itertools.product(*map(range, s)) for s in (call.outputs[0].shape, shape))
    )
    assert pairs_of(lineage) == {(*b, *a) for b, a in cells if test(b, a)}


OTHERS = [
    case(np.sum, floats()),
    case(np.sum, floats(0, 3), axis=0),
    case(np.mean, X, axis=()),
    case(np.var, X, axis=0, mean=floats(1, 4)).but(oracle="contains"),
    case(np.std, X, axis=1, mean=floats(3, 1), keepdims=True).but(oracle="contains"),
    case(np.average, X),
    case(np.average, X, axis=0, weights=floats(3, 4)),
    case(np.average, X, axis=0, weights=floats(3), returned=True),
    case(np.average, Y, axis=(0, 2), weights=floats(2, 4)),
    case(np.linalg.norm, X),
    case(np.linalg.norm, X, 2),
    case(np.linalg.norm, X, axis=1),
    case(np.linalg.vector_norm, Y, axis=(0, 1), keepdims=True),
    case(np.linalg.matrix_norm, Y),
    contains(np.allclose, X, X + 1).but(expect=[[lambda b, a: True] * 2]),
    contains(np.array_equal, X, floats(3, 4)).but(expect=[[lambda b, a: True] * 2]),
    contains(np.array_equiv, X, floats(4)).but(expect=[[lambda b, a: True] * 2]),
    case(np.add.reduce, Y),
    case(np.add.reduce, Y, axis=None),
    case(np.add.reduce, Y, axis=(0, 1), keepdims=True),
    case(np.multiply.reduce, floats(3), 0),
    case(np.apply_over_axes, np.sum, Y, [0, 2]),
    case(np.apply_along_axis, np.sum, 0, Y),
    case(np.multiply.outer, X, floats(2)),
    case(np.add.outer, floats(), X),
    case(np.add.reduceat, X, [0, 2, 1], axis=1),
    case(np.add.reduceat, floats(5), [4, 0]),
    contains(np.add.reduceat, floats(6), np.array([0, 3, 3])).but(
        expect=[[lambda b, a: a[0] in ((0, 1, 2), (3,), (3, 4, 5))[b[0]],
                 lambda b, a: a[0] in (b[0], b[0] + 1)]]
    ),
    contains(np.add.reduceat, floats(3), np.array([1])),
]  # fmt: skip


@pytest.mark.parametrize("one", OTHERS, ids=str)
def test_others(one):
    check(one.but(kind="rule"))


SCANS = [
    *(case(f, Y, axis=axis) for f in (np.cumsum, np.cumprod) for axis in (None, 0, 1, -1)),
    case(np.cumsum, floats(5)),
    case(np.cumsum, floats()),
    case(np.cumsum, floats(0)),
    case(np.cumsum, floats(2, 0), axis=1),
    case(np.cumulative_sum, X, axis=1, include_initial=True),
    case(np.cumulative_sum, floats(4), include_initial=True),
    case(np.cumulative_prod, X, axis=0),
    case(np.add.accumulate, Y),
    case(np.add.accumulate, Y, axis=2),
    traced(np.maximum.accumulate, X, axis=1),
    case(np.multiply.accumulate, floats(4)),
]


@pytest.mark.parametrize("one", SCANS, ids=str)
def test_scans(one):
    ((lineage,),) = check(one.but(kind="rule"))
    assert lineage.num_rows <= 1
