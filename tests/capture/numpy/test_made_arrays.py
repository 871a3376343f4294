"""Arrays that numpy makes for a program in any way, and that are filled: they become tracked."""
# ruff: noqa: NPY002

import importlib.util
import io
import math
import statistics
import sys
import textwrap

import numpy as np
import pytest

import dslog

A = np.arange(6.0) + 1.25
MADE = {
    "tile": lambda: np.tile([1.0, 2.0], 3),
    "repeat": lambda: np.repeat([1.0, 2.0], 3),
    "asarray": lambda: np.asarray([1.0, 2, 3, 4, 5, 6]),
    "ascontiguousarray": lambda: np.ascontiguousarray([1.0, 2, 3, 4, 5, 6]),
    "r_": lambda: np.r_[1.0, 2, 3:7],
    "c_": lambda: np.c_[[1.0, 2, 3, 4, 5, 6]][:, 0],
    "mgrid": lambda: np.mgrid[0:6.0],
    "indices": lambda: np.indices((6,), dtype=float)[0],
    "kron": lambda: np.kron([1.0, 2], [1.0, 1, 3]),
    "meshgrid": lambda: np.meshgrid(np.arange(6.0), [1.0, 2])[0][1],
    "fromfunction": lambda: np.fromfunction(lambda i: i * 2.0, (6,)),
    "loadtxt": lambda: np.loadtxt(io.StringIO("1 2 3 4 5 6")),
    "genfromtxt": lambda: np.genfromtxt(io.StringIO("1 2 3 4 5 6")),
    "fromstring": lambda: np.fromstring("1 2 3 4 5 6", sep=" "),
    "hamming": lambda: np.hamming(6),
    "polyfit": lambda: np.polyfit(range(9), range(9), 5),
    "histogram": lambda: np.histogram([1.0, 2, 5], 5)[1],
    "rand": lambda: np.random.rand(6),
    "randn": lambda: np.random.randn(6),
    "normal": lambda: np.random.normal(size=6),
    "uniform": lambda: np.random.uniform(0, 1, 6),
    "randint": lambda: np.random.randint(0, 9, 6).astype(float),
    "random of a generator": lambda: np.random.default_rng(0).random(6),
    "normal of a generator": lambda: np.random.default_rng(0).normal(0, 1, (2, 6))[0],
    "integers": lambda: np.random.default_rng(0).integers(0, 9, 6) * 1.0,
    "RandomState": lambda: np.random.RandomState(3).standard_normal(6),
}


def fill_item(n, x):
    n[1] = x[2]
    return n


def subtract(n, x):
    n -= x
    return n


def fill_view(n, x):
    n[1:3][:] = x[2:4]
    return n


@pytest.mark.parametrize("fill", [fill_item, subtract, fill_view])
@pytest.mark.parametrize("name", MADE)
def test_what_is_filled_is_followed(name, fill):
    """The cells that change with a cell of x are those that are said to come from it."""
    np.random.seed(0)
    plain = MADE[name]()
    expected = fill(plain.copy(), A)
    with dslog.open(":memory:", leaks="error") as store:
        x = store.track(A.copy(), "x")
        np.random.seed(0)
        n = MADE[name]()
        assert isinstance(n, np.ndarray)
        np.testing.assert_array_equal(dslog.plain(n), plain, strict=True)
        z = (fill(n, x) * 2).named("z")
        np.testing.assert_array_equal(dslog.plain(z), expected * 2, strict=True)
        for k in range(6):
            changed = A.copy()
            changed[k] += 1
            hit = np.flatnonzero(fill(plain.copy(), changed) != expected)
            answer = store.forward("x", [(k,)], "z")
            assert answer.exact
            assert answer.indices()[:, 0].tolist() == hit.tolist()


def test_libraries_get_real_arrays():
    code = textwrap.dedent("""
        import numpy as np
        def made(rng):
            drawn = np.random.rand(3), rng.random(3)
            return [np.tile([1.0], 3), *drawn, np.r_[1.0, 2], np.mgrid[0:3]]
    """)
    names = {}
    exec(compile(code, np.__file__, "exec"), names)
    with dslog.open(":memory:") as store:
        store.track(A, "x")
        assert {type(each) for each in names["made"](np.random.default_rng(0))} == {np.ndarray}


def module_of(tmp_path, text, name="program_of_a_test"):
    file = tmp_path / f"{name}.py"
    file.write_text(textwrap.dedent(text))
    spec = importlib.util.spec_from_file_location(name, file)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_names_that_were_imported_before_the_store(tmp_path):
    """``from numpy import zeros`` at the top of a file is followed, and as it was afterwards."""
    module = module_of(
        tmp_path,
        """
        from math import sqrt, exp as exponential
        from statistics import mean
        from numpy import array, asarray, zeros
        from numpy.lib.stride_tricks import as_strided
        from numpy.random import rand

        def filled(x):
            n = zeros(3)
            n[1] = sqrt(x[2])
            return n
        def gathered(x):
            return array([exponential(x[0]), mean(list(x[1:3]))])
        def drawn(x):
            w = rand(6)
            w -= x
            return asarray(w)
        def windows(x):
            return as_strided(x, (5, 2), (8, 8))
        """,
    )
    try:
        before = dict(vars(module))
        with dslog.open(":memory:", leaks="error") as store:
            x = store.track(A.copy(), "x")
            assert store.backward(module.filled(x).name, [(1,)], "x").indices().tolist() == [[2]]
            gathered = module.gathered(x)
            assert dslog.plain(gathered).tolist() == [math.exp(A[0]), statistics.mean(A[1:3])]
            assert store.backward(gathered.name, [(1,)], "x").indices().tolist() == [[1], [2]]
            assert store.backward(module.drawn(x).name, [(4,)], "x").indices().tolist() == [[4]]
            windows = store.backward(module.windows(x).name, [(3, 1)], "x")
            assert windows.indices().tolist() == [[4]]
            assert windows.exact
        assert all(vars(module)[name] is value for name, value in before.items())
    finally:
        del sys.modules["program_of_a_test"]


def test_a_name_that_the_program_changed_meanwhile_stays(tmp_path):
    module = module_of(tmp_path, "from numpy import zeros, ones")
    try:
        with dslog.open(":memory:") as store:
            store.track(A, "x")
            module.zeros = len
            del module.ones
        assert module.zeros is len
        assert not hasattr(module, "ones")
    finally:
        del sys.modules["program_of_a_test"]


def test_a_text_of_a_watched_function_is_a_leak():
    metrics = pytest.importorskip("sklearn.metrics")
    with dslog.open(":memory:", leaks="ignore") as store, dslog.watch("sklearn"):
        labels, y = store.track(np.array([0, 1, 0, 1, 1]), "labels"), store.track(A, "y")
        text = metrics.classification_report(labels, labels[::-1])
        z = y * float(text.split()[6])
        assert not store.backward(z.name, [(0,)], "labels").complete
