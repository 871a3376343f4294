"""What programs do with arrays besides arithmetic: views of numbers, iterators, tables, forks."""

import copy
import fractions
import gc
import multiprocessing
import warnings

import numba
import numpy as np
import pandas as pd
import pytest
from tracked_shadow import cell, cells

import dslog
from dslog import TrackedArray

A = np.arange(12.0).reshape(3, 4) + 1


@pytest.fixture
def x(store):
    return store.track(A.copy(), "A")


# numbers in arrays that are made


MADE = {
    "full": lambda t, _: np.full(3, t),
    "full of a list": lambda t, _: np.full(2, [t, 1.0]),
    "full_like": lambda t, p: np.full_like(p, t),
    "full_like, by name": lambda t, p: np.full_like(a=p, fill_value=t),
    "full_like of a list": lambda t, p: np.full_like(p, [t, 1.0]),
    "full_like of complex": lambda t, p: np.full_like(p, t, dtype=complex),
    "full_like of rows": lambda t, p: np.full_like(p, t, shape=(2, 2)),
    "arange": lambda t, _: np.arange(t, 9.0),
    "arange by steps": lambda t, _: np.arange(0, 9.0, t)[1:],
    "linspace": lambda t, _: np.linspace(t, 9, 4)[:3],
    "linspace to": lambda t, _: np.linspace(0, t, 4)[1:],
    "logspace": lambda t, _: np.logspace(t, 2, 4)[:3],
    "geomspace": lambda t, _: np.geomspace(t, 9, 4)[:3],
    "ones_like": lambda t, p: np.ones_like(p) * t,
    "array": lambda t, _: np.array([t, t]),
    "fromiter": lambda t, _: np.fromiter((t for _ in range(2)), float),
    "copyto": lambda t, p: np.copyto(p, t) or p,
    "put": lambda t, p: np.put(p, [0], t) or p,
    "fill": lambda t, p: p.fill(t) or p,
}


@pytest.mark.parametrize("prototype", ["of the program", "tracked", "plain"])
@pytest.mark.parametrize("name", MADE)
def test_a_tracked_number_in_an_array_that_is_made(store, x, name, prototype):
    expected = MADE[name](np.float64(7), np.zeros(2))
    if prototype == "tracked":
        p = store.track(np.zeros(2), "P")
    else:
        p = np.zeros(2) if prototype == "of the program" else np.frombuffer(bytearray(16))
    array = MADE[name](x[1, 2], p)
    assert np.array_equal(dslog.plain(array), expected)
    if isinstance(array, TrackedArray) and array.name is not None:
        assert cell(store, array, (0,) * array.ndim, "A") == [(1, 2)]
    else:
        assert prototype == "plain"
        assert [leak.loses for leak in store.leaks()] == [True]


# numbers as arrays


# functions are looked up when they are called, as they are in a program
VIEWS = {
    "atleast_1d": lambda m: np.atleast_1d(m),  # noqa: PLW0108
    "atleast_2d": lambda m: np.atleast_2d(m),  # noqa: PLW0108
    "reshape": lambda m: m.reshape(1),
    "newaxis": lambda m: m[None],
    "ellipsis": lambda m: m[...],
    "ravel": lambda m: m.ravel(),
    "asarray": lambda m: np.asarray(m),  # noqa: PLW0108
    "array": lambda m: np.array(m),  # noqa: PLW0108
    "expand_dims": lambda m: np.expand_dims(m, 0),
    "require": lambda m: np.require(m),  # noqa: PLW0108
    "flatten": lambda m: m.flatten(),
}


@pytest.mark.parametrize("name", VIEWS)
def test_arrays_made_of_a_number_do_not_change_it(store, x, name):
    for number, origin in ((x[1, 2], [(1, 2)]), (x.max(), list(np.ndindex(3, 4)))):
        before = dslog.plain(number)
        array = VIEWS[name](number)
        expected = VIEWS[name](np.float64(before))
        assert isinstance(expected, np.ndarray)
        assert isinstance(array, np.ndarray)
        assert array.shape == expected.shape
        assert array.dtype == expected.dtype
        array[...] = 1
        assert dslog.plain(number) == before
        out = np.zeros(1)
        out[0] = number
        assert cells(store, out, "A") == origin


