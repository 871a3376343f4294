"""Spark's own objects behind PySpark's: the way to Java.

Spark Connect has none of it. What rows and columns come from only Spark's plans can tell, so
tracked frames need a classic session.
"""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

from dslog.errors import EngineError

_RDD = re.compile(r"RDD\[(\d+)\]")


def jvm_of(frame: DataFrame) -> Any:
    """Return the way to Java's packages."""
    jvm = getattr(frame.sparkSession, "_jvm", None)
    if jvm is None:
        raise EngineError(
            "tracked frames need a classic Spark session: Spark Connect does not tell which "
            "columns an expression reads. Start one with dslog.spark()"
        )
    return jvm


def check_session(frame: DataFrame, name: str) -> None:
    """Raise an EngineError if the session that has a frame's rows is over."""
    if frame.sparkSession.sparkContext._jsc is None:  # noqa: SLF001 (it has none once stopped)
        raise EngineError(
            f"the Spark session of {name!r} was stopped, and its rows are gone with it: what is "
            f"recorded can be asked; to go on, track a DataFrame of a session that runs"
        )


def execution(frame: DataFrame) -> Any:
    """Return Spark's execution of a frame, which holds its plans."""
    return frame._jdf.queryExecution()  # noqa: SLF001


def analysed(frame: DataFrame) -> Any:
    """Return Spark's analysed plan of a frame; of a command, which has run already, its result."""
    return execution(frame).commandExecuted()


def rdds_of(leaf: Any) -> set[int]:
    """Return the ids of the RDDs that a leaf, which is one, is made of."""
    return set(map(int, _RDD.findall(str(leaf.rdd().toDebugString()))))


def scala_object(package: Any, name: str) -> Any:
    """Return a Scala object."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def as_column(frame: DataFrame, expression: Any) -> Column:
    """Return one of Spark's own expressions as a column."""
    utils = jvm_of(frame).org.apache.spark.sql.classic.ExpressionUtils
    return Column(utils.column(expression))


def of_plan(frame: DataFrame, plan: Any) -> DataFrame:
    """Return a frame of a logical plan, in the session of another one."""
    session = frame.sparkSession
    dataset = jvm_of(frame).org.apache.spark.sql.classic.Dataset
    found = dataset.ofRows(session._jsparkSession, plan)  # noqa: SLF001
    return ClassicFrame(found, session)
