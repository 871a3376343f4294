"""Captures of every form, compared on a few cells."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dslog.algebra.product import all_to_all
from dslog.compress.encoder import compress
from dslog.lineage.lineage import Lineage
from dslog.reuse.predictor import agrees
from dslog.store.catalog import ArrayInfo, Pair
from dslog.testing import operations

RIGHT, OUT, IN = operations.windows(
    (9, 7), lambda axis, b, n: (max(b - 1, 0), min(b + 1, n - 1)), (9, 7)
)
WRONG = operations.moved((9, 7), lambda x: x)[0]
PAIR = Pair(ArrayInfo("B", OUT), ArrayInfo("A", IN))


def table(pairs):
    return pa.table({name: pairs[:, k] for k, name in enumerate(("b0", "b1", "a0", "a1"))})


def function(pairs):
    cells = {}
    for b0, b1, *a in pairs.tolist():
        cells.setdefault((b0, b1), []).append(tuple(a))
    return lambda cell: cells.get(cell, [])


def written(pairs, tmp_path):
    pq.write_table(table(pairs), tmp_path / "pairs.parquet")
    return tmp_path / "pairs.parquet"


FORMS = {
    "array": lambda pairs, _: pairs,
    "list": lambda pairs, _: pairs.tolist(),
    "table": lambda pairs, _: table(pairs),
    "pandas": lambda pairs, _: table(pairs).to_pandas(),
    "parquet": written,
    "callable": lambda pairs, _: function(pairs),
    "generator": lambda pairs, _: lambda cell: iter(function(pairs)(cell)),
    "rows of arrays": lambda pairs, _: lambda cell: np.array(function(pairs)(cell)),
    "lineage": lambda pairs, _: compress(pairs, OUT, IN),
    "other lineage": lambda pairs, _: compress(pairs, OUT, IN, method="provrc"),
    "forward lineage": lambda pairs, _: compress(pairs, OUT, IN, orientation="forward"),
}


def check(lineage, capture, count=8):
    return agrees(lineage, capture, PAIR, count, np.random.default_rng(0))


@pytest.mark.parametrize("form", FORMS)
def test_forms(form, tmp_path):
    lineage = compress(RIGHT, OUT, IN)
    assert check(lineage, FORMS[form](RIGHT, tmp_path))
    assert not check(lineage, FORMS[form](WRONG, tmp_path))


def test_what_is_missing_and_what_is_too_much_shows():
    lineage = compress(RIGHT, OUT, IN)
    corner = (RIGHT[:, :2] == 0).all(axis=1)
    assert not check(lineage, RIGHT[~corner])
    assert not check(lineage, np.concatenate([RIGHT, [[0, 0, 8, 6]]]))


@pytest.mark.parametrize(
    "capture",
    [
        lambda cell: 1 / 0,
        lambda cell: None,
        lambda cell: ["x"],
        lambda cell: [(0.5, 1.0)],
        lambda cell: [(0, 0, 0)],
        lambda cell: [(99, 99)],
        np.zeros((3, 9)),
        "no such file",
        object(),
    ],
)
def test_nonsense_disagrees(capture):
    assert not check(compress(RIGHT, OUT, IN), capture)


def test_many_cells_are_not_listed():
    """A sum over everything gives a million cells: the first thousand have to do."""
    shape = (1000, 1000)
    pair = Pair(ArrayInfo("B", ()), ArrayInfo("A", shape))
    given = 0

    def endless(cell):
        nonlocal given
        for at in np.ndindex(*shape):
            given += 1
            yield at

    assert agrees(all_to_all((), shape), endless, pair, 8, np.random.default_rng(0))
    assert given <= 1002


def test_nothing_at_all():
    assert agrees(None, None, PAIR, 8, np.random.default_rng(0))
    assert not check(None, RIGHT)
    assert not check(compress(RIGHT, OUT, IN), None)
    empty = Pair(ArrayInfo("B", (0, 3)), ArrayInfo("A", (0, 3)))
    rng = np.random.default_rng(0)
    assert agrees(Lineage.empty((0, 3), (0, 3)), lambda cell: 1 / 0, empty, 8, rng)
    scalar = Pair(ArrayInfo("B", ()), ArrayInfo("A", ()))
    assert agrees(compress(np.zeros((1, 0), int), (), ()), lambda cell: [()], scalar, 8, rng)


def test_labels_count():
    lineage = compress(RIGHT, OUT, IN)
    assert not check(lineage, lineage.with_exact(False))
    assert not check(lineage, Lineage.empty((9, 7), (9, 8)))
