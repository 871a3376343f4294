"""Large relations that are products: found by counting on Spark, and only when they are."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from dslog.lineage.large_lineage import LargeLineage
from dslog.lineage.lineage import Lineage
from dslog.relation.relation import column_names
from dslog.spark.relation_job import Options, compress_frame


def product(factors, axes):
    """All combinations of the factors' rows, their columns put at the given axes."""
    rows = []
    for chosen in itertools.product(*factors):
        row = [0] * sum(map(len, axes))
        for part, places in zip(chosen, axes, strict=True):
            for value, place in zip(part, places, strict=True):
                row[place] = value
        rows.append(row)
    return np.array(rows, np.int64)


def scattered(rng, n, size):
    return rng.permutation(size)[:n].reshape(-1, 1).tolist()


def pairs(rng, n, size):
    """Each output with one to three inputs, in no order."""
    return [(out, int(i)) for out in range(n) for i in rng.permutation(size)[: rng.integers(1, 4)]]


def windows(n, size):
    """Each output reads a range whose width changes: a resize that divides nothing."""
    ends = np.linspace(0, size, n + 1)
    return [
        (out, i)
        for out in range(n)
        for i in range(int(ends[out]), max(int(np.ceil(ends[out + 1])), 1))
    ]


RNG = np.random.default_rng(0)
CASES = {
    "resize": (product([windows(30, 43), windows(26, 37)], [(0, 2), (1, 3)]), (30, 26), (43, 37)),
    "crossed": (
        product([pairs(RNG, 25, 30), pairs(RNG, 20, 31)], [(0, 3), (1, 2)]),
        (25, 20),
        (31, 30),
    ),
    "rows and columns": (
        product([pairs(RNG, 60, 60), [(0, 4), (1, 0), (2, 2), (3, 1)]], [(0, 2), (1, 3)]),
        (60, 4),
        (60, 5),
    ),
    "all to all": (
        product([scattered(RNG, 40, 99), scattered(RNG, 30, 99)], [(0,), (1,)]),
        (99,),
        (99,),
    ),
    "three groups": (
        product(
            [scattered(RNG, 9, 20), pairs(RNG, 8, 9), scattered(RNG, 7, 20)], [(0,), (1, 2), (3,)]
        ),
        (20, 8),
        (9, 20),
    ),
}


def ingest(spark, case, tmp_path, partitions, relation=None, **options):
    whole, out_shape, in_shape = case
    relation = whole if relation is None else relation
    shuffled = np.random.default_rng(1).permutation(relation)
    names = column_names(len(out_shape), len(in_shape))
    frame = spark.createDataFrame(pa.table({n: shuffled[:, k] for k, n in enumerate(names)}))
    some = Options(partitions=partitions, **options)
    return compress_frame(frame, out_shape, in_shape, tmp_path, some)


def as_lineage(found):
    """Read parts back, as a store does."""
    if isinstance(found, Lineage):
        return found
    return found.lineage_of(found.units())


@pytest.mark.parametrize(("name", "partitions"), [("resize", 1), *((name, 7) for name in CASES)])
def test_a_large_product_is_small(spark, tmp_path, name, partitions):
    relation, _, _ = case = CASES[name]
    found = ingest(spark, case, tmp_path, partitions, collect_rows=300)
    assert isinstance(found, Lineage)
    assert found.num_rows <= 200
    assert len(found.terms[0]) > 1
    np.testing.assert_array_equal(found.to_relation(), np.unique(relation, axis=0))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("resize", "missing"),
        ("resize", "extra"),
        ("resize", "twice"),
        ("resize", "twice and missing"),
        ("crossed", "missing"),
        ("all to all", "missing"),
        ("all to all", "twice and missing"),
    ],
)
def test_near_misses(spark, tmp_path, name, change):
    relation, out_shape, in_shape = case = CASES[name]
    middle = len(relation) // 2
    near = relation
    if "missing" in change:
        near = np.delete(relation, middle, axis=0)
    if "twice" in change:
        near = np.concatenate([near, near[3:4]])
    if change == "extra":
        held = set(map(tuple, relation.tolist()))
        cells = itertools.product(*map(range, (*out_shape, *in_shape)))
        near = np.concatenate([relation, [next(c for c in cells if c not in held)]])
    found = ingest(spark, case, tmp_path, 2, near, collect_rows=300)
    assert isinstance(found, Lineage) == (change == "twice")
    lineage = as_lineage(found)
    np.testing.assert_array_equal(lineage.to_relation(), np.unique(near, axis=0))


def test_factors_too_large_for_the_driver_stay_in_files(spark, tmp_path):
    case = CASES["crossed"]
    found = ingest(spark, case, tmp_path, 2, collect_rows=40)
    assert isinstance(found, LargeLineage)
    lineage = as_lineage(found)
    np.testing.assert_array_equal(lineage.to_relation(), np.unique(case[0], axis=0))


def test_only_methods_with_factors_look_for_them(spark, tmp_path):
    assert isinstance(
        ingest(spark, CASES["resize"], tmp_path, 2, collect_rows=300, method="provrc"), LargeLineage
    )
