"""Structured operations take a handful of rows, the same at every size, and a few dozen bytes."""

import numpy as np
import pytest

from benchmarks.workloads import relations as ops
from dslog.cells.cellset import CellSet
from dslog.compress.encoder import compress

SIDE = 4  # arrays are (n, SIDE) where n grows, so that raw relations stay small

OPERATIONS = {
    "identity": lambda n: ops.moved((n, SIDE), lambda x: x),
    "transpose": lambda n: ops.moved((n, SIDE), np.transpose),
    "flip axis 0": lambda n: ops.moved((n, SIDE), lambda x: np.flip(x, 0)),
    "flip axis 1": lambda n: ops.moved((SIDE, n), lambda x: np.flip(x, 1)),
    "flip both": lambda n: ops.moved((n, SIDE), np.flip),
    "rot90": lambda n: ops.moved((n, SIDE), np.rot90),
    "roll": lambda n: ops.moved((n, SIDE), lambda x: np.roll(x, 3, axis=0)),
    "repeat": lambda n: ops.moved((n, SIDE), lambda x: np.repeat(x, 3, axis=0)),
    "repeat axis 1": lambda n: ops.moved((n, SIDE), lambda x: np.repeat(x, 3, axis=1)),
    "tile": lambda n: ops.moved((n, SIDE), lambda x: np.tile(x, (2, 3))),
    "strided slice": lambda n: ops.moved((n, SIDE), lambda x: x[3::5]),
    "pooling": lambda n: ops.convolution((n, 8), stride=2, size=2),
    "upsampling": lambda n: ops.moved((n, SIDE), lambda x: x.repeat(2, 0).repeat(2, 1)),
    "cumsum": ops.scan,
    "cumsum axis": lambda n: _cumsum_axis(n // 4),
    "cumsum flat": lambda n: _cumsum_flat(n // 4),
    "diff": lambda n: ops.windows((n,), lambda _k, b, _n: (b, b + 1), (n - 1,)),
    "ravel": lambda n: ops.moved((n, 6), np.ravel),
    "ravel F": lambda n: ops.moved((n, 6), lambda x: x.ravel("F")),
    "ravel 3-d": lambda n: ops.moved((n, 3, 5), np.ravel),
    "reshape": lambda n: ops.moved((n, 7), lambda x: x.reshape(7, n)),
    "reshape batch": lambda n: ops.moved((4, n, 7), lambda x: x.reshape(4, 7, n)),
    "kron left": lambda n: ops.kron(n, 3, 2, 5)[0],
    "kron right": lambda n: ops.kron(3, 2, n, 5)[1],
    "outer": lambda n: ops.outer(n, 50),
    "matmul left": lambda n: ops.matmul(n, 5, 6)[0],
    "matmul right": lambda n: ops.matmul(n, 5, 6)[1],
    "convolution": lambda n: ops.convolution((n, 8)),
    "diagonal": lambda n: ops.moved((n, n), lambda x: x.diagonal()),
    "sum axis 0": lambda n: ops.reduction((n, SIDE), 0),
    "sum axis 1": lambda n: ops.reduction((n, SIDE), 1),
}


def _cumsum_axis(n):
    relation, out, inp = ops.scan(n)
    columns = ops.cells((len(relation), SIDE))
    b, a = relation[columns[:, 0]].T
    rows = np.stack([b, columns[:, 1], a, columns[:, 1]], axis=1)
    return rows[np.lexsort(rows.T[::-1])], (*out, SIDE), (*inp, SIDE)


def _cumsum_flat(n):
    relation, _, _ = ops.scan(4 * n)
    ins = np.stack(np.unravel_index(relation[:, 1], (n, 4)), axis=1)
    return np.concatenate([relation[:, :1], ins], axis=1), (4 * n,), (n, 4)


@pytest.mark.parametrize("name", OPERATIONS)
def test_few_rows_on_every_engine(name, engine):
    relation, out_shape, in_shape = OPERATIONS[name](200)
    lineage = engine.compress(relation, out_shape, in_shape)
    assert lineage.num_rows <= 4
    np.testing.assert_array_equal(lineage.to_relation(), relation[np.lexsort(relation.T[::-1])])


@pytest.mark.parametrize("name", OPERATIONS)
def test_few_rows_at_every_size(name):
    rows = []
    for n in (500, 2000):
        relation, out_shape, in_shape = OPERATIONS[name](n)
        lineage = compress(relation, out_shape, in_shape)
        assert lineage.nbytes <= 256
        np.testing.assert_array_equal(lineage.to_relation(), relation[np.lexsort(relation.T[::-1])])
        rows.append(lineage.num_rows)
    assert rows[0] == rows[1] <= 4


def test_padded_convolution(engine):
    relation, out_shape, in_shape = ops.convolution((200, 300), padding=1)
    lineage = engine.compress(relation, out_shape, in_shape)
    assert lineage.num_rows <= 16
    assert lineage.nbytes <= 256


def test_non_integer_resize_takes_a_row_per_cell_of_an_axis():
    relation, out_shape, in_shape = ops.resize((1080, 1920), (416, 416))
    assert compress(relation, out_shape, in_shape, method="provrc").num_rows > 100_000
    lineage = compress(relation, out_shape, in_shape)
    assert lineage.num_rows <= 900
    assert len(lineage.to_relation()) == len(relation)


def test_two_different_blocks_are_a_union_of_products():
    first, out_shape, in_shape = ops.resize((30, 40), (17, 23))
    second, other_out, _ = ops.moved((30, 40), lambda x: x[np.ix_(PICK % 30, PICK % 40)])
    second = second + np.array([0, out_shape[1], 0, 0])
    shape = (max(out_shape[0], other_out[0]), out_shape[1] + other_out[1])
    lineage = compress(np.concatenate([first, second]), shape, in_shape)
    assert lineage.num_rows <= sum(out_shape) + sum(other_out)
    expected = np.concatenate([first, second])
    np.testing.assert_array_equal(lineage.to_relation(), expected[np.lexsort(expected.T[::-1])])


PICK = (np.arange(19) * 7919) % 1201


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (np.flip, "a0 = 999 - b0, for b0 in [0, 999]"),
        (lambda x: x, "a0 = b0, for b0 in [0, 999]"),
        (lambda x: x[::2], "a0 = 2*b0, for b0 in [0, 499]"),
        (lambda x: x[10:], "a0 = b0 + 10, for b0 in [0, 989]"),
    ],
)
def test_describes_itself_in_formulas(function, text):
    relation, out_shape, in_shape = ops.moved((1000,), function)
    assert compress(relation, out_shape, in_shape).describe() == text


def test_random_permutation_is_close_to_its_entropy():
    n = 1_000_000
    perm = np.random.default_rng(7).permutation(n)
    relation = np.stack([np.arange(n), perm], axis=1)
    entropy = 2_311_111  # log2(n!) / 8 bytes
    assert compress(relation, (n,), (n,)).nbytes <= 1.15 * entropy


def test_group_by_is_close_to_its_entropy():
    """Each of n input rows belongs to one of 1000 groups at random: n log2(1000) bits."""
    n = 200_000
    key = np.random.default_rng(3).integers(0, 1000, n)
    order = np.argsort(key, kind="stable")
    lineage = compress(np.stack([key[order], order], axis=1), (1000,), (n,))
    assert lineage.orientation == "forward"
    assert lineage.nbytes <= 1.02 * n * np.log2(1000) / 8
    found = lineage.backward(CellSet.from_indices((1000,), np.array([[5], [7]])))
    np.testing.assert_array_equal(found.indices()[:, 0], np.flatnonzero((key == 5) | (key == 7)))
