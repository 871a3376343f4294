"""The tracer itself, against influence and against what it can't do."""

import operator

import numpy as np
import pytest
from numpy_oracles import apart, floats, influence, make_call, pairs_of, written_out

from dslog.capture.capture_cost import CaptureCost
from dslog.capture.numpy.trace import Cell, cells_of, trace, values_of

X = floats(3, 4)


def followed(func, *args, **kwargs):
    call = make_call(func, args, kwargs)
    found = trace(call, tests=True)
    assert found is not None
    return call, [[pairs_of(one) for one in row] for row in written_out(call, found)]


SMOOTH = [
    (np.sum, (X,), {"axis": 0}),
    (np.mean, (X,), {}),
    (np.std, (X,), {"axis": 1}),
    (np.median, (apart(3, 4),), {"axis": 1}),
    (np.dot, (X, floats(4, 2)), {}),
    (np.einsum, ("ij,jk->ik", X, floats(4, 2)), {}),
    (np.convolve, (floats(5), floats(2)), {}),
    (np.cumsum, (X,), {}),
    (np.sort, (apart(3, 4),), {}),
    (np.sin, (X,), {}),
    (np.hypot, (X, floats(4)), {}),
    (np.nansum, (X,), {"axis": 0}),
    (np.cross, (floats(3), floats(3)), {}),
    (np.kron, (floats(2), floats(3)), {}),
    (np.trapezoid, (X,), {}),
    (np.polyval, (floats(3), X), {}),
    (np.linalg.norm, (X,), {}),
    (np.average, (X,), {"weights": floats(3, 4)}),
    (np.vander, (floats(4),), {}),
    (np.unique, (apart(5),), {}),
    (np.linalg.multi_dot, ([X, floats(4, 2), floats(2, 3)],), {}),
    (np.nanmedian, (apart(3, 4),), {"axis": 0}),
    (np.diff, (X,), {}),
    (np.poly, (floats(3),), {}),
    (np.pad, (X, 2, "median"), {}),
    (np.apply_along_axis, (lambda line: line - line.mean(), 1, X), {}),
    (np.sum, (X,), {"dtype": float}),
    (np.add.reduce, (X,), {}),
    (np.multiply.outer, (floats(2), floats(3)), {}),
    (lambda a: [a[0], (a * 2)[1:]], (X,), {}),
    (lambda a: np.exp(a[..., None] @ a[..., None, :]), (X,), {}),
]


@pytest.mark.parametrize(("func", "args", "kwargs"), SMOOTH)
def test_smooth_functions(func, args, kwargs):
    call, found = followed(func, *args, **kwargs)
    assert found == influence(call, 1e-6, "f")


COMPARING = [np.max, np.min, np.ptp, np.nanmax]


@pytest.mark.parametrize("func", COMPARING, ids=lambda f: f.__name__)
def test_reductions_that_compare_read_every_cell(func):
    _, found = followed(func, X, axis=1)
    assert found == [[{(i, i, j) for i in range(3) for j in range(4)}]]


@pytest.mark.parametrize("func", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_both_sides_are_read(func):
    _, found = followed(func, X, floats(3, 4))
    assert found == [[{(i, j, i, j) for i in range(3) for j in range(4)}] * 2]


def test_a_comparison_that_only_decides_leaves_no_trace():
    def larger(a, b):
        return np.array([x if x > y else y * 1 for x, y in zip(a, b, strict=True)], object)

    call = make_call(larger, (np.array([1.0, 5]), np.array([2.0, 3])), {})
    found = trace(call)
    assert [[pairs_of(one) for one in row] for row in found] == [[{(1, 1)}, {(0, 0)}]]


def test_a_comparison_that_is_a_result_is_a_cell():
    small, large = Cell(1, 0b01), Cell(2, 0b10)
    assert (small < large).value is True
    assert (small < large).source == 0b11


@pytest.mark.parametrize(
    "name",
    ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "and_", "or_", "xor"],
)
def test_operators(name):
    function = getattr(operator, name)
    cell = Cell(6, 0b1)
    for result, value in ((function(cell, 2), function(6, 2)), (function(2, cell), function(2, 6))):
        assert (result.value, result.source) == (value, 0b1)
    both = function(cell, Cell(2, 0b10))
    assert (both.value, both.source) == (function(6, 2), 0b11)


def test_operators_of_one_cell_and_of_arrays():
    cell = Cell(-2.5, 0b1)
    for result in (-cell, abs(cell), +cell, np.sqrt(Cell(4.0, 0b1)), cell.real, cell.imag):
        assert result.source == 0b1
    assert [one.value for one in divmod(Cell(7, 1), 2)] == [3, 1]
    assert np.floor(cell).value == -3.0
    assert values_of(np.array([1.0, 2]) - Cell(1.0, 1)).tolist() == [0.0, 1.0]
    assert values_of(Cell(1.0, 1) - np.array([1.0, 2])).tolist() == [0.0, -1.0]
    assert (np.float64(2) * cell).value == -5.0
    assert repr(cell) == "Cell(-2.5)"
    assert hash(Cell(3, 1)) == hash(3)


UNTRACEABLE = [
    (np.nansum, (X,)),
    (lambda a: np.where(a > 1, a, 0), (X,)),
    (np.fft.fft, (floats(4),)),
    (np.linalg.inv, (floats(2, 2),)),
    (np.isnan, (X,)),
    (np.argsort, (X,)),
    (lambda a: float(a[0]) * a, (floats(3),)),
    (lambda a: np.array(a.tolist()).max(axis=1), (X,)),
    (lambda a: np.minimum(list(a), list(a[::-1])), (floats(4),)),
    (lambda a: np.fmax.reduce(list(a)), (floats(4),)),
    (lambda a: np.clip(list(a), a[0], a[1]), (floats(4),)),
    (lambda a: np.logical_or(list(a), list(a[::-1])), (floats(4),)),
    (lambda a: np.any(list(a)), (floats(4),)),
    (lambda a: np.zeros(2 + (a.dtype == object)), (X,)),
    (lambda a: a * (1 + (a.dtype == object)), (X,)),
]


@pytest.mark.parametrize(("func", "args"), UNTRACEABLE)
def test_what_it_cannot_follow_it_leaves(func, args):
    assert trace(make_call(func, args, {})) is None


def test_too_many_cells_are_left_alone(choose):
    choose(CaptureCost, traced_cells=5)
    assert trace(make_call(np.sum, (X,), {})) is None


def test_empty_arrays():
    _, found = followed(np.cumsum, floats(0))
    assert found == [[set()]]


def test_texts_and_dates():
    _, found = followed(np.sort, np.array(["b", "a"]))
    assert found == [[{(0, 1), (1, 0)}]]
    dates = np.array(["2026-01-02", "2026-01-01"], "M8[D]")
    _, found = followed(np.subtract, dates, dates[:1])
    assert found == [[{(0, 0), (1, 1)}, {(0, 0), (1, 0)}]]


def test_cells_are_their_own_source():
    cells = cells_of(np.array([[5, 6]]), 3)
    assert [cell.source for cell in cells.ravel()] == [8, 16]
    assert values_of(cells).tolist() == [[5, 6]]
    assert values_of(cells.view(np.ndarray)[0, 0]) == 5
