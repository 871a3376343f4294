"""Bad input is a DslogError that names the value and the way out, and changes nothing."""

import numpy as np
import pytest

import dslog

SUM = np.array([(i, i, j) for i in range(3) for j in range(2)])


@pytest.fixture
def directory(tmp_path, permutation):
    with dslog.open(tmp_path / "s") as store:
        store.array("image", (3, 2))
        store.array("total", (3,))
        store.array("other", (4000,))
        store.lineage("total", "image", SUM)
        store.lineage("other", "other", permutation(4000))
    return tmp_path / "s"


def raising(index):
    raise RuntimeError("no such sensor")


def operation(capture, **more):
    return lambda s: s.register_operation("sum", ["image"], ["total"], capture, **more)


CASES = {
    "unknown array": (
        lambda s: s.prov_query(["totl", "image"], 0),
        dslog.NotFoundError,
        r"no array 'totl'.*Did you mean 'total'\?",
    ),
    "unknown array, nothing near": (
        lambda s: s.backward("zzz", 0, to="image"),
        dslog.NotFoundError,
        r"no array 'zzz'.*store\.array\('zzz'",
    ),
    "unknown target": (
        lambda s: s.forward("image", (0, 0), to="Total"),
        dslog.NotFoundError,
        "Did you mean 'total'",
    ),
    "unknown array in lineage": (
        lambda s: s.lineage("total", "imag", SUM),
        dslog.NotFoundError,
        "Did you mean 'image'",
    ),
    "unknown array in an operation": (
        lambda s: s.register_operation("f", ["image"], ["totals"], SUM),
        dslog.NotFoundError,
        "Did you mean 'total'",
    ),
    "a name that is no string": (lambda s: s.load(3, "image"), dslog.NotFoundError, "no array 3"),
    "no lineage to load": (
        lambda s: s.load("image", "total"),
        dslog.NotFoundError,
        "store.lineages",
    ),
    "shape redefined": (
        lambda s: s.array("image", (2, 3)),
        dslog.ShapeError,
        r"'image' has shape \(3, 2\), so it can't be defined with \(2, 3\)",
    ),
    "negative shape": (lambda s: s.array("new", (3, -1)), dslog.ShapeError, r"\(3, -1\)"),
    "float shape": (lambda s: s.array("new", (3.0,)), dslog.ShapeError, r"\(3\.0,\) is no shape"),
    "text as shape": (lambda s: s.array("new", "33"), dslog.ShapeError, "'33' is no shape"),
    "no shape": (lambda s: s.array("new", None), dslog.ShapeError, "None is no shape"),
    "too many cells": (lambda s: s.array("new", (2**40, 2**40)), dslog.ShapeError, "more than"),
    "empty name": (lambda s: s.array("", (1,)), dslog.ArgumentError, "not ''"),
    "odd name": (lambda s: s.array("a\nb", (1,)), dslog.ArgumentError, r"'a\\nb'"),
    "half a character": (lambda s: s.array("\ud800", (1,)), dslog.ArgumentError, "printed"),
    "operation without a name": (
        lambda s: s.register_operation("", ["image"], ["total"], SUM),
        dslog.ArgumentError,
        "operation",
    ),
    "cell out of range": (
        lambda s: s.prov_query(["total", "image"], [(3,)]),
        dslog.SelectionError,
        "3",
    ),
    "cell negative": (
        lambda s: s.prov_query(["total", "image"], [(-1,)]),
        dslog.SelectionError,
        "-1",
    ),
    "wrong number of axes": (
        lambda s: s.prov_query(["total", "image"], [(0, 1)]),
        dslog.SelectionError,
        "total",
    ),
    "float cell": (
        lambda s: s.backward("total", [(0.5,)], to="image"),
        dslog.SelectionError,
        "0.5",
    ),
    "nan cell": (
        lambda s: s.explain(["total", "image"], np.array([[np.nan]])),
        dslog.SelectionError,
        "float64|nan",
    ),
    "mask of another shape": (
        lambda s: s.prov_query(["total", "image"], np.ones((2, 2), bool)),
        dslog.SelectionError,
        r"\(2, 2\)",
    ),
    "cells of another shape": (
        lambda s: s.prov_query(["total", "image"], dslog.CellSet.full((4,))),
        dslog.SelectionError,
        r"\(4,\)",
    ),
    "neighbours without lineage": (
        lambda s: s.prov_query(["total", "other"], 0),
        dslog.PathError,
        "no lineage between 'total' and 'other'.*'image' \\(made from\\)",
    ),
    "no path": (
        lambda s: s.backward("image", (0, 0), to="total"),
        dslog.PathError,
        "no path backward from 'image' to 'total'.*use forward",
    ),
    "empty path": (lambda s: s.prov_query([], 0), dslog.PathError, "path is empty"),
    "empty path to explain": (lambda s: s.explain((), 0), dslog.PathError, "path is empty"),
    "text as path": (lambda s: s.prov_query("total", 0), dslog.PathError, r"write \['total'"),
    "capture raises": (operation(raising), dslog.CaptureError, r"cell \(0,\).*no such sensor"),
    "capture returns garbage": (operation(lambda i: [i]), dslog.CaptureError, r"gave \(0,\)"),
    "capture out of range": (operation(lambda i: [(i[0], 2)]), dslog.CaptureError, "outside"),
    "second capture raises": (
        lambda s: s.register_operation(
            "f", ["other", "image"], ["other"], [lambda i: [i[0] * 7 % 4000], raising]
        ),
        dslog.CaptureError,
        "no such sensor",
    ),
    "too few captures": (
        lambda s: s.register_operation("f", ["image", "total"], ["total"], [SUM]),
        dslog.CaptureError,
        "needs 2 captures.*got 1",
    ),
    "bare capture for two pairs": (
        lambda s: s.register_operation("f", ["image", "total"], ["total"], SUM),
        dslog.CaptureError,
        "needs 2 captures.*got 1",
    ),
    "index rows as a list": (operation(SUM.tolist()), dslog.CaptureError, "as a numpy array"),
    "no capture": (operation(None), dslog.CaptureError, "'sum' has no capture"),
    "no capture, reuse allowed": (
        operation(None, reuse=True),
        dslog.CaptureError,
        "'sum' has no capture",
    ),
    "relation with wrong columns": (operation(SUM[:, :2]), dslog.RelationError, r"\(6, 2\)"),
    "relation of floats": (operation(SUM * 1.0), dslog.RelationError, "float64"),
    "relation out of range": (operation(SUM + 1), dslog.RelationError, "a1 = 2"),
    "lineage of another shape": (
        operation(dslog.Lineage.empty((3,), (3, 3))),
        dslog.ShapeError,
        r"\(3, 3\)",
    ),
    "argument that is no value": (
        operation(SUM, op_args={"key": len}),
        dslog.ArgumentError,
        r"op_args\['key'\]",
    ),
    "unknown engine": (
        lambda s: s.prov_query(["total", "image"], 0, engine="gpu"),
        dslog.EngineError,
        "'gpu' is unknown: use one of auto, local, spark",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input(directory, snapshot, case):
    action, error, words = CASES[case]
    before = snapshot(directory)
    with dslog.open(directory) as store:
        with pytest.raises(dslog.DslogError, match=words) as caught:
            action(store)
        assert type(caught.value) is error
        assert store.verify().ok
        assert store.prov_query(["total", "image"], 1).count == 2
    assert snapshot(directory) == before


@pytest.mark.parametrize(
    ("path", "mode", "words"),
    [
        ("missing", "r", "no store at .*mode='a' would make one"),
        ("file", "a", "is a file; a store is a directory"),
        ("file/inside", "a", "can't make a store"),
        ("full", "a", "is no store, and not empty: it holds 'data.csv'"),
        ("full", "r", "is no store"),
        ("empty", "r", "there is no store"),
        ("empty", "w", "mode 'w' is unknown: use 'a'"),
        ("", "a", "is no path"),
    ],
)
def test_places_that_are_no_store(tmp_path, path, mode, words):
    (tmp_path / "file").write_text("text")
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "data.csv").write_text("1,2")
    with pytest.raises(dslog.StoreError, match=words):
        dslog.open(tmp_path / path if path else "", mode)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["data.csv", "empty", "file", "full"]


def test_uris_and_memory():
    with pytest.raises(dslog.StoreError, match="is a URI"):
        dslog.open("s3://bucket/store")
    with pytest.raises(dslog.StoreError, match="starts empty"):
        dslog.open(":memory:", "r")


def test_reading_mode_writes_nothing(directory, snapshot):
    before = snapshot(directory)
    with dslog.open(directory, "r") as store:
        assert store.array("image", (3, 2)).shape == (3, 2)
        for write in (
            lambda: store.array("new", (3, 2)),
            lambda: store.lineage("total", "image", raising),
            lambda: store.register_operation("sum", ["image"], ["total"], raising),
        ):
            with pytest.raises(dslog.StoreError, match=r"reading only.*mode='a'"):
                write()
    assert snapshot(directory) == before
