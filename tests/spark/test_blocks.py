"""The pure half of distributed compression: no Spark, every cut gives the same relation."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from relation_strategies import relations

from benchmarks.workloads import relations as ops
from dslog.compress.encoder import compress, encode_table
from dslog.compress.provrc import fold, provrc, provrc_ranges
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Table, concat
from dslog.spark.pair_blocks import (
    ROWS,
    Packing,
    PartBlocks,
    Split,
    chunk_keys,
    cut_keys,
    sort_keys,
)
from dslog.spark.relation_job import (
    Options,
    fold_rows,
    join_folds,
    join_seams,
    plan_split,
    split_seam,
)
from dslog.spark.spark_cost import SparkCost


def distributed(
    relation, out_shape, in_shape, *, parts, chunk, combine=1 << 16, hold=1 << 24, anywhere=False
):
    """Do what the Spark job does, in process; return the joined table and how blocks travelled.

    ``anywhere`` cuts within output cells too, as only very large cells are.
    """
    packing = Packing(tuple(out_shape), tuple(in_shape))
    keys = packing.pack(np.asarray(relation, np.int64))
    options = Options(partitions=parts, combine=combine, chunk=chunk, method="provrc")
    split = plan_split(np.sort(keys[:, 0]), len(keys), parts, packing, options)
    split = replace(split, hold=hold)
    if anywhere and len(keys):
        ordered = np.sort(keys[:, 0])
        bounds = ordered[np.arange(1, parts) * len(ordered) // parts]
        split = replace(split, bounds=tuple(bounds.tolist()), unit=1)
    gathered = [PartBlocks(split) for _ in range(split.parts)]
    kinds = set()
    for some in chunk_keys([keys], 1) if chunk == 0 else chunk_keys(np.array_split(keys, 5), chunk):
        for block in cut_keys(some, split):
            kinds.add(block.kind)
            gathered[block.part].add(block.kind, block.data)
    inner, seams = [], []
    for part, one in enumerate(gathered):
        rows, seam = split_seam(one.table(), split, part, 1 << 20)
        inner.append(rows)
        seams.append(seam)
    return concat([*inner, join_seams(seams)]), kinds


@given(
    case=relations(),
    parts=st.sampled_from([1, 2, 7, 64]),
    chunk=st.sampled_from([1, 3, 1000]),
    combine=st.sampled_from([1, 1 << 16]),
    anywhere=st.booleans(),
)
def test_any_cut_says_what_the_relation_says(case, parts, chunk, combine, anywhere):
    relation, out_shape, in_shape = case
    table, _ = distributed(
        relation,
        out_shape,
        in_shape,
        parts=parts,
        chunk=chunk,
        combine=combine,
        anywhere=anywhere,
    )
    found = Lineage.of_table(out_shape, in_shape, table).to_relation()
    expected = compress(relation, out_shape, in_shape, method="provrc").to_relation()
    np.testing.assert_array_equal(found, expected)


@given(case=relations(), parts=st.sampled_from([2, 7]))
@settings(max_examples=30)
def test_a_partition_that_is_too_large_is_compressed_in_pieces(case, parts):
    relation, out_shape, in_shape = case
    table, _ = distributed(relation, out_shape, in_shape, parts=parts, chunk=2, hold=3)
    found = Lineage.of_table(out_shape, in_shape, table).to_relation()
    expected = compress(relation, out_shape, in_shape, method="provrc").to_relation()
    np.testing.assert_array_equal(found, expected)


def elementwise(height, width, gap):
    cells = np.stack(np.unravel_index(np.arange(height * width), (height, width)), axis=1)
    pairs = np.concatenate([cells, cells], axis=1)
    return pairs[np.arange(len(pairs)) % gap != 7]


@pytest.mark.parametrize("anywhere", [True, False])
@pytest.mark.parametrize("parts", [2, 7, 64])
def test_seams_cost_no_rows(parts, anywhere):
    relation = elementwise(60, 50, 101)
    table, _ = distributed(relation, (60, 50), (60, 50), parts=parts, chunk=700, anywhere=anywhere)
    alone = provrc(relation, (60, 50), (60, 50))
    assert len(table) <= len(alone) + 3


NAMED = {
    "convolution": ops.convolution((12, 11)),
    "convolution, padded": ops.convolution((12, 11), padding=1),
    "convolution, stride and padding": ops.convolution((13, 12), stride=2, padding=1),
    "resize": ops.resize((23, 31), (11, 13)),
    "matmul": ops.matmul(9, 5, 6)[0],
    "rot90": ops.moved((12, 9), np.rot90),
    "tile": ops.moved((6, 5), lambda x: np.tile(x, (2, 3))),
    "sum": ops.reduction((15, 7), 0),
}


@pytest.mark.parametrize("combine", [4, 1 << 16])
@pytest.mark.parametrize("parts", [1, 2, 7, 64])
@pytest.mark.parametrize("name", NAMED)
def test_structure_survives_every_cut(name, parts, combine):
    relation, out_shape, in_shape = NAMED[name]
    relation = relation[np.lexsort(relation.T[::-1])]
    table, _ = distributed(relation, out_shape, in_shape, parts=parts, chunk=150, combine=combine)
    together = provrc_ranges(table)
    assert len(together) <= compress(relation, out_shape, in_shape, method="provrc").num_rows + 3
    terms = encode_table(together, out_shape, in_shape)
    encoded = Lineage(out_shape, in_shape, terms)
    assert encoded.num_rows <= compress(relation, out_shape, in_shape).num_rows + 3


def test_ordered_chunks_travel_as_rows():
    relation = elementwise(200, 100, 5000)
    table, kinds = distributed(relation, (200, 100), (200, 100), parts=4, chunk=4000, combine=1000)
    assert ROWS in kinds
    assert len(table) <= len(provrc(relation, (200, 100), (200, 100))) + 3


def test_scattered_chunks_travel_as_numbers(choose):
    choose(SparkCost, block_numbers=16)
    relation = np.random.default_rng(1).permutation(elementwise(50, 40, 1000))
    _, kinds = distributed(relation, (50, 40), (50, 40), parts=3, chunk=200, combine=100)
    assert ROWS not in kinds


@pytest.mark.parametrize(
    ("out_shape", "in_shape", "groups"),
    [
        ((3, 2), (10,), 1),
        ((), (), 1),
        ((0,), (5,), 1),
        ((1 << 40,), (1 << 40,), 2),
        ((1 << 40, 1 << 30), (1 << 40, 1 << 10), 3),
    ],
)
def test_packing_keeps_order_and_pairs(out_shape, in_shape, groups):
    packing = Packing(out_shape, in_shape)
    assert len(packing.groups) == groups
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, max(s, 1), 50) for s in packing.sizes]
    pairs = np.unique(np.stack(columns, axis=1), axis=0) if columns else np.zeros((1, 0), np.int64)
    keys = packing.pack(pairs)
    np.testing.assert_array_equal(packing.unpack(keys), pairs)
    shuffled = keys[rng.permutation(np.repeat(np.arange(len(keys)), 2))]
    np.testing.assert_array_equal(sort_keys(shuffled), keys)


def test_large_arrays_take_several_numbers():
    rng = np.random.default_rng(3)
    relation = np.stack([rng.integers(0, 1 << 40, 500) for _ in range(2)], axis=1)
    shape = (1 << 40,)
    table, _ = distributed(relation, shape, shape, parts=7, chunk=100)
    found = Lineage.of_table(shape, shape, table).to_relation()
    np.testing.assert_array_equal(found, np.unique(relation, axis=0))


def test_only_the_ends_are_taken_when_too_many_rows_reach_the_border():
    n = 5000
    relation = np.stack([np.zeros(n, np.int64), np.arange(n) * 2], axis=1)
    split = Split(Packing((1,), (2 * n,)), (4000, 8000))
    table = split.compress(split.packing.pack(relation[2000:4000]))
    inner, seam = split_seam(table, split, 1, 500)
    assert (len(inner), len(seam)) == (2000 - 128, 128)


def flip(n):
    return np.stack([np.arange(n), n - 1 - np.arange(n)], axis=1)


def test_folded_pieces_join_over_their_seams():
    n = 10_000
    table = provrc(flip(n), (n,), (n,))
    pieces = []
    for start, stop in ((0, 3000), (3004, 5000), (5002, n)):
        pieces.append(fold_rows(table.take(slice(start, stop))))
        assert len(pieces[-1]) == 1
    seams = table.take([3000, 3001, 3002, 3003, 5000, 5001])
    together = concat([*pieces, seams])
    together = together.take(np.argsort(together.bounds[0][:, 0], kind="stable"))
    joined = join_folds(together)
    assert len(joined) == 1
    found = Lineage.of_table((n,), (n,), joined).to_relation()
    np.testing.assert_array_equal(found, flip(n))


@given(
    base=st.integers(0, 5),
    step=st.integers(-3, 3),
    counts=st.lists(st.integers(1, 5), min_size=2, max_size=6),
    drop=st.integers(0, 5),
)
def test_joined_folds_mean_the_same(base, step, counts, drop):
    total = sum(counts)
    t = np.arange(total)
    plain = Table.of_boxes(t, t, 50 + base + step * t, 50 + base + step * t)
    ends = np.cumsum([0, *counts])
    pieces = [fold(plain.take(slice(a, b))) for a, b in pairwise(ends)]
    pieces = [piece for k, piece in enumerate(pieces) if k != drop]
    table = concat(pieces)
    table = table.take(np.argsort(table.bounds[0][:, 0], kind="stable"))
    joined = join_folds(table)
    assert len(joined) <= len(table)
    assert provrc_ranges(joined) == provrc_ranges(table)


def test_short_tables_are_left_as_they_are():
    table = provrc(flip(100), (100,), (100,))
    assert fold_rows(table) is table


def keys_of(relation, out_shape, in_shape):
    packing = Packing(out_shape, in_shape)
    return packing, np.sort(packing.pack(relation)[:, 0])


def test_partitions_end_with_rows_of_the_array():
    packing, keys = keys_of(elementwise(600, 500, 101), (600, 500), (600, 500))
    split = plan_split(keys[::10], len(keys), 7, packing, Options())
    assert split.unit == 500 * 600 * 500
    assert all(bound % split.unit == 0 for bound in split.bounds)
    assert len(split.bounds) == 6


def test_partitions_of_long_rows_end_with_cells(choose):
    choose(SparkCost, small_pairs=1)
    packing, keys = keys_of(elementwise(2, 50_000, 101), (2, 50_000), (2, 50_000))
    split = plan_split(keys[::10], len(keys), 7, packing, Options())
    assert split.unit == 2 * 50_000
    assert len(split.bounds) == 6


def test_a_cell_with_half_of_the_pairs_is_cut(choose):
    choose(SparkCost, small_pairs=1)
    n = 50_000
    heavy = np.stack([np.full(n, 7), np.arange(n)], axis=1)
    other = np.stack([np.arange(n), np.arange(n)], axis=1)
    packing, keys = keys_of(np.concatenate([heavy, other]), (n,), (n,))
    split = plan_split(keys[::10], len(keys), 8, packing, Options())
    assert split.unit == 1
    sizes = np.diff(np.searchsorted(keys, [0, *split.bounds, n * n]))
    assert sizes.max() < 1.2 * len(keys) / 8
