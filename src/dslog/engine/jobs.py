"""Running a Spark job: stopped when its caller stops, its failures in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

from dslog.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_REASON = re.compile(r"^(?:E? *: |Caused by: )?[\w.]*?(\w+(?:Error|Exception): .*)", re.MULTILINE)


def cores(session: SparkSession) -> int:
    """Return how many tasks the session runs at a time, about."""
    if hasattr(session, "_jsparkSession"):
        return int(session.sparkContext.defaultParallelism)
    return int(session.conf.get("spark.sql.shuffle.partitions", "8") or 8)  # Connect won't say


@contextmanager
def cancelled_on_error(session: SparkSession) -> Iterator[None]:
    """Stop what still runs on Spark when the block fails or is interrupted."""
    tag = f"dslog-{uuid4().hex}"
    session.addTag(tag)
    try:
        yield
    except BaseException:
        session.interruptTag(tag)
        raise
    finally:
        session.removeTag(tag)


@contextmanager
def job_failures() -> Iterator[None]:
    """Turn what Spark raises into an EngineError that says why."""
    try:
        yield
    except spark_errors() as error:
        raise EngineError(f"a Spark job failed: {reason(error)}") from error


def spark_errors() -> tuple[type[Exception], ...]:
    """Return what a job that fails or is cancelled may raise."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError


def reason(error: BaseException) -> str:
    r"""Return the line that says most: the innermost cause, or else the first.

    >>> reason(RuntimeError("a.Outer: no\nCaused by: a.b.DiskError: full\n\tat a.b.Writer"))
    'DiskError: full'
    """
    text = str(error)
    reasons = _REASON.findall(text)
    return reasons[-1] if reasons else text.partition("\n")[0]
