"""Tracked arrays behave as arrays, and know where their cells came from."""

import copy
import inspect
import math
import pickle
from contextlib import nullcontext

import numpy as np
import pytest
from tracked_shadow import backward, cell, cells

import dslog
from dslog.capture.numpy.handlers import LIKE
from dslog.capture.numpy.memory import Tracked, TrackedScalar, is_tracked


@pytest.fixture
def store():
    with dslog.open(":memory:") as opened:
        yield opened


@pytest.fixture
def x(store):
    return store.track(np.arange(12.0).reshape(3, 4), "A")


def names(store):
    return [(op.name, op.inputs, op.outputs) for op in store.operations()]


# ufuncs


def test_ufunc_call(store, x):
    y = np.add(x, x[0])
    assert isinstance(y, dslog.TrackedArray)
    assert cell(store, y, (2, 1), "A") == [(0, 1), (2, 1)]


def test_operators_from_both_sides(store, x):
    for y in (x + 1, 1 + x, x**2, 2.0**x, -x, x @ x.T, x > 3, abs(x), divmod(x, 2)[1], ~(x > 1)):
        assert isinstance(y, dslog.TrackedArray)
        assert backward(store, y, np.s_[...], "A").count == 12


def test_ufunc_methods(store, x):
    assert cell(store, np.add.reduce(x, axis=1), (1,), "A") == [(1, j) for j in range(4)]
    assert cell(store, np.add.accumulate(x, axis=1), (1, 1), "A") == [(1, 0), (1, 1)]
    outer = np.multiply.outer(x[0], x[1])
    assert outer.shape == (4, 4)
    assert cell(store, outer, (1, 2), "A") == [(0, 1), (1, 2)]
    assert cell(store, np.add.reduceat(x[0], [0, 2]), (1,), "A") == [(0, 2), (0, 3)]


def test_ufunc_at(store, x):
    z = np.zeros_like(x[0])
    np.add.at(z, [0, 0, 2], x[1, :3])
    assert dslog.plain(z).tolist() == [9.0, 0.0, 6.0, 0.0]
    assert cell(store, z, (0,), "A") == [(1, 0), (1, 1)]
    assert cell(store, z, (1,), "A") == []
    np.negative.at(x, (0, [1, 1]))
    assert x[0, 1] == 1.0
    assert cell(store, x, (0, 1), "A") == [(0, 1)]


def test_two_outputs(store, x):
    fraction, whole = np.modf(x / 2)
    assert fraction.name != whole.name
    assert cell(store, whole, (1, 1), "A") == [(1, 1)]
    quotient, rest = np.divmod(x, 5)
    assert cell(store, quotient, (0, 3), "A") == cell(store, rest, (0, 3), "A") == [(0, 3)]


def test_out_root(store, x):
    y = np.zeros_like(x)
    assert np.multiply(x, 2, out=y) is y
    assert y[1, 1] == 10
    assert cell(store, y, (1, 1), "A") == [(1, 1)]
    row = y[1]
    assert np.sum(x, axis=0, out=row) is row
    assert cell(store, y, (1, 2), "A") == [(0, 2), (1, 2), (2, 2)]
    assert cell(store, y, (0, 2), "A") == [(0, 2)]


def test_out_that_is_the_input(store, x):
    before = x.name
    np.cumsum(x, axis=0, out=x)
    assert x.name != before
    assert cell(store, x, (1, 2), "A") == [(0, 2), (1, 2)]
    np.clip(x, 0, 5, out=x)
    assert cell(store, x, (1, 2), "A") == [(0, 2), (1, 2)]


def test_out_by_position(store, x):
    y = np.zeros_like(x[0])
    np.sum(x, 0, None, y)
    assert cell(store, y, (1,), "A") == [(0, 1), (1, 1), (2, 1)]


def test_out_of_plain_memory_gets_values_only(x):
    plain = np.zeros((3, 4))
    assert np.add(x, 1, out=plain) is plain
    assert plain[2, 3] == 12


def test_untracked_values_into_a_tracked_out(store, x):
    np.add(np.ones((3, 4)), 1, out=x)
    assert (dslog.plain(x) == 2).all()
    assert cells(store, x, "A") == []


def test_one_of_two_outs(store, x):
    rest = np.zeros_like(x)
    quotient, same = np.divmod(x, 5, out=(None, rest))
    assert same is rest
    assert cell(store, quotient, (1, 1), "A") == cell(store, rest, (1, 1), "A") == [(1, 1)]


