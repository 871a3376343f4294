"""Tests of reuse share a store to call operations on, and the zoo of operations."""

import sys
from pathlib import Path

import pytest

import dslog

sys.path.insert(0, str(Path(__file__).parent))

from callers import Caller


@pytest.fixture
def store():
    with dslog.open(":memory:") as opened:
        yield opened


@pytest.fixture
def call(store):
    return Caller(store)
