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

_REASON = re.compile(r"^\S*(?:Error|Exception)\b.*", re.MULTILINE)


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
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        raise EngineError(f"a Spark job failed: {reason(error)}") from error


def reason(error: Exception) -> str:
    """Return the line that says most: a worker's own error, or else the first."""
    text = str(error)
    reasons = _REASON.findall(text)
    return reasons[-1] if reasons else text.partition("\n")[0]
