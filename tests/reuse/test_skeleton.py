import json

import numpy as np
import pytest
from hypothesis import given, settings
from relation_strategies import relations

from benchmarks.workloads import relations as operations
from dslog.compress.encoder import compress
from dslog.lineage.lineage import Lineage
from dslog.reuse.expression import Sizes
from dslog.reuse.skeleton import build, roles, skeleton_of


@given(relations())
@settings(max_examples=60, deadline=None)
def test_apart_and_together_again(case):
    relation, out_shape, in_shape = case
    for method in ("auto", "provrc"):
        lineage = compress(relation, out_shape, in_shape, method=method)
        flat = skeleton_of([lineage])
        sizes = Sizes((in_shape,), (out_shape,))
        if flat is None:
            assert lineage.num_rows > 64
            continue
        skeleton = json.loads(flat.skeleton)
        assert len(roles(skeleton, sizes)) == len(flat.numbers)
        built = build(skeleton, flat.numbers, sizes)
        assert built.dropped == ()
        assert np.array_equal(built.lineages[0].to_relation(), lineage.to_relation())


def test_labels_survive():
    relation, out_shape, in_shape = operations.reduction((4, 3), 1)
    lineage = compress(relation, out_shape, in_shape, orientation="forward").with_exact(False)
    flat = skeleton_of([None, lineage])
    sizes = Sizes((in_shape, in_shape), (out_shape,))
    none, again = build(json.loads(flat.skeleton), flat.numbers, sizes).lineages
    assert none is None
    assert again == lineage


def test_too_many_rows_have_no_skeleton():
    order = np.random.default_rng(0).permutation(500)
    assert skeleton_of([compress(np.c_[np.arange(500), order], (500,), (500,))]) is None


FIRST_THREE = '[{"t":[[{"b":[0],"a":[0],"r":[[[0]]]}]]}]'


@pytest.mark.parametrize(
    ("numbers", "size", "dropped"),
    [
        ((0, 2, 0, 0), 5, ()),
        ((0, -1, 0, 0), 5, (0,)),  # just empty: the row vanishes
        ((0, -2, 0, 0), 5, None),  # more than empty: no lineage
        ((0, 5, 0, 0), 5, None),  # beyond the array
        ((0, 2, -1, -1), 5, None),
        ((0, 2, 0, 4), 5, None),
    ],
)
def test_rows_that_vanish_and_rows_that_are_wrong(numbers, size, dropped):
    built = build(json.loads(FIRST_THREE), numbers, Sizes(((size,),), ((size,),)))
    assert (None if built is None else built.dropped) == dropped
    if dropped:
        assert built.lineages == (Lineage.empty((size,), (size,)),)


def test_folds_that_vanish_and_folds_that_are_wrong():
    skeleton = json.loads('[{"t":[[{"b":[0],"a":[0],"r":[[[-1],[0,1,2,3]]]}]]}]')
    sizes = Sizes(((5,),), ((5,),))
    flip = (0, 0, 4, 4)
    assert build(skeleton, (*flip, 5, 1, 1, -1, -1), sizes).dropped == ()
    assert build(skeleton, (*flip, 0, 1, 1, -1, -1), sizes).dropped == (0,)
    assert build(skeleton, (*flip, -1, 1, 1, -1, -1), sizes) is None
    assert build(skeleton, (*flip, 6, 1, 1, -1, -1), sizes) is None
