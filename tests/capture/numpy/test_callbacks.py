"""Functions of a program that numpy calls: values are numpy's, and what they do is followed."""

import numpy as np
import pytest
from perturbation import changed
from tracked_shadow import cell

import dslog

M = np.array([[1.5, -2.0, 3.25], [4.0, 5.5, -6.25]])
SQUARE = np.array([[1.5, -2.0, 3.25], [4.0, 5.5, -6.25], [0.5, 7.0, -1.0]])


def masked(row):
    new = np.zeros_like(row)
    new[row > 0] = 1
    return new


def counted(row):
    return np.bincount((row > 0).astype(int), minlength=2)


def flipped(row):
    return row if row[0] > 2 else -row[::-1]


LINES = {
    # by the place in a line, the places that contribute
    "its own": (lambda row: row * 2, lambda k: {k}),
    "a share": (lambda row: row / row.sum(), lambda k: {0, 1, 2}),
    "one cell": (lambda row: row[0], lambda k: {0}),
    "chosen": (lambda row: np.where(row > 0, 1, 0), lambda k: {k}),
    "masked": (masked, lambda k: {k}),
    "reversed": (lambda row: list(row[::-1]), lambda k: {2 - k}),
    "two axes": (lambda row: np.outer(row, row)[:2], None),
    "the middle": (np.median, None),
    "turned by a test": (flipped, None),
    "counts": (counted, None),
}


def changes(function, values):
    """Per cell of the result, the cells that it shows a change of."""
    values = values.copy()
    [[pairs]] = changed(lambda: [function(values.copy())], [values])
    found = {index: set() for index in np.ndindex(function(values).shape)}
    for pair in pairs:
        found[pair[: -values.ndim]].add(pair[-values.ndim :])
    return found


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_lines(name, axis):
    function, reads = LINES[name]

    def whole(x):
        return np.apply_along_axis(function, axis, x)

    plain = whole(SQUARE.copy())
    with dslog.open(":memory:", leaks="error") as store:
        made = whole(store.track(SQUARE.copy(), "A"))
        assert dslog.plain(made).tobytes() == plain.tobytes()
        assert dslog.plain(made).dtype == plain.dtype
        assert store.operations()[-1].name == "apply_along_axis"
        for index, shown in changes(whole, SQUARE).items():
            found = set(cell(store, made, index, "A"))
            assert shown <= found
            line, place = (index[-1], index[0]) if axis == 0 else (index[0], index[-1])
            some = reads(place if len(index) > 1 else 0) if reads else range(3)
            every = {(k, line) if axis == 0 else (line, k) for k in some}
            assert found == every if reads else found <= every


def test_functions_that_leak_are_supersets():
    with dslog.open(":memory:") as store:
        x = store.track(M.copy(), "A")
        made = np.apply_along_axis(lambda row: float(row[0]), 1, x)
        assert dslog.plain(made).tolist() == [1.5, 4.0]
        answer = store.backward(made.name, [(1,)], "A")
        assert not answer.exact
        assert answer.count == 3
        assert not any(leak.loses for leak in store.leaks())


def test_functions_that_write_into_lines_and_leak_run_once():
    def shift(row):
        row += 1
        return row.tolist()

    with dslog.open(":memory:", leaks="ignore") as store:
        x, plain = store.track(M.copy(), "A"), M.copy()
        made = np.apply_along_axis(shift, 1, x)
        assert dslog.plain(made).tolist() == np.apply_along_axis(shift, 1, plain).tolist()
        assert dslog.plain(x).tolist() == plain.tolist()


def test_what_functions_know_besides_their_lines():
    with dslog.open(":memory:", leaks="error") as store:
        x = store.track(M.copy(), "A")
        for array in (np.ones((2, 2)), x[:, :2] * 1):
            made = np.apply_along_axis(lambda row: row * x[0, 2], 1, array)
            assert (0, 2) in cell(store, made, (1, 1), "A")


