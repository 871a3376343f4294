"""Libraries whose compiled code takes nothing but real arrays and numbers."""

import sqlite3
import subprocess
import sys

import numba
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from skimage import feature, transform

import dslog

A = np.array([0.3, 1.1, -0.4, 2.2, 0.9])
C = np.array([0, 2, 1, 0, 2])

PANDAS = """
pd.Series(a)[a > 0.5]
pd.Series(list(a))
pd.Series([a[0], 1.0, 2])
pd.Series({"p": a[0], "q": 2})
pd.Series(a[0], index=[0, 1])
pd.Series(v for v in a)
pd.Series(a).replace(a[0], 5.0)
pd.Series(a).rolling(c[1]).mean()
pd.Series(a).groupby(c).sum()
pd.Series(c).map({c[0]: a[0], c[1]: a[1]})
pd.Series([0, 1, 2]).map(lambda i: a[i])
pd.Series([0, 1, 2]).map(a.__getitem__)
pd.Series(a).agg(["mean", lambda v: v.max() - a[0]])
pd.Series(a).head(c[1])
pd.DataFrame([a, a])
pd.DataFrame([(v, w) for v, w in zip(a, c)])
pd.DataFrame([{"p": v} for v in a])
pd.DataFrame({"a": a, "m": a.mean()})
pd.DataFrame({"a": iter(a)})
pd.DataFrame({"a": a}).assign(m=a.mean(), b=lambda d: a * 2)
pd.DataFrame({"a": a})[a > a.mean()]
pd.DataFrame({"a": a}).loc[a > 0.5, "a"]
pd.DataFrame({"a": a}).iloc[c[1]]
pd.DataFrame({"a": a}) * a[:, None]
pd.DataFrame({"a": a, "k": c}).groupby(c).mean()
pd.DataFrame({"a": a}).set_index(c)
pd.DataFrame.from_records([(v, w) for v, w in zip(a, c)])
pd.DataFrame(np.rec.fromarrays([a, a], names="p,q"))
pd.merge(pd.DataFrame({"k": c}), pd.DataFrame({"k": list(c[:2])}))
pd.Index([c[0], c[1]])
pd.Categorical(c)
pd.MultiIndex.from_product([c[:2], [1]])
pd.RangeIndex(c[1])
pd.date_range("2020", periods=c[1])
pd.Timestamp(c[1])
pd.Timedelta(a[1], "D")
"""


def seen(value):
    """A value of pandas with its types, as text that can be compared."""
    if isinstance(value, pd.DataFrame):
        return [[name, *map(seen, (value[name], value.index))] for name in value]
    if isinstance(value, (pd.Series, pd.Index, pd.Categorical)):
        return [str(value.dtype), [repr(item) for item in value.tolist()]]
    return repr(value)


@pytest.mark.parametrize("line", PANDAS.strip().splitlines())
def test_pandas_gets_what_it_gets_of_numpy(store, line):
    code = compile(line, f"<{line}>", "eval")
    wanted = seen(eval(code, {"pd": pd, "np": np, "a": A.copy(), "c": C.copy()}))
    tracked = {"a": store.track(A.copy(), "a"), "c": store.track(C.copy(), "c")}
    assert seen(eval(code, {"pd": pd, "np": np, **tracked})) == wanted
    assert any(leak.loses for leak in store.leaks())


def test_what_a_function_passes_on_stays_tracked(store):
    a = store.track(A, "a")
    made = pd.Series([1.0, 2]).pipe(lambda _: a * 2)
    assert store.name_of(made) is not None


def test_a_column_written_in_pandas_is_seen_in_the_array(store):
    a = store.track(A.copy(), "a")
    b = a.reshape(-1, 1)
    frame = pd.DataFrame(b, copy=False)
    frame.iloc[0, 0] = 7.0
    assert dslog.plain(a)[0] == np.asarray(frame)[0, 0]
    (a * 2).named("twice")
    assert not store.backward("twice", 0, to="a").complete


def test_arrow(store):
    a = store.track(A, "a")
    assert pa.array(a).to_pylist() == pa.array(list(a)).to_pylist() == A.tolist()
    assert pa.table({"a": a, "c": [1] * 5})["a"].to_pylist() == A.tolist()
    assert pa.Table.from_pydict({"a": a})["a"].to_pylist() == A.tolist()
    assert pa.scalar(a[1]).as_py() == A[1]
    assert any(leak.way == "pyarrow" for leak in store.leaks())


def test_a_database(store):
    a = store.track(A, "a")
    assert sqlite3.connect(":memory:").execute("select ?", (a[1],)).fetchone() == (A[1],)
    assert [leak.way for leak in store.leaks()] == ["sqlite3"]


