"""Masked arrays of tracked arrays: numpy's values, what is seen from what is seen and the mask."""

import copy
import pickle

import numpy as np
import pytest
from test_tracked_parts import M, V, check

import dslog

HIDE = [False, True, False, False, True, False]
LATE = np.array([[0, 1, 0], [0, 0, 1]], bool)


def assigned(x):
    made = np.ma.masked_array(np.ones(6), HIDE)
    made[2:5] = x[:3]
    made[0] = np.ma.masked
    return [made.filled(0), made.mask]


def in_place(x):
    made = np.ma.masked_array(x.copy(), HIDE)
    made += 1
    made *= np.ma.masked_array([2.0] * 6, [True] + [False] * 5)
    return made.filled(0)


EQUAL = {
    "filled": lambda x: np.ma.array(x, mask=HIDE).filled(0),
    "filled by a function": lambda x: np.ma.filled(np.ma.array(x, mask=HIDE), 0),
    "another dtype": lambda x: np.ma.array(x, mask=HIDE, dtype="f4").filled(0),
    "a dtype by place": lambda x: np.ma.masked_array(x, HIDE, float).filled(0),
    "hidden without a copy": lambda x: np.ma.masked_where(HIDE, x, copy=False).filled(0),
    "own fill value": lambda x: np.ma.array(x, mask=HIDE, fill_value=7.5).filled(),
    "sum": lambda x: [np.ma.array(x, mask=HIDE).sum(), np.sum(np.ma.array(x, mask=HIDE))],
    "mean": lambda x: [np.ma.array(x, mask=HIDE).mean(), np.ma.mean(np.ma.array(x, mask=HIDE))],
    "mean of lines": lambda x: np.ma.array(x.reshape(2, 3), mask=LATE).mean(axis=1).filled(0),
    "sum of lines": lambda x: np.ma.array(x.reshape(2, 3), mask=LATE).sum(axis=0).filled(0),
    "a hidden line": lambda x: np.ma.array(x[:3], mask=True).reshape(1, 3).sum(1).filled(2),
    "std": lambda x: [np.ma.array(x, mask=HIDE).std(), np.ma.array(x, mask=HIDE).var(ddof=1)],
    "median": lambda x: np.ma.median(np.ma.array(x, mask=HIDE)),
    "compressed": lambda x: np.ma.array(x, mask=HIDE).compressed(),
    "cumsum": lambda x: np.ma.array(x, mask=HIDE).cumsum().filled(0),
    "arithmetic": lambda x: (2 * np.ma.array(x, mask=HIDE) + 1 - x[::-1]).filled(-1),
    "both sides": lambda x: (x + np.ma.masked_array(np.ones(6), HIDE)).filled(0),
    "two masks": lambda x: (np.ma.array(x, mask=HIDE) * np.ma.array(x, mask=HIDE[::-1])).filled(9),
    "division": lambda x: (1 / np.ma.array(x - 2, mask=HIDE)).filled(9),
    "a number": lambda x: np.ma.array(x, mask=HIDE)[3] * 2,
    "a piece": lambda x: np.ma.array(x, mask=HIDE)[1:4].filled(0),
    "moved": lambda x: np.ma.array(x, mask=HIDE).reshape(2, 3).T.filled(0),
    "cells": lambda x: np.array([float("nan") if c is np.ma.masked else c for c in
                                 np.ma.array(x, mask=HIDE)]),
    "masked_invalid": lambda x: np.ma.masked_invalid(x / (x - 2)).filled(9),
    "picked": lambda x: (m := np.ma.array(x, mask=HIDE))[m > np.ma.array(x - 1)].filled(0),
    "anomalies": lambda x: np.ma.array(x, mask=HIDE).anom().filled(0),
    "anomalies of lines": lambda x: np.ma.array(x.reshape(2, 3), mask=LATE).anom(axis=1).filled(0),
    "stacked": lambda x: [np.ma.stack([m := np.ma.array(x, mask=HIDE), x]).filled(0),
                          np.ma.hstack([m, m]).filled(0), np.ma.append(m, x).filled(1)],
    "differences": lambda x: np.ma.diff(np.ma.array(x, mask=HIDE)).filled(0),
    "assigned": assigned,
    "in place": in_place,
    "without a mask": lambda x: [np.ma.array(x).mean(), np.ma.asarray(x).filled(3) * 1],
}  # fmt: skip
READ = {
    "masked_where": lambda x: np.ma.masked_where(x > 2, x).filled(0),
    "mean of masked_where": lambda x: np.ma.masked_where(x > 2, x).mean(),
    "sum of lines": lambda x: np.ma.masked_less(x.reshape(2, 3), 0).sum(axis=1).filled(0),
    "max": lambda x: np.ma.masked_greater(x, 5).max(),
    "min": lambda x: np.ma.array(x, mask=HIDE).min(),
    "average": lambda x: np.ma.average(np.ma.masked_array(x, x > 5)),
    "count": lambda x: np.ma.masked_outside(x, 0, 3).count(),
    "mask": lambda x: np.ma.masked_inside(x, 3, 0).mask,
    "masked_equal": lambda x: np.ma.masked_equal(x, 2.0).filled(),
    "where": lambda x: np.ma.where(x > 2, np.ma.array(x, mask=HIDE), 0).filled(1),
    "concatenate": lambda x: np.ma.concatenate([x, np.ma.masked_array(x, x > 2)]).filled(0),
    "comparison": lambda x: (np.ma.array(x, mask=HIDE) > 1).filled(False),
    "sqrt": lambda x: np.ma.sqrt(x).filled(0),
    "clipped": lambda x: np.ma.array(x, mask=HIDE).clip(-9, 9).round(2).astype("f4").filled(0),
    "sorted": lambda x: np.ma.sort(np.ma.array(x, mask=HIDE)).filled(0),
    "places": lambda x: [np.ma.array(x, mask=HIDE).argmax(), np.ma.array(x, mask=HIDE).argmin()],
    "span": lambda x: np.ma.array(x, mask=HIDE).ptp(),
    "dot": lambda x: np.ma.dot(m := np.ma.array(x.reshape(2, 3), mask=LATE), m.T).filled(0),
}


