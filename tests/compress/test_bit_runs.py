"""Bits are compressed to the same relation as their pairs, by way of runs, merges and folds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from relation_strategies import product_relations, random_relations

from dslog.algebra.compose import BitRows
from dslog.algebra.positions import Pairs
from dslog.compress.bit_runs import compress_bits
from dslog.compress.compress_cost import CompressCost


def bits_of(reached, out_shape, in_shape):
    """Bits of a matrix, a row for each output cell and a column for each input cell."""
    outs, ins = np.nonzero(reached)
    return BitRows.of_pairs(Pairs(out_shape, in_shape, outs, ins))


def pairs_of(lineage):
    return sorted(map(tuple, lineage.to_relation().tolist()))


def reach(steps, shape, offsets):
    """The cells that a stencil, applied again and again, reaches from each cell: by brute force."""
    cells = list(np.ndindex(shape))
    number = {cell: k for k, cell in enumerate(cells)}
    once = np.zeros((len(cells), len(cells)), bool)
    for cell, k in number.items():
        around = [tuple(np.add(cell, offset).tolist()) for offset in offsets]
        inside = [number[one] for one in around if one in number]
        once[k, inside if len(inside) == len(offsets) else [k]] = True
    reached = np.eye(len(cells), dtype=bool)
    for _ in range(steps):
        reached = (once.astype(int) @ reached.astype(int)) > 0
    return reached


CROSS = [(-1, 0), (1, 0), (0, -1), (0, 1)]
STENCILS = {
    "checkerboard": ((9, 11), CROSS, 2),
    "square": ((9, 8), [(0, 0), *CROSS], 1),
    "line": ((70,), [(-1,), (0,), (1,)], 1),
    "every third": ((40,), [(-3,), (0,), (3,)], 3),
    "space": ((5, 4, 6), [(0, 0, 0), (0, 0, 1), (1, 0, 0), (-1, 0, 0)], 1),
}


@pytest.mark.parametrize("name", STENCILS)
@pytest.mark.parametrize("steps", [1, 3, 7])
def test_stencils_that_were_applied_often(name, steps):
    shape, offsets, _ = STENCILS[name]
    reached = reach(steps, shape, offsets)
    bits = bits_of(reached, shape, shape)
    wanted = [(*divmod_of(b, shape), *divmod_of(a, shape)) for b, a in np.argwhere(reached)]
    with CompressCost.using(run_pairs=1, run_bytes=1 << 9):
        found = compress_bits(bits.rows, shape, shape)
        assert found is not None
        assert pairs_of(found) == sorted(wanted)
        assert found.exact


def divmod_of(cell, shape):
    return tuple(map(int, np.unravel_index(cell, shape)))


@pytest.mark.parametrize("name", ["checkerboard", "every third"])
def test_runs_of_a_stride_are_folds(name):
    shape, offsets, stride = STENCILS[name]
    reached = reach(5, shape, offsets)
    with CompressCost.using(run_pairs=1):
        found = compress_bits(bits_of(reached, shape, shape).rows, shape, shape)
    table = found.terms[0][0].table
    assert set(table.step[-1].any(axis=1).nonzero()[0]) == {2 * len(shape) - 1}
    assert (table.step[-1, 2 * len(shape) - 1] == stride).all()
    assert len(table) * 8 < len(found.to_relation())


@given(st.one_of(random_relations(), product_relations()), st.integers(1, 4))
def test_any_relation(case, strides):
    relation, out_shape, in_shape = case
    pairs = np.unique(relation, axis=0)
    l, outs, ins = len(out_shape), np.prod(out_shape, dtype=int), np.prod(in_shape, dtype=int)
    reached = np.zeros((outs, ins), bool)
    for row in pairs:
        at = np.ravel_multi_index(tuple(row[:l]), out_shape) if l else 0
        of = np.ravel_multi_index(tuple(row[l:]), in_shape) if len(in_shape) else 0
        reached[at, of] = True
    bits = bits_of(reached, out_shape, in_shape)
    with CompressCost.using(run_pairs=1, strides=strides, run_bytes=64, run_samples=3):
        found = compress_bits(bits.rows, out_shape, in_shape)
        assert pairs_of(bits.lineage()) == list(map(tuple, pairs.tolist()))
    if found is not None:
        assert pairs_of(found) == list(map(tuple, pairs.tolist()))


def test_bits_without_runs_are_left_to_pairs():
    rng = np.random.default_rng(0)
    reached = rng.random((30, 40)) < 0.5
    bits = bits_of(reached, (5, 6), (40,))
    assert compress_bits(bits.rows, (5, 6), (40,)) is None
    wanted = [(*divmod_of(b, (5, 6)), int(a)) for b, a in np.argwhere(reached)]
    assert pairs_of(bits.lineage()) == sorted(wanted)


def test_nothing_stays_nothing():
    bits = bits_of(np.zeros((4, 3), bool), (4,), (3,))
    assert compress_bits(bits.rows, (4,), (3,)) is None
    assert pairs_of(bits.lineage()) == []


def test_what_is_not_exact_stays_so():
    bits = bits_of(np.ones((4, 70), bool), (4,), (70,))
    assert not BitRows(bits.out_shape, bits.in_shape, bits.rows, exact=False).lineage().exact
    assert bits.lineage().num_rows == 1