def test_where_keeps_what_was_there(store, x):
    old = store.track(np.full((3, 4), -1.0), "old")
    mask = dslog.plain(x) > 5
    np.multiply(x, 2, out=old, where=mask)
    assert dslog.plain(old)[0, 0] == -1
    assert dslog.plain(old)[2, 0] == 16
    assert cell(store, old, (0, 0), "A") == []
    assert cell(store, old, (0, 0), "old") == [(0, 0)]
    assert cell(store, old, (2, 0), "A") == [(2, 0)]
    assert cell(store, old, (2, 0), "old") == []


def test_a_tracked_mask_contributes(store, x):
    mask = store.track(np.array([True, False, True, False]), "M")
    y = np.add(x, 1, where=mask, out=np.zeros_like(x))
    assert cell(store, y, (1, 1), "M") == [(1,)]
    assert cell(store, y, (1, 1), "A") == []
    total = np.sum(x, axis=1, where=mask)
    assert dslog.plain(total).tolist() == [2.0, 10.0, 18.0]
    assert cell(store, total, (1,), "A") == [(1, 0), (1, 2)]
    assert cell(store, total, (1,), "M") == [(0,), (1,), (2,), (3,)]


def test_reductions_pass_over_masked_cells(store, x):
    mask = dslog.plain(x) % 2 == 0
    assert cell(store, x.max(axis=0, where=mask, initial=-1), (0,), "A") == [
        (0, 0), (1, 0), (2, 0)
    ]  # fmt: skip
    assert cells(store, np.add.reduce(x, axis=1, where=mask)[:1], "A") == [(0, 0), (0, 2)]


def test_in_place_operators(store, x):
    y = x
    x += 1
    x *= np.arange(4.0)
    x -= x[0]
    assert y is x
    assert cell(store, x, (2, 1), "A") == [(0, 1), (2, 1)]
    assert x.name == "A.3"


def test_ufuncs_of_other_kinds(store, x):
    double = np.frompyfunc(lambda v: 2 * v, 1, 1)
    assert cell(store, double(x), (1, 1), "A") == [(1, 1)]
    assert cell(store, np.vectorize(lambda v: v + 1)(x), (1, 1), "A") == [(1, 1)]


# scalars


def test_scalars_stay_tracked_and_act_as_scalars(store, x):
    total = x.sum()
    assert isinstance(total, TrackedScalar)
    assert isinstance(total, np.float64)
    assert isinstance(total, float)
    assert total.shape == ()
    assert total == 66.0
    with pytest.warns(dslog.LeakWarning, match="text"):
        assert f"{total:.2f} {total!r} {total}" == "66.00 np.float64(66.0) 66.0"
    with pytest.warns(dslog.LeakWarning, match="hash"):
        assert hash(total) == hash(66.0)
    assert total.is_integer()
    assert round(total) == 66
    assert round(total, 1) == 66.0
    assert math.floor(total) == 66
    with pytest.warns(dslog.LeakWarning, match="index"):
        assert [10, 20][x[0].argmax() - 3 + 1] == 20
    assert backward(store, total, np.s_[...], "A").count == 12


def test_scalars_do_not_change_in_place(store, x):
    first = x[0, 0]
    again = first
    again += 5
    assert first == 0
    assert again == 5
    assert dslog.plain(x)[0, 0] == 0
    with pytest.raises(TypeError, match="does not support item assignment"):
        first[...] = 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    assert cell(store, again, (), "A") == [(0, 0)]


def test_loops_over_an_array(store, x):
    rows = list(x)
    assert len(rows) == 3
    assert cells(store, rows[1], "A") == [(1, 0), (1, 1), (1, 2), (1, 3)]
    total = 0
    for value in x[0]:
        total = total + value
    assert total == 6
    assert cells(store, total, "A") == [(0, 0), (0, 1), (0, 2), (0, 3)]


# functions


def test_results_in_their_containers(store, x):
    parts = np.split(x, 2, axis=1)
    assert isinstance(parts, list)
    assert cells(store, parts[1], "A") == [(i, j) for i in range(3) for j in (2, 3)]
    result = np.linalg.svd(x, full_matrices=False)
    assert type(result).__name__ == "SVDResult"
    assert result.S.shape == (3,)
    values, index, inverse, counts = np.unique(x > 3, True, True, True)
    assert all(isinstance(each, Tracked) for each in (values, index, inverse, counts))
    count, edges = np.histogram(x, bins=3)
    assert cell(store, count, (0,), "A")
    assert edges.shape == (4,)


