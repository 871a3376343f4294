"""What every test shares: one real Spark session, both engines, hypothesis profiles."""

import os
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings

from dslog.capture.capture_cost import CaptureCost
from dslog.compress.encoder import compress
from dslog.kernel import KernelCost
from dslog.relation.relation import column_names
from dslog.spark import session
from dslog.spark.relation_job import Options, compress_frame
from dslog.sql import spark_session as sql_session

sys.path.insert(0, str(Path(__file__).parent))  # for relation_strategies

# `pytest --hypothesis-profile=deep` looks further, at other examples each time; `few` is for
# kernels that are not compiled.
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
settings.register_profile("few", parent=settings.get_profile("ci"), max_examples=8)
settings.load_profile("ci")


def pytest_itemcollected(item):
    """Mark what needs Spark, so that `-m "not spark"` is quick."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    if "spark" in getattr(item, "fixturenames", ()) or parameters.get("engine") == "spark":
        item.add_marker("spark")


@pytest.fixture(autouse=True)
def _no_dslog_settings(monkeypatch):
    for name in os.environ:
        if name.startswith("DSLOG_"):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _no_clock():
    """Commit what waits when a test asks for it, not when a slow machine has waited enough."""
    with CaptureCost.using(waiting_seconds=1e6):
        yield


@pytest.fixture(autouse=True)
def _compiled():
    """Run every kernel compiled, also on the few numbers that tests have."""
    with KernelCost.using(small=-1):
        yield


@pytest.fixture
def choose():
    """Choose other thresholds for the length of a test: ``choose(SparkCost, few_cells=0)``."""
    with ExitStack() as stack:
        yield lambda model, **changes: stack.enter_context(model.using(**changes))


@pytest.fixture(scope="session")
def spark():
    """A real local session: two cores, few partitions."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith("DSLOG_"):
                patch.delenv(name)
        started = sql_session.spark({"spark.master": "local[2]", "spark.sql.shuffle.partitions": 4})
    yield started
    session.stop()


class LocalEngine:
    """Compresses in this process."""

    name = "local"

    def compress(self, relation, out_shape, in_shape, method="auto"):
        return compress(relation, out_shape, in_shape, method=method)

    def examples(self, most):
        """How many hypothesis examples a test may take."""
        return most


class SparkEngine:
    """Compresses on Spark, in partitions small enough to have seams."""

    name = "spark"

    def __init__(self, session, root):
        self._session = session
        self._root = root

    def compress(self, relation, out_shape, in_shape, method="auto", **options):
        names = column_names(len(out_shape), len(in_shape))
        if not names:  # Spark can't make a frame without columns out of Arrow
            frame = self._session.range(len(relation)).select()
        else:
            columns = {name: np.asarray(relation)[:, k] for k, name in enumerate(names)}
            frame = self._session.createDataFrame(pa.table(columns))
        options = Options(method=method, **{"partitions": 3, **options})
        return compress_frame(frame, out_shape, in_shape, self._root, options)

    def examples(self, most):
        """How many hypothesis examples a test may take: a job takes a quarter of a second."""
        return max(most // 30, 1)


@pytest.fixture(params=["local", "spark"])
def engine(request, tmp_path_factory):
    """Each engine in turn; a test with it runs on both."""
    if request.param == "local":
        return LocalEngine()
    root = tmp_path_factory.mktemp("parts")
    return SparkEngine(request.getfixturevalue("spark"), root)