@numba.stencil
def neighbours(a):
    return a[-1] + a[1]


def test_a_stencil(store):
    a = store.track(A, "a")
    assert neighbours(a).tolist() == neighbours(A).tolist()
    assert [leak.way for leak in store.leaks()] == ["numba"]


def test_factors_of_a_sparse_matrix(store):
    a, matrix = store.track(A, "a"), sparse.csc_matrix(np.diag(A))
    factors = sparse.linalg.splu(matrix)
    assert isinstance(factors, sparse.linalg.SuperLU)
    assert factors.shape == (5, 5)
    assert np.array_equal(factors.solve(a), sparse.linalg.splu(matrix).solve(A))
    assert np.array_equal(sparse.linalg.factorized(matrix)(a), np.ones(5))
    assert {leak.way for leak in store.leaks()} == {"SuperLU"}


def test_compiled_code_that_refuses_an_array_says_what_to_do(store):
    a = store.track(A, "a")
    with pytest.raises(TypeError, match=r"dslog\.watch.*dslog\.plain"):
        np.ndarray.__add__(a, 1)
    with pytest.raises(TypeError, match=r"Tracked_float64 \(dslog\.plain"):
        "".join([a[0]])


def test_libraries_are_as_they_were_after_the_last_store():
    kinds = pd.DataFrame, pd.Series, numba.core.dispatcher.Dispatcher
    before, array = [dict(vars(kind)) for kind in kinds], pa.array
    for _ in range(2):
        with dslog.open(":memory:") as store:
            store.track(A, "a")
            assert pd.DataFrame.__init__ is not before[0]["__init__"]
        assert [dict(vars(kind)) for kind in kinds] == before
        assert pa.array is array


def test_a_library_that_is_imported_while_a_store_tracks():
    code = """
import sys, warnings, numpy as np, dslog
warnings.simplefilter("ignore")
assert "pandas" not in sys.modules
with dslog.open(":memory:") as store:
    a = store.track(np.arange(3.0), "a")
    import pandas as pd
    assert pd.Series([a[0], a[1]]).dtype == float
    assert pd.Series(list(a))[a > 0.5].tolist() == [1.0, 2.0]
    assert store.leaks()
assert not any("Arrivals" in type(finder).__name__ for finder in sys.meta_path)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_opencv(store):
    cv2 = pytest.importorskip("cv2")
    a = store.track(np.outer(A, A), "a")
    with dslog.watch("cv2"):
        blurred = cv2.blur(a, (3, 3))
    cells = store.backward(store.name_of(blurred), (0, 0), to="a")
    assert (cells.count, cells.exact, cells.complete) == (25, False, True)
    assert np.array_equal(cv2.blur(a, (3, 3)), cv2.blur(np.outer(A, A), (3, 3)))
    assert [leak.way for leak in store.leaks()] == ["cv2"]


# functions that Cython compiled

COMPILED = {
    "hough_line": lambda a: transform.hough_line(a)[0],
    "probabilistic_hough_line": lambda a: transform.probabilistic_hough_line(a > 0, rng=1),
    "hough_circle": lambda a: transform.hough_circle(a, 2),
    "haar_like_feature": lambda a: feature.haar_like_feature(a, 0, 0, 3, 3, "type-2-x"),
}


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_functions_get_real_arrays(name):
    values = np.add.outer(np.arange(5.0), np.arange(5.0) % 3)
    expected = COMPILED[name](values)
    with dslog.open(":memory:", leaks="ignore") as store:
        x = store.track(values.copy(), "x")
        made = np.zeros((5, 5))
        made += values
        assert type(made) is dslog.TrackedArray
        assert np.array_equal(COMPILED[name](made), expected)
        assert not store.leaks()
        assert np.array_equal(COMPILED[name](x), expected)
        assert any(leak.way == "skimage" and leak.loses for leak in store.leaks())
        made[0] = x[0]
        assert np.array_equal(COMPILED[name](made), expected)
        after = (made + 1).named("after")
        assert not store.backward(after.name, [(0, 0)], to="x").complete


def test_compiled_functions_are_as_before_afterwards():
    code = """
import sys
import skimage.transform.hough_transform as known
import dslog
before = [known._hough_line]  # names of the program are replaced, too
for _ in range(2):
    with dslog.open(":memory:") as store:
        store.track([1.0], "x")
        import skimage.feature.haar
        assert known._hough_line is not before[0]
        assert type(skimage.feature.haar.haar_like_feature_wrapper) is not type(before[0])
    assert known._hough_line is before[0]
"""
    subprocess.run([sys.executable, "-c", code], check=True)
