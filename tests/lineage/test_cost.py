"""A query touches the rows it meets: folds and products are never unrolled beyond them."""

import numpy as np
import pytest

from benchmarks.workloads import relations as ops
from dslog.cells.cellset import CellSet
from dslog.compress.encoder import compress
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Row, Table

N = 1000
CASES = {
    "flip": ops.moved((N, 8), lambda x: x[::-1]),
    "ravel": ops.moved((N, 8), np.ravel),
    "repeat": ops.moved((N, 8), lambda x: x.repeat(3, axis=0)),
    "cumsum": ops.scan(N),
    "resize": ops.resize((300, 400), (130, 170)),
}


@pytest.mark.parametrize("name", ["flip", "ravel", "repeat", "cumsum"])
def test_whole_array_touches_few_rows(name):
    lineage = compress(*CASES[name])
    for asked, answered, join in (
        (lineage.out_shape, lineage.in_shape, lineage.backward_boxes),
        (lineage.in_shape, lineage.out_shape, lineage.forward_boxes),
    ):
        met = join(CellSet.full(asked).boxes)
        assert met.scanned <= 4
        assert met.matched <= 4
        assert CellSet.from_boxes(answered, met.boxes) == CellSet.full(answered)


@pytest.mark.compiled
@pytest.mark.parametrize("name", CASES)
def test_one_percent_box_touches_its_share(name):
    lineage = compress(*CASES[name])
    side = lineage.out_shape[0]
    box = [[[side // 2, side // 2 + side // 100]] + [[0, s - 1] for s in lineage.out_shape[1:]]]
    met = lineage.backward_boxes(np.array(box))
    assert met.matched <= 2 * (side // 100 + 1) + 200
    if name == "resize":  # one factor is met whole, the other by its share
        assert met.matched <= side // 100 + 1 + lineage.out_shape[1]
    else:
        assert met.matched <= side // 100 + 3


def test_point_query_scans_a_few_rows_of_many():
    n = 200_000
    perm = np.random.default_rng(0).permutation(n)
    lineage = compress(np.stack([np.arange(n), perm], axis=1), (n,), (n,))
    assert lineage.num_rows == n
    met = lineage.backward_boxes(np.array([[[777, 777]]]))
    assert (met.scanned, met.boxes.tolist()) == (1, [[[perm[777], perm[777]]]])
    assert lineage.forward_boxes(np.array([[[777, 777]]])).scanned == n  # no index yet
    met = lineage.forward_boxes(np.array([[[777, 777]]]))
    assert met.scanned <= 2
    assert met.boxes.tolist() == [[[int(np.flatnonzero(perm == 777)[0])] * 2]]


def test_huge_arrays_cost_nothing():
    side = 10**6
    row = Row(((0, side - 1),) * 2, ((0, 0),) * 2, (1, 0))
    table = Table.of_rows(2, 2, [row])
    transpose = Lineage.of_table((side, side), (side, side), table)
    found = transpose.backward(CellSet.from_boxes((side, side), np.array([[[5, 9], [0, 10**5]]])))
    assert found.boxes.tolist() == [[[0, 10**5], [5, 9]]]
