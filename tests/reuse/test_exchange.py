"""Formulas from store to store, and formulas that users bring."""

import json

import numpy as np
import pytest
from callers import Caller
from zoo import ZOO

import dslog
from dslog.compress.encoder import compress
from dslog.reuse.library import export_signatures, import_signatures, teach

FLIP = next(operation for operation in ZOO if operation.name == "flip")
BLUR = next(operation for operation in ZOO if operation.name == "blur")


def test_export_and_import(call, store, tmp_path):
    for n in (4, 6, 9):
        call(FLIP, n, n + 3)
    path = tmp_path / "formulas.json"
    count = export_signatures(store, path)
    assert count >= 1
    assert "bodies" not in path.read_text()
    with dslog.open(":memory:") as other:
        assert import_signatures(other, path) == count
        assert import_signatures(other, path) == 0
        assert Caller(other)(FLIP, 30, 40, capture=None).reused == "gen_sig"


def test_methods_of_the_store(store, tmp_path):
    info = store.teach("blur", describe_blur, [[(n, 2 * n)] for n in (5, 9, 14, 21, 7)])
    assert info.formulas
    path = tmp_path / "formulas.json"
    assert store.export_signatures(path) == 1
    with dslog.open(":memory:") as other:
        assert other.import_signatures(path) == 1
        assert Caller(other)(BLUR, 40, 50, capture=None).reused == "gen_sig"


def test_import_leaves_what_the_store_knows(call, store, tmp_path):
    for n in (4, 6, 9):
        call(FLIP, n, n + 3)
    path = tmp_path / "formulas.json"
    export_signatures(store, path)
    before = store.signatures()
    import_signatures(store, path)
    assert store.signatures() == before


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format":2,"forms":[]}',
        '{"format":1,"forms":[{"keys":[["f",{},[[1],[1]]]],"forms":[{}]}]}',
        '{"format":1}',
    ],
)
def test_files_that_hold_something_else(store, tmp_path, text):
    path = tmp_path / "formulas.json"
    path.write_text(text)
    with pytest.raises(dslog.DslogError, match=str(path)):
        import_signatures(store, path)
    assert store.signatures() == []


def test_imported_expressions_are_arithmetic_and_nothing_else(call, store, tmp_path):
    for n in (4, 6, 9):
        call(FLIP, n, n + 3)
    path = tmp_path / "formulas.json"
    export_signatures(store, path)
    item = json.loads(path.read_text())
    item["forms"][0]["forms"][0]["numbers"][0] = "__import__('os')"
    path.write_text(json.dumps(item))
    with dslog.open(":memory:") as other, pytest.raises(dslog.DslogError):
        import_signatures(other, path)


def describe_blur(shape):
    return [shape], BLUR.captures(shape)


def describe_blur_as_pairs(shape):
    return [shape], BLUR.relations(shape)


def describe_blur_as_lineage(shape):
    return [shape], [compress(BLUR.relations(shape)[0], shape, shape)]


@pytest.mark.parametrize(
    "describe", [describe_blur, describe_blur_as_pairs, describe_blur_as_lineage]
)
def test_teach(call, store, describe):
    shapes = [[(n, m)] for n, m in ((5, 8), (9, 6), (14, 14), (21, 10), (7, 12))]
    info = teach(store, "blur", describe, shapes)
    assert info.state == "permanent"
    assert call(BLUR, 40, 50, capture=None).reused == "gen_sig"
    with pytest.raises(dslog.CaptureError):
        call(BLUR, 1, 50, capture=None)
    assert call(BLUR, 1, 50).reused is None  # learned beside what was taught
    assert call(BLUR, 60, 50, capture=None).reused == "gen_sig"


def test_teach_what_has_no_formula(store):
    rng = np.random.default_rng(0)

    def shuffle(shape):
        return [shape], [np.c_[np.arange(shape[0]), rng.permutation(shape[0])]]

    with pytest.raises(dslog.DslogError, match="no formula that two calls agree on"):
        teach(store, "shuffle", shuffle, [[(n,)] for n in (8, 12, 17)])
    assert store.signatures() == []


def test_what_was_taught_wrongly_is_found_out(call, store):
    teach(store, "blur", lambda shape: ([shape], [lambda c: [c]]), [[(4, 5)], [(9, 7)], [(12, 6)]])
    assert call(BLUR, 20, 30).reused is None
    (stats,) = store.reuse_stats()
    assert stats.misses == 1
