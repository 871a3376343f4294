"""The building blocks against their definitions, cell by cell."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_oracles import pairs_of

from dslog.algebra import axis
from dslog.algebra.positions import from_pairs, gathered
from dslog.algebra.product import (
    elementwise,
    flat,
    follow,
    free,
    matched,
    part,
    product,
    read,
    row,
    same_order,
)
from dslog.algebra.restrict import union
from dslog.capture.numpy.call import Call, arrange
from dslog.cells.cellset import CellSet
from dslog.lineage.lineage import Lineage

few = st.integers(1, 6)


def pairs(table, outputs, inputs):
    """The pairs of a table over one axis; every row must stay inside the axes."""
    assert table.is_inside((outputs,), (inputs,))
    return pairs_of(Lineage.of_table((outputs,), (inputs,), table))


def test_shifted():
    assert pairs(axis.shifted(3, 2), 3, 5) == {(0, 2), (1, 3), (2, 4)}
    assert pairs(axis.shifted(2, -1, 1), 3, 2) == {(1, 0), (2, 1)}
    assert len(axis.shifted(0)) == 0


@given(few, st.integers(-3, 3).filter(bool))
def test_strided(size, step):
    start = 0 if step > 0 else -step * (size - 1)
    table = axis.strided(size, start, step)
    assert pairs(table, size, 40) == {(b, start + step * b) for b in range(size)}
    assert len(table) == 1


@given(few, few)
def test_repeated(size, times):
    table = axis.repeated(size, times)
    assert pairs(table, size * times, size) == {(b, b // times) for b in range(size * times)}
    assert len(table) == 1


@given(few, st.integers(1, 20))
def test_tiled(size, outputs):
    table = axis.tiled(size, outputs)
    assert pairs(table, outputs, size) == {(b, b % size) for b in range(outputs)}
    assert len(table) <= 2


@given(few, st.integers(-9, 9))
def test_rolled(size, shift):
    assert pairs(axis.rolled(size, shift), size, size) == {
        (b, (b - shift) % size) for b in range(size)
    }


@given(few, few, st.integers(1, 20))
def test_blocks(outputs, size, inputs):
    table = axis.blocks(outputs, size, inputs)
    assert pairs(table, outputs, inputs) == {
        (b, a) for b in range(outputs) for a in range(inputs) if a // size == b
    }


@given(few, st.integers(0, 2))
def test_scan(size, first):
    table = axis.scan(size, first)
    assert pairs(table, size + first, size) == {
        (b + first, a) for b in range(size) for a in range(b + 1)
    }
    assert len(table) == 1


def test_window():
    most = 0
    for outputs, inputs, lo, hi in itertools.product(
        range(1, 6), range(1, 6), range(-6, 6), range(-6, 6)
    ):
        table = axis.window(outputs, inputs, lo, hi)
        assert pairs(table, outputs, inputs) == {
            (b, a) for b in range(outputs) for a in range(inputs) if b + lo <= a <= b + hi
        }
        most = max(most, len(table))
    assert most == 3


@given(st.lists(few, max_size=3))
def test_a_product_is_written_as_one_row_where_it_is_one(shape):
    lineage = product(shape, shape, *(follow(k, k, n) for k, n in enumerate(shape)))
    assert pairs_of(lineage) == {(*cell, *cell) for cell in np.ndindex(*shape)}
    assert lineage.num_rows == 1
    assert len(lineage.terms[0]) == 1


def test_a_product_joins_one_folded_table():
    lineage = product((4, 5), (4, 5), follow(0, 0, 4), part([1], [1], axis.scan(5)))
    assert lineage.describe() == "a0 = b0, a1 in [0, b1], for b0 in [0, 3], b1 in [0, 4]"
    assert lineage.num_rows == 1


def test_a_product_keeps_two_folded_tables_apart():
    turned = part([0], [1], axis.strided(4, 3, -1)), part([1], [0], axis.strided(5, 4, -1))
    lineage = product((4, 5), (5, 4), *turned)
    assert pairs_of(lineage) == {(i, j, 4 - j, 3 - i) for i in range(4) for j in range(5)}
    assert lineage.num_rows == 2


def test_a_product_of_unions_is_a_union_of_products():
    either = part([0], [0], axis.shifted(2)) + part([0], [0], axis.shifted(1, 1))
    lineage = product((2, 2), (2, 2), either, follow(1, 1, 2))
    assert pairs_of(lineage) == {
        (b, c, a, c) for b, a in [(0, 0), (1, 1), (0, 1)] for c in range(2)
    }


def test_a_product_with_an_empty_part_is_empty():
    assert product((2, 2), (2, 2), (), follow(1, 1, 2)).terms == ()
    assert product((0, 2), (0, 2), follow(0, 0, 0), follow(1, 1, 2)).terms == ()


def test_matched_diagonal():
    lineage = matched((3,), (3, 3), {0: 0, 1: 0})
    assert pairs_of(lineage) == {(i, i, i) for i in range(3)}


def test_free_and_read():
    lineage = product((2,), (3,), free(0, 2), read(0, 1, 2))
    assert pairs_of(lineage) == {(b, a) for b in range(2) for a in (1, 2)}


SHAPES = [(2, 3, 4), (6, 4), (24,), (4, 6), (2, 12), (1, 24), (2, 3, 1, 4), (24, 1, 1), (3, 8)]


@pytest.mark.parametrize(("out", "inp"), list(itertools.product(SHAPES, SHAPES)), ids=str)
def test_flat_identity(out, inp):
    lineage = same_order(out, inp)
    assert pairs_of(lineage) == {
        (*map(int, np.unravel_index(k, out)), *map(int, np.unravel_index(k, inp)))
        for k in range(24)
    }
    assert lineage.num_rows <= len(out) + 1


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)], ids=str)
def test_flat_identity_of_one_cell(shape):
    assert len(pairs_of(same_order((), shape))) == 1
    assert len(pairs_of(same_order(shape, ()))) == 1


def test_flat_tables_over_no_axes():
    whole = part([0], [], axis.shifted(1, -2, 2), in_flat=True)
    assert pairs_of(product((4,), (), whole)) == {(2,)}
    every = flat([0], [], axis.repeated(1, 3))
    assert pairs_of(product((3,), (), every)) == {(0,), (1,), (2,)}


def test_gathered():
    indices = np.array([[3, 0], [1, 1]])
    lineage = Lineage((2, 2), (4,), gathered(indices, 4))
    assert pairs_of(lineage) == {(*b, int(indices[b])) for b in np.ndindex(2, 2)}
    assert gathered(np.zeros(0, int), 4) == ()


def test_from_pairs():
    assert pairs_of(from_pairs([0, 5], [3, 1], (2, 3), (4,))) == {(0, 0, 3), (1, 2, 1)}
    assert pairs_of(from_pairs([0], [0], (), ())) == {()}
    assert pairs_of(from_pairs([], [], (), ())) == set()
    assert pairs_of(from_pairs([], [], (2, 2), (3, 1))) == set()


def test_rows_with_folds():
    table = row([(0, 1)], [(4, 4)], [-1], (2, [(2, 2)], [(-1, -1)]))
    assert pairs(table, 4, 5) == {(0, 4), (1, 4), (2, 3), (3, 3)}


def test_union_leaves_out_what_it_has():
    one, two = elementwise((2, 2), (2, 2)), matched((2, 2), (2, 2), {})
    both = union(one, two, elementwise((2, 2), (2, 2)))
    assert both.num_rows == 2
    assert not union(one, two.with_exact(False)).exact
    assert len(both.to_relation()) == 16


def test_arrange():
    x, y = np.zeros(2), np.zeros(2)
    call = Call("add", np.add, (x, y), {}, (x, y), (x + y,))
    mine, other = elementwise((2,), (2,)), matched((2,), (2,), {})
    assert arrange(call, [(x, mine), (y, None)]) == ((mine, None),)
    assert arrange(call, [(y, mine), (x, mine), (y, other), (1.0, other)]) == (
        (mine, union(mine, other)),
    )


def test_arrange_leaves_a_call_whose_input_nobody_named():
    x, y = np.zeros(2), np.zeros(2)
    call = Call("add", np.add, (x, y), {}, (x, y), (x + y,))
    assert arrange(call, [(x, elementwise((2,), (2,)))]) is None
    assert arrange(call, [(x, None), (y, None)], []) is None


def test_the_number_of_cells_costs_nothing():
    lineage = elementwise((10**6, 10**6), (10**6, 1))
    one = CellSet.from_boxes((10**6, 10**6), np.array([[[5, 5], [7, 9]]]))
    assert lineage.backward(one).boxes.tolist() == [[[5, 5], [0, 0]]]
