"""What the whole array leads to is worked out once; linear pairs are those rows expand to."""

import numpy as np
from hypothesis import given, settings
from relation_strategies import relations

from dslog.cells.cellset import CellSet
from dslog.compress.encoder import compress
from dslog.compress.provrc import fold, provrc
from dslog.relation.relation import read


@settings(max_examples=80, deadline=None)
@given(case=relations())
def test_asked_twice_for_everything(case):
    relation, out_shape, in_shape = case
    lineage = compress(relation, out_shape, in_shape)
    l = len(out_shape)
    for follow, asked, given_, columns in (
        (lineage.backward, out_shape, in_shape, relation[:, l:]),
        (lineage.forward, in_shape, out_shape, relation[:, :l]),
    ):
        if 0 in asked:
            continue
        expected = CellSet.from_indices(given_, np.unique(columns, axis=0))
        for cells in (CellSet.full(asked), CellSet.from_mask(np.ones(asked, bool))):
            assert follow(cells) == expected
            assert not follow(cells.with_exact(False)).exact
            assert follow(cells).exact


@settings(max_examples=80, deadline=None)
@given(case=relations())
def test_linear_pairs(case):
    relation, out_shape, in_shape = case
    table = provrc(read(relation, out_shape, in_shape), out_shape, in_shape)
    for some in (table, fold(table)):
        pairs = some.expand()
        sides = pairs[:, : len(out_shape)], pairs[:, len(out_shape) :]
        found = some.linear_pairs(out_shape, in_shape)
        for cells, shape, linear in zip(sides, (out_shape, in_shape), found, strict=True):
            expected = np.zeros(len(cells), np.int64)
            for axis, size in enumerate(shape):
                expected = expected * size + cells[:, axis]
            np.testing.assert_array_equal(linear, expected)


def test_is_whole():
    assert CellSet.full((3, 4)).is_whole
    assert CellSet.full(()).is_whole
    assert CellSet.from_mask(np.ones((2, 2), bool)).is_whole
    assert not CellSet.empty((3,)).is_whole
    assert not CellSet.from_indices((3, 4), [(0, 0), (2, 3)]).is_whole
    assert not CellSet.from_mask(np.array([True, False])).is_whole
