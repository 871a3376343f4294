"""Where values decide: sorting, searching, choosing, sets, counting."""

import numpy as np
import pytest
from numpy_oracles import (
    Untracked,
    apart,
    capture,
    case,
    check,
    contains,
    floats,
    make_call,
    pairs_of,
    results_of,
    traced,
)
from perturbation import unequal

Y = apart(2, 3, 4)
TIES = np.array([[1.0, 3, 2], [3, 1, 1], [0, 5, 2]])
V = floats(6)
AXES = [0, 1, 2, -1, None]


def points_to(order, axis):
    """Output cell b from the cell of its line at place ``order[b]``."""
    order = np.asarray(order)

    def test(b, a):
        there = list(b)
        there[axis] = int(order[b])
        return tuple(there) == a

    return test


SORTED = [
    *(case(np.sort, Y, axis=axis) for axis in AXES),
    *(case(np.partition, Y, 1, axis=axis) for axis in AXES),
    *(case(np.partition, apart(9), kth) for kth in (0, 4, 8, [2, 6])),
    case(np.sort, apart(5), kind="heapsort"),
    contains(np.sort, TIES).but(
        nudge="", expect=points_to(np.argsort(TIES, axis=1, kind="stable"), 1)
    ),
    contains(np.sort, TIES, axis=0).but(
        nudge="", expect=points_to(np.argsort(TIES, axis=0, kind="stable"), 0)
    ),
    contains(np.sort, np.array([2, np.nan, 1, np.nan])).but(
        nudge="", expect=lambda b, a: a[0] == (2, 0, 1, 3)[b[0]]
    ),
    contains(np.partition, np.array([2, 2, 1, 2]), 1).but(
        nudge="", expect=lambda b, a: a[0] in ((2,), (0,), (1,), (3,))[b[0]]
    ),
    contains(np.sort, np.array(["b", "a", "c"])).but(expect=lambda b, a: a[0] == (1, 0, 2)[b[0]]),
    contains(np.sort, np.array([(2, 1), (1, 2)], "i4,i4"), order="f1"),
    case(np.sort_complex, np.array([3 + 1j, 1, 2])),
    case(np.sort, floats(0)),
    case(np.sort, floats(2, 0), axis=0),
    *(
        contains(np.argsort, Y, axis=k).but(expect=points_to(np.argsort(Y, k), k))
        for k in (0, 1, 2)
    ),
    contains(np.argsort, TIES, axis=None).but(
        nudge="",
        expect=lambda b, a: a == np.unravel_index(np.argsort(TIES, axis=None)[b], TIES.shape),
    ),
    contains(np.argpartition, apart(7), 3),
    contains(np.argsort, floats()),
    contains(np.lexsort, (apart(5), np.array([1.0, 0, 1, 0, 1]))).but(nudge=""),
    contains(np.lexsort, np.array([[2.0, 1, 0], [0, 1, 0]])).but(
        nudge="", expect=lambda b, a: a[1] == (2, 0, 1)[b[0]]
    ),
]
FOUND = [
    contains(np.nonzero, TIES).but(
        nudge="", expect=[[lambda b, a: a == tuple(np.argwhere(TIES)[b[0]])]] * 2
    ),
    contains(np.argwhere, TIES).but(
        nudge="", expect=lambda b, a: a == tuple(np.argwhere(TIES)[b[0]])
    ),
    contains(np.flatnonzero, TIES).but(nudge=""),
    contains(np.where, TIES).but(
        nudge="", expect=[[lambda b, a: a == tuple(np.argwhere(TIES)[b[0]])]] * 2
    ),
    contains(np.nonzero, np.zeros((2, 2))).but(nudge=""),
    case(np.extract, Untracked(TIES > 1), TIES),
    contains(np.extract, TIES > 1, TIES).but(
        expect=[[None, lambda b, a: a == tuple(np.argwhere(TIES > 1)[b[0]])]]
    ),
    case(np.compress, [True, False, True], TIES, axis=0),
    case(np.compress, [True, False, True, True], TIES),
    case(np.compress, [0, 1], Y, axis=-1),
    case(np.take_along_axis, Y, Untracked(np.argsort(Y, axis=1)), 1),
    case(np.take_along_axis, Y, Untracked(np.array([3, 1])), None),
    contains(np.take_along_axis, Y, np.argmax(Y, axis=1, keepdims=True), 1),
    *(
        contains(np.trim_zeros, np.array([0, 0, 1.0, 2, 0, 3, 0]), trim).but(
            nudge="", expect=lambda b, a, off=off: a[0] == b[0] + off
        )
        for trim, off in (("fb", 2), ("f", 2), ("b", 0))
    ),
    contains(np.trim_zeros, np.array([[0, 0, 0], [0, 1.0, 2], [0, 0, 0]])).but(
        nudge="", expect=lambda b, a: a == (1, b[1] + 1)
    ),
    contains(np.trim_zeros, np.zeros(3)).but(nudge=""),
    contains(np.searchsorted, np.arange(5.0), np.array([[0.5, -1], [9, 2]])).but(
        expect=[[lambda b, a: a[0] in (((0, 1), (0,)), ((4,), (1, 2)))[b[0]][b[1]],
                 lambda b, a: a == b]]
    ),
    contains(np.searchsorted, np.array([3.0, 1, 2]), V * 2, sorter=np.array([1, 2, 0])),
    contains(np.searchsorted, np.array([3.0, 1, 2]), 1.5, sorter=np.array([1, 2, 0])).but(
        expect=[[lambda b, a: a[0] in (1, 2), lambda b, a: a[0] in (0, 1)]]
    ),
    contains(np.digitize, V, np.array([0.5, 0.8, 1.2])),
    contains(np.digitize, np.array([3.0, 0.1]), np.array([2.0, 1.0])).but(
        expect=[[lambda b, a: a == b, lambda b, a: a[0] == b[0]]]
    ),
]  # fmt: skip
XP = np.arange(5.0)
BETWEEN = [
    case(np.interp, np.array([0.5, 2.2, 3.3]), XP, floats(5)),
    contains(np.interp, np.array([-1, 2.0, 4, 7]), XP, floats(5)).but(
        nudge="",
        expect=[[lambda b, a: a == b, *[lambda b, a: a[0] == (0, 2, 4, 4)[b[0]]] * 2]],
    ),
    contains(np.interp, np.array([-1, 7.0]), XP, floats(5), left=9.0, right=8.0).but(
        nudge="", expect=[[lambda b, a: a == b, lambda b, a: a[0] == (0, 4)[b[0]], None]]
    ),
    case(
        np.interp, np.array([0.5, 2.2, 7.9]), np.array([0.1, 2.3, 1.2, 0.7]), floats(4), period=3.0
    ),
]
M = TIES > 1
CHOSEN = [
    case(np.where, Untracked(M), TIES, floats(3, 3)),
    contains(np.where, M, TIES, floats(3)).but(
        expect=[[lambda b, a: a == b, lambda b, a: a == b and M[b],
                 lambda b, a: a[0] == b[1] and not M[b]]]
    ),
    case(np.where, Untracked(np.ones((3, 3), bool)), TIES, 2.0),
    case(np.where, Untracked(np.zeros((3, 3), bool)), TIES, floats()),
    contains(np.ix_, np.array([1, 0]), np.array([2, 0, 1])),
    contains(np.ix_, np.array([True, False, True]), np.array([2, 0, 1])).but(nudge="i"),
    case(np.choose, Untracked(np.array([1, 0, 1])), [floats(3), floats(2, 1)]),
    case(np.choose, Untracked(np.array([1, 0, 2])), floats(3, 3)),
    contains(np.choose, np.array([1, 0, 2]), floats(3, 3)).but(
        expect=[[lambda b, a: a == b, lambda b, a: a == ((1, 0, 2)[b[0]], b[0])]]
    ),
    case(np.choose, Untracked(np.array([4, -1])), [floats(2), floats(2)], mode="wrap"),
    case(np.choose, Untracked(np.array([4, -1])), [floats(2), floats(2)], mode="clip"),
    contains(
        np.select,
        [np.array([True, False, False]), np.array([True, True, False])],
        [floats(3), floats(3)],
        default=floats(),
    ).but(
        expect=[[lambda b, a: a == b, lambda b, a: a == b and b[0] > 0,
                 lambda b, a: a == b and b[0] == 0, lambda b, a: a == b and b[0] == 1,
                 lambda b, a: b[0] == 2]]
    ),
]  # fmt: skip


