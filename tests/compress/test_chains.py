"""Many chains along a vector become columns, with the rows that a matrix of them would have."""

import numpy as np
import pytest

from dslog.compress.compress_cost import CompressCost
from dslog.compress.encoder import compress
from dslog.compress.provrc import provrc
from dslog.lineage.lineage import Lineage


def filtered(rng, n):
    kept = np.flatnonzero(rng.random(n) < 0.5)
    return np.stack([np.arange(len(kept)), kept], axis=1), (n,)


def broadcast(rng, n):
    """Stretches of outputs with the same input, or one that moves with them."""
    moves = rng.random(n) < 0.5
    return np.stack([np.arange(n), np.where(moves, np.arange(n), 7)], axis=1), (n,)


def windows(rng, n):
    """Each output reads a run of one of two axes."""
    rows = []
    for b in range(n):
        at, width = int(rng.integers(0, 5)), int(rng.integers(1, 4))
        rows += [(b, at, at + k) if b % 3 else (b, at + k, at) for k in range(width)]
    return np.array(rows), (9, 9)


def steady(rng, n):
    """Outputs with gaps, inputs always as far away."""
    outs = np.arange(0, 2 * n, 2)
    return np.stack([outs, outs + 5, rng.integers(0, 4, n)], axis=1), (2 * n + 9, 4)


CASES = (filtered, broadcast, windows, steady)


@pytest.mark.parametrize("make", CASES)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("thorough", [True, False])
def test_columns_hold_the_same_rows(make, seed, thorough, choose):
    relation, in_shape = make(np.random.default_rng(seed), 400)
    out_shape = (int(relation[:, 0].max()) + 1 + seed,)
    matrix = provrc(relation, out_shape, in_shape, thorough=thorough)
    choose(CompressCost, many_rows=16)
    columns = provrc(relation, out_shape, in_shape, thorough=thorough)
    assert not columns.has_matrix
    assert columns == matrix


@pytest.mark.parametrize("make", CASES)
def test_columns_are_stored_and_read_back(make, choose):
    choose(CompressCost, many_rows=16)
    relation, in_shape = make(np.random.default_rng(1), 400)
    lineage = compress(relation, (int(relation[:, 0].max()) + 1,), in_shape)
    back = Lineage.decode(*lineage.encode(0))
    expected = np.unique(relation, axis=0)
    np.testing.assert_array_equal(lineage.to_relation(), expected)
    np.testing.assert_array_equal(back.to_relation(), expected)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("shapes", [((1,), (9,)), ((40,), (30,)), ((6, 5), (9,)), ((30,), (5, 6))])
def test_order_and_repeats_do_not_matter(shapes, seed):
    """Also where the first pairs are in order and the disorder comes later."""
    rng = np.random.default_rng(seed)
    sizes = np.array([*shapes[0], *shapes[1]])
    relation = np.unique(rng.integers(0, sizes, (60, len(sizes))), axis=0)
    untidy = np.concatenate([relation[:5], rng.permutation(relation), relation[:9]])
    for thorough in (True, False):
        assert provrc(untidy, *shapes, thorough=thorough) == provrc(
            relation, *shapes, thorough=thorough
        )


@pytest.mark.parametrize("seed", range(4))
def test_scattered_cells_in_disorder(seed, choose):
    """The early look at scattered cells gives up before it has seen that rows are out of order."""
    choose(CompressCost, enough_cells=16)
    n = 40_000
    relation = np.stack([np.arange(n), np.random.default_rng(seed).permutation(n)], axis=1)
    untidy = np.concatenate([relation[: n // 2], relation[n // 2 :][::-1], relation[:3]])
    assert provrc(untidy, (n,), (n,), thorough=False) == provrc(
        relation, (n,), (n,), thorough=False
    )
