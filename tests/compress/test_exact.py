"""Every compressed form says exactly what the raw relation says, in both directions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from relation_strategies import Case, relations

from dslog.cells.cellset import CellSet
from dslog.compress.encoder import compress, recompress
from dslog.lineage.lineage import Lineage
from dslog.testing import naive

METHODS = ["provrc", "folds", "factors", "auto"]
ORIENTATIONS = ["backward", "forward"]


def cells_of(cells: CellSet) -> set[tuple[int, ...]]:
    return {tuple(row) for row in cells.indices().tolist()}


def some_cells(shape: tuple[int, ...], seed: int, kind: str) -> CellSet:
    rng = np.random.default_rng(seed)
    if kind == "mask":
        mask = np.asarray(rng.random(shape) < rng.random())
        return CellSet.from_mask(mask)
    ends = np.array([np.sort(rng.integers(0, s, 2)) for s in shape], np.int64)
    box = ends.reshape(1, len(shape), 2)
    if kind == "point":
        box = np.repeat(box[:, :, :1], 2, axis=2)
    return CellSet.from_boxes(shape, box)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
@pytest.mark.parametrize("method", METHODS)
@given(
    case=relations(), seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(["box", "point", "mask"])
)
def test_says_what_the_relation_says(method, orientation, case: Case, seed, kind):
    relation, out_shape, in_shape = case
    lineage = compress(relation, out_shape, in_shape, method=method, orientation=orientation)
    pairs = naive.pairs_of(relation, len(out_shape))
    expected = naive.relation_of(pairs, len(out_shape), len(in_shape))
    np.testing.assert_array_equal(lineage.to_relation(), expected)

    asked = some_cells(out_shape, seed, kind)
    assert cells_of(lineage.backward(asked)) == naive.backward(pairs, cells_of(asked))
    asked = some_cells(in_shape, seed, kind)
    assert cells_of(lineage.forward(asked)) == naive.forward(pairs, cells_of(asked))


@pytest.mark.parametrize("method", METHODS)
@given(case=relations(), inline_rows=st.sampled_from([0, 3, 64]))
@settings(max_examples=40)
def test_survives_packing(method, case: Case, inline_rows):
    relation, out_shape, in_shape = case
    lineage = compress(relation, out_shape, in_shape, method=method)
    again = Lineage.decode(*lineage.encode(inline_rows))
    assert again == lineage
    np.testing.assert_array_equal(again.to_relation(), lineage.to_relation())


@pytest.mark.compiled
@pytest.mark.parametrize("method", METHODS)
@given(case=relations(), parts=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_parts_compressed_apart_join(method, case: Case, parts, seed):
    relation, out_shape, in_shape = case
    part = np.random.default_rng(seed).integers(0, parts, len(relation))
    pieces = [
        compress(relation[part == k], out_shape, in_shape, method=method) for k in range(parts)
    ]
    whole = recompress(pieces, method=method)
    expected = compress(relation, out_shape, in_shape, method="provrc").to_relation()
    np.testing.assert_array_equal(whole.to_relation(), expected)


@given(case=relations())
def test_no_more_rows_than_pairs(case: Case):
    relation, out_shape, in_shape = case
    lineage = compress(relation, out_shape, in_shape)
    paper = compress(relation, out_shape, in_shape, method="provrc")
    assert lineage.num_rows <= paper.num_rows <= len(paper.to_relation())