@pytest.mark.parametrize("one", [*SORTED, *FOUND, *BETWEEN, *CHOSEN], ids=str)
def test_values(one):
    check(one.but(kind=one.kind or "value"))


FIRST = {1.0: (0, 0), 3.0: (0, 1), 2.0: (0, 2), 0.0: (2, 0), 5.0: (2, 1)}
VALUES = sorted(FIRST)


def first(b, a):
    return FIRST[VALUES[b[0]]] == a


def equal(b, a):
    return TIES[a] == VALUES[b[0]]


def itself(b, a):
    return a == b


ROWS = np.array([[1.0, 2], [3, 4], [1, 2]])
ONE, TWO = np.array([3.0, 1, 2, 2, 7]), np.array([[2.0, 9], [3, 3]])
SETS = [
    contains(np.unique, TIES).but(expect=first),
    contains(np.unique_values, TIES),
    contains(np.unique, TIES, return_index=True).but(expect=[[first], [first]]),
    contains(np.unique, TIES, return_inverse=True, return_counts=True).but(
        expect=[[first], [itself], [equal]]
    ),
    contains(np.unique_all, TIES).but(expect=[[first], [first], [itself], [equal]]),
    contains(np.unique_counts, TIES).but(expect=[[first], [equal]]),
    contains(np.unique_inverse, TIES).but(expect=[[first], [itself]]),
    contains(
        np.unique, ROWS, axis=0, return_index=True, return_inverse=True, return_counts=True
    ).but(
        expect=[
            [lambda b, a: a == b],
            [lambda b, a: a[0] == b[0]],
            [lambda b, a: a[0] == b[0]],
            [lambda b, a: a[0] in ((0, 2), (1,))[b[0]]],
        ]
    ),
    contains(np.unique, ROWS, axis=1),
    contains(np.unique, np.array([1, np.nan, 2, np.nan])).but(
        expect=lambda b, a: a[0] == (0, 2, 1)[b[0]]
    ),
    contains(np.unique, np.array([1, np.nan, 2, np.nan]), equal_nan=False).but(
        expect=lambda b, a: a[0] == (0, 2, 1, 3)[b[0]]
    ),
    contains(np.unique, floats(0)),
    contains(np.intersect1d, ONE, TWO).but(expect=[[lambda b, a: a[0] == (2, 0)[b[0]], None]]),
    contains(np.intersect1d, ONE, TWO, return_indices=True).but(
        expect=[
            [lambda b, a: a[0] == (2, 0)[b[0]], None],
            [lambda b, a: a[0] == (2, 0)[b[0]], None],
            [None, lambda b, a: a == ((0, 0), (1, 0))[b[0]]],
        ]
    ),
    contains(np.setdiff1d, ONE, TWO).but(expect=[[lambda b, a: a[0] == (1, 4)[b[0]], None]]),
    contains(np.setdiff1d, np.array([5.0, 1]), TWO, assume_unique=True).but(
        expect=[[lambda b, a: a == b, None]]
    ),
    contains(np.union1d, ONE, TWO).but(
        expect=[
            [lambda b, a: a[0] == (1, 2, 0, 4, -1)[b[0]], lambda b, a: b[0] == 4 and a == (0, 1)]
        ]
    ),
    contains(np.setxor1d, ONE, TWO).but(
        expect=[[lambda b, a: a[0] == (1, 4, -1)[b[0]], lambda b, a: b[0] == 2 and a == (0, 1)]]
    ),
]


