"""Random programs of views, copies, writes and arithmetic, against shadows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracked_shadow import assert_same, sources, unite

import dslog

KEYS = (
    np.s_[1:],
    np.s_[::2],
    np.s_[::-1],
    np.s_[:1],
    np.s_[..., 0],
    np.s_[..., None],
    np.s_[..., ::-2],
    np.s_[...],
    np.s_[:, :1],
    [0, 0, 1],
    [1],
    np.s_[..., [1, 0]],
)
FILL = frozenset()


def fits(value, target):
    """Whether values can be assigned to, or computed in place with, a target."""
    try:
        return np.broadcast_shapes(value.shape, target.shape) == target.shape
    except ValueError:
        return False


def pick(pairs, number):
    return pairs[number % len(pairs)]


def views(pairs, number, key):
    array, shadow = pick(pairs, number)
    try:
        shadow_item = shadow[key]
    except IndexError:
        return
    if isinstance(shadow_item, np.ndarray) and shadow_item.size:
        pairs.append((array[key], shadow_item))


def reshapes(pairs, number, way):
    array, shadow = pick(pairs, number)
    changes = (lambda a: a.T, lambda a: a.reshape(-1), lambda a: a.copy(), lambda a: a[None])
    change = changes[way % len(changes)]
    pairs.append((change(array), change(shadow)))


def assigns(pairs, number, key, other):
    array, shadow = pick(pairs, number)
    value, value_shadow = pick(pairs, other)
    try:
        region = shadow[key]
    except IndexError:
        return
    if not isinstance(region, np.ndarray) or not fits(value, region):
        return
    value_shadow = value_shadow.copy()  # numpy's assignment is as if there were a copy
    array[key] = value
    shadow[key] = value_shadow


def fills(pairs, number, key):
    array, shadow = pick(pairs, number)
    try:
        region = shadow[key]
    except IndexError:
        return
    if isinstance(region, np.ndarray):
        empty = np.empty(region.shape, object)
        empty.fill(FILL)
        array[key] = 7.0
        shadow[key] = empty


def masks(pairs, number, other):
    array, shadow = pick(pairs, number)
    if array.size > 1 and array.ndim:
        mask = np.arange(array.size).reshape(array.shape) % (2 + other % 2) == 0
        value = array[mask][::-1]
        value_shadow = shadow[mask][::-1].copy()
        array[mask] = value
        shadow[mask] = value_shadow


def adds(pairs, number, other, *, in_place):
    array, shadow = pick(pairs, number)
    value, value_shadow = pick(pairs, other)
    if not fits(value, array):
        return
    united = unite(shadow, value_shadow)
    if in_place:
        array += value
        shadow[...] = united
    else:
        pairs.append((array + value, united))


def moves_cell(pairs, number, other):
    array, shadow = pick(pairs, number)
    value, value_shadow = pick(pairs, other)
    to, from_ = (0,) * array.ndim, tuple(size - 1 for size in value.shape)
    array[to] = value[from_]
    shadow[to] = value_shadow[from_]


def run(program, pairs):
    for kind, number, other, key in program:
        if kind == "view":
            views(pairs, number, KEYS[key])
        elif kind == "shape":
            reshapes(pairs, number, key)
        elif kind == "assign":
            assigns(pairs, number, KEYS[key], other)
        elif kind == "fill":
            fills(pairs, number, KEYS[key])
        elif kind == "mask":
            masks(pairs, number, other)
        elif kind == "cell":
            moves_cell(pairs, number, other)
        else:
            adds(pairs, number, other, in_place=kind == "iadd")


KINDS = ("view", "view", "shape", "assign", "assign", "fill", "mask", "cell", "add", "iadd")
steps = st.tuples(
    st.sampled_from(KINDS),
    st.integers(0, 5),
    st.integers(0, 5),
    st.integers(0, len(KEYS) - 1),
)


@settings(max_examples=40)
@given(st.lists(steps, min_size=1, max_size=9), st.sampled_from("CF"))
def test_lineage_is_that_of_the_cells_that_are_there(program, order):
    with dslog.open(":memory:") as store:
        pairs = []
        for name, shape in (("A", (2, 3)), ("B", (3,))):
            values = np.asarray(np.arange(float(np.prod(shape))).reshape(shape), order=order)
            shadow = np.asarray(sources(shape, name), order=order)
            pairs.append((store.track(values, name), shadow))
        run(program, pairs)
        for array, shadow in pairs:
            assert_same(store, array, shadow, ["A", "B"])


@settings(max_examples=40)
@given(st.lists(steps, min_size=1, max_size=9))
def test_values_are_those_of_plain_numpy(program):
    with dslog.open(":memory:") as store:
        plain = [np.arange(6.0).reshape(2, 3), np.arange(3.0)]
        pairs = [(store.track(v.copy(), n), v) for v, n in zip(plain, "AB", strict=True)]
        run([step for step in program if step[0] not in ("add", "iadd", "fill")], pairs)
        for array, values in pairs:
            assert dslog.plain(array).tobytes() == values.tobytes()


@settings(max_examples=25)
@given(st.lists(steps, min_size=1, max_size=8), st.lists(steps, min_size=1, max_size=8))
def test_grouped_calls_have_the_lineage_of_their_steps(inside, after):
    with dslog.open(":memory:") as store:
        pairs = []
        for name, shape in (("A", (2, 3)), ("B", (3,))):
            values = np.arange(float(np.prod(shape))).reshape(shape)
            pairs.append((store.track(values, name), sources(shape, name)))
        with dslog.operation("group", store):
            run(inside, pairs)
        run(after, pairs)
        for array, shadow in pairs:
            assert_same(store, array, shadow, ["A", "B"])


@pytest.mark.parametrize(
    "read",
    [
        lambda x: np.nditer([x, x[0]]).operands[1] * 2,
        lambda x: np.nditer([x, x[0]]).itviews[1] * 2,
        lambda x: np.nditer(x.T).itviews[0] * 2,
        lambda x: np.nditer(x).dtypes,
        lambda x: [cell * 2 for cell in np.nditer(x).copy()],
    ],
)
def test_an_iterator_has_values_and_not_their_positions(read):
    values = np.array([[1.5, 2.5], [4.0, 8.0]])
    with dslog.open(":memory:") as store:
        found, wanted = read(store.track(values.copy())), read(values)
        assert np.array_equal(list(map(dslog.plain, found)), list(map(np.asarray, wanted)))


@pytest.mark.parametrize("number", [4, None])
def test_weights_of_a_choice_are_noted(number):
    weights = np.array([1, 2, 3, 1], np.float32) / np.float32(7)
    with dslog.open(":memory:", leaks="ignore") as store:
        p, x = store.track(weights, "p"), store.track(np.arange(4.0), "x")
        found = np.random.default_rng(0).choice(x if number is None else number, size=9, p=p)
        wanted = np.random.default_rng(0).choice(4, size=9, p=weights)
        assert np.array_equal(dslog.plain(found), wanted)
        (leak,) = store.leaks()
        assert (leak.array, leak.way, leak.loses) == ("p", "choice", number is not None)
