"""The range coder gives back what it got."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.baselines.turbo import read_turbo, write_turbo


def round_trip(columns, tmp_path):
    path = tmp_path / "x.turbo"
    write_turbo(columns, path)
    back = read_turbo(path)
    assert list(back) == list(columns)
    for name, column in columns.items():
        assert np.array_equal(back[name], column), name
    return path.stat().st_size


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(st.integers(-3, 3), st.integers(0, 1 << 20), st.integers(-(1 << 61), 1 << 61)),
        max_size=200,
    )
)
def test_any_column(tmp_path_factory, values):
    round_trip({"b0": np.array(values, np.int64)}, tmp_path_factory.mktemp("turbo"))


@pytest.mark.parametrize(
    ("column", "most"),
    [
        (np.arange(100_000), 100),
        (np.zeros(100_000, np.int64), 100),
        (np.arange(100_000) % 1000, 2_000),
        (np.random.default_rng(0).integers(0, 1000, 100_000), 127_000),  # 9.97 bits each
    ],
    ids=["counting", "constant", "sawtooth", "random"],
)
def test_size_is_near_the_entropy(column, most, tmp_path):
    assert round_trip({"a": column.astype(np.int64)}, tmp_path) <= most


def test_many_columns(tmp_path):
    rng = np.random.default_rng(1)
    round_trip({f"a{k}": rng.integers(0, 10**k, 500) for k in range(6)}, tmp_path)


def test_empty(tmp_path):
    round_trip({"b0": np.zeros(0, np.int64), "a0": np.zeros(0, np.int64)}, tmp_path)
