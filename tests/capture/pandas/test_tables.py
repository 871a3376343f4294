"""Group-by and inner join of pandas frames, against loops over rows."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dslog
from dslog import tables
from dslog.errors import CaptureError

KEYS = st.sampled_from(["a", "b", "c", None])
NUMBERS = st.one_of(st.integers(0, 3).map(float), st.just(math.nan))
ROWS = st.lists(st.tuples(KEYS, st.integers(0, 2), NUMBERS), max_size=12)


def frame_of(rows, columns=("k", "i", "x")):
    types = {"k": object, "i": np.int64, "x": np.float64, "n": object}
    made = pd.DataFrame(rows, columns=list(columns))
    made = made.astype({name: types[name] for name in columns})
    return made.set_index(pd.Index(range(100, 100 + len(rows))))  # row i is at place i all the same


def relation(store, out, in_):
    found = set()
    for lineage in store.load(out, in_):
        found |= set(map(tuple, lineage.to_relation().tolist()))
    return found


def key_of(row, places):
    return tuple("null" if row[p] is None else row[p] for p in places)


@settings(max_examples=30)
@given(rows=ROWS, places=st.sampled_from([(0,), (1,), (0, 1), (1, 0)]))
def test_groups_as_loops_find_them(rows, places):
    frame = frame_of(rows)
    by = [frame.columns[p] for p in places]
    agg = {"total": ("x", "sum"), "n": ("i", "size"), "most": ("x", lambda s: s.max())}
    with dslog.open(":memory:") as store:
        result = tables.group_by(store, "t", frame, by=by, agg=agg, to="g")
        plain = frame.groupby(by, sort=False, dropna=False).agg(**agg).reset_index()
        pd.testing.assert_frame_equal(result, plain)
        groups = {}
        for place, row in enumerate(rows):
            groups.setdefault(key_of(row, places), []).append(place)
        reads = [*places, 2, 1, 2]
        expected = {
            (out, column, place, source)
            for out, members in enumerate(groups.values())
            for place in members
            for column, source in enumerate(reads)
        }
        assert relation(store, "g", "t") == expected
        assert store.load("g", "t")[0].exact


@settings(max_examples=30)
@given(
    left=ROWS,
    right=st.lists(st.tuples(st.integers(0, 2), KEYS, KEYS), max_size=8),
    on=st.sampled_from([["k"], ["i"], ["k", "i"], ["i", "k"]]),
)
def test_joins_as_loops_find_them(left, right, on):
    a, b = frame_of(left), frame_of(right, ("i", "k", "n"))
    with dslog.open(":memory:") as store:
        result = tables.inner_join(store, "a", a, "b", b, on=on, to="j")
        here, there = [a.columns.get_loc(c) for c in on], [b.columns.get_loc(c) for c in on]
        pairs = [
            (i, j)
            for i, x in enumerate(left)
            for j, y in enumerate(right)
            if key_of(x, here) == key_of(y, there)
        ]
        rest = [c for c in range(3) if c not in there]
        expected = [(*left[i], *(right[j][c] for c in rest)) for i, j in pairs]
        assert [[*map(str, row)] for row in result.to_numpy(object)] == [
            [*map(str, row)] for row in expected
        ]
        plain = a.merge(b, on=on)
        assert list(result.columns) == list(plain.columns)
        assert sorted(map(str, result.to_numpy(object))) == sorted(map(str, plain.to_numpy(object)))
        from_a = {(o, c, i, c) for o, (i, _) in enumerate(pairs) for c in range(3)}
        ways = [*zip(here, there, strict=True), *((3 + n, c) for n, c in enumerate(rest))]
        from_b = {(o, c, j, s) for o, (_, j) in enumerate(pairs) for c, s in ways}
        assert relation(store, "j", "a") == from_a
        assert relation(store, "j", "b") == from_b


def test_steps_in_turn():
    orders = pd.DataFrame({"k": ["a", "b", "a", "z"], "x": [1, 2, 3, 4]})
    names = pd.DataFrame({"k": ["a", "b", "a"], "n": ["p", "q", "p"]})
    with dslog.open(":memory:") as store:
        both = tables.inner_join(store, "orders", orders, "names", names, on="k", to="both")
        totals = tables.group_by(store, "both", both, by="n", agg={"x": "sum"}, to="totals")
        assert totals.to_dict("list") == {"n": ["p", "q"], "x": [8, 2]}
        assert store.backward("totals", [(0, 1)], to="orders").indices().tolist() == [
            [0, 1],
            [2, 1],
        ]
        assert store.forward("names", [(2, 1)], to="totals").indices().tolist() == [[0, 0]]
        assert not store.forward("orders", [(3, 1)], to="totals")
        values = store.track(totals["x"].to_numpy(), "sums")  # arrays go on from here
        assert values.name == "sums"


def test_a_frame_joined_with_itself():
    frame = pd.DataFrame({"k": [1, 2, 1], "x": [5, 6, 7]})
    with dslog.open(":memory:") as store:
        result = tables.inner_join(store, "t", frame, "t", frame, on="k", to="j")
        assert list(result.columns) == ["k", "x_x", "x_y"]
        rows = [(i, j) for i in range(3) for j in range(3) if frame["k"][i] == frame["k"][j]]
        expected = {(o, 0, p, 0) for o, pair in enumerate(rows) for p in pair}
        expected |= {(o, 1 + side, pair[side], 1) for o, pair in enumerate(rows) for side in (0, 1)}
        assert relation(store, "j", "t") == expected


def test_many_rows_cost_rows_not_cells():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 9, (20_000, 30)), columns=[f"c{i}" for i in range(30)])
    frame["k"] = np.repeat(np.arange(200), 100)
    right = pd.DataFrame({"k": np.arange(200)[::-1], "v": 1})
    with dslog.open(":memory:") as store:
        tables.inner_join(store, "t", frame, "r", right, on="k", to="j")
        tables.group_by(store, "t", frame, by="k", agg={"c0": "sum", "c1": "max"}, to="g")
        assert all(info.nbytes < 1000 for info in store.lineages())
        assert store.backward("g", [(7, 1)], to="t").count == 100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"by": "q", "agg": {"x": "sum"}}, "no column 'q'"),
        ({"by": "k", "agg": {"z": "sum"}}, "no column 'z'"),
        ({"by": "k", "agg": {}}, "has to name a result"),
        ({"by": "k", "agg": {"k": "size"}}, "none like a key"),
    ],
)
def test_wrong_arguments_of_group_by(arguments, message):
    frame = pd.DataFrame({"k": [1], "x": [2]})
    with dslog.open(":memory:") as store, pytest.raises(CaptureError, match=message):
        tables.group_by(store, "t", frame, to="g", **arguments)


def test_wrong_arguments_of_inner_join():
    frame = pd.DataFrame({"kind": [1], "x": [2]})
    twice = pd.DataFrame([[1, 2]], columns=["kind", "kind"])
    with dslog.open(":memory:") as store:
        with pytest.raises(CaptureError, match="Did you mean 'kind'"):
            tables.inner_join(store, "a", frame, "b", frame, on="kin", to="j")
        with pytest.raises(CaptureError, match="'b' has several columns 'kind'"):
            tables.inner_join(store, "a", frame, "b", twice, on="kind", to="j")
