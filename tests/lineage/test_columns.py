"""Tables read from columns answer as tables of rows do, and make rows only when asked."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.workloads.relations import cells, moved
from dslog.cells.cellset import CellSet
from dslog.compress.encoder import compress
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table, same


def reread(lineage, inline_rows=0):
    return Lineage.decode(*lineage.encode(inline_rows))


def tables(lineage):
    return [factor.table for term in lineage.terms for factor in term]


def sort_columns(rows, columns, seed=0):
    order = np.argsort(np.random.default_rng(seed).random((rows, columns)), axis=0)
    return moved((rows, columns), lambda p: np.take_along_axis(p, order, axis=0))


def scattered(rows, seed=0):
    """Each output from one cell; no two outputs follow each other."""
    rng = np.random.default_rng(seed)
    outs = 2 * np.arange(rows)
    outs[rows // 2 :] += 1
    return np.stack([outs, rng.integers(0, rows, rows), rng.integers(0, 7, rows)], axis=1), (
        (2 * rows + 1,),
        (rows, 7),
    )


CASES = {
    "sort": sort_columns(900, 40),
    "permutation": moved((5000,), np.random.default_rng(1).permutation),
    "scattered": (scattered(5000)[0], *scattered(5000)[1]),
}


@pytest.mark.parametrize("name", list(CASES))
def test_same_rows_after_reading(name):
    relation, out_shape, in_shape = CASES[name]
    lineage = compress(relation, out_shape, in_shape)
    back = reread(lineage)
    assert [len(table) for table in tables(back)] == [len(table) for table in tables(lineage)]
    assert [table.most_pairs for table in tables(back)] == [t.most_pairs for t in tables(lineage)]
    assert not any(table.has_matrix for table in tables(back))
    assert tables(back) == tables(lineage)
    assert all(table.has_matrix for table in tables(back))
    assert np.array_equal(back.to_relation(), lineage.to_relation())


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("backward", [True, False])
def test_first_queries_need_no_rows(name, backward):
    relation, out_shape, in_shape = CASES[name]
    lineage = compress(relation, out_shape, in_shape)
    back = reread(lineage)
    shape = out_shape if backward else in_shape
    rng = np.random.default_rng(2)
    for turn in range(8):
        query = CellSet.from_indices(shape, rng.integers(0, shape, (turn % 3 + 1, len(shape))))
        answer = back.backward(query) if backward else back.forward(query)
        assert answer == (lineage.backward(query) if backward else lineage.forward(query))
        if turn == 0:
            assert not any(table.has_matrix for table in tables(back))
    assert any(table.has_matrix for table in tables(back))  # by now an index pays


def test_size_does_not_depend_on_what_was_made():
    table = tables(reread(compress(*CASES["sort"])))[0]
    before = table.nbytes
    assert table.matrix.nbytes == before
    assert table.nbytes == before


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_products_by_bitmap(data):
    """A factor of single cells beside another: the other axes are carried along."""
    n = data.draw(st.integers(1, 30))
    rows = data.draw(st.integers(1, 30))
    unique = data.draw(st.booleans())
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    source = np.sort(rng.choice(rows, min(n, rows), replace=False)) if unique else None
    source = rng.integers(0, rows, n) if source is None else source
    n = len(source)
    index = cells((n, 3))
    relation = np.stack([index[:, 0], index[:, 1], source[index[:, 0]], 2 - index[:, 1]], axis=1)
    lineage = reread(compress(relation, (n, 3), (rows, 3)))
    mask = rng.random((n, 3)) < 0.5
    hit = relation[mask[relation[:, 0], relation[:, 1]]]
    assert lineage.backward(CellSet.from_mask(mask)) == CellSet.from_indices((rows, 3), hit[:, 2:])
    mask = rng.random((rows, 3)) < 0.5
    hit = relation[mask[relation[:, 2], relation[:, 3]]]
    assert lineage.forward(CellSet.from_mask(mask)) == CellSet.from_indices((n, 3), hit[:, :2])


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("ref", [-1, 0, 1])
def test_linear_pairs_are_those_of_rows(ordered, ref):
    rng = np.random.default_rng(3)
    n, sizes = 12, (3, 4)
    outs = np.unravel_index(np.arange(n) if ordered else rng.permutation(n), sizes)
    inner = np.zeros(n, np.int64) if ref < 0 else -outs[ref]
    a0 = inner + rng.integers(0, 5, n)
    starts = [*((None, None) if ordered else outs), a0, rng.integers(0, 6, n)]
    columns = [*starts, *[same(0, n)] * 4, same(ref, n), same(-1, n)]
    table = Table(2, 2, columns, ordered=sizes if ordered else None)
    found = table.linear_pairs(sizes, (5, 6))
    plain = Table(2, 2, table.matrix)
    expected = plain.linear_pairs(sizes, (5, 6))
    outs_found = np.arange(n) if found[0] is None else found[0]
    assert (found[0] is None) == ordered
    assert np.array_equal(outs_found, expected[0])
    assert np.array_equal(found[1], expected[1])
    assert Lineage.of_table(sizes, (5, 6), table).num_rows == n


def test_chance_merges_do_not_cost_a_sort_its_order():
    table = tables(compress(*CASES["sort"]))[0]
    assert len(table) == 900 * 40
    back = tables(reread(compress(*CASES["sort"])))[0]
    assert back.ordered == (900, 40)  # outputs go unsaid


def test_columns_in_another_order_are_still_few_rows():
    order = np.random.default_rng(5).permutation(60)
    relation, out_shape, in_shape = moved((700, 60), lambda p: p[:, order])
    assert compress(relation, out_shape, in_shape).num_rows <= 62


@pytest.mark.parametrize("shape", [(60, 50), (200, 100), (30, 1000)])
def test_a_sort_takes_about_the_bits_of_its_places(shape):
    order = np.argsort(np.random.default_rng(6).random(shape), axis=1)
    case = moved(shape, lambda p: np.take_along_axis(p, order, axis=1))
    lineage = compress(*case)
    bits = (shape[1] - 1).bit_length()
    assert lineage.nbytes <= np.prod(shape) * bits / 8 + 600
    assert np.array_equal(reread(lineage).to_relation(), case[0])
