"""Neighbourhoods: differences, convolutions, padding, bits."""

import numpy as np
import pytest
from numpy_oracles import case, check, contains, floats, traced

X = floats(3, 4)
BITS = (np.arange(57).reshape(3, 19) * 7 % 3 == 0).astype(np.uint8)
BYTES = (np.arange(6).reshape(2, 3) * 37).astype(np.uint8)

CASES = [
    case(np.diff, X),
    case(np.diff, X, 2, axis=0),
    case(np.diff, floats(5), 3),
    case(np.diff, X, 0),
    case(np.diff, floats(), 0),
    case(np.diff, floats(3), 5),
    case(np.diff, X, prepend=floats(3, 2), append=0.0),
    case(np.diff, X, prepend=floats(), axis=0),
    case(np.diff, X, 2, prepend=floats(), append=floats(3, 1)),
    case(np.ediff1d, X),
    case(np.ediff1d, floats(4), to_begin=floats(2), to_end=[1.0]),
    case(np.ediff1d, floats(1)),
    case(np.trapezoid, X),
    case(np.trapezoid, X, axis=0, x=floats(3)),
    case(np.trapezoid, X, x=floats(3, 4)),
    case(np.trapezoid, floats(3, 1)),
    case(np.trapezoid, X, dx=floats()),
    case(np.gradient, floats(5)),
    case(np.gradient, floats(2)),
    case(np.gradient, floats(5), edge_order=2),
    case(np.gradient, floats(3), edge_order=2),
    case(np.gradient, X),
    case(np.gradient, X, 2.0, axis=1),
    case(np.gradient, X, 2.0, axis=(0, 1)),
    case(np.gradient, floats(5), np.cumsum(floats(5))),
    case(np.gradient, floats(5), np.cumsum(floats(5)), edge_order=2),
    case(np.gradient, X, floats(), np.cumsum(floats(4))),
    contains(np.gradient, floats(4), np.arange(4.0)).but(
        nudge="",
        expect=[[lambda b, a: a[0] in ((0, 1), (0, 2), (1, 3), (2, 3))[b[0]],
                 lambda b, a: a[0] < 2]],
    ),
    *(contains(np.packbits, BITS, axis=axis).but(nudge="u") for axis in (None, 0, 1)),
    contains(np.packbits, BITS[:, :16], axis=1).but(nudge="u"),
    contains(np.packbits, BITS[:0]),
    *(
        contains(np.unpackbits, BYTES, **kwargs).but(nudge="u")
        for kwargs in (
            {}, {"axis": 0}, {"axis": 1}, {"count": 5}, {"count": 11}, {"axis": 1, "count": 40},
            {"axis": 1, "count": -3},
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("one", CASES, ids=str)
def test_windows(one):
    for per_input in check(one.but(kind="rule")):
        for lineage in per_input:
            assert lineage.num_rows <= 3


SIZES = [(5, 3), (3, 5), (4, 4), (5, 2), (2, 5), (1, 4), (4, 1), (6, 5), (1, 1)]


@pytest.mark.parametrize("func", [np.convolve, np.correlate], ids=lambda f: f.__name__)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_convolutions(func, sizes, mode):
    (lineages,) = check(case(func, *(floats(n) for n in sizes), mode=mode).but(kind="rule"))
    assert all(lineage.num_rows <= 3 for lineage in lineages)


def test_modes_have_defaults():
    check(case(np.convolve, floats(4), floats(2)))
    check(case(np.correlate, floats(4), floats(2)))


MODES = [
    "constant",
    "edge",
    "linear_ramp",
    "maximum",
    "minimum",
    "mean",
    "reflect",
    "symmetric",
    "wrap",
]
WIDTHS = [1, (2, 1), ((1, 2), (0, 3)), ((0, 7), (9, 0))]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("width", WIDTHS, ids=str)
def test_padding(mode, width):
    one = case(np.pad, X, width, mode).but(kind="rule")
    check(one.but(oracle="contains") if mode in ("maximum", "minimum", "linear_ramp") else one)


MORE_PADDING = [
    case(np.pad, X, {1: (2, 1)}, "edge"),
    case(np.pad, X, 2, "mean", stat_length=2),
    case(np.pad, X, 2, "mean", stat_length=((1, 2), (3, 9))),
    case(np.pad, X, 2, "reflect", reflect_type="odd"),
    case(np.pad, floats(4), (3, 2), "symmetric", reflect_type="odd"),
    case(np.pad, floats(1), 3, "reflect"),
    case(np.pad, floats(2, 3, 2), 1, "mean"),
    case(np.pad, floats(0, 2), 1),
    contains(np.pad, X, 1, "empty").but(nudge=""),
    traced(np.pad, X, ((5, 0), (4, 4)), "symmetric", reflect_type="odd").but(kind="trace"),
    case(np.pad, X, 2, "median").but(kind="trace"),
]


def doubled(vector, width, axis, kwargs):
    vector[: width[0]] = vector[width[0]] * 2
    vector[-width[1] :] = 10.0


@pytest.mark.parametrize(
    "one", [*MORE_PADDING, case(np.pad, X, 2, doubled).but(kind="trace")], ids=str
)
def test_more_padding(one):
    check(one.but(kind=one.kind or "rule"))
