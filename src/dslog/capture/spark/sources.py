"""Where tracking of a table begins: ids for the rows of a DataFrame."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import DataFrame

from dslog.capture.spark.footers import rows_by_footers
from dslog.capture.spark.java import analysed, execution, is_bucketed, operators
from dslog.capture.spark.numbering import Numbering
from dslog.capture.spark.ordering import count_partitions, fix_order, with_ids
from dslog.capture.spark.rows import Id, fresh_column

_STEADY = {"Project", "Filter", "SubqueryAlias", "View", "LocalRelation", "Range"}
_FILES = re.compile(r"^[ :+|-]*Relation .* (parquet|orc|csv|json|text|avro|xml)\s*$", re.MULTILINE)
_background = ThreadPoolExecutor(4, thread_name_prefix="dslog-count")


def identify(frame: DataFrame) -> tuple[DataFrame, Id]:
    """Give the rows of a DataFrame ids that stay the same however often it is computed.

    Files and local data are read in the same order each time. What comes out of a shuffle, of a
    bucketed table, or of an expression that is random, is computed once and kept.
    """
    if not is_steady(frame):
        return fix_order(frame)
    column = fresh_column()
    named = with_ids(frame, column)
    return named, Id(column, _background.submit(_count, frame, named, column))


def _count(frame: DataFrame, named: DataFrame, column: str) -> Numbering:
    rows = rows_by_footers(frame)
    return count_partitions(named, column) if rows is None else Numbering(rows)


def is_steady(frame: DataFrame) -> bool:
    """Whether a DataFrame gives the same rows in the same order each time.

    So does one that reads files or local data and only filters rows and computes columns.
    """
    plan = analysed(frame)
    relations = 0
    for operator in operators(frame):
        if operator == "Relation":
            relations += 1
        elif operator == "LogicalRDD":
            if execution(frame).toRdd().outputDeterministicLevel().toString() != "DETERMINATE":
                return False
        elif operator not in _STEADY:
            return False
    if relations != len(_FILES.findall(plan.toString())) or not plan.deterministic():
        return False
    return not (relations and is_bucketed(frame))
