"""Libraries are watched when a program imports them, and as much of them as it imports."""

import subprocess
import sys

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("skimage")

SETUP = """
import sys
import numpy as np
import dslog

def loaded(*names):
    return [name for name in names if any(f"{one}.".startswith(f"{name}.") for one in sys.modules)]

def source(result, of="x"):
    cells = store.backward(store.name_of(result), [(3,) * np.ndim(result)], to=of)
    return cells.count, cells.exact

store = dslog.open(":memory:")
values = np.random.default_rng(0).random((7, 8))
x = store.track(values, "x")
"""


def run(code):
    """What a program prints that begins with DSLog; one of its own, for what is imported counts."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SETUP + code],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_nothing_is_imported_before_the_program_does():
    lines = run("""
dslog.watch("all")
heavy = ("scipy.ndimage", "scipy.signal", "scipy.sparse", "scipy.stats", "skimage", "sklearn")
print(loaded(*heavy))
import scipy.ndimage
print(loaded(*heavy))
print(source(scipy.ndimage.gaussian_filter(x, 0.5)))
import skimage.filters
print(loaded(*heavy), "skimage.filters.edges" in sys.modules)
print(source(skimage.filters.sobel(x)))
import sklearn.preprocessing
print(loaded("sklearn"), loaded("sklearn.manifold", "sklearn.svm"))
print(source(sklearn.preprocessing.minmax_scale(x)))
""")
    assert lines[0] == "[]"
    assert "scipy.ndimage" in lines[1]
    assert "scipy.signal" not in lines[1]
    assert "scipy.stats" not in lines[1]
    assert lines[2] == "(25, True)"
    assert "sklearn" not in lines[3]
    assert lines[3].endswith("False")
    assert lines[4] == "(8, True)"
    assert lines[5:] == ["['sklearn'] []", "(7, True)"]


def test_names_that_were_imported_before_and_after():
    lines = run("""
from scipy.ndimage import gaussian_filter as before
from skimage.filters import median, sobel
from skimage.filters.rank import median as rank_median
plain = before(values, 0.5), sobel(values), median(values)
watched = dslog.watch("all")
from scipy.ndimage import gaussian_filter as after, sobel as scipy_sobel
from skimage.filters import prewitt
for f in (before, after, scipy_sobel, sobel, prewitt):
    result = f(x, 0.5) if "gaussian" in f.__name__ else f(x)
    print(f.__module__, type(result).__name__, *source(result))
same = before(values, 0.5), sobel(values), median(values)
print(all(map(np.array_equal, plain, same)), median is not rank_median)
print(rank_median.__module__, before == after, source(median(x)))
watched.end()
print(type(before).__name__, type(sobel).__name__)
import skimage.filters
print(type(skimage.filters.sobel).__name__, type(skimage.filters.roberts).__name__)
""")
    names = [line.split()[0].partition(".")[0] for line in lines[:5]]
    assert names == ["scipy", "scipy", "scipy", "skimage", "skimage"]
    assert [line.split()[1] for line in lines[:5]] == ["TrackedArray"] * 5
    assert [line.split()[2:] for line in lines[:2]] == [["25", "True"]] * 2
    assert lines[5:] == [
        "True True", "skimage.filters.rank.generic True (1, True)", "function function",
        "function function",
    ]  # fmt: skip


def test_a_function_of_numpy_is_known_when_it_is_an_argument():
    lines = run("""
import skimage.measure
dslog.watch(skimage.measure)
def own(block, axis):
    return block.max(axis)

def unseen(block, axis):
    return np.array(block.tolist()).max(axis)

for options in ({}, {"func": np.max}, {"func": own}, {"func": unseen}):
    print(source(skimage.measure.block_reduce(x, (2, 2), **options)))
""")
    assert lines == ["(2, True)", "(2, True)", "(2, True)", "(56, False)"]


def test_a_library_that_is_named_is_watched_at_once():
    lines = run("""
import scipy.signal
with dslog.watch(scipy.signal):
    print(source(scipy.signal.savgol_filter(x, 3, 1)))
print(type(scipy.signal.savgol_filter).__name__)
try:
    dslog.watch("scippy")
except dslog.CaptureError as error:
    print(error)
""")
    assert lines[0] == "(3, True)"
    assert lines[1] == "function"
    assert "did you mean 'scipy'" in lines[2].lower()
