"""CellSet against a Python set of index tuples, as boxes and as a bitmap."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dslog.cells.cellset import CellSet
from dslog.errors import EngineError, SelectionError, ShapeError

SHAPES = st.lists(st.integers(0, 5), min_size=0, max_size=4).map(tuple)
MASKS = SHAPES.flatmap(lambda shape: hnp.arrays(np.bool_, shape))
PAIRS = SHAPES.flatmap(
    lambda shape: st.tuples(hnp.arrays(np.bool_, shape), hnp.arrays(np.bool_, shape))
)
FORMS = ["boxes", "bitmap", "both"]


def twin(mask):
    return set(itertools.compress(np.ndindex(mask.shape), mask.reshape(-1).tolist()))


def held_as(form, mask):
    """The same cells, with only one form, or both, known so far."""
    bitmap = CellSet.from_mask(mask)
    if form == "bitmap":
        return bitmap
    boxes = bitmap.boxes.copy()
    return CellSet._make(mask.shape, boxes, mask.copy() if form == "both" else None)


@pytest.mark.parametrize("form", FORMS)
@given(mask=MASKS)
def test_views(form, mask):
    cells, wanted = held_as(form, mask), twin(mask)
    assert cells.shape == mask.shape
    assert cells.ndim == mask.ndim
    assert cells.count == len(cells) == len(wanted)
    assert bool(cells) == bool(wanted)
    assert cells.exact
    assert cells.indices().dtype == np.int64
    assert cells.indices().shape == (cells.count, cells.ndim)
    assert list(map(tuple, cells.indices().tolist())) == sorted(wanted)
    assert list(cells) == sorted(wanted)
    assert (cells.mask() == mask).all()
    assert cells.mask().shape == mask.shape
    assert all((cell in cells) == (cell in wanted) for cell in np.ndindex(mask.shape))
    assert cells == CellSet.from_mask(mask)


@pytest.mark.parametrize("form", FORMS)
@given(mask=MASKS)
def test_boxes_and_slices(form, mask):
    cells = held_as(form, mask)
    boxes = cells.boxes
    assert boxes.dtype == np.int64
    assert boxes.shape == (cells.num_boxes, mask.ndim, 2)
    counts = np.zeros(mask.shape, int)
    for index in cells.slices():
        counts[index] += 1
    assert (counts == mask).all()
    assert cells.is_bitmap == (cells.num_boxes * 16 * max(mask.ndim, 1) > mask.size)
    assert CellSet.from_boxes(mask.shape, boxes, disjoint=True) == cells
    assert CellSet.from_indices(mask.shape, cells.indices()[::-1]) == cells


@pytest.mark.parametrize("left", FORMS)
@pytest.mark.parametrize("right", FORMS)
@given(masks=PAIRS)
def test_operators(left, right, masks):
    a, b = held_as(left, masks[0]), held_as(right, masks[1])
    one, two = map(twin, masks)
    assert set(a | b) == one | two
    assert set(a & b) == one & two
    assert set(a - b) == one - two
    assert (a == b) == (one == two)
    if a == b:
        assert hash(a) == hash(b)


@given(MASKS)
def test_arrow_and_pandas(mask):
    cells = CellSet.from_mask(mask)
    table = cells.to_arrow()
    assert table.num_rows == cells.count
    assert table.column_names == [f"i{axis}" for axis in range(mask.ndim)]
    frame = cells.to_pandas()
    assert frame.to_numpy().tolist() == cells.indices().tolist()
    boxes = cells.to_arrow(boxes=True)
    assert boxes.num_rows == cells.num_boxes
    assert cells.to_pandas(boxes=True).columns.tolist() == [
        f"{side}{axis}" for axis in range(mask.ndim) for side in ("lo", "hi")
    ]


@pytest.mark.parametrize("shape", [(4, 3), (6,), ()])
def test_spark_lists_the_same_cells(spark, shape):
    cells = CellSet.from_mask(np.arange(np.prod(shape)).reshape(shape) % 3 == 0)
    frame = cells.to_spark()
    assert frame.columns == cells.to_arrow().column_names
    assert sorted(tuple(row) for row in frame.collect()) == list(cells)
    boxes = cells.to_spark(spark, boxes=True)
    assert boxes.columns == cells.to_arrow(boxes=True).column_names
    assert boxes.count() == cells.num_boxes


def test_spark_lists_long_boxes_in_blocks(spark):
    low, high = 10**9, 10**9 + 150_000
    frame = CellSet.from_boxes((10**12,), [[[low, high]]]).to_spark()
    row = frame.selectExpr("count(distinct i0)", "min(i0)", "max(i0)").first()
    assert tuple(row) == (high - low + 1, low, high)


def test_spark_without_a_session(monkeypatch):
    from dslog.cells import dataframe as frames

    monkeypatch.setattr(frames.SparkSession, "getActiveSession", lambda: None)
    with pytest.raises(EngineError, match=r"dslog\.spark\(\)"):
        CellSet.full((2, 2)).to_spark()


def test_whichever_form_is_smaller():
    noise = np.random.default_rng(1).random((100, 100)) < 0.5
    assert CellSet.from_mask(noise).is_bitmap
    block = np.zeros((100, 100), np.bool_)
    block[10:20, 30:90] = True
    cells = CellSet.from_mask(block)
    assert not cells.is_bitmap
    assert cells._mask is None
    assert cells.count == 600
    many = CellSet.from_indices((100, 100), np.argwhere(noise))
    assert many._mask is not None
    assert many == CellSet.from_mask(noise)


def test_huge_shapes_never_allocate_cells():
    shape = (10**12, 10**12, 10**6)
    everything = CellSet.full(shape)
    assert everything.count == 10**30
    corner = CellSet.from_boxes(shape, [[[0, 9], [0, 9], [0, 9]], [[5, 14], [5, 14], [5, 14]]])
    assert corner.count == 1875
    assert (everything - corner).count == 10**30 - 1875
    assert (everything - corner) | corner == everything
    assert everything & corner == corner
    assert (14, 14, 14) in corner
    assert (14, 14, 15) not in corner
    assert not corner - everything
    assert corner.indices().tolist()[-1] == [14, 14, 14]
    assert "count=1000000000000000000000000000000" in repr(everything)


def test_zero_axes():
    cell = CellSet.full(())
    assert cell.count == 1
    assert () in cell
    assert cell.indices().shape == (1, 0)
    assert cell.slices() == [()]
    assert cell.mask().item() is True
    assert not cell - cell
    assert cell == CellSet.from_boxes((), np.empty((3, 0, 2), np.int64))
    assert CellSet.empty(()).indices().shape == (0, 0)


def test_an_axis_of_length_zero():
    assert CellSet.full((3, 0)) == CellSet.empty((3, 0))
    assert CellSet.full((3, 0)).boxes.shape == (0, 2, 2)
    assert (0, 0) not in CellSet.full((3, 0))


def test_exactness():
    shape = (2, 2)
    exact, loose = CellSet.full(shape), CellSet.empty(shape).with_exact(False)
    for result in (exact | loose, exact & loose, exact - loose, loose - exact):
        assert not result.exact
    assert (exact | exact).exact
    assert exact.with_exact(True) is exact
    assert exact.with_exact(False) == exact
    assert not CellSet.from_mask(np.ones(2, np.bool_), exact=False).exact
    assert not CellSet.from_boxes(shape, [[[0, 0], [0, 0]]], exact=False).exact
    assert not CellSet.from_indices(shape, [(0, 0)], exact=False).exact


def test_repr():
    cells = CellSet.from_boxes((3, 2), [[[0, 1], [0, 1]]])
    assert repr(cells) == "CellSet(shape=(3, 2), count=4, boxes=1, exact)"
    assert repr(cells.with_exact(False)).endswith("boxes=1, superset)")


def test_immutable():
    source = np.array([[[0, 1], [0, 1]]])
    mask = np.zeros((3, 2), np.bool_)
    cells, bits = CellSet.from_boxes((30, 20), source), CellSet.from_mask(mask)
    source[:] = 0
    mask[:] = True
    assert cells.count == 4
    assert bits.count == 0
    with pytest.raises(ValueError, match="read-only"):
        cells.boxes[0, 0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        cells.mask()[0, 0] = False
    with pytest.raises(AttributeError, match="immutable"):
        cells.shape = (1, 1)
    with pytest.raises(AttributeError, match="immutable"):
        del cells._mask
    with pytest.raises(TypeError, match="from_boxes"):
        CellSet()


@given(MASKS)
def test_pickle(mask):
    cells = CellSet.from_mask(mask, exact=False)
    back = pickle.loads(pickle.dumps(cells))
    assert back == cells
    assert not back.exact


def test_one_axis_takes_plain_integers():
    cells = CellSet.from_boxes((10,), [[[2, 4]]])
    assert 3 in cells
    assert np.int64(5) not in cells
    assert -1 not in cells
    assert 99 not in cells


def test_comparing_with_something_else():
    cells = CellSet.full((2,))
    assert cells != {(0,), (1,)}
    assert cells != CellSet.full((2, 1))
    with pytest.raises(TypeError):
        cells | {(0,)}


@pytest.mark.parametrize("operator", ["__or__", "__and__", "__sub__"])
def test_different_shapes_do_not_combine(operator):
    with pytest.raises(ShapeError, match=r"\(2, 3\) and \(3, 2\)"):
        getattr(CellSet.full((2, 3)), operator)(CellSet.full((3, 2)))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: CellSet.empty((2, -1)), ShapeError, r"\(2, -1\) has a negative length"),
        (lambda: CellSet.from_boxes((3,), [[0, 1]]), ShapeError, r"need shape \(k, 1, 2\), not"),
        (
            lambda: CellSet.from_boxes((3,), [[[0, 3]]]),
            SelectionError,
            r"\[\[0, 3\]\] does not lie",
        ),
        (lambda: CellSet.from_boxes((3,), [[[-1, 1]]]), SelectionError, r"\[\[-1, 1\]\] does not"),
        (lambda: CellSet.from_boxes((3,), [[[0.0, 1.0]]]), SelectionError, "integers, not float64"),
        (lambda: CellSet.from_mask([0, 1]), SelectionError, "boolean, not int64"),
        (lambda: CellSet.from_indices((3, 2), [[0, 0, 0]]), SelectionError, r"shape \(n, 2\)"),
        (lambda: CellSet.from_indices((3, 2), [[0, 2]]), SelectionError, "Index 2 .* length 2"),
        (lambda: CellSet.from_indices((3,), [[0.5]]), SelectionError, "integers, not float64"),
        (lambda: (0, 1, 2) in CellSet.full((3, 2)), SelectionError, "give 2 integers in a tuple"),
        (lambda: (0, 0.5) in CellSet.full((3, 2)), SelectionError, r"\(0, 0.5\) is no cell"),
        (lambda: "x" in CellSet.full((3,)), SelectionError, "'x' is no cell"),
    ],
)
def test_errors_name_the_value(make, error, message):
    with pytest.raises(error, match=message):
        make()
