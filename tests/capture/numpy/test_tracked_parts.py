"""Parts of numpy that are classes and objects, as programs use them, judged by perturbation.

``EQUAL`` are programs whose lineage is just what a change shows; in the others cells are read
without a change to show for it.
"""

import sqlite3
import warnings

import numpy as np
import pytest
from perturbation import changed

import dslog
from dslog.capture.numpy.memory import is_tracked

V = np.array([3.5, -1.25, 2.0, 7.75, 0.5, 4.0])
M = np.array([[1.5, -2.0, 3.25], [4.0, 5.5, -6.25]])
P = np.polynomial


def results(value):
    if isinstance(value, (list, tuple)):
        return [each for item in value for each in results(item)]
    return [value]


def plain_results(value):
    found = [dslog.plain(each) if is_tracked(each) else each for each in results(value)]
    return [np.asarray(each) for each in found]


def traced(store, result):
    """The pairs of a result and the source, and whether they are called exact."""
    found, exact = set(), True
    if store.name_of(result) is None:  # from nothing
        return found, exact
    for index in np.ndindex(np.shape(dslog.plain(result))):
        cells = store.backward(store.name_of(result), [index] if index else np.ones((), bool), "A")
        found |= {(*index, *map(int, one)) for one in cells.indices()}
        exact &= cells.exact
    return found, exact


def check(program, values, *, equal):
    copied = values.copy()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = plain_results(program(values.copy()))
        shown = changed(lambda: plain_results(program(copied.copy())), [copied])
        with dslog.open(":memory:", leaks="error") as store:
            found = results(program(store.track(values.copy(), "A")))
            assert len(found) == len(expected)
            for result, plain, [pairs] in zip(found, expected, shown, strict=True):
                mine = np.asarray(dslog.plain(result))
                assert (mine.dtype, mine.shape) == (plain.dtype, plain.shape)
                assert mine.tobytes() == plain.tobytes()
                cells, exact = traced(store, result)
                assert exact
                assert pairs <= cells
                assert not equal or cells == pairs
            return found


def convert(x):
    return P.Polynomial.fit(np.arange(6.0), x, 2).convert().coef


def allocated(x):
    with np.nditer([x, None]) as places:
        for cell, new in places:
            new[...] = cell * 3
        return places.operands[1]


def broadcast(x):
    places = np.nditer([x, np.arange(3.0) + 1, None])
    for one, other, new in places:
        new[...] = one * other
    return places.operands[2]


def in_lines(x):
    out = np.zeros(6)
    for line in np.nditer(x.T, flags=["external_loop"], order="F"):
        out[: len(line)] = line
    return out


def while_not_finished(x):
    places, found = np.nditer(x, flags=["f_index"]), []
    while not places.finished:
        found.append(places[0] * 1)
        places.iternext()
    return np.array(found)


def older(x):
    draws = np.random.RandomState(0)
    mixed = x.copy()
    draws.shuffle(mixed)
    return [mixed, draws.permutation(x), draws.choice(x, 3)]


def newer(x):
    draws = np.random.Generator(np.random.PCG64(1))
    mixed = x.copy()
    draws.shuffle(mixed)
    return [mixed, draws.permutation(x), draws.choice(x, 3), draws.choice(x), draws.permuted(x)]


def of_numpy_itself(x):
    np.random.seed(3)  # noqa: NPY002
    mixed = x.copy()
    np.random.shuffle(mixed)  # noqa: NPY002
    return [mixed, np.random.permutation(x), np.random.choice(x, 4)]  # noqa: NPY002


