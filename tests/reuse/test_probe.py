"""Functions, compared on a few cells; what is given in full is in ``test_given``."""

import numpy as np
import pytest

from benchmarks.workloads import relations as operations
from dslog.algebra.product import all_to_all
from dslog.compress.encoder import compress
from dslog.lineage.lineage import Lineage
from dslog.reuse.predictor import Probe, probe
from dslog.store.catalog import ArrayInfo, Pair

RIGHT, OUT, IN = operations.windows(
    (9, 7), lambda axis, b, n: (max(b - 1, 0), min(b + 1, n - 1)), (9, 7)
)
WRONG = operations.moved((9, 7), lambda x: x)[0]
PAIR = Pair(ArrayInfo("B", OUT), ArrayInfo("A", IN))


def function(pairs):
    cells = {}
    for b0, b1, *a in pairs.tolist():
        cells.setdefault((b0, b1), []).append(tuple(a))
    return lambda cell: cells.get(cell, [])


FORMS = {
    "callable": function,
    "generator": lambda pairs: lambda cell: iter(function(pairs)(cell)),
    "rows of arrays": lambda pairs: lambda cell: np.array(function(pairs)(cell)),
}


def check(lineage, capture, count=8, pair=PAIR):
    return probe(lineage, capture, pair, count, np.random.default_rng(0))


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    lineage = compress(RIGHT, OUT, IN)
    assert check(lineage, FORMS[form](RIGHT)) == Probe(8, whole=False)
    assert check(lineage, FORMS[form](WRONG)) is None


def test_what_is_missing_and_what_is_too_much_shows():
    lineage = compress(RIGHT, OUT, IN)
    corner = (RIGHT[:, :2] == 0).all(axis=1)
    assert check(lineage, function(RIGHT[~corner])) is None
    assert check(lineage, function(np.concatenate([RIGHT, [[0, 0, 8, 6]]]))) is None


def test_a_function_that_is_asked_about_every_cell_says_all():
    lineage = compress(RIGHT, OUT, IN)
    assert check(lineage, function(RIGHT), 63) == Probe(63, whole=True)
    for b in np.ndindex(*OUT):
        other = np.concatenate([RIGHT, [[*b, *(8 - b[0], 6 - b[1])]], [[*b, (b[0] + 4) % 9, 0]]])
        assert check(lineage, function(other), 63) is None


@pytest.mark.parametrize(
    "capture",
    [
        lambda cell: 1 / 0,
        lambda cell: None,
        lambda cell: ["x"],
        lambda cell: [(0.5, 1.0)],
        lambda cell: [(0, 0, 0)],
        lambda cell: [(99, 99)],
        object(),
    ],
)
def test_nonsense_disagrees(capture):
    assert check(compress(RIGHT, OUT, IN), capture) is None


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

    assert check(all_to_all((), shape), endless, pair=pair) == Probe(1, whole=False)
    assert given <= 1002


def test_nothing_at_all():
    empty = Pair(ArrayInfo("B", (0, 3)), ArrayInfo("A", (0, 3)))
    nothing = check(Lineage.empty((0, 3), (0, 3)), lambda cell: 1 / 0, pair=empty)
    assert nothing == Probe(0, whole=True)
    scalar = Pair(ArrayInfo("B", ()), ArrayInfo("A", ()))
    one = compress(np.zeros((1, 0), int), (), ())
    assert check(one, lambda cell: [()], pair=scalar) == Probe(1, whole=True)
