"""Keys of every kind: what ``x[key]`` reads and what ``x[key] = y`` overwrites."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tracked_shadow import assert_same, cell, cells, sources

import dslog
from dslog.capture.numpy.index import lineage_of_item, plan_key
from dslog.capture.numpy.overwrite import assigned, slab
from dslog.capture.numpy.view import lineage_of_view, place, positions, view_lineage

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=4)


@st.composite
def keyed(draw):
    """A shape and a key for it: slices, integers, new axes, arrays and masks, mixed."""
    shape = draw(SHAPES)
    kinds = [
        hnp.basic_indices(shape, allow_newaxis=True),
        st.just(draw(hnp.arrays(bool, shape))),
    ]
    if shape:
        kinds += [
            hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(max_dims=2, max_side=3)),
            _mixed(shape),
        ]
    return shape, draw(st.one_of(kinds))


@st.composite
def _mixed(draw, shape):
    items = []
    block = draw(st.sampled_from([(2,), (1,), (2, 2)]))
    for size in shape:
        index = st.integers(-size, size - 1)
        items.append(
            draw(
                st.one_of(
                    st.slices(size),
                    index,
                    hnp.arrays(np.int64, block, elements=index),
                    st.lists(index, min_size=1, max_size=1),
                    hnp.arrays(bool, size),
                )
            )
        )
        if draw(st.booleans()):
            items.append(None)
    if draw(st.booleans()):
        items = [*items[:-1], ...]
    return tuple(items)


@settings(max_examples=150)
@given(keyed(), st.sampled_from("CF"))
def test_items_come_from_the_cells_they_are(case, order):
    shape, key = case
    array = np.asarray(np.arange(int(np.prod(shape))).reshape(shape), order=order)
    try:
        item = dslog.plain(array[key])
    except IndexError:
        return
    lineage = lineage_of_item(array, key, array[key] if item.ndim else item)
    pairs = lineage.to_relation()
    assert len(pairs) == item.size
    out, in_ = pairs[:, : item.ndim], pairs[:, item.ndim :]
    assert (item[tuple(out.T)] == array[tuple(in_.T)]).all()
    plan = plan_key(shape, key)
    assert plan is None or plan.shape == item.shape


@settings(max_examples=60)
@given(keyed())
def test_assignments_overwrite_the_cells_they_name(case):
    shape, key = case
    shadow = sources(shape, "A")
    try:
        region = dslog.plain(shadow[key])
    except IndexError:
        return
    if isinstance(shadow[key], frozenset):
        region = np.empty((), object)
    with dslog.open(":memory:") as store:
        x = store.track(np.zeros(shape), "A")
        y = store.track(np.arange(float(region.size)).reshape(region.shape), "B")
        x[key] = y
        value = sources(region.shape, "B")
        shadow[key] = value if value.ndim else value[()]
        assert_same(store, x, shadow, ["A", "B"])


@settings(max_examples=60)
@given(keyed())
def test_assignments_broadcast_their_values(case):
    shape, key = case
    shadow = sources(shape, "A")
    try:
        region = dslog.plain(np.zeros(shape)[key])
    except IndexError:
        return
    values = tuple(1 if axis % 2 else size for axis, size in enumerate(region.shape))
    with dslog.open(":memory:") as store:
        x = store.track(np.zeros(shape), "A")
        x[key] = store.track(np.ones(values), "B")
        value = sources(values, "B")
        shadow[key] = np.broadcast_to(value, region.shape) if region.ndim else value[()]
        assert_same(store, x, shadow, ["A", "B"])


def test_values_may_have_more_axes_of_one_cell():
    with dslog.open(":memory:") as store:
        x = store.track(np.zeros((2, 3)), "A")
        x[1] = store.track(np.arange(3.0).reshape(1, 1, 3), "B")
        assert cell(store, x, (1, 2), "B") == [(0, 0, 2)]
        x[:, ::2].T[...] = store.track(np.ones((1, 1, 2)), "C")
        assert cell(store, x, (1, 2), "C") == [(0, 0, 1)]


def test_rows_cost_rows():
    array = np.zeros((1000, 50))
    picks = np.random.default_rng(0).permutation(1000)
    lineage = lineage_of_item(array, picks, array[picks])
    assert lineage.num_rows <= 1001
    mask = np.arange(1000) % 2 == 0
    assert lineage_of_item(array, mask, array[mask]).num_rows <= 3


@pytest.mark.parametrize(
    "key",
    [np.s_[::2, 3:], np.s_[::-1], np.s_[:, None, 7], np.s_[5, ::-3], np.s_[..., -1], np.s_[2, 3]],
)
def test_slices_are_written_down_without_cells(key):
    huge = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), (10**6, 10**6), (10**6, 1))
    view = huge[(*key, ...)] if key == (2, 3) else huge[key]  # no cell of it may be read
    lineage = lineage_of_item(huge, key, view)
    assert lineage.num_rows <= 3


# tracked keys


def test_integer_keys_contribute_to_what_they_pick():
    with dslog.open(":memory:") as store:
        x = store.track(np.arange(12.0).reshape(3, 4), "A")
        index = store.track(np.array([2, 0]), "I")
        y = x[index]
        assert cell(store, y, (0, 1), "A") == [(2, 1)]
        assert cell(store, y, (0, 1), "I") == [(0,)]
        pairs = x[index, store.track(np.array([[1], [3]]), "J")]
        assert cell(store, pairs, (1, 0), "A") == [(2, 3)]
        assert cell(store, pairs, (1, 0), "I") == [(0,)]
        assert cell(store, pairs, (1, 0), "J") == [(1, 0)]
        best = x[1][x[1].argmax()]
        assert best == 7
        assert cells(store, best, "A") == [(1, 0), (1, 1), (1, 2), (1, 3)]
        assert cells(store, x[[index[0], 1]], "I") == [(0,)]
        assert cells(store, x[: index[0]], "I") == []  # a bound is no cell


def test_masks_decide_but_do_not_contribute():
    with dslog.open(":memory:") as store:
        x = store.track(np.arange(6.0).reshape(2, 3), "A")
        mask = store.track(np.array([[True, False, True], [False, False, True]]), "M")
        y = x[mask]
        assert cell(store, y, (1,), "A") == [(0, 2)]
        assert cells(store, y, "M") == []
        assert cells(store, x[x > 3], "A") == [(1, 1), (1, 2)]
        assert x[np.True_].shape == (1, 2, 3)
        assert cell(store, x[np.True_], (0, 1, 1), "A") == [(1, 1)]


def test_overwritten_cells_lose_their_lineage():
    with dslog.open(":memory:") as store:
        x = store.track(np.arange(4.0), "A")
        y = x * 2
        y[1:3] = 0
        assert cells(store, y, "A") == [(0,), (3,)]
        y[1] = x[3]
        assert cell(store, y, (1,), "A") == [(3,)]
        y[[0, 0]] = x[:2]  # the last one stays, as in numpy
        assert cell(store, y, (0,), "A") == [(1,)]
        y[:] = y[::-1]
        assert cell(store, y, (3,), "A") == [(1,)]
        y[y > 100] = x[0]
        assert cell(store, y, (3,), "A") == [(1,)]


def test_writes_through_views_reach_everyone():
    with dslog.open(":memory:") as store:
        x = store.track(np.arange(6.0).reshape(2, 3), "A")
        b = store.track(np.array([9.0]), "B")
        turned, row = x.T, x[1]
        turned[2] = b
        assert dslog.plain(row).tolist() == [3.0, 4.0, 9.0]
        assert cell(store, row, (2,), "B") == [(0,)]
        assert cell(store, row, (1,), "A") == [(1, 1)]
        assert cell(store, x, (1, 2), "A") == []
        apart = x.copy()
        x[...] = 0
        assert cell(store, apart, (0, 0), "A") == [(0, 0)]
        assert cells(store, row, "A") == []


def test_one_version_for_many_writes():
    with dslog.open(":memory:") as store:
        x = store.track(np.arange(50.0), "A")
        y = np.zeros_like(x)
        for i in range(50):
            y[i] = x[49 - i]
        assert cell(store, y, (10,), "A") == [(39,)]
        assert [op.name for op in store.operations()].count("setitem") == 1


# views and memory


@settings(max_examples=80)
@given(st.data(), SHAPES, st.sampled_from("CF"))
def test_views_are_found_in_their_memory(data, shape, order):
    root = np.asarray(np.zeros(shape, data.draw(st.sampled_from(["i1", "f8", "c16"]))), order=order)
    numbers = np.arange(root.size).reshape(shape)
    view, wanted = root, numbers
    for _ in range(data.draw(st.integers(1, 3))):
        key = data.draw(hnp.basic_indices(view.shape, allow_newaxis=True, allow_ellipsis=True))
        if isinstance(view[key], np.ndarray) and view[key].size:
            view, wanted = view[key], wanted[key]
        view, wanted = view.T, wanted.T
    assert np.array_equal(positions(view, root), wanted)
    lineage = view_lineage(view, root)
    again = lineage_of_view(view, root)
    for found in [again] if lineage is None else [lineage, again]:
        pairs = found.to_relation()
        assert len(pairs) == view.size
        at = numbers[tuple(pairs[:, view.ndim :].T)]
        assert (wanted[tuple(pairs[:, : view.ndim].T)] == at).all()
    placement = place(view, root)
    if placement is not None and (region := slab(placement)) is not None:
        assert sorted(numbers[region].ravel()) == sorted(wanted.ravel())
        back = assigned(placement, view.shape).to_relation()
        assert len(back) == view.size


def test_cells_that_overlap_can_not_be_told_apart():
    windows = np.lib.stride_tricks.sliding_window_view(np.zeros(5), 2)
    assert place(windows[1:], windows) is None
    assert positions(windows[1:], windows) is None
    assert lineage_of_view(windows[1:], windows) is None
    with dslog.open(":memory:") as store:
        x = store.track(np.arange(5.0), "A")
        y = np.lib.stride_tricks.sliding_window_view(x, 2)[1:]
        assert cell(store, y, (0, 1), "A") == [(2,)]


slide = np.lib.stride_tricks.sliding_window_view
RECORD = np.dtype([("a", int), ("b", int)])
NEIGHBOURS = {
    "columns": lambda x: (x.reshape(12, 2)[:, 0], x.reshape(12, 2)[:, 1]),
    "halves": lambda x: (x[:12], x[12:]),
    "overlap": lambda x: (x[:14:2], x[4::2]),
    "reversed": lambda x: (x[::-2], x[::2]),
    "part": lambda x: (x, x[3:20:4]),
    "windows": lambda x: (slide(x[::2], 3)[:, 1], slide(x[1::2], 3)[2]),
    "records": lambda x: (x.view(RECORD)["a"], x.view(RECORD)["b"]),
}


@pytest.mark.parametrize(
    ("kind", "owner"),
    [
        (kind, owner)
        for kind, owner in itertools.product(NEIGHBOURS, ("one", "each"))
        if (kind, owner) != ("records", "one")  # a record is from both of its fields
    ],
)
@pytest.mark.parametrize(
    "function",
    [
        np.atleast_1d,
        np.atleast_2d,
        np.atleast_3d,
        np.ix_,
        lambda a, b: np.meshgrid(a, b, copy=False),
        lambda a, b: np.broadcast_arrays(a[:, None], b),
        lambda a, b: np.broadcast_arrays(b[:, None], a[::-1]),
        lambda a, b: np.atleast_2d(a, a[:], b),
    ],
)
def test_a_view_is_of_the_array_it_looks_at(function, kind, owner):
    numbers = np.arange(24)
    values = {"A": numbers}
    with dslog.open(":memory:") as store:
        if owner == "one":
            arrays = NEIGHBOURS[kind](store.track(numbers, "A"))
        else:
            values = dict(zip("AB", NEIGHBOURS[kind](numbers), strict=True))
            arrays = [store.track(value, name) for name, value in values.items()]
        for result in function(*arrays):
            for index in itertools.product(*({0, n // 2, n - 1} for n in result.shape)):
                found = {
                    int(value[each])
                    for name, value in values.items()
                    for each in cell(store, result, index, name)
                }
                assert found == {int(dslog.plain(result)[index])}


def test_writes_through_a_view_beside_another():
    with dslog.open(":memory:") as store:
        whole = store.track(np.arange(8.0).reshape(4, 2), "A")
        other = store.track(np.arange(4.0), "B")
        _, second = np.atleast_2d(whole[:, 0], whole[:, 1])
        second[...] = other
        assert cell(store, whole, (2, 1), "B") == [(2,)]
        assert cell(store, whole, (2, 0), "B") == []
        assert cell(store, whole, (2, 0), "A") == [(2, 0)]