LAYOUTS = {
    "Fortran": np.asfortranarray(A),
    "rows": A[::2],
    "transposed": A.T,
    "backwards": A[::-1],
    "columns": A[:, ::2].T,
}
COPIES = (
    copy.copy,
    copy.deepcopy,
    lambda a: np.copy(a),  # noqa: PLW0108
    lambda a: np.array(a),  # noqa: PLW0108
    lambda a: np.asfortranarray(a),  # noqa: PLW0108
    lambda a: a.copy(),
    lambda a: a.copy("K"),
    lambda a: np.array(a, order="F"),
    lambda a: a + 1,
    lambda a: a.astype(int),
)


@pytest.mark.parametrize("name", LAYOUTS)
def test_copies_are_laid_out_as_numpys(store, name):
    expected = [make(LAYOUTS[name]) for make in COPIES]
    x = store.track(LAYOUTS[name], "x")
    for make, plain in zip(COPIES, expected, strict=True):
        made = make(x)
        assert made.strides == plain.strides
        assert dslog.plain(made).tolist() == plain.tolist()
        assert cell(store, made, (1, 1), "x") == [(1, 1)]


# the cells of x.flat


def test_flat_cells(store, x):
    y = store.track(A * 10, "B")
    plain = A.copy()
    x.flat[5] = y[2, 1]
    x.flat[[0, 2]] = y[0, 1:3]
    x.flat[6:9] = y[1, :2]  # repeated
    plain.flat[5], plain.flat[[0, 2]], plain.flat[6:9] = 100, [20, 30], [50, 60]
    assert dslog.plain(x).tolist() == plain.tolist()
    assert cell(store, x, (1, 1), "B") == [(2, 1)]
    assert cell(store, x, (0, 2), "B") == [(0, 2)]
    assert cell(store, x, (2, 0), "B") == [(1, 0)]
    assert cell(store, x, (0, 1), "A") == [(0, 1)]
    places = x.flat
    assert [float(next(places)), float(next(places)), places.index] == [20, 2, 2]
    assert dslog.plain(x.flat > 4).tolist() == (plain.flat > 4).tolist()
    assert cell(store, x.flat > 4, (5,), "B") == [(2, 1)]
    with pytest.raises(IndexError, match="out of bounds"):
        x.flat[12] = y[0, 0]
    x.flat = y[0]
    assert cell(store, x, (2, 3), "B") == [(0, 3)]


def test_tracked_integers_pick_cells_of_flat(store, x):
    k = store.track(np.array([5, 1]), "K")
    out = np.zeros(1)
    out[0] = x.flat[k[0]]
    assert (cells(store, out, "A"), cells(store, out, "K")) == ([(1, 1)], [(0,)])
    assert cell(store, x.flat[k], (1,), "K") == [(1,)]
    x.flat[k[1]] = 7.0
    assert cell(store, x, (0, 1), "K") == [(1,)]
    assert cell(store, x, (0, 1), "A") == []


def test_flat_of_an_array_of_the_program(store, x):
    out = np.zeros((2, 2))
    out.flat[3] = x[1, 1]
    assert cell(store, out, (1, 1), "A") == [(1, 1)]


@pytest.mark.parametrize("shape", [(2, 3), (5, 4), (20,), 7])
def test_resize_in_place(store, x, shape):
    y, plain = x * 1, A.copy()
    plain.resize(shape, refcheck=False)
    y.resize(shape, refcheck=False)
    assert dslog.plain(y).tolist() == plain.tolist()
    assert cell(store, y, (0,) * (y.ndim - 1) + (1,), "A") == [(0, 1)]


# integers that say where


def test_views_that_a_tracked_integer_picked(store, x):
    k = store.track(np.array([2, 0]), "K")
    row = x[k[0]]
    part = row[1:]
    x[0] = 1.0  # a new version of the memory
    for value in (part, part * 1, part.reshape(3, 1), part[:1]):
        assert cell(store, value, (0,) * value.ndim, "K") == [(0,)]
    out = np.zeros(1)
    out[0] = part[0]
    assert (cells(store, out, "K"), cells(store, out, "A")) == ([(0,)], [(2, 1)])
    row[0] = 5.0
    row.flat[1] = 6.0
    assert cell(store, x, (2, 0), "K") == [(0,)]
    assert cell(store, x, (2, 1), "K") == [(0,)]
    assert cell(store, x, (1, 0), "K") == []


def test_writes_through_a_row_that_a_tracked_integer_picked(store, x):
    k = store.track(np.array([2, 0]), "K")
    table = np.zeros((3, 4))
    row = table[k[0]]
    row[0] = x[1, 1]
    row[1:] = 5.0
    assert dslog.plain(table)[2].tolist() == [6, 5, 5, 5]
    assert (cell(store, table, (2, 0), "A"), cell(store, table, (2, 0), "K")) == ([(1, 1)], [(0,)])
    assert cell(store, table, (2, 3), "K") == [(0,)]
    np.add(x[0], x[1], out=row)
    assert cell(store, table, (2, 1), "A") == [(0, 1), (1, 1)]
    assert cell(store, table, (2, 1), "K") == [(0,)]


