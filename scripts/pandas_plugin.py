"""A pytest plugin: pandas' own tests, with every frame and series that they make tracked."""

import atexit
import os
from pathlib import Path

import pandas as pd

import dslog
from dslog.capture import place
from dslog.capture.pandas import installation

TESTS = str(Path(pd.__file__).parent / "tests")
_read_origin = place._read_origin  # noqa: SLF001


def _origin(file: str) -> str:
    return "program" if file.startswith(TESTS) else _read_origin(file)


place._read_origin = _origin  # type: ignore[assignment]  # noqa: SLF001


def pytest_configure() -> None:
    """Begin to track, if the run is to be tracked."""
    if os.environ.get("DSLOG_TRACK") == "1":
        store = dslog.open(":memory:", leaks="ignore")
        installation.install(store)
        atexit.register(installation.uninstall)
