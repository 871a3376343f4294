"""Ways to write some cells of an array agree on what the cells come from.

One rule: a mask is read by every cell that it decides on, whether it writes the cell or leaves it;
an integer by the cell that it names. Each way is compared with the others, with sets of cells that
are moved one by one, and with what happens when an input cell is changed.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perturbation import changed
from tracked_shadow import cell

import dslog


def by_key(x, mask, new):
    x[mask] = new[mask]
    return x


def by_key_of_a_view(x, mask, new):
    wide = np.zeros((x.shape[0] + 2, *x.shape[1:]))
    wide[1:-1] = x
    wide[1:-1][mask] = new[mask]
    return wide[1:-1]


def by_flat(x, mask, new):
    x.flat[mask.ravel()] = new[mask]
    return x


def by_copyto(x, mask, new):
    np.copyto(x, new, where=mask)
    return x


def by_putmask(x, mask, new):
    np.putmask(x, mask, new)
    return x


def by_place(x, mask, new):
    np.place(x, mask, new[mask])
    return x


def by_ufunc(x, mask, new):
    return np.positive(new, out=x, where=mask)


def by_adding(x, mask, new):
    np.multiply(x, 0, out=x, where=mask)
    x[mask] += new[mask]
    return x


def by_where(x, mask, new):
    return np.where(mask, new, x)


def by_select(x, mask, new):
    return np.select([mask], [new], x)


def by_choose(x, mask, new):
    return np.choose(mask, [x, new])


def by_rows(x, mask, new):
    for row, some, others in zip(x, mask, new, strict=True):
        row[some] = others[some]
    return x


def by_columns(x, mask, new):
    for j in range(x.shape[-1]):
        x[..., j][mask[..., j]] = new[..., j][mask[..., j]]
    return x


def by_mask_and_number(x, mask, new):
    for j in range(x.shape[-1]):
        x[mask[..., j], j] = new[mask[..., j], j]
    return x


MASKED = [
    by_key,
    by_key_of_a_view,
    by_flat,
    by_copyto,
    by_putmask,
    by_place,
    by_ufunc,
    by_where,
    by_select,
    by_choose,
]
OF_TWO_AXES = [by_rows, by_columns, by_mask_and_number]


def masked_pairs(mask):
    """The rule, cell by cell: the mask's own cell, and that of the new values or of the old."""
    return {
        (index, source, index)
        for index in np.ndindex(mask.shape)
        for source in ("M", "N" if mask[index] else "X")
    }


def captured(function, values, out_name="out"):
    """The result, and triples of its cells and the cells of sources that they come from."""
    with dslog.open(":memory:", leaks="error") as store:
        tracked = [store.track(value.copy(), name) for name, value in values.items()]
        made = function(*tracked).named(out_name)
        return np.array(dslog.plain(made)), {
            (index, name, each)
            for name in values
            for index in np.ndindex(made.shape)
            for each in found(store, made, index, name)
        }


def found(store, made, index, name):
    try:
        answer = store.backward(made.name, [index], name)
    except dslog.PathError:
        return []
    assert answer.exact
    return [tuple(map(int, each)) for each in answer.indices()]


def influence(function, values):
    """Triples of output cells, and input cells whose change they show."""
    arrays = [value.copy() for value in values.values()]

    def run():
        return [function(*(array.copy() for array in arrays))]

    def others(value):
        return [value + 0.5 if value.dtype == float else 1 - int(value)]

    (shown,) = changed(run, arrays, others)
    return {
        (pair[: len(pair) - array.ndim], name, pair[len(pair) - array.ndim :])
        for name, array, pairs in zip(values, arrays, shown, strict=True)
        for pair in pairs
    }


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_masks_that_write_agree(data):
    shape = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple))
    size = int(np.prod(shape))
    bits = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    mask = np.array(bits, bool).reshape(shape)
    values = {
        "X": np.arange(size, dtype=float).reshape(shape),
        "M": mask,
        "N": 100.25 + np.arange(size).reshape(shape),
    }
    expected = masked_pairs(mask)
    for function in MASKED + (OF_TWO_AXES if len(shape) == 2 else []):
        plain = function(*(value.copy() for value in values.values()))
        made, pairs = captured(function, values)
        assert made.tobytes() == plain.tobytes(), function
        assert pairs == expected, function
        assert pairs == influence(function, values) or not mask.any(), function
    assert captured(by_adding, values)[1] == expected | {
        (index, "X", index) for index in np.ndindex(shape)
    }