@pytest.mark.parametrize("one", SETS, ids=str)
def test_sets(one):
    check(one.but(nudge="", kind="value"))


def test_membership_reads_every_test_element():
    one = contains(np.isin, TIES, floats(3))
    check(one.but(kind="rule", expect=[[lambda b, a: a == b, lambda b, a: True]]))


EDGES = np.array([0.0, 1, 2])
POINTS = np.array([0.5, 2, 1, 0.7, 9])
IN_BIN = [(0, 3), (1, 2)]


def in_bin(b, a):
    return a[0] in IN_BIN[b[0]]


def everything(b, a):
    return True


def extreme(a):
    return a[0] in (V.argmin(), V.argmax())


def sets_edge(bins, b, a):
    return b[0] < bins if a[0] == V.argmin() else b[0] > 0 and a[0] == V.argmax()


COUNTS = [
    contains(np.bincount, np.array([3, 1, 3])).but(expect=lambda b, a: (3, 1, 3)[a[0]] == b[0]),
    contains(np.bincount, np.array([3, 1, 3]), floats(3)).but(
        expect=[[lambda b, a: (3, 1, 3)[a[0]] == b[0]] * 2]
    ),
    contains(np.bincount, np.array([0, 2]), minlength=5),
    contains(np.histogram, POINTS, EDGES).but(
        nudge="", expect=[[in_bin, lambda b, a: a[0] in (b[0], b[0] + 1)], [None, itself]]
    ),
    contains(np.histogram, POINTS, Untracked(EDGES), weights=floats(5)).but(
        nudge="", expect=[[in_bin, in_bin], [None, None]]  # numpy subtracts running sums
    ),
    contains(np.histogram, POINTS, Untracked(EDGES), density=True).but(
        nudge="", expect=[[lambda b, a: a[0] != 4], [None]]
    ),
    contains(np.histogram, V, density=True),
    contains(np.histogram, V, 3).but(expect=[[
        lambda b, a: extreme(a) or np.histogram(V[a], 3, range=(V.min(), V.max()))[0][b] == 1],
        [lambda b, a: sets_edge(3, b, a)]]),
    contains(np.histogram, V, "auto"),
    contains(np.histogram, V, 4, range=(0.6, 1.4)),
    case(np.histogram_bin_edges, V),
    case(np.histogram_bin_edges, V.reshape(2, 3), 1),
    case(np.histogram_bin_edges, V, range=(np.array(0.5), np.array(2.5))),
    contains(np.histogram_bin_edges, V, "auto").but(expect=everything),
    contains(np.histogram_bin_edges, V, "auto", range=(0, V.max() - 0.01)).but(
        expect=lambda b, a: a != (V.argmax(),)
    ),
    contains(np.histogram_bin_edges, np.ones(3), 2).but(expect=everything),
    contains(np.histogram_bin_edges, np.array([1.0, 3, 1]), 2).but(
        expect=lambda b, a: b[0] < 2 if a[0] in (0, 2) else b[0] > 0
    ),
    contains(np.histogram_bin_edges, V, range=(0, 2)).but(expect=lambda b, a: False),
    contains(np.histogram_bin_edges, V, EDGES).but(expect=[[None, itself]]),
    contains(np.histogram2d, V, floats(6), 3),
    contains(np.histogram2d, V, floats(6), [Untracked(EDGES), 2], weights=floats(6)).but(nudge=""),
    contains(np.histogram2d, V, floats(6), EDGES),
    contains(np.histogram2d, V, floats(6), [EDGES, 2], density=True),
    contains(np.histogramdd, floats(6, 2), 3),
    contains(np.histogramdd, floats(6, 2), [EDGES, 2]),
    contains(np.histogramdd, (floats(6), floats(6), floats(6)), 2),
    contains(np.histogramdd, floats(6, 2), 2, density=True, weights=floats(6)),
    contains(np.histogramdd, floats(6, 2), 2, range=[(0, 2), (0.6, 1.2)]),
]  # fmt: skip


