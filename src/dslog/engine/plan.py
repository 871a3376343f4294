"""Where a step of a query runs, and how; pure, nothing is read or started.

A Spark job costs a tenth of a second before it does anything, so what one process reads in that
time stays in it. What counts is not how long a Lineage is but how many of its rows are left once
the query's bounds have ruled out files and row groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dslog.config import Config
from dslog.errors import EngineError

ENGINES = ("auto", "local", "spark")
_BROADCAST = 32 << 20


class How(StrEnum):
    """The ways to follow a lineage."""

    LOCAL = "local"
    """In this process."""
    SCAN = "scan"
    """Tasks read the lineage's files; the query's boxes are sent to all of them."""
    SHARE = "share"
    """Tasks share the query's boxes; the lineage, which is small, is sent to all of them."""
    EXCHANGE = "exchange"
    """Rows and boxes, both many, meet in ranges of the array they have in common."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one process may do by itself.

    ``spark_rows``: rows it may read for a step. ``collect_rows``: compressed rows or boxes that may
    come to the driver. ``partition_rows``: pairs of a relation that one task compresses.
    ``broadcast``: bytes of a query that may be sent to every task.
    """

    spark_rows: int = 4_000_000
    collect_rows: int = 1_000_000
    partition_rows: int = 1 << 21
    broadcast: int = _BROADCAST

    @classmethod
    def from_config(cls, config: Config) -> Limits:
        """Take the limits from the settings."""
        return cls(config.spark_rows, config.collect_rows, config.partition_rows)


def check_engine(engine: str) -> str:
    """Return the engine's name, or say that there is no such engine."""
    if engine not in ENGINES:
        raise EngineError(f"engine {engine!r} is unknown: use one of {', '.join(ENGINES)}")
    return engine


def plan_step(engine: str, rows: int, *, loaded: bool, asked: int | None, limits: Limits) -> How:
    """Choose how to follow a lineage.

    ``rows`` have to be read for it; ``loaded`` says whether they are in memory already. ``asked``
    is the size of the query in bytes, None when its cells are spread over executors.

    >>> plan_step("auto", 1000, loaded=False, asked=16, limits=Limits()).value
    'local'
    >>> plan_step("auto", 10**8, loaded=False, asked=16, limits=Limits()).value
    'scan'
    """
    if asked is not None:
        few = loaded or rows <= limits.spark_rows
        if engine == "local" or (engine == "auto" and few):
            return How.LOCAL
    if loaded:
        return How.SHARE
    return How.SCAN if asked is not None and asked <= limits.broadcast else How.EXCHANGE
