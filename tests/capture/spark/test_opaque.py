"""Functions of the user's own over many rows: a superset, labelled, that holds all there is."""

import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from table_checks import plain, same_rows

from dslog.errors import CaptureError

K, X, Y, L = range(4)
SCHEMA = "k string, total long"


def over_batches():
    """Functions that are sent as they are: executors can't import this file."""

    def of_arrow(batches):
        """Of every batch its rows with a value, twice: other rows than came in."""
        for batch in batches:
            assert batch.schema.names == ["k", "x"]  # hidden columns stay hidden
            kept = batch.filter(pa.compute.is_valid(batch.column("x")))
            columns = [kept.column("k"), kept.column("x")]
            for _ in range(2):
                yield pa.RecordBatch.from_arrays(columns, ["k", "total"])

    def of_pandas(frames):
        for frame in frames:
            kept = frame[frame["x"].notna()]
            yield kept.rename(columns={"x": "total"}).astype({"total": "int64"})

    return {"mapInArrow": of_arrow, "mapInPandas": of_pandas}


def over_groups():
    def of_pandas(key, group):
        """Two rows of a group; nothing of a small one."""
        assert list(group.columns) == ["k", "x", "y", "l"]
        if len(group) < 2:
            return group[["k", "x"]].head(0)
        return group[["k", "x"]].head(2).assign(k=key[0])

    def of_arrow(group):
        order = pa.compute.sort_indices(group, [("x", "descending")])
        return group.take(order[:1]).select(["k", "x"])

    return {"applyInPandas": of_pandas, "applyInArrow": of_arrow}


@pytest.mark.parametrize("name", ["mapInArrow", "mapInPandas"])
def test_partitions(store, orders, orders_df, rows, name):
    """A row counts as made of all rows of its partition, and of all their columns."""
    function = over_batches()[name]
    frame = getattr(orders.select("k", "x"), name)(function, SCHEMA)
    same_rows(frame, getattr(orders_df.select("k", "x"), name)(function, SCHEMA))
    places = [row[0] for row in orders_df.select(F.spark_partition_id()).collect()]
    values = frame.collect()
    assert not store.backward(frame.name, ..., to="orders").exact
    parts = [
        {a for a, _ in store.backward(frame.name, [(b, 0)], to="orders").indices().tolist()}
        for b in range(len(values))
    ]
    for b, some in enumerate(parts):
        (part,) = {places[a] for a in some}
        assert some == {a for a, place in enumerate(places) if place == part}
        assert any(plain([values[b]]) == plain([rows[a][:2]]) for a in some)


@pytest.mark.parametrize("name", ["applyInPandas", "applyInArrow"])
def test_groups(store, orders, orders_df, rows, name):
    """A row counts as made of all rows of its group; groups are in the order of first rows."""
    function = over_groups()[name]
    frame = getattr(orders.groupBy("k"), name)(function, "k string, x long")
    same_rows(frame, getattr(orders_df.groupBy("k"), name)(function, "k string, x long"))
    keys = list(dict.fromkeys(row[K] for row in rows))
    values = frame.collect()
    assert [keys.index(row.k) for row in values] == sorted(keys.index(row.k) for row in values)
    for b, row in enumerate(values):
        found = store.backward(frame.name, [(b, 1)], to="orders")
        assert not found.exact
        expected = {(a, c) for a, r in enumerate(rows) if r[K] == row.k for c in range(4)}
        assert {tuple(cell) for cell in found.indices().tolist()} == expected


def test_after_other_steps(store, orders, orders_df, rows):
    def step(frame):
        kept = frame.filter("x > 0").filter("x < 5").select("k", "x")
        return kept.mapInArrow(over_batches()["mapInArrow"], SCHEMA).filter("total > 1")

    frame = step(orders)
    same_rows(frame, step(orders_df))
    for b in range(frame.count()):
        found = store.backward(frame.name, [(b, 1)], to="orders").indices()[:, 0].tolist()
        assert all(rows[a][X] is not None and 0 < rows[a][X] < 5 for a in found)


def test_schema_without_columns(orders):
    with pytest.raises(CaptureError, match="has no columns"):
        orders.groupBy("k").applyInPandas(lambda group: group, "int")
