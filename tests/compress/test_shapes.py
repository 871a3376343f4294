"""Shapes may hold numpy's integers, as `labels.max() + 1` is one; what is kept are Python's."""

import numpy as np
import pytest

import dslog
from dslog.lineage.table import Row, Table

PAIRS = np.array([[0, 0], [3, 4], [4, 1]])


def assert_plain(*shapes):
    assert {type(size) for shape in shapes for size in shape} == {int}


@pytest.fixture(params=[np.int64, np.int32, np.uint8, np.intp])
def five(request):
    return request.param(5)


@pytest.mark.parametrize("orientation", [None, "backward", "forward"])
@pytest.mark.parametrize("method", ["auto", "provrc", "folds", "factors"])
def test_compress(five, method, orientation):
    lineage = dslog.compress(PAIRS, (five,), np.array([5]), method, orientation)
    assert_plain(lineage.out_shape, lineage.in_shape)
    again = dslog.Lineage.decode(*lineage.encode())
    assert np.array_equal(again.to_relation(), PAIRS)
    assert lineage.backward(dslog.CellSet.full((five,))).count == 3


def test_lineages(five):
    table = Table.of_rows(1, 1, [Row(((0, 4),), ((0, 0),), (0,))])
    for lineage in (
        dslog.Lineage.empty([five], [five]),
        dslog.Lineage.of_table((five,), (five,), table),
    ):
        assert_plain(lineage.out_shape, lineage.in_shape)
        lineage.encode()


def test_cells(five):
    for cells in (
        dslog.CellSet.empty((five,)),
        dslog.CellSet.full((five,)),
        dslog.CellSet.from_indices((five,), [[1]]),
        dslog.CellSet.from_boxes((five,), [[[1, 2]]]),
    ):
        assert_plain(cells.shape)


def test_stores(five):
    with dslog.open(":memory:") as store:
        assert_plain(store.array("y", (five,)).shape, store.array("x", five).shape)
        store.lineage("y", "x", dslog.compress(PAIRS, (five,), (five,)))
        assert store.backward("y", dslog.CellSet.full((five,)), "x").count == 3


def test_teaching(five):
    def doubled(shape):
        assert_plain(shape)
        return [tuple(five * 0 + size for size in shape)], [lambda i: [i]]

    with dslog.open(":memory:") as store:
        taught = store.teach("copy", doubled, [[(five - 2,)], [(five,)], [(five + 1,)]])
        assert taught.formulas == ("out[i] <- in[i]",)