@pytest.mark.parametrize("one", COUNTS, ids=str)
def test_counts(one):
    check(one.but(kind="value"))


def test_points_of_a_plane_fall_into_bins():
    x, y = np.array([0.5, 1.5, 0.2]), np.array([1.5, 1.5, 0.1])
    bins = [(0, 1), (1, 1), (0, 0)]
    one = contains(np.histogram2d, x, y, [Untracked(EDGES)] * 2).but(
        expect=[[lambda b, a: bins[a[0]] == b] * 2, [None] * 2, [None] * 2]
    )
    check(one)
    rows = np.stack([x, y], axis=1)
    one = contains(np.histogramdd, rows, [Untracked(EDGES)] * 2)
    check(one.but(expect=[[lambda b, a: bins[a[0]] == b], [None], [None]]))


FIVE = np.array([0.0, 1, 2, 3, 8])
POINTS_OF_PLANE = np.stack([FIVE, np.array([5.0, 4, 3, 2, 0])], axis=1)


@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("weights", [None, floats(5)])
@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (np.histogram, (FIVE, 4), {}),
        (np.histogram, (FIVE,), {"bins": 1}),
        (np.histogram, (FIVE, "sqrt"), {}),
        (np.histogram2d, (FIVE, FIVE[::-1].copy(), 2), {}),
        (np.histogram2d, (FIVE, FIVE[::-1].copy(), 2), {"range": [None, (-9, 20)]}),
        (np.histogramdd, (POINTS_OF_PLANE, [2, 3]), {}),
        (np.histogramdd, ((FIVE, FIVE[::-1].copy()), [2, EDGES * 5]), {}),
    ],
)
def test_what_sets_the_edges_contributes_to_the_counts(function, args, kwargs, weights, density):
    """Move the smallest and the largest cell of each column outwards, so that only edges move."""
    if "sqrt" in map(str, args):
        weights = None  # which numpy refuses
    call = make_call(function, args, kwargs | {"density": density, "weights": weights})
    _, lineages = capture(call)
    found = [[pairs_of(lineage) for lineage in row] for row in lineages]
    before = [output.copy() for output in call.outputs]
    for place, array in enumerate(call.inputs):
        if array is weights or len(array) != 5:
            continue
        columns = array.reshape(5, -1)
        for k in range(columns.shape[1]):
            for row, by in ((columns[:, k].argmin(), -3.0), (columns[:, k].argmax(), 7.0)):
                cell = (int(row), k)[: array.ndim]
                array[cell] += by
                after = list(results_of(function(*call.args, **call.kwargs)))
                array[cell] -= by
                for pairs, old, new in zip(found, before, after, strict=True):
                    changed = {(*map(int, at), *cell) for at in np.argwhere(unequal(old, new))}
                    assert changed <= pairs[place]


def test_counts_are_from_a_few_cells_of_a_large_array():
    x = np.zeros((300, 1000))
    x[::2, ::2] = 1.0
    _, lineages = capture(make_call(np.histogram, (x, 256), {}))
    assert lineages[0][0].exact
    assert lineages[0][0].num_rows < 400_000


def test_a_clip_is_followed_by_the_tracer_too():
    check(traced(np.clip, floats(3, 4), floats(4), floats(3, 1)))
