"""The measured relations are what they claim to be."""

from itertools import pairwise

import numpy as np
import pytest
from tiny import TINY

from benchmarks.paper import STORAGE_FORMATS, STORAGE_MB, TWELVE
from benchmarks.size import FULL, SIZES
from benchmarks.workloads.operations import (
    drise_mask,
    explained,
    filter_image,
    lime_mask,
    operations,
)
from benchmarks.workloads.titles import (
    Titles,
    flight_operations,
    group_part,
    join_part,
    title_operations,
)
from dslog.compress.encoder import compress

FOUND = {operation.name: operation for operation in operations(TINY)}


def test_the_twelve_are_there():
    assert set(TWELVE) <= set(FOUND)
    assert all(len(row) == len(STORAGE_FORMATS) for row in STORAGE_MB.values())


@pytest.mark.parametrize("name", list(FOUND))
def test_relations_are_sorted_sets_within_their_shapes(name):
    for part in FOUND[name].parts:
        relation = part.relation
        shape = (*part.out_shape, *part.in_shape)
        assert relation.dtype == np.int64
        assert relation.shape == (len(relation), len(shape))
        assert (relation >= 0).all()
        assert (relation < np.array(shape)).all()
        assert len(np.unique(relation, axis=0)) == len(relation)
        assert np.array_equal(relation[np.lexsort(relation.T[::-1])], relation)


def test_matrix_product_from_its_rule_has_the_slabs_pairs():
    for part in FOUND["Matrix*Matrix"].parts:
        whole = part.whole().to_relation()
        assert len(whole) == part.pairs == TINY.side**3
        rows = set(map(tuple, whole.tolist()))
        assert rows >= set(map(tuple, part.relation.tolist()))


def test_forgetting_makes_the_relation_again():
    part = FOUND["Negative"].parts[0]
    first = part.relation
    part.forget()
    assert part.relation is not first
    assert np.array_equal(part.relation, first)


def test_titles_are_shaped_as_documented():
    titles = Titles(100_000)
    assert 0.12 < (titles.years < 0).mean() < 0.15
    assert abs(len(titles.episodes) / 100_000 - 6_802 / 9_060) < 0.02
    assert (np.diff(titles.episodes) > 0).all()
    runs = np.count_nonzero(np.diff(titles.episodes) != 1) + 1
    assert 6 < len(titles.episodes) / runs < 8
    same = (np.diff(titles.years) == 0).mean()
    assert 0.3 < same < 0.45
    halves = np.array_split(titles.years[titles.years >= 0], 2)
    assert halves[0].mean() + 10 < halves[1].mean()


def test_full_size_has_the_papers_number_of_pairs():
    episodes = FULL.titles * 6_802 // 9_060
    assert abs(12 * episodes * 32 / 1e6 - 2612) < 5  # MB of the Array column
    assert abs(FULL.titles * 0.866 * 32 / 1e6 - 251) < 1


def test_join_reads_each_column_once():
    group, join = title_operations(Titles(500))
    left, right = (compress(p.relation, p.out_shape, p.in_shape) for p in join.parts)
    columns = np.concatenate([left.to_relation()[:, 1], right.to_relation()[:, 1]])
    assert len(columns) == 12 * join.parts[0].out_shape[0]
    assert set(np.bincount(columns)) == {join.parts[0].out_shape[0]}
    assert len(group.parts[0].relation) == (Titles(500).years >= 0).sum()


def test_group_leaves_out_missing_keys():
    part = group_part(np.array([5, -1, 3, 5]), 2, 4)
    assert part.relation.tolist() == [[0, 2, 2], [1, 0, 2], [1, 3, 2]]
    assert (part.out_shape, part.in_shape) == ((2,), (4, 4))


def test_join_places_columns():
    part = join_part(3, 3, np.array([2, 0]), 1, 5, first=3)
    assert part.relation.tolist() == [[0, 3, 2, 1], [0, 4, 2, 2], [1, 3, 0, 1], [1, 4, 0, 2]]


def test_flights_meet_their_planes():
    group, join = flight_operations(5_000)
    assert len(group.parts[0].relation) == 5_000
    left, right = join.parts
    assert left.out_shape == right.out_shape
    assert left.in_shape[1] + right.in_shape[1] - 1 == left.out_shape[1]


def test_masks_without_the_papers_files():
    for make in (lime_mask, drise_mask):
        mask, note = make(None)
        assert mask.shape == (416, 416)
        assert 0 < mask.mean() < 0.5
        assert "generated" in note


def test_masks_from_files(tmp_path):
    array = np.zeros((416, 416))
    array[3, 4] = 1
    np.save(tmp_path / "example_lime.npy", array)
    np.save(tmp_path / "mnist.npy", np.eye(28, dtype=np.float32).ravel())
    mask, note = lime_mask(tmp_path)
    assert np.argwhere(mask).tolist() == [[3, 4]]
    assert "paper" in note
    operation = explained("Lime", mask, 2, note)
    assert operation.parts[0].relation[:, 2:].tolist() == [[6, 8], [6, 9], [7, 8], [7, 9]]
    assert filter_image(tmp_path, 3).parts[0].out_shape == (84,)


def test_sizes_grow():
    order = [SIZES[name] for name in ("quick", "standard", "full")]
    for small, large in pairwise(order):
        assert small.titles < large.titles
        assert small.side <= large.side
        assert max(small.latency) < max(large.latency)