def test_lists_of_arrays(store, x):
    y = store.track(np.ones((1, 4)), "B")
    z = np.concatenate([x, np.zeros((1, 4)), y])
    assert cell(store, z, (1, 2), "A") == [(1, 2)]
    assert cell(store, z, (4, 2), "B") == [(0, 2)]
    assert cell(store, z, (3, 2), "A") == cell(store, z, (3, 2), "B") == []
    assert cell(store, np.stack([x[0], x[2]]), (1, 1), "A") == [(2, 1)]


def test_what_is_no_array_is_not_tracked(x):
    assert np.shape(x) == (3, 4)
    assert np.ndim(x) == 2
    assert np.size(x) == 12
    assert np.allclose(x, x) is True
    assert np.array_equal(x, x) is True
    assert np.iscomplexobj(x) is False
    assert np.result_type(x, 1j) == np.complex128
    with pytest.warns(dslog.LeakWarning, match="text"):
        assert np.array2string(x) == np.array2string(dslog.plain(x))
    assert type(dslog.plain(x)) is np.ndarray


def test_what_a_reduction_begins_with_is_not_masked(store, x):
    holds = np.array([True, False, True, False])
    total = np.add.reduce(x, axis=1, initial=x[0, 1], where=holds)
    assert cell(store, total, (1,), "A") == [(0, 1), (1, 0), (1, 2)]
    least = np.min(x, axis=0, initial=x[2, 1], keepdims=True)
    assert cell(store, least, (0, 0), "A") == [(0, 0), (1, 0), (2, 0), (2, 1)]
    assert store.backward(least.name, [(0, 0)], "A").exact


def test_creation_beside_a_tracked_array(store, x):
    for make in sorted(LIKE, key=lambda f: f.__name__):
        y = make(x, 5.0) if make == np.full_like else make(x)
        assert isinstance(y, dslog.TrackedArray)
        assert y.shape == x.shape
        assert cells(store, y, "A") == []
    fill = x[1, 1]
    assert cells(store, np.full_like(x, fill), "A") == [(1, 1)]
    y = np.zeros((2,), like=x)
    y[:] = [x[0, 0], x[2, 3]]
    assert cells(store, y, "A") == [(0, 0), (2, 3)]
    assert cells(store, np.array([x[0, 0], 3.0], like=x), "A") == [(0, 0)]
    assert store.name_of(np.zeros(3)) is None
    assert store.name_of(np.random.default_rng(0).random(3)) is None


def test_functions_that_write(store, x):
    y = np.zeros_like(x)
    np.copyto(y, x[0], where=np.array([True, False, True, False]))
    assert cell(store, y, (2, 2), "A") == [(0, 2)]
    assert cell(store, y, (2, 1), "A") == []
    np.put(y, [1, 1], x[2, :2])
    assert cell(store, y, (0, 1), "A") == [(2, 1)]
    np.place(y, dslog.plain(y) == 0, x[1, 1:3])
    np.putmask(y, dslog.plain(y) > 8, x)
    np.fill_diagonal(y, x[0, 3])
    assert cell(store, y, (1, 1), "A") == [(0, 3)]
    np.put_along_axis(y, np.array([[0], [0], [0]]), x[:, 3:], axis=1)
    assert cell(store, y, (2, 0), "A") == [(2, 3)]
    plain = np.zeros((3, 4))
    np.copyto(plain, x)
    assert (plain == dslog.plain(x)).all()


def test_functions_that_write_change_the_values_as_numpy_does(store):
    def program(y, x):
        np.copyto(y, x[0], where=np.array([True, False, True, False]))
        np.put(y, [1, 1], x[2, :2])
        np.place(y, dslog.plain(y) == 0, x[1, 1:3])
        np.putmask(y, dslog.plain(y) > 8, x)
        np.fill_diagonal(y, x[0, 3])
        np.put_along_axis(y, np.array([[0], [0], [0]]), x[:, 3:], axis=1)
        return y

    values = np.arange(12.0).reshape(3, 4)
    tracked = program(store.track(np.zeros((3, 4))), store.track(values))
    assert np.array_equal(dslog.plain(tracked), program(np.zeros((3, 4)), values))


