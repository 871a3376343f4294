"""The session that DSLog uses, with the ``dslog`` format known to it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dslog.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KNOWN = "spark.dslog.format"
_PUSHES = "spark.sql.python.filterPushdown.enabled"


def spark(config: Mapping[str, object] | SparkSession | None = None) -> SparkSession:
    """Return the active session, or start a local one; ``spark.read.format("dslog")`` works there.

    ``config`` may be a session, which is then used as it is, or Spark settings. Settings win over
    the environment (:mod:`dslog.config`) when a session is started; a session that already runs
    takes those that Spark lets change, and the others are an error rather than ignored.
    """
    found = session.get_session(config)
    register(found)
    return found


def register(found: SparkSession) -> None:
    """Make the ``dslog`` format known to a session, once.

    Filters reach the files if the session lets Python sources take them, as one that DSLog starts
    does; a program's own session is not changed for it.
    """
    pushes = found.conf.get(_PUSHES, "false") or "false"
    if found.conf.get(_KNOWN, None) == pushes:
        return
    from dslog.sql.datasource import DslogSource, FilteringSource

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Spark warns when a name is registered again
        found.dataSource.register(FilteringSource if pushes == "true" else DslogSource)
    found.conf.set(_KNOWN, pushes)
