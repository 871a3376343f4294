"""Query forms against numpy's own indexing, and what each wrong query is told."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dslog.cells.cellset import CellSet
from dslog.cells.selection import parse_cells, select
from dslog.errors import SelectionError

SHAPE = (4, 3, 5)
SHAPES = st.lists(st.integers(0, 6), min_size=1, max_size=4).map(tuple)


def numbers(cells):
    """The C-order numbers of the cells, sorted."""
    return np.ravel_multi_index(tuple(cells.indices().T), cells.shape).tolist()


def by_numpy(index, shape):
    return np.unique(np.arange(np.prod(shape)).reshape(shape)[index]).tolist()


@given(SHAPES.flatmap(lambda s: st.tuples(st.just(s), hnp.basic_indices(s, allow_ellipsis=True))))
def test_basic_indices_as_in_numpy(case):
    shape, index = case
    parts = index if isinstance(index, tuple) else (index,)
    whole = all(isinstance(part, int) for part in parts)
    if (whole and len(parts) != len(shape)) or any(isinstance(p, int) and p < 0 for p in parts):
        with pytest.raises(SelectionError):
            select(index, shape)
    else:
        assert numbers(select(index, shape)) == by_numpy(index, shape)


@pytest.mark.parametrize(
    "index",
    [
        np.s_[1:3],
        np.s_[...],
        np.s_[..., 2],
        np.s_[1, ...],
        np.s_[:, 1, :],
        np.s_[::2, ::-1, ::3],
        np.s_[-2:, :, -1:],
        np.s_[2:99, 0:0],
        np.s_[3:1:-1, :, 4:0:-2],
        np.s_[[0, 2], :, [1, 1]],
        np.s_[[0, 2], [1, 1], [4, 0]],
        np.s_[[[0], [2]], :, [1, 3]],
        np.s_[np.array([3, 1]), 1],
        np.s_[range(2), 1],
        np.s_[1, [0, 2], ::2],
        np.s_[[True, False, True, False], 1:],
        np.s_[np.eye(4, 3, dtype=bool), 2:],
        np.s_[:, np.ones((3, 5), bool)],
        np.s_[[], 1],
        np.s_[(0, 1), :],
        np.ix_([0, 3], [1, 2], [0, 4]),
        np.nonzero(np.arange(60).reshape(SHAPE) % 7 == 0),
        np.arange(60).reshape(SHAPE) % 4 == 0,
        (np.int32(1), np.array(2), 3),
        slice(np.int64(1), None),
    ],
    ids=repr,
)
@pytest.mark.parametrize("scale", [1, 50], ids=["bitmap", "boxes"])
def test_selections_as_in_numpy(index, scale):
    masks = [part for part in (index if isinstance(index, tuple) else [index]) if np.ndim(part) > 1]
    whole = any(np.shape(mask)[-1] == SHAPE[-1] for mask in masks)
    shape = SHAPE if whole else (*SHAPE[:2], SHAPE[2] * scale)
    assert numbers(select(index, shape)) == by_numpy(index, shape)


@pytest.mark.parametrize(
    ("query", "cells"),
    [
        ((1, 2), {(1, 2)}),
        ([(1, 2)], {(1, 2)}),
        ([(1, 2), (0, 0), (1, 2)], {(1, 2), (0, 0)}),
        ([[1, 2], [0, 0]], {(1, 2), (0, 0)}),
        (((1, 2), (0, 0)), {(1, 2), (0, 0)}),
        ({(1, 2), (0, 0)}, {(1, 2), (0, 0)}),
        pytest.param(iter([(1, 2), (0, 0)]), {(1, 2), (0, 0)}, id="iterator"),
        (np.array([[1, 2], [0, 0]], np.uint8), {(1, 2), (0, 0)}),
        (np.array([[1, 2], [0, 0]], object), {(1, 2), (0, 0)}),
        (pd.DataFrame({"i0": [1, 0], "i1": [2, 0]}), {(1, 2), (0, 0)}),
        ([np.array([1, 2]), (0, 0)], {(1, 2), (0, 0)}),
        ([(np.int8(1), np.array(2))], {(1, 2)}),
        ([np.s_[1, 1:], (0, 0)], {(1, 1), (1, 2), (0, 0)}),
        ([CellSet.from_indices((2, 3), [(1, 2)]), slice(0, 1)], {(1, 2), (0, 0), (0, 1), (0, 2)}),
        ([[True, False, False], [False, False, True]], {(0, 0), (1, 2)}),
        ([np.eye(2, 3, dtype=bool), (0, 2)], {(0, 0), (1, 1), (0, 2)}),
        ([], set()),
        (np.empty((0, 2)), set()),
        (np.array([]), set()),
        (set(), set()),
    ],
    ids=repr,
)
def test_cells(query, cells):
    assert set(select(query, (2, 3))) == cells


@pytest.mark.parametrize(
    "query", [4, np.int16(4), (4,), [4], [(4,)], np.array([4]), np.array([[4]]), np.array(4)]
)
def test_one_axis(query):
    assert set(select(query, (6,))) == {(4,)}


def test_everything():
    for query in (None, ..., slice(None), np.s_[:, ...]):
        assert select(query, (2, 3)) == CellSet.full((2, 3))


def test_zero_axes():
    assert select((), ()).count == 1
    assert select([()], ()).count == 1
    assert select(np.array(True), ()).count == 1
    assert select(False, ()).count == 0
    assert select([], ()).count == 0
    assert select(np.array([]), ()).count == 0
    assert select(..., ()).count == 1


def test_a_cellset_is_taken_as_it_is():
    cells = CellSet.full((2, 3)).with_exact(False)
    assert select(cells, (2, 3)) is cells
    assert not select([cells, (0, 0)], (2, 3)).exact


def test_slices_of_huge_arrays_are_single_boxes():
    shape = (10**12, 10**9, 3)
    cells = select(np.s_[5:, -10:, 1], shape)
    assert cells.boxes.tolist() == [[[5, 10**12 - 1], [10**9 - 10, 10**9 - 1], [1, 1]]]
    assert select(np.s_[::-1, [3, 4]], shape).num_boxes == 1
    assert select((10**12 - 1, 0, 0), shape).count == 1


MANY = [(i, i) for i in range(3)]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ((3, 0), r"Index 3 is out of range on axis 0 of 'B', which has length 3: use 0 to 2"),
        ((0, -1), r"Index -1 is negative on axis 1 of 'B', which has length 2: count from 0"),
        ([(0, 0), (0, 2)], "Index 2 is out of range on axis 1"),
        ([(0, 10**30)], "Index 1000000000000000000000000000000 is out of range"),
        (np.array([[0, 2**63]], np.uint64), "Index 9223372036854775808 is out of range"),
        (np.array([[-4, 0]]), "Index -4 is negative on axis 0"),
        (np.s_[-1, :], "Index -1 is negative on axis 0"),
        (np.s_[:, 2], "Index 2 is out of range on axis 1"),
        (np.s_[[0, 3], :], "Index 3 is out of range on axis 0"),
        ((0,), r"\(0,\) has 1 index, but 'B' of shape \(3, 2\) has 2 axes: \(0, 0\) is a cell"),
        (0, r"0 has 1 index, but .* np\.s_\[0:1, :\] a selection"),
        ((0, 1, 1), r"\(0, 1, 1\) has 3 indices"),
        ((), r"\(\) has 0 indices"),
        ([(0, 0), (1,)], r"\(1,\) has 1 index"),
        ([0, 1], r"\(0,\) has 1 index"),
        (np.s_[0, 0, :], "has 3 indices, but"),
        (np.s_[..., ...], r"2 times '\.\.\.'"),
        ((0, 1.0), r"1\.0 is no index into 'B' of shape \(3, 2\): indices are integers"),
        ([(0, 0), (0, float("nan"))], "nan is no index into 'B'"),
        (np.array([[0, np.nan]]), "nan is no index"),
        (np.array([[0.0, 1.5]]), r"1\.5 is no index"),
        (np.array([[2.0, 1.0]]), r"2\.0 is no index.*astype\(int\)"),
        (1.5, r"1\.5 is no index"),
        (np.float32(0.5), r"0\.5 is no index"),
        (1j, "1j is no index"),
        ("0,1", "'0,1' is no index.*parse"),
        (b"0", "b'0' is no index"),
        ((0, "1"), "'1' is no index"),
        (["a"], "'a' is no index"),
        (np.array(["a"]), "'a' is no index"),
        ([(0, None)], "None is no index.*leave missing"),
        ([None], "None is no index"),
        (np.array([[0, None]], object), "None is no index"),
        (np.array(None), "None is no index"),
        (np.s_[0, None, :], "None is no index"),
        ((0, True), "True is no index.*mask must have the shape"),
        (np.s_[True, :], "True is no index"),
        (True, r"A mask of shape \(\) can't select from 'B' of shape \(3, 2\)"),
        (np.ones((2, 3), bool), r"A mask of shape \(2, 3\) can't select"),
        ([True, False, True], r"A mask of shape \(3,\) can't select"),
        (np.s_[[True, False], :], r"A mask of shape \(2,\) stands where .* shape \(3,\)"),
        (np.s_[:, :, [True]], "has 3 indices"),
        (np.array([0, 1]), r"array of shape \(2,\) names no cells.*shape \(k, 2\)"),
        (np.array([[0, 1, 1]]), r"array of shape \(1, 3\) names no cells"),
        (np.zeros((1, 1, 2), int), r"array of shape \(1, 1, 2\) names no cells"),
        (np.empty((0, 3)), r"array of shape \(0, 3\) names no cells"),
        (np.s_[0.5:, :], r"0\.5 is no index"),
        (np.s_[:"2", :], "'2' is no index"),
        (np.s_[::0, :], "has step 0"),
        (np.s_[[0.5], :], r"0\.5 is no index"),
        (np.s_[["a"], :], "'a' is no index"),
        (np.s_[[0, 1, 2], [0, 1]], r"shapes \(3,\) and \(2,\).*don't broadcast"),
        (CellSet.full((2, 3)), r"shape \(2, 3\), but 'B' has shape \(3, 2\)"),
        ({0: 1}, "is no index.*give integers, slices"),
        (object, "is no index"),
        ((0, (1, 0)), r"\(1, 0\) is no index"),
        ([[(0, 1)]], r"\(0, 1\) is no index"),
    ],
    ids=repr,
)
def test_errors_name_the_value_and_the_way_out(query, message):
    with pytest.raises(SelectionError, match=f"(?s){message}"):
        select(query, (3, 2), "B")


def test_an_index_into_an_axis_without_cells():
    with pytest.raises(SelectionError, match="length 0: it has no cells"):
        select((0, 0), (0, 2), "B")


def test_wrong_queries_with_zero_axes():
    for query in (0, (0,), [0]):
        with pytest.raises(SelectionError, match=r"1 index, but .* 0 axes: \(\) is its one cell"):
            select(query, ())


def test_a_long_value_is_cut_short():
    with pytest.raises(SelectionError) as caught:
        select(tuple(range(1000)), (3, 2))
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("0:2, :", np.s_[0:2, :, :]),
        ("0, 1, 2", (0, 1, 2)),
        ("(0,1,2)", (0, 1, 2)),
        ("(0, 1, 2); (3, 2, 4)", [(0, 1, 2), (3, 2, 4)]),
        ("(0,1,2),(3,2,4)", [(0, 1, 2), (3, 2, 4)]),
        ("0,1,2;3,2,4", [(0, 1, 2), (3, 2, 4)]),
        ("[1, ..., ::2]", np.s_[1, ..., ::2]),
        ("...", ...),
        (":", ...),
        ("::-1", ...),
        ("-1:, 0, +1", np.s_[-1:, 0, 1]),
        ("1:; 0, 0, 0", [np.s_[1:], (0, 0, 0)]),
        (" 0 , 1 , 2 ", (0, 1, 2)),
    ],
)
def test_parse(text, query):
    assert parse_cells(text, SHAPE) == select(query, SHAPE)


def test_parse_other_numbers_of_axes():
    assert set(parse_cells("5", (9,))) == {(5,)}
    assert set(parse_cells("5; 7", (9,))) == {(5,), (7,)}
    assert set(parse_cells("(5,)", (9,))) == {(5,)}
    assert parse_cells("()", ()).count == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Nothing selects no cells of 'B' of shape"),
        (";", "Nothing selects no cells"),
        ("0,1,2;", "Nothing selects no cells"),
        ("a, 0, 0", "'a' selects no cells.*slices such as 0:2"),
        ("0.5, 0, 0", r"'0\.5' selects no cells"),
        ("0,,0", "Nothing selects no cells"),
        ("0:1:2:3", "'0:1:2:3' selects no cells"),
        ("1_0, 0, 0", "'1_0' selects no cells"),
        ("(0, 1, 2", r"'\(0, 1, 2' selects no cells"),
        ("0, 1, 2)", r"'0, 1, 2\)' selects no cells"),
        ("(0,1,2) x", r"selects no cells"),
        ("((0,1,2))", r"selects no cells"),
        ("__import__('os')", "selects no cells"),
        ("5", "has 1 index, but"),
        ("0, 0, 9", "Index 9 is out of range on axis 2"),
        ("0, -1, 0", "Index -1 is negative"),
        ("::0", "has step 0"),
    ],
)
def test_parse_errors(text, message):
    with pytest.raises(SelectionError, match=message):
        parse_cells(text, SHAPE, "B")
