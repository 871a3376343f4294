"""Programs with tracked frames: what they are, how they are named, and what leaves them."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import dslog
import dslog.pandas
from dslog.capture.pandas import interception, pandas_call

ORDERS = pd.DataFrame(
    {
        "id": [1, 2, 3, 4, 5],
        "city": ["Rome", "Oslo", "Rome", "Oslo", "Bern"],
        "amount": [10, None, 5, 7, 1.0],
    }
)
SCRIPT = """
import sys
import pandas as pd
from pandas import read_csv, concat
def clean(table):
    return table.dropna(subset=["amount"])
orders = read_csv(sys.argv[1])
known = clean(orders)
totals = known.groupby("city", as_index=False)["amount"].sum()
top = totals.sort_values("amount", ascending=False).reset_index(drop=True)
made = pd.DataFrame({"a": [1, 2]})
both = concat([made, made])
print(top)
"""


@pytest.fixture
def store():
    with dslog.open(":memory:", leaks="ignore") as opened:
        yield opened


@pytest.fixture
def orders(store):
    return store.track(ORDERS, "orders")


def cells(store, name, cell, to="orders"):
    return [tuple(map(int, i)) for i in store.backward(name, cell, to=to).indices()]


def test_a_tracked_frame_is_pandas_own(store, orders):
    assert type(orders) is pd.DataFrame
    assert orders is not ORDERS
    pd.testing.assert_frame_equal(orders, ORDERS)
    again = pickle.loads(pickle.dumps(orders))
    assert store.name_of(again) is None
    pd.testing.assert_frame_equal(again, ORDERS)
    assert any(leak.way == "__getstate__" for leak in store.leaks())


def test_names_are_those_of_variables(store, orders):
    known = orders.dropna()
    total = known["amount"].sum()
    share = known["amount"] / 2
    assert store.name_of(known) == "known"
    assert store.name_of(share) == "share"
    assert store.name_of(total) == "total"
    assert share.name == "amount"
    assert store.name(share, "half") is share
    assert store.name_of(share) == "half"
    assert "dropna" in store.name_of(orders.dropna())
    with pytest.raises(dslog.CaptureError):
        store.name(pd.DataFrame({"a": [1]}), "other")


def test_columns_have_names_in_questions(store, orders):
    means = orders.groupby("city")["amount"].mean()
    assert cells(store, "means", (2, "amount")) == [(0, 2), (2, 2)]
    assert cells(store, "means", (2, "city")) == [(0, 1), (2, 1)]
    touched = store.forward("orders", (2, "amount"), to="means").indices()
    assert touched.tolist() == [[2, 0]]
    assert "Rome" in str(store.why("means", (2, "amount"))) or means is not None


def test_a_rows_fate_and_a_nans_origin(store, orders):
    kept = orders[orders["amount"] > 4]
    shares = kept["amount"] / orders["amount"].sum(skipna=False)
    assert "is not dropped" not in str(store.dropped("orders", 4))
    assert "orders[1, amount]" in str(store.first_nan("shares"))
    assert len(shares) == 3
    decided = store.backward("kept", (0, "city"), to="orders", influence="only")
    assert decided.indices().tolist() == [[0, 2]]


def test_numbers_go_on(store, orders):
    total = 0
    for value in orders["amount"].dropna():
        total += value
    for row in orders.itertuples():
        total = total + row.id
    assert total == ORDERS["amount"].sum() + ORDERS["id"].sum()
    name = total.named("total").name
    assert len(store.backward(name, None, to="orders").indices()) == 9
    assert orders.at[2, "amount"].named("cell").name == "cell"
    assert cells(store, "cell", None) == [(2, 2)]


def test_arrays_go_on_and_come_back(store, orders):
    values = np.asarray(orders["amount"])
    picked = np.where(orders["amount"] > 4, orders["amount"], orders["id"])
    back = pd.DataFrame({"v": values * 2, "w": picked})
    assert isinstance(values, dslog.TrackedArray)
    assert store.name_of(back) == "back"
    assert cells(store, "back", (2, "v")) == [(2, 2)]
    assert cells(store, "back", (4, "w")) == [(4, 0), (4, 2)]
    made = pd.DataFrame(store.track(np.arange(6.0).reshape(3, 2), "a"), columns=["p", "q"])
    assert made.shape == (3, 2)
    assert cells(store, store.name_of(made), (1, "q"), to="a") == [(1, 1)]


def test_writes_are_seen_through_every_view(store, orders):
    column = orders["id"]
    orders.loc[orders["city"] == "Rome", "id"] = orders["amount"] * 10
    assert column.tolist() == orders["id"].tolist()
    name = store.name_of(column)
    assert cells(store, name, (2,)) == [(2, 2)]
    assert cells(store, name, (1,)) == [(1, 0)]
    orders["new"] = orders["id"] + 1
    assert store.name_of(orders) == "orders.2"


def test_what_leaves_is_noted(store, orders):
    orders.to_dict()
    orders.set_index("city").index.tolist()
    ways = {leak.way for leak in store.leaks()}
    assert {"to_dict", "index"} <= ways
    later = orders["id"] * 2
    assert not store.backward(store.name_of(later), (0,), to="orders").complete


def test_an_unknown_method_is_a_labelled_superset(store, orders):
    name = store.name_of(orders["amount"].ewm(span=2).corr(orders["id"]))
    found = store.backward(name, (2,), to="orders")
    assert not found.exact
    assert {(2, 0), (2, 2)} <= set(map(tuple, found.indices().tolist()))


def test_an_error_of_tracking_breaks_nothing(store, orders, monkeypatch):
    def fail(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr(interception, "_find", fail)
    with pytest.warns(RuntimeWarning, match=r"lineage of dropna\(\) is not recorded"):
        result = orders.dropna()
    assert store.name_of(result) is None
    pd.testing.assert_frame_equal(result, ORDERS.dropna())
    assert any(leak.way == "dropna" and leak.loses for leak in store.leaks())


def test_a_failing_rule_gives_a_superset(store, orders, monkeypatch):
    def fail(_):
        raise ValueError

    monkeypatch.setitem(pandas_call.RULES, "DataFrame.sort_values", fail)
    result = orders.sort_values("id", ascending=False)
    assert not store.backward(store.name_of(result), (0, "id"), to="orders").exact


def test_pandas_is_left_alone_afterwards():
    before = pd.DataFrame.dropna, pd.merge, pd.DataFrame.__init__, vars(pd.Series).get("index")
    store = dslog.open(":memory:")
    tracked = store.track(ORDERS, "orders")
    assert pd.DataFrame.dropna is not before[0]
    store.close()
    after = pd.DataFrame.dropna, pd.merge, pd.DataFrame.__init__, vars(pd.Series).get("index")
    assert after == before
    pd.testing.assert_frame_equal(tracked.dropna(), ORDERS.dropna())


def test_install_tracks_what_a_program_makes(tmp_path):
    ORDERS.to_csv(tmp_path / "in.csv", index=False)
    with dslog.open(":memory:", leaks="ignore") as store:
        dslog.pandas.install(store)
        try:
            rows = pd.read_csv(tmp_path / "in.csv")
            made = pd.Series([1.0, 2.0], name="m")
            assert store.name_of(rows) == "rows"
            assert store.name_of(made) == "made"
            with pytest.raises(dslog.CaptureError):
                dslog.pandas.install(dslog.open(":memory:"))
        finally:
            dslog.pandas.uninstall()
        assert store.name_of(pd.DataFrame({"a": [1]})) is None


def test_a_script_runs_unchanged(tmp_path):
    ORDERS.to_csv(tmp_path / "in.csv", index=False)
    (tmp_path / "job.py").write_text(SCRIPT)
    plain = subprocess.run(
        [sys.executable, "job.py", "in.csv"], cwd=tmp_path, capture_output=True, check=True
    )
    command = [sys.executable, "-m", "dslog.pandas", "--store", "s", "job.py", "in.csv"]
    tracked = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert tracked.stdout == plain.stdout
    with dslog.open(tmp_path / "s", mode="r") as store:
        names = {array.name for array in store.arrays()}
        assert {"orders", "known", "totals", "top", "made", "both"} <= names
        assert cells(store, "top", (0, "amount")) == [(0, 2), (2, 2)]
        assert cells(store, "both", (3, "a"), to="made") == [(1, 0)]


def test_functions_of_the_program_are_called_once_and_followed(store, orders):
    rates = store.track(pd.Series([2.0, 3.0, 4.0], index=["Rome", "Oslo", "Bern"]), "rates")
    calls = []

    def convert(city):
        calls.append(city)
        return rates[city]

    used = orders["city"].map(convert)
    assert calls == ORDERS["city"].tolist()
    assert used.tolist() == [2, 3, 2, 3, 4]
    found = store.backward("used", (0,), to="rates")
    assert not found.exact
    assert (0, 0) in set(map(tuple, found.indices().tolist()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wide = orders.assign(double=lambda t: t["amount"] * 2)
    assert cells(store, store.name_of(wide), (2, "double")) == [(2, 2)]
