"""What every test shares: one real Spark session, hypothesis profiles, a clean environment."""

import os

import pytest
from hypothesis import HealthCheck, settings

from dslog.engine import session

# `pytest --hypothesis-profile=deep` looks further, at other examples each time.
settings.register_profile(
    "ci",
    max_examples=60,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "deep", parent=settings.get_profile("ci"), max_examples=1000, derandomize=False
)
settings.load_profile("ci")


@pytest.fixture(autouse=True)
def _no_dslog_settings(monkeypatch):
    for name in os.environ:
        if name.startswith("DSLOG_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def spark():
    """A real local session: two cores, few partitions."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith("DSLOG_"):
                patch.delenv(name)
        started = session.spark({"spark.master": "local[2]", "spark.sql.shuffle.partitions": 4})
    yield started
    session.stop()
