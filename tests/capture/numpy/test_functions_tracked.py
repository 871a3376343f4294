"""Every case again on tracked arrays: numpy's values bit by bit, and the rule's lineage."""

import importlib
import itertools
import warnings

import numpy as np
import pytest
from numpy_oracles import Case, capture, make_call, pairs_of

import dslog
from dslog.capture.numpy.memory import is_tracked

MODULES = [
    "test_functions_elementwise",
    "test_functions_linalg",
    "test_functions_reduce",
    "test_functions_shape",
    "test_functions_window",
    "test_values_sort",
    "test_values_statistics",
]
NOT_DISPATCHED = {np.asarray_chkfinite, np.lib.stride_tricks.as_strided, np.require}
"""Functions in which numpy does not ask the array: they are followed where code says their name."""
GIVE_PYTHON_VALUES = {np.allclose, np.array_equal, np.array_equiv}
UNINITIALISED = ("empty",)


def cases():
    for name in MODULES:
        for value in vars(importlib.import_module(name)).values():
            if isinstance(value, list):
                yield from (one for one in value if isinstance(one, Case))


CASES = [
    one
    for one in cases()
    if one.func not in NOT_DISPATCHED | GIVE_PYTHON_VALUES
    and not any(arg in UNINITIALISED for arg in one.args if isinstance(arg, str))
    and not (one.func is np.full_like and not isinstance(one.args[0], np.ndarray))
]


@pytest.fixture(scope="module")
def store():
    with dslog.open(":memory:") as opened:
        yield opened


def exchanged(value, tracked):
    if id(value) in tracked:
        return tracked[id(value)]
    if type(value) in (list, tuple):
        return type(value)(exchanged(item, tracked) for item in value)
    return value


def flattened(result):
    if isinstance(result, (tuple, list)):
        return [array for item in result for array in flattened(item)]
    return [result] if isinstance(result, (np.ndarray, np.generic)) else []


@pytest.mark.parametrize("one", CASES, ids=str)
def test_tracked(one, store):
    call = make_call(one.func, one.args, one.kwargs)
    _, wanted = capture(call)
    arrays = [store.track(array) for array in call.inputs]
    tracked = {id(array): mine for array, mine in zip(call.inputs, arrays, strict=True)}
    kwargs = {key: exchanged(value, tracked) for key, value in call.kwargs.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = flattened(one.func(*exchanged(call.args, tracked), **kwargs))
    assert len(results) == len(call.outputs)
    for result, output, per_input in zip(results, call.outputs, wanted, strict=True):
        assert same_bits(dslog.plain(result), output)
        if not is_tracked(result) or result.name is None:
            assert not any(lineage.terms for lineage in per_input)
            continue
        for array, lineage in zip(arrays, per_input, strict=True):
            assert recorded(store, result, array) == pairs_of(lineage)


def same_bits(mine, theirs):
    if mine.dtype != theirs.dtype or mine.shape != theirs.shape:
        return False
    return (
        bool(np.all(mine == theirs)) if mine.dtype == object else mine.tobytes() == theirs.tobytes()
    )


def recorded(store, result, array):
    if result.name == array.name:  # numpy gave the array itself
        return {(*cell, *cell) for cell in itertools.product(*map(range, array.shape))}
    try:
        found = store.load(result.name, array.name)
    except dslog.NotFoundError:
        return set()
    return set().union(*(pairs_of(lineage) for lineage in found))