def test_errors_are_numpys():
    def fail(row):
        raise KeyError(row[0])

    with dslog.open(":memory:") as store:
        x = store.track(M.copy(), "A")
        for function, array, error in ((fail, x, KeyError), (np.sort, x[:0], ValueError)):
            with pytest.raises(error) as mine:
                np.apply_along_axis(function, 1, array)
            with pytest.raises(error) as theirs:
                np.apply_along_axis(function, 1, dslog.plain(array))
            assert str(mine.value) == str(theirs.value)
        with pytest.raises(ValueError, match="correct shape"):
            np.apply_over_axes(lambda a, axis: a.sum(), x, [0])
        with pytest.raises(ValueError, match="functions are expected"):
            np.piecewise(x, [x > 0], [abs, abs, abs])


def test_axes():
    def doubled(a, axis):
        return (a * 2).sum(axis=axis)

    with dslog.open(":memory:", leaks="error") as store:
        x = store.track(M.copy(), "A")
        for axes in (0, [-1], (0, 1)):
            made = np.apply_over_axes(doubled, x, axes)
            plain = np.apply_over_axes(doubled, M, axes)
            assert dslog.plain(made).tobytes() == plain.tobytes()
            places = [(i, j) for i in range(2) for j in range(3)]
            if axes == 0:
                places = [(0, 0), (1, 0)]
            elif axes == [-1]:
                places = [(0, 0), (0, 1), (0, 2)]
            assert cell(store, made, (0, 0), "A") == places


V = np.array([0.5, 2.5, 3.5, -1.0, 5.0])
PIECES = {
    "constants": (lambda x: np.piecewise(x, [x < 3, x >= 3], [-1, 1]), None),
    "ufuncs": (lambda x: np.piecewise(x, [x < 0], [np.sin, np.cos]), None),
    "functions": (lambda x: np.piecewise(x, [x < 0, x > 3], [abs, lambda t: t * 2, np.sqrt]), None),
    "sums": (
        lambda x: np.piecewise(x, [x > 3], [lambda t: t.sum()]),
        {2: {2, 4}, 4: {2, 4}, 0: {0}},
    ),
    "the rest": (
        lambda x: np.piecewise(x, [x > 3], [7.0, lambda t: t[::-1]]),
        {0: {0, 3}, 1: {1}, 2: {2}, 3: {0, 3}},
    ),
    "arguments": (lambda x: np.piecewise(x, [x < 1], [lambda t, k: t + k, 2.0], 5), None),
    "of another array": (
        lambda x: np.piecewise(np.arange(5.0), [x < 1, x > 3], [lambda t: t + 1, lambda t: -t]),
        None,
    ),
}


@pytest.mark.parametrize("name", PIECES)
def test_pieces(name):
    function, expected = PIECES[name]
    with dslog.open(":memory:", leaks="error") as store:
        made = function(store.track(V.copy(), "A"))
        assert dslog.plain(made).tobytes() == function(V.copy()).tobytes()
        for index, shown in changes(function, V).items():
            found = set(cell(store, made, index, "A"))
            assert shown <= found
            assert index in found
            if expected is None:
                assert found == {index}
            elif index[0] in expected:
                assert found == {(k,) for k in expected[index[0]]}


def test_conditions_from_the_last_to_the_one_that_holds():
    with dslog.open(":memory:", leaks="error") as store:
        x, m, n = store.track(V.copy(), "A"), store.track(V > 1, "M"), store.track(V > 3, "N")
        by_function = np.piecewise(x, [m, n], [lambda t: t * 2, lambda t: -t, lambda t: t])
        by_rule = np.piecewise(x, [m, n], [np.exp, np.negative, np.positive])
        for made in (by_function, by_rule):
            for k in range(5):
                assert cell(store, made, (k,), "N") == [(k,)]
                assert cell(store, made, (k,), "M") == ([] if V[k] > 3 else [(k,)])


def test_a_number_in_pieces():
    with dslog.open(":memory:", leaks="error") as store:
        x = store.track(V.copy(), "A")
        made = np.piecewise(x[1], [x[1] > 1], [lambda t: t * 2, 3])
        assert dslog.plain(made).tolist() == 5.0
        assert cell(store, made, (), "A") == [(1,)]
