"""Every registered name of a foreign library has an example, and tracked arrays go through."""

import numpy as np
import pytest
from rule_examples import found_by, make_call
from test_ndimage import CASES as NDIMAGE
from test_scipy import CASES as SCIPY
from test_signal import CASES as SIGNAL
from test_signal import CONVOLUTIONS
from test_skimage import CASES as SKIMAGE

import dslog
from dslog import foreign
from dslog.capture.numpy.registry import REGISTRY

ndimage = pytest.importorskip("scipy.ndimage")
signal = pytest.importorskip("scipy.signal")


def test_every_rule_has_an_example():
    shown = {id(one.func) for one in (*NDIMAGE, *SCIPY, *SIGNAL, *CONVOLUTIONS, *SKIMAGE)}
    lacking = {
        entry.name
        for func, entries in REGISTRY.entries.items()
        for entry in entries
        if entry.name.startswith(("scipy.", "skimage.")) and id(func) not in shown
    }
    assert lacking == set()


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (ndimage.gaussian_filter, (0.7,)),
        (ndimage.median_filter, (3,)),
        (signal.savgol_filter, (3, 1)),
    ],
)
def test_tracked_arrays_go_through(function, args):
    plain = np.random.default_rng(4).random((5, 6))
    with dslog.open(":memory:") as store:
        result = foreign(function)(store.track(plain, "x"), *args)
        back = store.backward(result.name, [(2, 3)], to="x").indices()
        assert all(one.exact for one in store.lineages())
    example = next(one for one in (*NDIMAGE, *SIGNAL) if one.func is function)
    call = make_call(example.but(args=(plain, *args), kwargs={}))
    ((lineage,),) = found_by(call)[1]
    expected = {(i, j) for b, c, i, j in lineage.to_relation().tolist() if (b, c) == (2, 3)}
    assert {tuple(one) for one in back.tolist()} == expected


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (ndimage.gaussian_filter, (3,)),
        (ndimage.uniform_filter, (41,)),
        (ndimage.grey_opening, (9,)),
        (ndimage.zoom, (0.5, None, 1)),
    ],
)
def test_large_images_have_small_lineage(function, args):
    image = np.zeros((600, 500))
    call = make_call(next(one for one in NDIMAGE if one.func is function).but(
        args=(image, *args), kwargs={}))  # fmt: skip
    ((lineage,),) = found_by(call)[1]
    assert lineage.num_rows < 2000