def test_nan_to_num_in_place(store):
    x = store.track(np.array([1.0, np.nan]), "A")
    assert np.nan_to_num(x, copy=False, nan=9.0) is x
    assert dslog.plain(x).tolist() == [1.0, 9.0]
    assert x.name == "A.1"


def test_scratch_space_is_refused(x):
    before = dslog.plain(x).copy()
    assert np.median(x, overwrite_input=True) == 5.5
    assert np.array_equal(dslog.plain(x), before)


# methods and attributes

LEAVE = {"dumps", "item", "tobytes", "tolist"}
SKIPPED = {"ctypes", "data", "base", "device", "to_device", "resize", "setfield"}
IN_PLACE = {"fill", "sort", "partition", "put", "byteswap"}
ARGUMENTS = {
    "argpartition": (1,),
    "astype": (np.float32,),
    "choose": ([np.arange(12).reshape(3, 4)] * 12,),
    "clip": (2, 5),
    "compress": ([True, False, True], 0),
    "dot": (np.eye(4),),
    "dump": None,
    "fill": (3,),
    "getfield": (np.int32,),
    "item": (3,),
    "partition": (1,),
    "put": ([1, 2], [7, 8]),
    "setflags": (True,),
    "repeat": (2,),
    "reshape": (4, 3),
    "searchsorted": (2,),
    "swapaxes": (0, 1),
    "take": ([1, 2],),
    "tofile": None,
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "name", [n for n in dir(np.ndarray) if not n.startswith("_") and n not in SKIPPED]
)
def test_methods_give_what_numpy_gives(store, name):
    values = np.arange(12).reshape(3, 4)
    args = ARGUMENTS.get(name, ())
    if args is None:
        return
    if name == "searchsorted":
        values = values.ravel()
    plain, tracked = values.copy(), store.track(values.copy(), "A")
    wanted, given = getattr(plain, name), getattr(tracked, name)
    if callable(wanted) and not isinstance(wanted, np.ndarray):
        with pytest.warns(dslog.LeakWarning) if name in LEAVE else nullcontext():
            wanted, given = wanted(*args), given(*args)
    if name == "flat":
        wanted, given = np.array(list(wanted)), np.array(list(given))
    if isinstance(wanted, np.ndarray | np.generic):
        assert dslog.plain(given).dtype == wanted.dtype
        assert dslog.plain(given).tobytes() == dslog.plain(wanted).tobytes()
        assert is_tracked(given) or name in LEAVE
    elif isinstance(wanted, tuple) and name == "nonzero":
        assert [dslog.plain(g).tolist() for g in given] == [w.tolist() for w in wanted]
    elif name != "flags":
        assert given == wanted
    if name in IN_PLACE:
        assert dslog.plain(tracked).tobytes() == plain.tobytes()


def test_every_method_of_ndarray_is_ours():
    ours = dslog.TrackedArray
    for name, method in inspect.getmembers(np.ndarray, callable):
        if name.startswith("_") or name in {"resize", "to_device"}:
            continue
        assert getattr(ours, name) is not method, name


def test_methods_have_lineage(store, x):
    assert cell(store, x.T, (3, 1), "A") == [(1, 3)]
    assert cell(store, x.mT, (3, 1), "A") == [(1, 3)]
    assert cell(store, x.reshape(2, 6), (1, 0), "A") == [(1, 2)]
    assert cell(store, x.reshape((2, 6), order="F"), (1, 0), "A") == [(1, 0)]
    assert cell(store, x.transpose(1, 0), (3, 1), "A") == [(1, 3)]
    assert cell(store, x.astype(int), (1, 2), "A") == [(1, 2)]
    assert cell(store, x.flatten("F"), (1,), "A") == [(1, 0)]
    assert cell(store, x.copy(), (1, 2), "A") == [(1, 2)]
    assert cell(store, x.byteswap(), (1, 2), "A") == [(1, 2)]
    assert cell(store, x.mean(axis=0), (1,), "A") == [(0, 1), (1, 1), (2, 1)]
    assert cell(store, x.squeeze(), (1, 2), "A") == [(1, 2)]
    assert cell(store, x.conj(), (1, 2), "A") == [(1, 2)]


def test_sorting_in_place(store):
    x = store.track(np.array([3.0, 1.0, 2.0]), "A")
    x.sort()
    assert dslog.plain(x).tolist() == [1.0, 2.0, 3.0]
    assert [cell(store, x, (i,), "A") for i in range(3)] == [[(1,)], [(2,)], [(0,)]]