@pytest.mark.parametrize("name", EQUAL)
def test_what_a_change_shows(name):
    check(EQUAL[name], V, equal=True)


@pytest.mark.parametrize("name", READ)
def test_masks_are_read(name):
    check(READ[name], V, equal=False)


def test_the_mask_is_read_where_it_decides():
    with dslog.open(":memory:", leaks="error") as store:
        x, hide = store.track(V.copy(), "A"), store.track(np.array(HIDE), "H")
        made = np.ma.array(x, mask=hide)
        filled, total = made.filled(0).named("filled"), made.sum().named("total")
        for k in range(6):
            assert store.backward("filled", [(k,)], "A").count == (not HIDE[k])
            assert store.backward("filled", [(k,)], "H").indices().tolist() == [[k]]
        assert store.backward("total", np.ones((), bool), "A").count == 4
        assert store.backward("total", np.ones((), bool), "H").count == 6
        assert float(dslog.plain(filled).sum()) == dslog.plain(total)
        cell, middle = store.name(made[0], "cell"), store.name(np.ma.median(made), "middle")
        assert store.backward(cell.name, np.ones((), bool), "H").indices().tolist() == [[0]]
        assert store.backward(middle.name, np.ones((), bool), "H").count == 6


def test_without_something_hidden_the_data_is_filled():
    with dslog.open(":memory:") as store:
        x = store.track(M.copy(), "A")
        made, plain = np.ma.array(x.T, mask=np.zeros((3, 2))), np.ma.array(M.T, mask=LATE.T)
        assert made.filled(0).flags.f_contiguous
        assert plain.filled(0).flags.f_contiguous


def test_numpys_own_ways_of_joining_and_looking_up():
    with dslog.open(":memory:", leaks="ignore") as store:
        x = store.track(V.copy(), "A")
        made, plain = np.ma.array(x, mask=HIDE), np.ma.array(V, mask=HIDE)
        assert np.ma.mr_[made, 1.0].tolist() == np.ma.mr_[plain, 1.0].tolist()
        assert np.ma.isin(made, [2.0]).tolist() == np.ma.isin(plain, [2.0]).tolist()
        assert [leak.way for leak in store.leaks() if leak.loses] == ["mr_", "isin"]


def test_what_is_not_known_leaves_and_is_numpys():
    with dslog.open(":memory:", leaks="ignore") as store:
        x = store.track(V.copy(), "A")
        made, plain = np.ma.array(x, mask=HIDE), np.ma.array(V, mask=HIDE)
        assert np.ma.ediff1d(made).tolist() == np.ma.ediff1d(plain).tolist()
        assert [leak.way for leak in store.leaks() if leak.loses] == ["ediff1d"]
        made.sort()
        plain.sort()
        assert str(made) == str(plain)
        assert repr(made) == repr(plain)
        assert not store.backward((made.filled(0) * 1).name, [(0,)], "A").complete
        assert isinstance(made, np.ma.MaskedArray)
        assert isinstance(plain, np.ma.MaskedArray)
        assert np.ma.is_masked(made)
        assert made.fill_value == plain.fill_value
        assert np.ma.array([1, 2], mask=[0, 1]).sum() == 1

        class Own(np.ma.masked_array):
            pass

        assert issubclass(Own, np.ma.MaskedArray)
        assert issubclass(Own, np.ma.masked_array)
        assert isinstance(plain, np.ma.masked_array)


def test_copies_and_pickles():
    with dslog.open(":memory:", leaks="ignore") as store:
        x = store.track(V.copy(), "A")
        made, plain = np.ma.array(x, mask=HIDE), np.ma.array(V, mask=HIDE)
        for copied in (copy.copy(made), copy.deepcopy(made), made.copy()):
            copied[0] = 9.0
            assert float(made[0]) == V[0]
            assert store.backward((copied.filled(0) * 1).name, [(2,)], "A").count == 1
        assert not any(leak.way == "pickle" for leak in store.leaks())
        for array in (made, plain):
            again = pickle.loads(pickle.dumps(array))
            assert type(again) is np.ma.MaskedArray
            assert str(again) == str(plain)
        assert any(leak.way == "pickle" for leak in store.leaks())


def test_all_is_as_it_was_after_the_last_store():
    with dslog.open(":memory:") as store:
        store.track(M.copy())
    assert type(np.ma.array([1.0])) is np.ma.MaskedArray
    assert type(np.ma.MaskedArray) is type


@pytest.mark.parametrize("options", [{"keep_mask": False}, {"hard_mask": True}])
def test_options_that_are_not_followed_are_leaks(options):
    with dslog.open(":memory:", leaks="ignore") as store:
        x = store.track(np.arange(6.0), "x")
        made = np.ma.array(x, mask=HIDE, **options)
        assert type(made) is np.ma.MaskedArray
        assert {(leak.array, leak.way, leak.loses) for leak in store.leaks()} == {
            ("x", "array", True)
        }
