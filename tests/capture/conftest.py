"""The store of tests that look at what is recorded, and let values leave on purpose."""

import pytest

import dslog


@pytest.fixture
def store():
    with dslog.open(":memory:", leaks="ignore") as opened:
        yield opened
