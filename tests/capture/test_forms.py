"""Every form of a capture gives the same lineage."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dslog

RELATION = np.array([(i, i, j) for i in range(3) for j in range(2)])
TABLE = pa.table({"b0": RELATION[:, 0], "a0": RELATION[:, 1], "a1": RELATION[:, 2]})


def parquet(tmp_path):
    path = tmp_path / "relation.parquet"
    pq.write_table(TABLE, path)
    return path


def parquet_directory(tmp_path):
    folder = tmp_path / "relation"
    folder.mkdir()
    for part in range(3):
        pq.write_table(TABLE.slice(part * 2, 2), folder / f"part-{part}.parquet")
    return folder


FORMS = {
    "callable": lambda _: lambda i: [(i[0], 0), (i[0], 1)],
    "array": lambda _: RELATION,
    "small integers": lambda _: RELATION.astype(np.uint8),
    "rows": lambda _: RELATION.tolist(),
    "repeats": lambda _: np.concatenate([RELATION, RELATION]),
    "table": lambda _: TABLE,
    "other column order": lambda _: TABLE.select(["a1", "b0", "a0"]),
    "batch": lambda _: TABLE.to_batches()[0],
    "reader": lambda _: pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches()),
    "pandas": lambda _: TABLE.to_pandas(),
    "parquet": parquet,
    "parquet by name": lambda tmp_path: str(parquet(tmp_path)),
    "parquet directory": parquet_directory,
    "lineage": lambda _: dslog.compress(RELATION, (3,), (3, 2)),
}


@pytest.fixture
def store():
    with dslog.open(":memory:") as opened:
        opened.array("A", (3, 2))
        opened.array("B", (3,))
        yield opened


@pytest.mark.parametrize("form", FORMS)
def test_forms(store, form, tmp_path):
    store.lineage("B", "A", FORMS[form](tmp_path))
    (lineage,) = store.load("B", "A")
    assert np.array_equal(lineage.to_relation(), RELATION)
    if form != "rows":  # in an operation a list holds captures
        (tmp_path / "again").mkdir()
        store.register_operation("sum", ["A"], ["B"], FORMS[form](tmp_path / "again"))
        assert store.stats()["stored_lineages"] == 1


def test_both_orientations_can_be_given(store):
    forward = dslog.compress(RELATION, (3,), (3, 2), orientation="forward")
    store.lineage("B", "A", forward)
    assert store.load("B", "A")[0].orientation == "forward"
    assert store.prov_query(["B", "A"], 1).count == 2
    assert store.verify().ok


@pytest.mark.parametrize(
    ("capture", "error", "words"),
    [
        (None, dslog.CaptureError, "give a callable"),
        (7, dslog.CaptureError, r"\(n, 3\)"),
        ("", dslog.CaptureError, "is ''"),
        ("/no/such/file.parquet", dslog.CaptureError, "/no/such/file.parquet"),
        (RELATION[:, :2], dslog.RelationError, r"\(6, 2\)"),
        (RELATION.astype(float), dslog.RelationError, "float64"),
        (np.array([[np.nan, 0, 0]]), dslog.RelationError, "NaN"),
        ([[0, 0], [0]], dslog.RelationError, "relation"),
        (np.array([[3, 0, 0]]), dslog.RelationError, "b0 = 3"),
        (np.array([[0, -1, 0]]), dslog.RelationError, "a0 = -1"),
        (TABLE.drop_columns("a1"), dslog.RelationError, "a1"),
        (TABLE.append_column("x", TABLE["a1"]), dslog.RelationError, "x"),
        (pd.DataFrame({"b0": [0], "a0": [0], "a1": [0.5]}), dslog.RelationError, "a1"),
        (dslog.compress(RELATION, (3,), (4, 2)), dslog.ShapeError, r"'A' has \(3, 2\)"),
        (dslog.compress(RELATION, (4,), (3, 2)), dslog.ShapeError, r"'B' has shape \(3,\)"),
    ],
)
def test_what_is_no_capture(store, capture, error, words):
    with pytest.raises(error, match=words):
        store.lineage("B", "A", capture)
    assert store.lineages() == []


def test_a_file_that_is_no_parquet(store, tmp_path):
    path = tmp_path / "x.parquet"
    path.write_text("not parquet")
    with pytest.raises(dslog.CaptureError, match=r"x\.parquet"):
        store.lineage("B", "A", path)