def test_astype_without_a_copy_is_the_same_array(x):
    assert x.astype(float, copy=False) is x
    assert x.real is x


def test_flat(store, x):
    assert len(x.flat) == 12
    assert x.flat[5] == 5
    assert cells(store, x.flat[5], "A") == [(1, 1)]
    x.flat[[0, 1]] = x[2, :2]
    assert cell(store, x, (0, 1), "A") == [(2, 1)]
    x.flat = 1
    assert dslog.plain(x.flat.copy()).sum() == 12
    assert sum(1 for _ in x.flat) == 12
    assert cells(store, x, "A") == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_shape_and_dtype_in_place(store, x):
    x.shape = (4, 3)
    assert x.shape == (4, 3)
    assert cell(store, x, (1, 0), "A") == [(0, 3)]
    x[0] = 7
    assert cell(store, x, (0, 1), "A") == []
    assert dslog.plain(x)[0].tolist() == [7, 7, 7]


# other kinds of cells


def test_complex_parts(store, x):
    c = store.track(np.zeros(4, complex), "C")
    c.imag = x[1]
    c.real[1:] = x[0, 1:]
    assert dslog.plain(c).tolist() == [4j, 1 + 5j, 2 + 6j, 3 + 7j]
    assert cell(store, c, (1,), "A") == [(0, 1), (1, 1)]
    assert cell(store, c, (0,), "A") == [(1, 0)]
    assert cell(store, c, (0,), "C") == [(0,)]
    assert cells(store, c.conj(), "C") == [(0,), (1,), (2,), (3,)]
    with pytest.raises(TypeError):
        x.imag = 1  # numpy's answer too


def test_structured_cells_are_whole(store, x):
    s = store.track(np.zeros(4, [("a", int), ("b", float)]), "S")
    s["b"] = x[1]
    assert cell(store, s, (2,), "A") == [(1, 2)]
    assert cell(store, s, (2,), "S") == [(2,)]
    assert cell(store, s["a"], (2,), "A") == [(1, 2)]  # a cell is a cell
    s[1]["a"] = 9
    assert dslog.plain(s)[1].tolist() == (9, 5.0)
    s[2] = (1, 2.5)
    assert cell(store, s, (2,), "A") == []
    record = s[1]
    assert record["a"] == 9


def test_strings_dates_and_bools(store):
    words = store.track(np.array(["b", "a", "c"]), "W")
    assert cell(store, np.strings.upper(words), (1,), "W") == [(1,)]
    assert cell(store, np.sort(words), (0,), "W") == [(1,)]
    days = store.track(np.array(["2024-01-01", "2024-01-05"], "datetime64[D]"), "D")
    assert cell(store, days[1] - days[0], (), "D") == [(0,), (1,)]
    flags = store.track(np.array([True, False]), "F")
    assert cells(store, ~flags, "F") == [(0,), (1,)]
    things = store.track(np.array([1, "a", None], object), "O")
    with pytest.warns(dslog.LeakWarning, match="item"):
        assert things[1] == "a"
    assert cells(store, things[::-1], "O") == [(0,), (1,), (2,)]


def test_other_views_of_the_bytes(store):
    x = store.track(np.arange(4, dtype=np.int32), "A")
    wide, narrow = x.view(np.int64), x.view(np.int16)
    assert cell(store, wide, (1,), "A") == [(2,), (3,)]
    assert cell(store, narrow, (3,), "A") == [(1,)]
    b = store.track(np.array([1.0]), "B")
    narrow[2:3] = b.astype(np.int16)
    assert cell(store, x, (1,), "A") == [(1,)]  # half of the cell is what it was
    assert cell(store, x, (1,), "B") == [(0,)]
    wide[1:] = b.astype(np.int64)
    assert cell(store, x, (3,), "B") == [(0,)]
    assert cell(store, x, (3,), "A") == []
    assert type(x.view(np.ndarray)) is dslog.TrackedArray
    assert type(x.view(np.int64, np.ndarray)) is dslog.TrackedArray
    assert type(dslog.plain(x.view(np.matrix))) is np.ndarray


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)])
def test_odd_shapes(store, shape):
    x = store.track(np.zeros(shape), "A")
    assert cells(store, x + 1, "A") == list(np.ndindex(shape))
    assert (x.T + 1).shape == shape[::-1]
    x[...] = 5
    assert cells(store, x, "A") == []
    y = x.copy()
    y += 1
    assert np.array_equal(dslog.plain(y), np.full(shape, 6.0))