BROADCAST = {
    "rows": (lambda z, m: z.__setitem__(m[:, 0], 7.0), lambda i, j: (i, 0)),
    "columns": (lambda z, m: z.__setitem__((slice(None), m[1]), 7.0), lambda i, j: (1, j)),
    "behind an ellipsis": (lambda z, m: z.__setitem__((..., m[1]), 7.0), lambda i, j: (1, j)),
    "copyto": (lambda z, m: np.copyto(z, 7.0, where=m[1]), lambda i, j: (1, j)),
    "ufunc": (lambda z, m: np.add(z, 7.0, out=z, where=m[:, :1]), lambda i, j: (i, 0)),
    "one bit": (lambda z, m: z.__setitem__(m[0, 0], 7.0), lambda i, j: (0, 0)),
    "another shape": (lambda z, m: np.place(z, m.T.ravel(), [7.0]), None),
    "add.at": (lambda z, m: np.add.at(z, m, 1.0), lambda i, j: (i, j)),
}


@pytest.mark.parametrize("name", BROADCAST)
def test_masks_of_some_axes(name):
    write, decider = BROADCAST[name]
    mask = np.array([[True, False, True], [False, False, True]])
    expected, plain = np.ones((2, 3)), np.ones((2, 3))
    write(plain, mask)
    with dslog.open(":memory:", leaks="error") as store:
        tracked = store.track(mask, "M")
        z = np.ones((2, 3))
        write(z, tracked)
        assert dslog.plain(z).tolist() == plain.tolist() != expected.tolist()
        for i, j in np.ndindex(2, 3):
            places = (i * 3 + j) % 2, (i * 3 + j) // 2  # of the transposed mask
            assert cell(store, z, (i, j), "M") == [decider(i, j) if decider else places]


def test_a_mask_beside_indices_is_read_where_it_writes():
    with dslog.open(":memory:", leaks="error") as store:
        mask, k = (
            store.track(np.array([True, False, True]), "M"),
            store.track(np.array([1, 0]), "K"),
        )
        z = np.zeros((3, 2))
        z[mask, k] = 5.0
        assert dslog.plain(z).tolist() == [[0, 5], [0, 0], [5, 0]]
        assert [cell(store, z, (0, 1), name) for name in "MK"] == [[(0,)], [(0,)]]
        assert [cell(store, z, (2, 0), name) for name in "MK"] == [[(2,)], [(1,)]]
        assert cell(store, z, (1, 0), "M") == []


def test_a_mask_that_writes_nothing_has_decided():
    with dslog.open(":memory:", leaks="error") as store:
        x, mask = store.track(np.ones(2), "X"), store.track(np.zeros(2, bool), "M")
        x[mask] = 7.0
        fresh = np.zeros(2)
        fresh[mask] = 1.0
        for out in (x, fresh):
            assert cell(store, out, (1,), "M") == [(1,)]
        assert cell(store, x, (1,), "X") == [(1,)]


def test_a_mask_that_reads_only_moves():
    with dslog.open(":memory:", leaks="error") as store:
        x, mask = store.track(np.arange(4.0), "X"), store.track(np.arange(4) % 2 == 1, "M")
        for picked in (x[mask], x[x > 1.5], np.extract(mask, x), x.compress(mask)):
            assert found(store, picked, (0,), "M") == []


# integers


def one_hot(k, y):
    hot = np.zeros((4, 3))
    hot[np.arange(4), k] = y
    return hot


def one_hot_by_cells(k, y):
    hot = np.zeros((4, 3))
    for i in range(4):
        hot[i, k[i]] = y[i]
    return hot


def one_hot_by_put(k, y):
    hot = np.zeros((4, 3))
    np.put(hot, np.arange(4) * 3 + k, y)
    return hot


def one_hot_along_axis(k, y):
    hot = np.zeros((4, 3))
    np.put_along_axis(hot, k[:, None], y[:, None], axis=1)
    return hot


def one_hot_added(k, y):
    hot = np.zeros((4, 3))
    np.add.at(hot, (np.arange(4), k), y)
    return hot


def one_hot_flat(k, y):
    hot = np.zeros((4, 3))
    hot.flat[np.arange(4) * 3 + k] = y
    return hot


def sums_added(k, y):
    total = np.zeros(3)
    np.add.at(total, k, y)
    return total


def sums_by_cells(k, y):
    total = np.zeros(3)
    for i in range(4):
        total[k[i]] += y[i]
    return total


def sums_counted(k, y):
    return np.bincount(k, y, minlength=3)


def sums_of_bins(k, y):
    return np.histogram(k, bins=3, range=(0, 3), weights=y)[0]


ONE_HOT = [
    one_hot, one_hot_by_cells, one_hot_by_put, one_hot_along_axis, one_hot_added, one_hot_flat,
]  # fmt: skip
SUMS = [sums_added, sums_by_cells, sums_counted, sums_of_bins]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=4, max_size=4))
def test_integers_that_write_agree(labels):
    k, y = np.array(labels), np.array([1.5, 2.5, 4.5, 8.5])
    hot = {((i, n), name, (i,)) for i, n in enumerate(labels) for name in "KY"}
    sums = {((n,), name, (i,)) for i, n in enumerate(labels) for name in "KY"}
    for functions, expected in ((ONE_HOT, hot), (SUMS, sums)):
        wanted = functions[0](k.copy(), y.copy())
        for function in functions:
            made, pairs = captured(function, {"K": k, "Y": y})
            assert made.tolist() == wanted.tolist(), function
            assert pairs == expected, function
            moved = influence(lambda y: function(k, y), {"Y": y})  # noqa: B023 (called at once)
            assert {pair for pair in pairs if pair[1] == "Y"} == moved, function


