"""Box functions against sets of index tuples."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dslog.cells import boxes as lists
from dslog.cells.cells_cost import CellsCost
from dslog.cells.linear import from_intervals, list_cells, to_flat
from dslog.cells.overlap import intersect, normalise, subtract
from dslog.errors import ShapeError

SHAPES = st.lists(st.integers(1, 6), min_size=0, max_size=4).map(tuple)


def cells_of(boxes):
    return {
        cell
        for box in boxes.tolist()
        for cell in itertools.product(*(range(low, high + 1) for low, high in box))
    }


def box_lists(shape):
    sides = [st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).map(sorted) for n in shape]
    return st.lists(st.tuples(*sides), max_size=10).map(
        lambda rows: np.array(rows, np.int64).reshape(len(rows), len(shape), 2)
    )


ONE = SHAPES.flatmap(lambda shape: st.tuples(st.just(shape), box_lists(shape)))
TWO = SHAPES.flatmap(lambda shape: st.tuples(box_lists(shape), box_lists(shape)))


def assert_disjoint(boxes):
    assert boxes.dtype == np.int64
    assert lists.volume(boxes) == len(cells_of(boxes))
    assert (lists.sort_boxes(boxes) == boxes).all()


@pytest.fixture(scope="module", params=["slabs", "grid", "auto"])
def way(request):
    """Make the algebra cut slabs only, or paint a grid first, or choose as it pleases."""
    changes = {"slabs": {"grid_cells": -1}, "grid": {"dense": 10**9}, "auto": {}}
    with CellsCost.using(**changes[request.param]):
        yield request.param


def random_boxes(rng, count, shape, longest):
    low = np.stack([rng.integers(0, n, count) for n in shape], axis=1)
    high = np.minimum(low + rng.integers(0, longest, low.shape), np.array(shape) - 1)
    return np.stack([low, high], axis=2)


@given(ONE)
def test_normalise(way, case):
    boxes = case[1]
    united = normalise(boxes)
    assert cells_of(united) == cells_of(boxes)
    assert_disjoint(united)
    assert (lists.coalesce(united) == united).all()


@given(TWO)
def test_intersect_and_subtract(way, case):
    a, b = map(normalise, case)
    both, rest = intersect(a, b), subtract(a, b)
    assert cells_of(both) == cells_of(a) & cells_of(b)
    assert cells_of(rest) == cells_of(a) - cells_of(b)
    assert_disjoint(both)
    assert_disjoint(rest)


@pytest.mark.parametrize(
    ("shape", "longest"), [((50, 50), 12), ((14, 14, 14), 4), ((200, 12), 9), ((5, 6, 5, 6), 3)]
)
def test_many_boxes(way, shape, longest):
    rng = np.random.default_rng(7)
    a, b = (random_boxes(rng, 150, shape, longest) for _ in range(2))
    mask_a, mask_b = lists.paint(a, shape), lists.paint(b, shape)
    a, b = normalise(a), normalise(b)
    for boxes, mask in [
        (a, mask_a),
        (intersect(a, b), mask_a & mask_b),
        (subtract(a, b), mask_a & ~mask_b),
    ]:
        assert_disjoint(boxes)
        assert (lists.paint(boxes, shape) == mask).all()


@given(ONE)
def test_coalesce_keeps_the_cells(case):
    boxes = case[1]
    merged = lists.coalesce(boxes)
    assert cells_of(merged) == cells_of(boxes)
    assert len(merged) <= len(boxes)


def test_coalesce_merges_only_boxes_equal_on_the_other_axes():
    apart = np.array([[[0, 0], [0, 1]], [[1, 1], [0, 2]]])
    assert lists.coalesce(apart).tolist() == apart.tolist()
    blocks = np.array([[[i, i], [2 * j, 2 * j + 1]] for i in range(4) for j in range(3)])
    assert lists.coalesce(blocks).tolist() == [[[0, 3], [0, 5]]]


def test_normalise_drops_empty_boxes():
    boxes = np.array([[[0, 1], [3, 2]], [[0, 1], [0, 2]]])
    assert normalise(boxes).tolist() == [[[0, 1], [0, 2]]]


@given(ONE)
def test_paint_both_ways(case):
    shape, boxes = case
    mask = lists.paint(boxes, shape)
    assert mask.shape == shape
    assert set(map(tuple, np.argwhere(mask).tolist())) == cells_of(boxes)
    if shape:
        assert (lists._paint_difference(boxes, shape) == mask).all()


def test_paint_chooses_the_difference_array_when_boxes_overlap_a_lot():
    boxes = np.repeat(np.array([[[1, 8], [0, 9]]]), 6, axis=0)
    mask = lists.paint(boxes, (10, 10))
    assert mask[1:9].all()
    assert mask.sum() == 80


@given(ONE)
def test_unpaint(case):
    shape, boxes = case
    mask = lists.paint(boxes, shape)
    back = lists.unpaint(mask)
    assert cells_of(back) == cells_of(boxes)
    assert_disjoint(back)
    assert (lists.coalesce(back) == back).all()


def test_unpaint_takes_any_memory_layout():
    mask = np.zeros((4, 5), np.bool_)
    mask[1:3, 2:4] = True
    mask.setflags(write=False)
    assert lists.unpaint(mask).tolist() == [[[1, 2], [2, 3]]]
    assert lists.unpaint(mask.T).tolist() == [[[2, 3], [1, 2]]]
    assert lists.unpaint(mask[::2, ::-1]).tolist() == [[[1, 1], [1, 2]]]


def columns(rng, count, height):
    tall = rng.integers(1, height, count)
    return np.array([[[0, h - 1], [j, j], [0, 0]] for j, h in enumerate(tall.tolist())])


def test_columns_of_different_heights_stay_columns(way):
    boxes = columns(np.random.default_rng(5), 60, 40)
    mask = lists.paint(boxes, (40, 60, 1))
    merged = lists.coalesce(boxes)
    assert len(lists.unpaint(mask)) <= len(boxes)
    assert (lists.paint(lists.unpaint(mask), mask.shape) == mask).all()
    assert normalise(boxes).tolist() == merged.tolist()
    squares = np.array([[[i, i + 2 + i % 3], [4 * i, 4 * i + 3]] for i in range(0, 60, 3)])
    assert len(normalise(squares)) == len(squares)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 2)])
def test_an_axis_of_length_zero(shape):
    none = np.empty((0, len(shape), 2), np.int64)
    assert lists.paint(none, shape).shape == shape
    assert lists.unpaint(np.zeros(shape, np.bool_)).shape == none.shape
    assert normalise(none).shape == none.shape
    assert to_flat(none, shape).shape == (0, 2)


@given(ONE)
def test_flat_intervals(case):
    shape, boxes = case
    flat = to_flat(boxes, shape)
    numbers = {int(np.ravel_multi_index(cell, shape)) if cell else 0 for cell in cells_of(boxes)}
    assert {n for low, high in flat.tolist() for n in range(low, high + 1)} == numbers
    assert (flat[1:, 0] > flat[:-1, 1] + 1).all()
    if shape:
        back = lists.coalesce(from_intervals(flat, shape)[1])
        assert cells_of(back) == cells_of(boxes)
        assert_disjoint(back)


def test_flat_intervals_of_whole_rows_are_few():
    shape = (10**6, 1000, 3)
    boxes = np.array([[[5, 10**5], [0, 999], [0, 2]]])
    assert to_flat(boxes, shape).tolist() == [[15000, 300002999]]
    assert from_intervals(np.array([[15000, 300002999]]), shape)[1].tolist() == boxes.tolist()


def test_flat_intervals_need_numbers_that_fit():
    with pytest.raises(ShapeError, match=r"\(4294967296, 4294967296\).*more cells than an int64"):
        to_flat(np.array([[[0, 0], [0, 0]]]), (2**32, 2**32))


@given(ONE)
def test_list_cells_in_c_order(case):
    boxes = normalise(case[1])
    listed = list_cells(boxes)
    assert listed.shape == (lists.volume(boxes), len(case[0]))
    assert list(map(tuple, listed.tolist())) == sorted(cells_of(boxes))


def test_list_cells_where_flat_numbers_would_overflow():
    far = 2**62
    boxes = np.array([[[far, far], [far, far + 1], [0, 0]], [[0, 0], [3, 3], [far, far]]])
    assert list_cells(boxes).tolist() == [[0, 3, far], [far, far, 0], [far, far + 1, 0]]


def test_volume_beyond_int64():
    side = 2**40
    boxes = np.array([[[0, side - 1]] * 3, [[side, side]] * 3])
    assert lists.volume(boxes) == side**3 + 1
    assert isinstance(lists.volume(boxes), int)


def test_huge_arrays_cost_nothing_per_cell(way):
    n = 10**12
    frame = np.array([[[0, n - 1], [0, n - 1]]])
    cross = np.array([[[0, n - 1], [5, 9]], [[5, 9], [0, n - 1]]])
    united = normalise(cross)
    assert lists.volume(united) == 10 * n - 25
    assert lists.volume(subtract(frame, united)) == n * n - 10 * n + 25
    assert intersect(united, np.array([[[6, 6], [6, 6]]])).tolist() == [[[6, 6], [6, 6]]]


def test_boxes_far_apart_stay_whole():
    """Only boxes that overlap are cut, at each other's edges and nobody else's."""
    rng = np.random.default_rng(3)
    corners = rng.integers(0, 10**9, (500, 2))
    boxes = np.stack([corners, corners + 2000], axis=2)
    pair = np.array([[[0, 10], [0, 10]], [[5, 15], [5, 15]]]) + 2 * 10**9
    united = normalise(np.concatenate([boxes, pair]))
    assert len(united) == 503


def test_boxes_in_order_merge_with_their_neighbours_only():
    boxes = np.array([[[0, 1], [0, 4]], [[2, 3], [0, 4]], [[5, 5], [0, 4]], [[6, 6], [1, 4]]])
    expected = [[[0, 3], [0, 4]], [[5, 5], [0, 4]], [[6, 6], [1, 4]]]
    assert normalise(boxes).tolist() == expected
    assert boxes[0, 0].tolist() == [0, 1]  # the caller's boxes stay as they are
