"""Tables for the tests beside it; makes their helpers importable."""

import sys
from pathlib import Path

import pytest

import dslog

sys.path.insert(0, str(Path(__file__).parent))

from table_checks import MESSY, NAMES, ORDERS, frame_of


@pytest.fixture
def store():
    with dslog.open(":memory:") as opened:
        yield opened


@pytest.fixture
def rows():
    return MESSY


@pytest.fixture
def orders_df(spark, rows):
    return frame_of(spark, rows, ORDERS, 3)


@pytest.fixture
def orders(store, orders_df):
    return store.track(orders_df, "orders")


@pytest.fixture
def names_df(spark):
    return frame_of(spark, NAMES, "k string, n string", 2)


@pytest.fixture
def names(store, names_df):
    return store.track(names_df, "names")