OF_VECTORS = {
    "r_": lambda x: np.r_[x[:2], 0, x[3:]],
    "r_ of numbers": lambda x: np.r_[x[0], 0.5, x[3]],
    "r_ with a slice": lambda x: np.r_[0:3, x, 1:2:3j],
    "c_": lambda x: np.c_[x, x * 2],
    "c_ with plain columns": lambda x: np.c_[np.ones(6), x, range(6)],
    "polyval": lambda x: np.polyval(x[:3], x[3:]),
    "polyfit": lambda x: np.polyfit(np.arange(6.0), x, 1),
    "poly1d": lambda x: (np.poly1d(x[:3]) * 2)(2.0),
    "Polynomial": lambda x: P.Polynomial(x[:3])(x[3:]),
    "Polynomial.fit": lambda x: P.Polynomial.fit(np.arange(6.0), x, 2)(np.arange(6.0)),
    "Polynomial.convert": convert,
    "Polynomial of two": lambda x: (P.Polynomial(x[:3]) * P.Polynomial(x[3:])).coef,
    "Polynomial and number": lambda x: (x[0] + P.Polynomial([1.0, 2.0]) * x[1]).coef,
    "Polynomial.deriv": lambda x: P.Polynomial(x).deriv().coef,
    "roots": lambda x: P.Polynomial(x[:3]).roots(),
    "Chebyshev": lambda x: P.Chebyshev(x[:3])(0.5),
    "select": lambda x: np.select([x > 3, x > 1], [x, x * 2], -x),
    "draws of an older generator": older,
    "draws of a generator": newer,
    "draws of numpy": of_numpy_itself,
    "permutation of a list": lambda x: np.random.default_rng(1).permutation([x[0], x[3], 2.0]),
    "choice without replacement": lambda x: np.random.default_rng(1).choice(x, 4, replace=False),
}
OF_MATRICES = {
    "r_ of axes": lambda x: np.r_["0,2", x[0], x[1]],
    "ix_": lambda x: x[np.ix_([0, 1], [0, 2])],
    "nditer": lambda x: np.array([cell * 2 for cell in np.nditer(x)]),
    "nditer that allocates": allocated,
    "nditer of lines": in_lines,
    "nditer, asked": while_not_finished,
    "ndenumerate": lambda x: np.array([cell * (1 + i) for (i, _), cell in np.ndenumerate(x)]),
    "flat": lambda x: [
        np.array([cell * 2 for cell in x.flat]),
        x.flat[1:4],
        np.array(list(x.flat)),
    ],
    "choice of columns": lambda x: np.random.default_rng(1).choice(x, 2, axis=1),
    "permutation of columns": lambda x: np.random.default_rng(1).permutation(x, axis=1),
}
READ = {
    "nditer that broadcasts": broadcast,
    "ix_ of a mask": lambda x: x[np.ix_(x[:, 0] > 2, [0, 2])],
    "select of constants": lambda x: np.select([x > 3, x > 1], [1, 2]),
    "polyvander": lambda x: P.polynomial.polyvander(x[0], 2),
    "records": lambda x: np.array([(x[0, 0], x[0, 1]), (x[1, 0], 2)], "f8,i4")["f0"],
}


@pytest.mark.parametrize("name", OF_VECTORS)
def test_programs_on_vectors(name):
    check(OF_VECTORS[name], V, equal=True)


@pytest.mark.parametrize("name", OF_MATRICES)
def test_programs_on_matrices(name):
    check(OF_MATRICES[name], M, equal=True)


@pytest.mark.parametrize("name", READ)
def test_programs_that_read_more_than_shows(name):
    check(READ[name], M, equal=False)


def test_records_are_cells():
    with dslog.open(":memory:", leaks="error") as store:
        x = store.track(M.copy(), "A")
        table = np.array([(x[0, 0], x[0, 1]), (x[1, 0], 2.0)], [("a", float), ("b", float)])
        assert traced(store, table) == ({(0, 0, 0), (0, 0, 1), (1, 1, 0)}, True)


def lines_written(x):
    made = x.copy()
    for line in np.nditer(made, flags=["external_loop"], op_flags=["readwrite"]):
        line[...] = line * 2 + 1
    places = np.nditer(
        [made, None], flags=["external_loop"], op_flags=[["readonly"], ["writeonly", "allocate"]]
    )
    for line, new in places:
        new[...] = line - 3
    return [made, places.operands[1]]


