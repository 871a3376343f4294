"""Axes on which every pair has the same cell are set aside, and come back; rare merges are left."""

import numpy as np
import pytest

from dslog.compress.compress_cost import CompressCost
from dslog.compress.encoder import compress
from dslog.compress.provrc import provrc


@pytest.fixture(autouse=True)
def small(choose):
    choose(CompressCost, many_rows=16, enough_cells=16)


def check(relation, out_shape, in_shape):
    relation = np.unique(relation, axis=0)
    for thorough in (True, False):
        table = provrc(relation, out_shape, in_shape, thorough=thorough)
        assert len(table) <= len(relation)
        found = np.unique(table.expand(), axis=0)
        np.testing.assert_array_equal(found, relation)
    for method in ("auto", "provrc", "folds", "factors"):
        found = compress(relation, out_shape, in_shape, method).to_relation()
        np.testing.assert_array_equal(found, relation)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("fixed", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
def test_fixed_inputs(seed, fixed):
    rng = np.random.default_rng(seed)
    out_shape, in_shape = (7, 5), (6, 5, 4)
    columns = [rng.integers(0, size, 120) for size in (*out_shape, *in_shape)]
    for i in fixed:
        columns[2 + i] = np.full(120, rng.integers(in_shape[i]))
    check(np.stack(columns, axis=1), out_shape, in_shape)


def test_scattered_cells_stay_columns():
    order = np.random.default_rng(0).permutation(500)
    relation = np.stack([np.arange(500), np.full(500, 3), order], axis=1)
    table = provrc(relation, (500,), (9, 500), thorough=False)
    assert not table.has_matrix
    assert set(table.column(1).tolist()) == {3}
    check(relation, (500,), (9, 500))


@pytest.mark.parametrize("seed", range(6))
def test_groups_with_a_fixed_column(seed):
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 5, 400)
    rows = np.flatnonzero(rng.random(400) < 0.9)
    relation = np.stack([keys[rows], rows, np.full(len(rows), 2)], axis=1)
    check(relation, (5,), (400, 3))


def test_merges_that_are_common_are_made():
    """Every output reads the same runs, whichever axis it lies on."""
    runs = [a for a in range(300) if a % 3]
    relation = np.array([(b, a) for b in range(40) for a in runs])
    assert len(provrc(relation, (40,), (300,), thorough=False)) == 100