def test_records_and_objects(store, x):
    table = np.zeros(3, [("a", float), ("b", float)])
    table["a"] = x[:, 0]
    table[1] = (x[0, 1], 2.0)
    assert dslog.plain(table)["a"].tolist() == [1, 2, 9]
    assert [cell(store, table, (i,), "A") for i in (0, 1, 2)] == [[(0, 0)], [(0, 1)], [(2, 0)]]
    ragged = np.array([x[0], x[1, :2]], dtype=object)
    assert (ragged[1] * 2).tolist() == [10, 12]
    assert "item" in {leak.way for leak in store.leaks()}
    assert not store.backward((x + ragged[0]).name, [(0, 0)], "A").complete


def test_lists_of_records(store, x):
    table = np.array(list(map(tuple, x[:, :2])), dtype=[("a", int), ("b", float)])
    assert dslog.plain(table).tolist() == [(1, 2.0), (5, 6.0), (9, 10.0)]
    assert cell(store, table["b"] * 2, (1,), "A") == [(1, 0), (1, 1)]
    nested = np.array([[(x[0, 0], 1.0)], [(2, 3.0)]], dtype=table.dtype)
    assert nested.shape == (2, 1)
    assert cell(store, nested, (0, 0), "A") == [(0, 0)]
    assert cell(store, nested, (1, 0), "A") == []


# numbers with objects of others


class _Scaled:
    """Something that numbers can be multiplied with, from its right."""

    def __init__(self, value):
        self.value = value

    def __rmul__(self, other):
        return _Scaled(self.value * other)

    def __radd__(self, other):
        return f"{type(other).__name__} added"


def test_numbers_on_the_left_of_objects(store, x):
    polynomial = x[0, 1] * np.polynomial.Polynomial([1.0, 2.0])
    assert dslog.plain(polynomial.coef).tolist() == [2, 4]
    assert cell(store, polynomial.coef, (1,), "A") == [(0, 1)]
    for number in (x[0, 1], x[0, 1].as_python()):
        assert cell(store, np.array([(number * _Scaled(3.0)).value]), (0,), "A") == [(0, 1)]
    with pytest.raises(TypeError, match="unsupported operand"):
        x[0, 1] - _Scaled(3.0)
    half = x[0, 1] * fractions.Fraction(1, 2)
    assert type(dslog.plain(half)) is type(A[0, 1] * fractions.Fraction(1, 2))
    assert cell(store, np.array([half]), (0,), "A") == [(0, 1)]


def test_what_an_object_makes_of_a_number_may_have_no_lineage(store, x):
    frame = x[0, 1] * pd.Series([1.0, 2.0])
    assert frame.tolist() == [2, 4]
    assert "mul" in {leak.way for leak in store.leaks() if leak.loses}


# draws in place


OLDER = np.random.default_rng(5)
SHUFFLES = {
    "RandomState": lambda a: np.random.RandomState(0).shuffle(a),
    "an older generator": lambda a: OLDER.shuffle(a),  # noqa: PLW0108
    "a generator of its own bits": lambda a: np.random.Generator(np.random.PCG64(3)).shuffle(a),
    "default_rng": lambda a: np.random.default_rng(2).shuffle(a),
    "permuted": lambda a: np.random.default_rng(1).permuted(a, axis=1, out=a),
}


@pytest.mark.parametrize("name", SHUFFLES)
@pytest.mark.filterwarnings("ignore:you are shuffling")
def test_shuffles_move_rows(store, name):
    before = OLDER.bit_generator.state
    plain = A.copy()
    SHUFFLES[name](plain)
    OLDER.bit_generator.state = before
    x = store.track(A.copy(), "A")
    SHUFFLES[name](x)
    assert dslog.plain(x).tolist() == plain.tolist()
    for index in np.ndindex(3, 4):
        [(row, column)] = cell(store, x, index, "A")
        assert A[row, column] == plain[index]


# others