def spaced(x):
    made, other, last = np.linspace(0, 1, 4), np.geomspace(1, 8, 4), np.diag([1.0, 2.0])
    made[2], other[1:3], last[0, 1] = x[0], x[1:3], x[5]
    return [made, other, last, np.linspace(x[1], 2.0, 2)[:1]]


def of_objects(x):
    made = x[:3].astype(object)
    made[1] = x[4]
    return [made[0], made[1] * 2, made.sum(), np.sum(made[1:]), np.array([t + 1 for t in made])]


CALLED = {  # np.vectorize is looked up when it is called
    "several results": lambda x: [*np.vectorize(lambda t: (t, 2 * t))(x)],
    "a number": lambda x: np.vectorize(lambda t: t + 1)(x[2]),
    "two results of a number": lambda x: np.vectorize(lambda t: (t, t * t))(x[1]),
    "a list": lambda x: np.vectorize(lambda t, s: t * s)(x[:2], [x[4], 2.0]),
    "types": lambda x: [np.vectorize(lambda t: t * 2, otypes=[np.float32])(x)],
    "types of several": lambda x: [*np.vectorize(lambda t: (t, t + 1), otypes="fd")(x)],
    "lines that are written": lines_written,
    "cells of objects": of_objects,
    "spaced numbers that are overwritten": spaced,
}


@pytest.mark.parametrize("name", CALLED)
def test_functions_of_cells_lines_and_objects(name):
    check(CALLED[name], V, equal=True)


class Held:
    """A program's own class of arrays."""

    def __init__(self, values, *, plainly):
        self.values, self.plainly = values, plainly

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values) if self.plainly else self.values


def test_classes_that_numpy_makes_arrays_of():
    with dslog.open(":memory:", leaks="ignore") as store:
        x = store.track(V.copy(), "A")
        for convert in (np.asarray, np.array):
            made = convert(Held(x, plainly=False))
            assert traced(store, made * 2) == ({(k, k) for k in range(6)}, True)
        assert not any(leak.loses for leak in store.leaks())
        assert np.array(Held(x, plainly=True)).tolist() == V.tolist()
        assert np.sum(Held(x, plainly=True)) == V.sum()
        assert any(leak.loses for leak in store.leaks())
        assert np.asarray(Held(V, plainly=False)).tolist() == V.tolist()


def test_a_database_takes_a_number():
    with dslog.open(":memory:", leaks="ignore") as store, sqlite3.connect(":memory:") as base:
        x = store.track(V.copy(), "A")
        assert base.execute("select ? + 1", (x[0],)).fetchone() == (4.5,)
        assert [leak.way for leak in store.leaks()] == ["sqlite3"]
    base.close()


FIELDS = [("a", float), ("b", float)]


def viewed(x):
    table = np.zeros(3, FIELDS)
    table["a"], table["b"] = x[:3], x[3:]
    return table.view(np.recarray)


RECORDS = {
    "fromarrays": lambda x: np.rec.fromarrays([x[:3], x[3:]], names="a,b"),
    "fromrecords": lambda x: np.rec.fromrecords([(x[k], x[3 + k]) for k in range(3)], dtype=FIELDS),
    "array of columns": lambda x: np.rec.array([x[:3], x[3:]], names="a,b"),
    "array of an array": lambda x: np.rec.array(viewed(x)),
    "a view": viewed,
}


@pytest.mark.parametrize("name", RECORDS)
def test_arrays_of_records(name):
    plain = RECORDS[name](V)
    with dslog.open(":memory:", leaks="ignore") as store:
        table = RECORDS[name](store.track(V.copy(), "A"))
        assert isinstance(table, np.recarray)
        assert not isinstance(table.a, np.recarray)
        assert table.dtype == plain.dtype
        for mine, theirs in (
            (table.a, plain.a),
            (table[1:].b, plain[1:].b),
            (table[2].b, plain[2].b),
        ):
            assert dslog.plain(mine).tolist() == np.asarray(theirs).tolist()
        one_cell_each = {(k, j) for k in range(3) for j in (k, 3 + k)}
        assert traced(store, table.b) == (one_cell_each, True)
        table.a = table.b * 2
        plain.a = plain.b * 2
        assert dslog.plain(table.a).tolist() == plain.a.tolist()
        assert repr(table) == repr(plain)
        with pytest.raises(AttributeError, match="recarray has no attribute c"):
            table.c  # noqa: B018
        assert [leak.way for leak in store.leaks() if leak.loses] == ["text"]


