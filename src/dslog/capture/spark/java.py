"""Spark's own objects behind PySpark's: all access to Java is here.

Spark Connect has none of it. What a column reads, and whether rows come in the same order again,
only Spark's plans can tell, so tracked frames need a classic session.
"""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import Column, DataFrame

from dslog.errors import EngineError

_OPERATOR = re.compile(r"^[ :+|-]*(\w+)", re.MULTILINE)


def jvm_of(frame: DataFrame) -> Any:
    """Return the way to Java's packages."""
    jvm = getattr(frame.sparkSession, "_jvm", None)
    if jvm is None:
        raise EngineError(
            "tracked frames need a classic Spark session: Spark Connect does not tell which "
            "columns an expression reads. Start one with dslog.spark()"
        )
    return jvm


def execution(frame: DataFrame) -> Any:
    """Return Spark's execution of a frame, which holds its plans."""
    return frame._jdf.queryExecution()  # noqa: SLF001


def analysed(frame: DataFrame) -> Any:
    """Return Spark's analysed plan of a frame."""
    return execution(frame).analyzed()


def operators(frame: DataFrame) -> list[str]:
    """Return the names of the operators in Spark's analysed plan of a frame."""
    return _OPERATOR.findall(analysed(frame).toString())


def is_bucketed(frame: DataFrame) -> bool:
    """Whether a frame reads a bucketed table, which Spark splits as each query likes it."""
    leaves = analysed(frame).collectLeaves()
    for place in range(leaves.size()):
        leaf = leaves.apply(place)
        if leaf.getClass().getSimpleName() == "LogicalRelation":
            files = leaf.relation()
            named = files.getClass().getSimpleName() == "HadoopFsRelation"
            if named and files.bucketSpec().isDefined():
                return True
    return False


def physical(frame: DataFrame) -> str:
    """Return Spark's physical plan of a frame, as text."""
    return str(execution(frame).executedPlan().toString())


def text_of(column: Column) -> str:
    """Return an expression as Spark writes it."""
    inner: Any = column._jc  # noqa: SLF001
    return str(inner.toString())


def scala_object(package: Any, name: str) -> Any:
    """Return a Scala object."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def as_column(frame: DataFrame, expression: Any) -> Column:
    """Return one of Spark's own expressions as a column."""
    utils = jvm_of(frame).org.apache.spark.sql.classic.ExpressionUtils
    return Column(utils.column(expression))


def column_at(frame: DataFrame, place: int) -> Column:
    """Return a column by its place, whatever the names of the others."""
    return as_column(frame, analysed(frame).output().apply(place))


def of_plan(frame: DataFrame, plan: Any) -> DataFrame:
    """Return a frame of a logical plan, in the session of another one."""
    session = frame.sparkSession
    dataset = jvm_of(frame).org.apache.spark.sql.classic.Dataset
    found = dataset.ofRows(session._jsparkSession, plan)  # noqa: SLF001
    return type(frame)(found, session)


def first_of_each_partition(frame: DataFrame, count: int) -> DataFrame:
    """Return a frame of the first rows of every partition, at most so many of each."""
    catalyst = jvm_of(frame).org.apache.spark.sql.catalyst
    most = scala_object(catalyst.expressions, "Literal").apply(count)
    return of_plan(frame, catalyst.plans.logical.LocalLimit(most, analysed(frame)))


def stand_in(frame: DataFrame) -> DataFrame:
    """Return an empty frame with the columns of another, under the same ids."""
    jvm = jvm_of(frame)
    logical = jvm.org.apache.spark.sql.catalyst.plans.logical
    empty = scala_object(jvm.scala.collection.immutable, "Nil")
    nothing = scala_object(jvm.scala, "None")
    output = analysed(frame).output()
    return of_plan(
        frame, scala_object(logical, "LocalRelation").apply(output, empty, False, nothing)
    )