def test_tables_have_the_values(store, x):
    pd = pytest.importorskip("pandas")
    assert pd.DataFrame(x, columns=list("abcd")).to_numpy().tolist() == A.tolist()
    assert pd.DataFrame({"a": x[:, 0]})["a"].tolist() == A[:, 0].tolist()
    assert pd.Series(x[0], index=list("abcd"))["b"] == 2
    table = pd.DataFrame({"group": [1, 1, 2]})
    table["value"] = x[:, 0]
    table["sum"] = [row.sum() for row in x]
    assert table.groupby("group")["value"].sum().tolist() == [6.0, 9.0]
    assert table["sum"].tolist() == A.sum(axis=1).tolist()
    assert any(leak.loses for leak in store.leaks())


def test_functions_that_numba_compiled(store, x):
    @numba.njit
    def total(a):
        sizes = np.empty_like(a)
        for index, value in np.ndenumerate(a):
            sizes[index] = value
        return np.where(sizes > 2, sizes, 0).sum()

    assert total(x) == A[A > 2].sum()
    assert total(np.ones((2, 2)) * 3) == 12
    assert {leak.way for leak in store.leaks()} == {"numba"}


def work(number):
    array = SHARED["x"]
    return (array[number] * 2).sum().item()


SHARED = {}


def test_tracked_arrays_in_forked_workers(store, x):
    SHARED["x"] = x
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(work, range(3)) == (A.sum(axis=1) * 2).tolist()
    assert "fork" in {leak.way for leak in store.leaks()}
    assert (x + 1).name == "A.add"


def opened(path):
    return dslog.open(path).track(A.copy(), "A")


def test_a_tracked_array_keeps_its_store_open(tmp_path):
    x = opened(tmp_path / "s")
    gc.collect()
    number = (x + 1).sum()
    del x
    gc.collect()
    out = np.zeros(2)
    out[1] = number
    out.named("out")
    assert isinstance(out, TrackedArray)
    del number, out
    gc.collect()
    with dslog.open(tmp_path / "s") as store:
        assert store.backward("out", [(1,)], "A").count == 12
        assert store.backward("out", [(0,)], "A").count == 0


def test_groups_keep_what_functions_give(store, x):
    double = np.vectorize(lambda a: a * 2 if a > 3 else -a)
    with dslog.operation("vectorized", store) as op:
        y = double(x)
        op.keep(y)
    assert cell(store, y, (1, 1), "A") == [(1, 1)]
    with dslog.operation("required", store) as op:
        z = np.require(x, requirements=["F"])
        op.keep(z)
    assert cell(store, z, (1, 2), "A") == [(1, 2)]
    assert {"vectorized", "required"} <= {each.name for each in store.operations()}

    @dslog.operation
    def scale(plain, x):
        return plain * x

    assert cell(store, scale(np.ones(4), x), (0, 1), "A") == [(0, 1)]
    assert store.operations()[-1].name == "scale"


FROM_NOTHING = {
    "zeros_like": np.zeros_like,
    "full_like": lambda x: np.full_like(x, 3),
    "zeros like": lambda x: np.zeros(2, like=x),
    "overwritten": lambda x: fill(x.copy()),
    "made in the program and overwritten": lambda x: fill(part(x)),
    "an empty slice": lambda x: x[:0],
    "the sum of no cells": lambda x: x[:0].sum(),
    "the sum of cells left out": lambda x: np.sum(x, where=np.zeros(x.shape, bool)),
    "the sum of what is no number": lambda x: np.nansum(x * np.nan),
    "no place": lambda x: np.argwhere(x > 100),
    "no cell": lambda x: x[x > 100],
    "a number": lambda x: np.zeros_like(x)[0, 0],
}


def fill(array):
    array[...] = 0
    return array


def part(x):
    array = np.zeros(2)
    array[0] = x[0, 0]
    return array


@pytest.mark.parametrize("name", FROM_NOTHING)
def test_from_nothing_is_an_empty_answer(store, x, name):
    made = FROM_NOTHING[name](x)
    answer = store.backward(made.name, ..., "A")
    assert (answer.count, answer.exact, answer.shape) == (0, True, (3, 4))
    assert store.forward("A", ..., made.name).count == 0
    assert store.why(made.name, ...).labels.exact


@pytest.mark.parametrize("name", ["zeros_like", "full_like", "zeros like"])
def test_a_path_from_nothing_is_empty_too(store, x, name):
    made = FROM_NOTHING[name](x)
    assert store.prov_query([made.name, "A"], ...).count == 0
    assert store.prov_query(["A", made.name], ...).count == 0
    double = (made * 2).name
    assert store.prov_query([double, made.name, "A"], ...).count == 0
    with pytest.raises(dslog.PathError, match="Name every array on the way"):
        store.prov_query([double, "A"], ...)