def record_programs(table):
    record = table[1]
    other = table[2]
    other["b"] = record["b"] * 2
    table[0] = record
    a, b = table[0]
    return [record["b"], record[1], a, b, *other, [row["a"] for row in table], table[-1]["b"]]


@pytest.mark.parametrize("kind", [np.ndarray, np.recarray])
def test_a_record_is_a_look_at_its_array(kind):
    plain = viewed(V).view(kind)
    expected = results(record_programs(plain))
    with dslog.open(":memory:", leaks="error") as store:
        table = viewed(store.track(V.copy(), "A")).view(kind)
        found = results(record_programs(table))
        for mine, theirs in zip(found, expected, strict=True):
            assert type(dslog.plain(mine)) is type(theirs) is np.float64
            assert dslog.plain(mine) == theirs
        assert [traced(store, each)[0] for each in found[:2]] == [{(1,), (4,)}] * 2
        assert traced(store, found[5]) == ({(1,), (4,), (2,), (5,)}, True)
        record, theirs = table[1], plain[1]
        assert isinstance(record, type(theirs))
        assert type(dslog.plain(record)) is type(theirs)
        assert (len(record), record.dtype, record.shape) == (2, theirs.dtype, ())
        for name in ("nope", "b"):
            errors = []
            for each in (record, theirs):
                try:
                    errors.append(float(dslog.plain(getattr(each, name))))
                except AttributeError as error:
                    errors.append(str(error))
            assert errors[0] == errors[1]
        for each in (record, theirs):
            with pytest.raises(IndexError, match="invalid index"):
                each[5]
        if kind is np.recarray:
            record.a = theirs.a = 7.5
            assert dslog.plain(table.a).tolist() == plain.a.tolist()


def test_a_record_of_an_array_of_the_programs_own():
    with dslog.open(":memory:", leaks="error") as store:
        x = store.track(V.copy(), "A")
        table = np.zeros(2, [("a", float), ("b", float, (2,))])
        record = table[0]
        record["a"] = x[3]
        table[1]["b"][:] = x[:2]
        assert traced(store, table["a"]) == ({(0, 3), (1, 0), (1, 1)}, True)
        assert dslog.plain(table)["b"].tolist() == [[0, 0], [3.5, -1.25]]


def test_what_an_array_does_not_have():
    with dslog.open(":memory:") as store:
        x = store.track(V.copy(), "A")
        for array in (x, V):
            with pytest.raises(AttributeError, match=r"^'numpy.ndarray' object has no attribute"):
                array.extend([1])


def test_a_number_and_an_object_that_is_no_number():
    class Money:
        def __radd__(self, other):
            return [float(other)]

    with dslog.open(":memory:", leaks="ignore") as store:
        x = store.track(V.copy(), "A")
        assert x[0] + Money() == [3.5]
        assert [leak.way for leak in store.leaks() if leak.loses] == ["float"]


def test_generators_are_of_their_classes():
    before = np.random.default_rng(0), np.random.RandomState(0)
    with dslog.open(":memory:") as store:
        store.track(V.copy())
        inside = np.random.default_rng(0), np.random.RandomState(0)
        for one, other, kind in zip(
            before, inside, (np.random.Generator, np.random.RandomState), strict=True
        ):
            assert isinstance(one, kind)
            assert isinstance(other, kind)
            assert one.permutation(5).tolist() == other.permutation(5).tolist()
    assert type(np.random.default_rng(0)) is np.random.Generator
