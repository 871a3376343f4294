"""The session that DSLog uses, with the ``dslog`` format known to it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dslog.engine import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KNOWN = "spark.dslog.format"


def spark(config: Mapping[str, object] | SparkSession | None = None) -> SparkSession:
    """Return the active session, or start a local one; ``spark.read.format("dslog")`` works there.

    ``config`` may be a session, which is then used as it is, or Spark settings. Settings win over
    the environment (:mod:`dslog.config`) when a session is started; a session that already runs
    takes those that Spark lets change, and the others are an error rather than ignored.
    """
    found = session.spark(config)
    register(found)
    return found


def register(found: SparkSession) -> None:
    """Make the ``dslog`` format known to a session, once."""
    if found.conf.get(_KNOWN, "false") == "true":
        return
    from dslog.sql.datasource import DslogSource

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark warns when a name is registered again
        found.dataSource.register(DslogSource)
    found.conf.set(_KNOWN, "true")
