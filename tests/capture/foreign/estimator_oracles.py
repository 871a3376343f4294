"""An oracle for estimators that knows nothing of the rules: fit again with one cell changed.

A program gets arrays and gives arrays; it is run on tracked ones, and on plain ones as often as
there are cells. What changes must be among what is said to contribute.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
from perturbation import changed

import dslog
from dslog.capture.numpy.array import TrackedArray, plain_values
from dslog.capture.numpy.memory import TrackedScalar


def arrays_of(result):
    """The arrays and numbers in what a program gives, in order."""
    if isinstance(result, (tuple, list)):
        return [array for item in result for array in arrays_of(item)]
    return [result]


def plain_run(program, arrays):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [np.asarray(one) for one in arrays_of(program(*arrays))]


def influence(program, arrays, size):
    """Per result, per array: the pairs of cells where a change of the second changes the first."""

    def others(value):
        return [value + size] if value.dtype.kind == "f" and not np.isnan(value) else []

    def moved(old, new):
        return ~np.isclose(old, new, rtol=1e-11, atol=1e-12, equal_nan=True)

    copied = [array.copy() for array in arrays]
    return changed(
        lambda: plain_run(program, [array.copy() for array in copied]), copied, others, moved
    )


def followed(store, result, source):
    """The pairs of a result and an array, over however many operations, and whether exact."""
    cells = itertools.product(*map(range, np.shape(plain_values(result))))
    found, exact = set(), True
    for cell in cells:
        try:
            back = store.backward(result.name, [cell] if cell else np.ones((), bool), to=source)
        except dslog.PathError:
            return set(), True
        exact = exact and back.exact
        found |= {(*cell, *map(int, one)) for one in back.indices()}
    return found, exact


def check(program, *arrays, size=1e-4, equal=None, exact=None):
    """Run a program on tracked arrays and judge what is said of its results.

    ``equal`` says of which results lineage is just what changes, ``exact`` which are labelled so.
    """
    arrays = [np.asarray(array) for array in arrays]
    expected = plain_run(program, [array.copy() for array in arrays])
    shown = influence(program, arrays, size)
    with dslog.open(":memory:", leaks="ignore") as store, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = [f"in{k}" for k in range(len(arrays))]
        given = [store.track(a.copy(), name) for a, name in zip(arrays, names, strict=True)]
        warnings.simplefilter("error", category=dslog_warning())
        results = arrays_of(program(*given))
        assert len(results) == len(expected)
        labels = []
        for k, (result, value) in enumerate(zip(results, expected, strict=True)):
            plain = np.asarray(plain_values(result))
            assert plain.dtype == value.dtype
            assert plain.tobytes() == value.tobytes()
            if not isinstance(result, (TrackedArray, TrackedScalar)):
                assert not any(shown[k]), f"result {k} is not tracked"
                labels.append(None)
                continue
            pairs = [followed(store, result, name) for name in names]
            labels.append(all(one for _, one in pairs))
            for place, (mine, _) in enumerate(pairs):
                missed = shown[k][place] - mine
                assert not missed, f"result {k} misses cells of array {place}: {sorted(missed)[:9]}"
                if equal is not None and equal[k] and arrays[place].dtype.kind == "f":
                    more = mine - shown[k][place]
                    assert not more, f"result {k} claims array {place}: {sorted(more)[:9]}"
        if exact is not None:
            assert labels == list(exact)
    return labels


def dslog_warning():
    from dslog.capture.numpy.registry import CaptureWarning

    return CaptureWarning