def test_counts_are_of_the_labels():
    with dslog.open(":memory:", leaks="error") as store:
        k = store.track(np.array([2, 0, 2]), "K")
        added = np.zeros(3, int)
        np.add.at(added, k, 1)
        for counts in (added, np.bincount(k, minlength=3), np.eye(3, dtype=int)[k].sum(axis=0)):
            assert dslog.plain(counts).tolist() == [1, 0, 2]
        for counts in (added, np.bincount(k, minlength=3)):
            assert [cell(store, counts, (n,), "K") for n in range(3)] == [[(1,)], [], [(0,), (2,)]]


# the Game of Life

GLIDER = np.zeros((7, 7), int)
GLIDER[1:4, 1:4] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]


def sum_of_slices(z):
    return (
        z[:-2, :-2] + z[:-2, 1:-1] + z[:-2, 2:]
        + z[1:-1, :-2] + z[1:-1, 2:]
        + z[2:, :-2] + z[2:, 1:-1] + z[2:, 2:]
    )  # fmt: skip


def life_in_place(z):
    n = sum_of_slices(z)
    birth = (n == 3) & (z[1:-1, 1:-1] == 0)
    survive = ((n == 2) | (n == 3)) & (z[1:-1, 1:-1] == 1)
    z[...] = 0
    z[1:-1, 1:-1][birth | survive] = 1
    return z


def life_of_counts(z):
    n = np.zeros(z.shape, int)
    n[1:-1, 1:-1] += sum_of_slices(z)
    inner, board = n[1:-1, 1:-1], z[1:-1, 1:-1]
    born, stay = (inner == 3) & (board == 0), ((inner == 2) | (inner == 3)) & (board == 1)
    board[...] = 0
    board[born | stay] = 1
    return z


def life_rolled(z):
    n = sum(np.roll(np.roll(z, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i or j))
    new = np.zeros_like(z)
    new[(n == 3) | ((z == 1) & (n == 2))] = 1
    return new


def life_by_where(z):
    n = np.zeros_like(z)
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            if i or j:
                n += np.roll(np.roll(z, i, 0), j, 1)
    return np.where((n == 3) | ((z == 1) & (n == 2)), 1, 0)


def life_of_cells(z):
    new = np.zeros(z.shape, int)
    for i in range(1, z.shape[0] - 1):
        for j in range(1, z.shape[1] - 1):
            n = z[i - 1 : i + 2, j - 1 : j + 2].sum() - z[i, j]
            new[i, j] = (n == 3) | ((z[i, j] == 1) & (n == 2))
    return new


def life_copied(z):
    new, n = np.zeros_like(z), sum_of_slices(z)
    np.copyto(new[1:-1, 1:-1], 1, where=(n == 3) | ((z[1:-1, 1:-1] == 1) & (n == 2)))
    return new


LIFE = [life_in_place, life_of_counts, life_rolled, life_by_where, life_of_cells, life_copied]


@pytest.mark.parametrize("step", LIFE)
def test_the_game_of_life(step):
    values = {"Z": GLIDER}
    made, pairs = captured(step, values)
    assert made.tolist() == step(GLIDER.copy()).tolist()
    around = {
        ((i, j), "Z", (a, b))
        for i, j in np.ndindex(5, 5)
        for a, b in np.ndindex(7, 7)
        if max(abs(a - i - 1), abs(b - j - 1)) <= 1
    }
    inner = {((i - 1, j - 1), name, at) for (i, j), name, at in pairs if 0 < i < 6 and 0 < j < 6}
    assert inner == around
    assert made.sum() == 5
    assert influence(step, values) <= pairs


def test_generations_of_life():
    with dslog.open(":memory:", leaks="error") as store:
        first = store.track(GLIDER.copy(), "first")
        second = life_in_place(first.copy()).named("second")
        third = life_in_place(second.copy()).named("third")
        plain = life_in_place(life_in_place(GLIDER.copy()))
        assert dslog.plain(third).tolist() == plain.tolist()
        assert plain[3, 3] == 1
        assert cell(store, third, (3, 3), "second") == [
            (i, j) for i in (2, 3, 4) for j in (2, 3, 4)
        ]
        assert cell(store, third, (3, 3), "first") == [
            (i, j) for i in range(1, 6) for j in range(1, 6)
        ]
