"""Named operations, every method and orientation, against brute force in both directions."""

import numpy as np
import pytest

from benchmarks.workloads import relations as ops
from dslog.cells.cellset import CellSet
from dslog.compress.encoder import compress
from dslog.testing import naive


def banded(n, width):
    """b <- (b + d, b + d + e): both input axes refer to the one output axis."""
    rows = [(b, b + d, b + e) for b in range(n) for d in range(width) for e in range(1, width + 1)]
    return np.array(rows), (n,), (n + width, n + width + 1)


def sorted_columns(n, m):
    order = np.argsort(np.random.default_rng(5).random((n, m)), axis=0)
    outs = ops.cells((n, m))
    ins = np.stack([order.ravel(), outs[:, 1]], axis=1)
    return np.concatenate([outs, ins], axis=1), (n, m), (n, m)


CASES = {
    "identity": ops.moved((5, 6), lambda x: x),
    "transpose": ops.moved((5, 6), np.transpose),
    "diagonal": ops.moved((6, 6), lambda x: x.diagonal()),
    "banded, shared ref": banded(7, 3),
    "convolution": ops.convolution((7, 8)),
    "convolution, padded": ops.convolution((7, 8), padding=1),
    "convolution, stride": ops.convolution((9, 9), stride=2),
    "convolution, stride and padding": ops.convolution((8, 7), stride=2, padding=1),
    "convolution, dilated": ops.dilated((9, 8), 2),
    "tile": ops.moved((3, 4), lambda x: np.tile(x, (2, 3))),
    "reshape": ops.moved((4, 6), lambda x: x.reshape(3, 8)),
    "reshape to more axes": ops.moved((4, 6), lambda x: x.reshape(2, 3, 4)),
    "cumsum": ops.scan(9),
    "sort": sorted_columns(12, 3),
    "sum to a scalar": (ops.cells((4, 5)), (), (4, 5)),
    "broadcast from a scalar": (ops.cells((4, 5)), (4, 5), ()),
    "scalar to scalar": (np.zeros((1, 0), np.int64), (), ()),
    "kron left": ops.kron(2, 3, 3, 2)[0],
    "kron right": ops.kron(2, 3, 3, 2)[1],
    "resize": ops.resize((11, 13), (5, 4)),
    "empty": (np.zeros((0, 4), np.int64), (3, 4), (5, 6)),
    "of empty arrays": (np.zeros((0, 3), np.int64), (0, 3), (0,)),
}


@pytest.mark.parametrize("orientation", ["backward", "forward"])
@pytest.mark.parametrize("method", ["provrc", "folds", "factors", "auto"])
@pytest.mark.parametrize("name", CASES)
def test_named_operation(name, method, orientation):
    relation, out_shape, in_shape = CASES[name]
    pairs = naive.pairs_of(relation, len(out_shape))
    lineage = compress(relation, out_shape, in_shape, method=method, orientation=orientation)
    assert naive.pairs_of(lineage.to_relation(), len(out_shape)) == pairs
    rng = np.random.default_rng(0)
    for _ in range(12):
        for shape, compressed, brute in (
            (out_shape, lineage.backward, naive.backward),
            (in_shape, lineage.forward, naive.forward),
        ):
            asked = CellSet.from_mask(np.asarray(rng.random(shape) < rng.random() ** 2))
            found = {tuple(cell) for cell in compressed(asked).indices().tolist()}
            assert found == brute(pairs, map(tuple, asked.indices().tolist()))


@pytest.mark.parametrize("method", ["provrc", "auto"])
@pytest.mark.parametrize("name", CASES)
def test_every_engine(name, method, engine):
    relation, out_shape, in_shape = CASES[name]
    lineage = engine.compress(relation, out_shape, in_shape, method=method)
    pairs = naive.pairs_of(relation, len(out_shape))
    assert naive.pairs_of(lineage.to_relation(), len(out_shape)) == pairs
    alone = compress(relation, out_shape, in_shape, method=method)
    assert lineage.num_rows <= alone.num_rows + 3


def test_diagonal_is_not_a_square():
    """The paper's prototype answers the square; the diagonal has as many cells as asked."""
    lineage = compress(*CASES["diagonal"])
    found = lineage.backward(CellSet.full((6,)))
    assert found.count == 6
    assert np.array_equal(found.mask(), np.eye(6, dtype=bool))
