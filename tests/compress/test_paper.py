"""The worked examples of the paper, 0-based, and the operations it names."""

import numpy as np
import pytest

from benchmarks.workloads import relations as ops
from dslog.cells.cellset import CellSet
from dslog.compress.encoder import compress
from dslog.lineage.table import Row, Table
from dslog.testing import naive

# numpy.sum(A, axis=1) of a 3 x 2 array: the running example, its figure 1 (B)
SUM = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1], [2, 2, 0], [2, 2, 1]])


def only_table(lineage) -> Table:
    ((factor,),) = lineage.terms
    return factor.table


def test_running_example_is_one_row():
    """Table III: b in [0, 2], a0 = b + 0, a1 in [0, 1]."""
    lineage = compress(SUM, (3,), (3, 2), method="provrc")
    table = only_table(lineage)
    assert lineage.num_rows == 1
    assert table.row(0) == Row(((0, 2),), ((0, 0), (0, 1)), (0, -1))


def test_running_example_forward_representation():
    """Table IV: a0 in [0, 2], a1 in [0, 1], b0 = a0 + 0."""
    table = only_table(compress(SUM, (3,), (3, 2), method="provrc", orientation="forward"))
    assert table.row(0) == Row(((0, 2), (0, 1)), ((0, 0),), (0,))


@pytest.mark.parametrize("orientation", ["backward", "forward"])
def test_running_example_queries(orientation):
    """Tables V to VII: b in [0, 1] comes from a0 in [0, 1], a1 in [0, 1]; and forward again."""
    lineage = compress(SUM, (3,), (3, 2), orientation=orientation)
    found = lineage.backward(CellSet.from_boxes((3,), np.array([[[0, 1]]])))
    assert found.boxes.tolist() == [[[0, 1], [0, 1]]]
    # the paper's rel_for would answer one cell here
    back = lineage.forward(CellSet.from_boxes((3, 2), np.array([[[0, 1], [0, 1]]])))
    assert back.boxes.tolist() == [[[0, 1]]]


def test_aggregate_of_all_cells():
    """Figure 2: a 4 x 4 array into one cell is one row of ranges."""
    relation, out_shape, in_shape = (
        naive.capture(lambda _: ((i, j) for i in range(4) for j in range(4)), (1, 1), (4, 4)),
        (1, 1),
        (4, 4),
    )
    table = only_table(compress(relation, out_shape, in_shape, method="provrc"))
    assert table.row(0) == Row(((0, 0), (0, 0)), ((0, 3), (0, 3)), (-1, -1))


def test_one_to_one():
    """Figure 3: a one-to-one operation over two cells is one relative row."""
    table = only_table(compress([[0, 0], [1, 1]], (2,), (2,), method="provrc"))
    assert table.row(0) == Row(((0, 1),), ((0, 0),), (0,))


def test_range_join_of_all_to_all():
    """Figure 4: [0, 1] of an all-to-all row finds the whole other side."""
    lineage = compress([[b, a] for b in range(2) for a in range(3)], (2,), (3,), method="provrc")
    assert lineage.num_rows == 1
    found = lineage.backward(CellSet.from_indices((2,), np.array([[1]])))
    assert found.boxes.tolist() == [[[0, 2]]]


@pytest.mark.parametrize(
    ("name", "case", "rows"),
    [
        ("negative", ops.moved((30, 40), lambda x: x), 1),
        ("aggregate", ops.reduction((30, 40), 0), 1),
        ("repetition", ops.moved((3, 40), lambda x: np.tile(x, (2, 2))), 4),
        ("matrix by vector, matrix", ops.matmul(20, 30, 1)[0], 1),
        ("matrix by vector, vector", ops.matmul(20, 30, 1)[1], 1),
        ("matrix by matrix", ops.matmul(10, 11, 12)[0], 1),
    ],
)
def test_rows_of_the_storage_table(name, case, rows):
    assert compress(*case, method="provrc").num_rows == rows
