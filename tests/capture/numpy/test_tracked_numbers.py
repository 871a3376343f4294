"""Tracked numbers are to C and Python what numpy's numbers are: no sequences, integers, buffers."""

import collections.abc
import operator
import struct
from itertools import product

import numpy as np
import pytest
import scipy.ndimage
import scipy.signal
from numpy import array as imported_array
from numpy import zeros as imported_zeros
from tracked_shadow import cell

import dslog

NUMBERS = {
    "float": np.array([2.0, 3.0]),
    "single": np.array([2, 3], np.float32),
    "int": np.array([2, 3]),
    "byte": np.array([2, 3], np.uint8),
    "bool": np.array([False, True]),
    "complex": np.array([1 + 2j, 3]),
    "date": np.array(["2020-01-01", "2021-02-03"], "M8[D]"),
}
SAME = {  # functions are looked up when they are called, as in a program
    "list": list,
    "tuple": tuple,
    "sum": sum,
    "sorted": sorted,
    "iter": iter,
    "in": lambda t: 3.0 in t,
    "len": len,
    "unpack": lambda t: [*t],
    "iterable": lambda t: (np.iterable(t), isinstance(t, collections.abc.Iterable)),
    "has": lambda t: [hasattr(t, f"__{n}__") for n in ("index", "len", "iter", "getitem")],
    "sequence": operator.concat,
    "item 0": lambda t: t[0],
    "item ()": lambda t: t[()],
    "item None": lambda t: t[None],
    "item ...": lambda t: t[...],
    "item None, ...": lambda t: t[None, ..., None],
    "bytes": bytes,
    "bytearray": bytearray,
    "memoryview": lambda t: memoryview(t).tobytes(),
    "struct d": lambda t: struct.pack("d", t),
    "struct q": lambda t: struct.pack("q", t),
    "frombuffer": lambda t: np.frombuffer(t, np.uint8),
    "imported array": lambda t: imported_array(t),  # noqa: PLW0108
    "imported array of two": lambda t: imported_array([t, t]),
    "as single": lambda t: np.float32(t),  # noqa: PLW0108
    "index": operator.index,
    "range": lambda t: list(range(t)),
    "list item": lambda t: [0, 1, 2, 3, 4][t],
    "repeated": lambda t: [0, 1] * t,
    "normal": lambda t: np.random.default_rng(0).normal(size=t),
    "normal of two": lambda t: np.random.default_rng(0).normal(size=(t, 2)),
    "rand": lambda t: np.random.RandomState(0).rand(t),
    "seed": lambda t: np.random.default_rng(t).random(),
    "old seed": lambda t: np.random.RandomState(t).random(),
    "broadcast_to": lambda t: np.broadcast_to(1, t),
    "zeros": lambda t: np.zeros(t),  # noqa: PLW0108
    "imported zeros": lambda t: imported_zeros(t),  # noqa: PLW0108
    "zeros of two": lambda t: imported_zeros((t, 2)),
    "masked zeros": lambda t: np.ma.zeros(t),  # noqa: PLW0108
    "fftfreq": lambda t: np.fft.fftfreq(t),  # noqa: PLW0108
    "hann": lambda t: scipy.signal.windows.hann(t),  # noqa: PLW0108
    "hanning": lambda t: np.hanning(t),  # noqa: PLW0108
    "reshape": lambda t: np.arange(12).reshape(t, -1),
    "gaussian_filter": lambda t: scipy.ndimage.gaussian_filter(np.eye(5), t),
    "uniform_filter": lambda t: scipy.ndimage.uniform_filter(np.eye(5), t),
    "zoom": lambda t: scipy.ndimage.zoom(np.eye(3), t),
    "indices": lambda t: np.indices((t, 2)),
}


REFUSED = [
    "imported array of two",
    "old seed",
    "hanning",
    "bytes",
    "bytearray",
    "memoryview",
    "frombuffer",
]
KINDS = sorted(set(product(NUMBERS, SAME)) - {("date", name) for name in REFUSED})


def result(function, value):
    """What a function gives, or the kind of its error."""
    try:
        return function(value)
    except Exception as error:  # noqa: BLE001
        return type(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "name"), KINDS)
def test_a_tracked_number_is_what_numpys_is(store, kind, name):
    plain = NUMBERS[kind][1]
    number = store.track(NUMBERS[kind], "A")[1]
    expected, found = result(SAME[name], plain), result(SAME[name], number)
    if isinstance(expected, type):
        assert found is expected
        return
    assert np.shape(found) == np.shape(expected)
    assert np.array_equal(dslog.plain(found), expected)


@pytest.mark.parametrize("name", ["bytes", "memoryview", "frombuffer", "seed"])
def test_a_number_that_leaves_as_a_buffer_is_noted(store, name):
    SAME[name](store.track(np.array([2, 3]), "A")[1])
    (leak,) = store.leaks()
    assert leak.array == "A"
    assert leak.line > 0


def test_a_recursive_flatten_loses_nothing(store):
    def flatten(nested):
        for item in nested:
            yield from flatten(item) if np.iterable(item) else [item]

    x = store.track(np.arange(3.0), "A")
    y = np.array(list(flatten([[x[0], [x[1]]], x[2]])))
    assert dslog.plain(y).tolist() == [0, 1, 2]
    assert cell(store, y, (1,), "A") == [(1,)]