# as an array would


def test_prints_pickles_and_copies_as_an_array(store, x):
    plain = dslog.plain(x)
    with pytest.warns(dslog.LeakWarning, match="text"):
        assert repr(x) == repr(plain)
    with pytest.warns(dslog.LeakWarning, match="text"):
        assert str(x) == str(plain)
    with pytest.warns(dslog.LeakWarning, match="pickle"):
        assert type(pickle.loads(pickle.dumps(x))) is np.ndarray
    with pytest.warns(dslog.LeakWarning, match="pickle"):
        assert np.array_equal(pickle.loads(pickle.dumps(x, protocol=5)), plain)
    assert cell(store, copy.copy(x), (1, 1), "A") == [(1, 1)]
    assert cell(store, copy.deepcopy(x), (1, 1), "A") == [(1, 1)]
    assert 3.0 in x
    assert 99.0 not in x
    with pytest.warns(dslog.LeakWarning, match="buffer"):
        assert memoryview(x).shape == (3, 4)
    assert np.asanyarray(x) is x
    with pytest.raises(AttributeError, match="no attribute 'bogus'"):
        _ = x.bogus


def test_tracking_does_not_copy(store):
    values = np.zeros(4)
    x = store.track(values)
    x[1] = 5
    assert values[1] == 5
    spread = store.track(np.broadcast_to(np.arange(3), (2, 3)), "S")
    spread[0] = 7  # cells that share memory got memory of their own
    assert dslog.plain(spread).tolist() == [[7, 7, 7], [0, 1, 2]]


def test_errors_are_numpys(x):
    with pytest.raises(ValueError, match="broadcast"):
        x + np.zeros(5)
    with pytest.raises(IndexError):
        x[7]
    with pytest.raises(ValueError, match="could not broadcast"):
        x[0] = np.zeros(3)
    with pytest.raises(np.exceptions.AxisError):
        np.sum(x, axis=4)
    x.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    with pytest.raises(TypeError):
        x.sum(bogus=1)


def test_arrays_of_two_stores(x):
    with dslog.open(":memory:") as other:
        y = other.track(np.zeros(4), "B")
        with pytest.raises(dslog.CaptureError, match="two stores"):
            x + y
        assert np.array_equal(dslog.plain(x + dslog.plain(y)), dslog.plain(x))


def test_after_the_store_is_closed_results_are_plain():
    with dslog.open(":memory:") as store:
        x = store.track(np.arange(3.0), "A")
        y = x[1:]
    z = x + 1
    assert type(z) is np.ndarray
    assert type(y * 2) is np.ndarray
    x[0] = 4
    assert dslog.plain(x)[0] == 4
    assert x.name is None


def test_unknown_functions_lose_tracking_or_are_supersets(store, x):
    assert type(dslog.plain(x) * 2) is np.ndarray

    def odd(values):
        return values.sum(axis=0) if values.ndim == 2 else values

    y = np.apply_along_axis(np.cumsum, 0, x)
    assert isinstance(y, Tracked)
    assert isinstance(odd(x), Tracked)


def test_arguments_are_kept(store, x):
    np.sum(x, axis=1, keepdims=True)
    np.concatenate([x, x])
    np.add(x, np.zeros((3, 4)))
    x[1:, None, ..., [0, 2]]
    by_name = {op.name: op.args for op in store.operations()}
    assert by_name["sum"] == {"axis": 1, "keepdims": True}
    assert by_name["add"]["x2"] == {"$array": ["<f8", [3, 4], [0.0] * 12]}
    key = by_name["getitem"]["key"]
    assert key == [{"$slice": [1, None, None]}, None, {"$ellipsis": True}, [0, 2]]
    np.add(x[0], np.zeros((50, 4)))
    assert store.operations()[-1].args["x2"] == {"array": "float64", "shape": [50, 4]}


def test_an_index_counts_behind_one_that_nothing_tracked_is_in(store):
    classes = store.track(np.array([2, 0, 1]), "classes")
    codes = np.zeros((3, 3))
    codes[np.arange(3), classes] = 1
    assert store.backward(codes.name, [(1, 0)], to="classes").indices().tolist() == [[1]]
    assert store.backward(codes.name, [(1, 1)], to="classes").count == 0
