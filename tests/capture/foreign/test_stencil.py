"""Stencils on an axis: ends that are folded, many cells stretched from few, and wide hulls."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dslog.algebra import stencil
from dslog.algebra.stencil import Stencil, folded, neighbourhood, on_stencils

BORDERS = ("constant", "reflect", "mirror", "nearest", "wrap")
NUMPY = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap"}
borders = st.sampled_from(BORDERS)
stencils = st.builds(
    lambda offsets, border: Stencil(tuple(sorted(offsets)), border),
    st.sets(st.integers(-4, 4), min_size=1, max_size=4),
    borders,
)


def naive(size, path, outputs):
    """Cell sets, a pass after the other."""
    cells = [{b} for b in range(outputs)]
    for one in reversed(path):
        cells = [
            {
                int(p)
                for place in some
                for p in folded([place + k for k in one.offsets], size, one.border)
                if p >= 0
            }
            for some in cells
        ]
    return {(b, a) for b, some in enumerate(cells) for a in some}


def pairs(table):
    return {tuple(map(int, pair)) for pair in table.expand()}


@given(st.integers(1, 9), st.integers(0, 30), st.sampled_from(sorted(NUMPY)))
def test_folded_is_what_numpy_pads(size, width, border):
    padded = np.pad(np.arange(size), width, mode=NUMPY[border])
    assert np.array_equal(folded(np.arange(-width, size + width), size, border), padded)


@given(st.integers(1, 70), st.lists(stencils, min_size=1, max_size=3))
def test_stencils_are_what_each_cell_reads(size, path):
    table, exact = on_stencils(size, tuple(path))
    assert exact
    assert pairs(table) == naive(size, path, size)


@given(st.integers(1, 40), stencils, st.integers(-3, 5))
def test_outputs_may_be_more_or_fewer(size, one, more):
    outputs = max(size + more, 1)
    table, _ = on_stencils(size, (one,), outputs)
    assert pairs(table) == naive(size, [one], outputs)


@given(st.integers(1, 30), st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), borders)))
def test_wide_stencils_are_hulls(size, windows):
    path = tuple(Stencil(tuple(range(-lo, hi + 1)), border) for lo, hi, border in windows)
    table, exact = stencil._hull(size, path, size)
    naively = naive(size, path, size)
    assert pairs(table) >= naively
    if exact:
        assert pairs(table) == naively
    assert exact or any(border == "wrap" for *_, border in windows)


def test_opposite_weights_of_one_cell_cancel_out():
    path = (Stencil((-1, 1), "mirror", (-1.0, 1.0)),)
    assert pairs(on_stencils(4, path)[0]) == {(1, 0), (1, 2), (2, 1), (2, 3)}


@pytest.mark.parametrize("border", BORDERS)
def test_long_axes_cost_as_much_as_short_ones(border):
    path = (Stencil(tuple(range(-5, 6)), border),) * 2
    few, _ = on_stencils(100, path)
    many, exact = on_stencils(10**9, path)
    assert exact
    assert len(many) == len(few) < 50


def test_a_neighbourhood_of_nothing():
    assert neighbourhood((0, 3), [((), ())]).to_relation().shape == (0, 4)
