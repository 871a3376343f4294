"""Cell by cell: ufuncs, broadcasting, what goes along with them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes
from numpy_oracles import Untracked, capture, case, check, contains, floats, make_call, pairs_of

UFUNCS = sorted(
    {
        u
        for name in np.__all__
        if isinstance(u := getattr(np, name), np.ufunc) and u.signature is None
    },
    key=lambda u: u.__name__,
)


def operands(ufunc, *shapes):
    """Values of the first dtype that a ufunc has a loop for: floats if there is one."""
    loops = [loop.split("->")[0] for loop in ufunc.types]
    best = next((loop for loop in loops if set(loop) <= {"d"}), None)
    best = best or next((loop for loop in loops if set(loop) <= {"l"}), None)
    best = best or next((loop for loop in loops if set(loop) <= set("dl")), None)
    best = best or next((loop for loop in loops if set(loop) <= set("mM")), loops[0])
    arrays = []
    for char, shape in zip(best, shapes, strict=True):
        dtype = f"{char}8[s]" if char in "mM" else char
        whole = (floats(*shape) * 4 - 2).astype("l")
        arrays.append(floats(*shape) / 2 if char == "d" else whole.astype(dtype))
    return arrays


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_every_ufunc_reads_the_cell_at_its_place(ufunc):
    shapes = [(2, 3), (3,), (2, 1)][: ufunc.nin]
    if ufunc.nin == 1:
        shapes = [(2, 3)]
    one = contains(ufunc, *operands(ufunc, *shapes))
    found = check(one.but(kind="rule"))
    assert len(found) == ufunc.nout
    for lineages in found:
        for lineage, shape in zip(lineages, shapes, strict=True):
            lead = 2 - len(shape)
            assert pairs_of(lineage) == {
                (i, j, *((i, j)[lead + k] if n > 1 else 0 for k, n in enumerate(shape)))
                for i in range(2)
                for j in range(3 if ufunc.nin > 1 or shape[-1] == 3 else 1)
            }
            assert lineage.num_rows == 1


BROADCAST = [
    ((), ()),
    ((3,), ()),
    ((), (2, 3)),
    ((3, 1), (1, 4)),
    ((2, 1, 4), (3, 1)),
    ((2, 3, 1, 2), (3, 4, 1)),
    ((1,), (1, 1)),
    ((0, 3), (3,)),
    ((2, 0), (1, 1)),
]


@pytest.mark.parametrize(("left", "right"), BROADCAST)
def test_broadcasting(left, right):
    check(case(np.multiply, floats(*left), floats(*right)))


@given(mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=3), st.booleans())
def test_any_broadcasting(shapes, swap):
    left, right = shapes.input_shapes[::-1] if swap else shapes.input_shapes
    call = make_call(np.add, (np.zeros(left), np.ones(right)), {})
    _, ((one, two),) = capture(call)
    for lineage, shape in ((one, left), (two, right)):
        places = np.broadcast_to(
            np.arange(int(np.prod(shape))).reshape(shape), call.outputs[0].shape
        )
        assert pairs_of(lineage) == {
            (*map(int, cell), *map(int, np.unravel_index(places[tuple(cell)], shape)))
            for cell in np.ndindex(*places.shape)
        }


def test_the_same_array_twice():
    x = floats(2, 3)
    ((lineage,),) = check(case(np.add, x, x))
    assert lineage.num_rows == 1
    ((lineage,),) = check(contains(np.subtract, x, x))
    assert lineage.num_rows == 1


def test_a_frompyfunc_is_a_ufunc():
    double = np.frompyfunc(lambda a, b: a + b, 2, 1)
    call = make_call(double, (floats(2, 1), floats(3)), {})
    kind, ((one, two),) = capture(call)
    assert kind == "rule"
    assert one.describe() == "a0 = b0, a1 = 0, for b0 in [0, 1], b1 in [0, 2]"
    assert two.describe() == "a0 = b1, for b0 in [0, 1], b1 in [0, 2]"


X = floats(3, 4)
DATES = np.array(["2026-03-02", "2026-03-03"], "M8[D]")
CASES = [
    contains(np.around, X * 10, decimals=1),
    contains(np.round, X),
    contains(np.fix, X * 3),
    case(np.sinc, X),
    case(np.i0, X),
    case(np.angle, X + 1j),
    case(np.real, X + 1j),
    case(np.real, X),
    contains(np.imag, X + 1j),
    case(np.real_if_close, X + 0j),
    case(np.nan_to_num, X),
    contains(np.isreal, X),
    contains(np.iscomplex, X),
    contains(np.isposinf, X),
    contains(np.isneginf, X),
    contains(np.isclose, X, floats(4)),
    contains(np.clip, X, floats(4), floats(3, 1) + 0.5),
    contains(np.clip, X, None, 1.0),
    contains(np.clip, X, min=floats(4)),
    case(np.copy, X),
    case(np.astype, X, np.float64),
    case(np.require, X, requirements="F"),
    case(np.asarray_chkfinite, X),
    contains(np.is_busday, DATES),
    contains(np.busday_offset, DATES, np.array([[1], [2]])),
    contains(np.busday_count, DATES, DATES[1]),
    contains(np.datetime_as_string, DATES),
    contains(np.unravel_index, np.array([[3, 1], [2, 0]]), (2, 2)),
    contains(np.ravel_multi_index, (np.array([1, 0]), np.array([[0], [1]])), (2, 2)),
    contains(np.ravel_multi_index, np.array([[1, 0], [1, 1]]), (2, 2)),
    case(np.full_like, Untracked(X), floats(4)),
    contains(np.full_like, X, 2.0),
    contains(np.linspace, floats(3), floats(2, 1), 5),
    contains(np.linspace, floats(3), floats(), 4, axis=-1, retstep=True),
    contains(np.logspace, floats(2), 2.0, 3, base=floats(2)),
    contains(np.geomspace, floats(2), floats(2), 3),
    case(np.meshgrid, floats(3), floats(2), floats(4)),
    case(np.meshgrid, floats(3), floats(2), indexing="ij", sparse=True),
    case(np.meshgrid, floats(3), floats(2), sparse=True, copy=False),
    case(np.meshgrid, floats(1), floats(2)),
    case(np.meshgrid, floats(2, 2), floats(), floats(2)),
    case(np.broadcast_arrays, floats(3, 1), floats(4)),
    contains(np.zeros_like, X),
    contains(np.ones_like, X),
    contains(np.tril_indices_from, X),
    contains(np.emath.sqrt, X - 1),
    contains(np.strings.upper, np.array(["a", "b"])),
    contains(np.strings.multiply, np.array([["a"], ["b"]]), np.array([1, 2])),
    contains(np.char.add, np.array(["a", "b"]), np.array(["x"])),
]


@pytest.mark.parametrize("one", CASES, ids=str)
def test_functions(one):
    check(one.but(kind="rule"))


@pytest.mark.parametrize(
    "dtype", ["?", "i2", "f4", "c8", "M8[s]", "m8[D]", "U3", "S2", "O", "i4,f8"]
)
def test_the_kind_of_cells_makes_no_difference(dtype):
    call = make_call(np.copy, (np.zeros((2, 3), dtype),), {})
    _, ((lineage,),) = capture(call)
    assert lineage.describe() == "a0 = b0, a1 = b1, for b0 in [0, 1], b1 in [0, 2]"
