"""Where tracking of a table begins: ids for the rows of a DataFrame."""

from __future__ import annotations

import re
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from pyspark.sql import DataFrame

from dslog.capture.spark.java import analysed, execution, physical
from dslog.capture.spark.numbering import Numbering
from dslog.capture.spark.ordering import count_partitions, fix_order, moves_rows, with_ids
from dslog.capture.spark.rows import Id, fresh_column

_STEADY_LEAVES = {"LocalRelation", "Range", "OneRowRelation", "LogicalRDD"}
_background = ThreadPoolExecutor(4, thread_name_prefix="dslog-count")


def identify(frame: DataFrame) -> tuple[DataFrame, Id]:
    """Give the rows of a DataFrame ids that stay the same however often it is computed.

    Files and local data are read in the same order each time. What comes out of a shuffle, or of
    an expression that is random, is computed once and kept.
    """
    if not is_steady(frame):
        return fix_order(frame)
    column = fresh_column()
    named = with_ids(frame, column)
    counting: Future[Numbering] = _background.submit(count_partitions, named, column)
    return named, Id(column, counting)


def is_steady(frame: DataFrame) -> bool:
    """Whether a DataFrame gives the same rows in the same order each time."""
    plan = analysed(frame)
    if not plan.deterministic() or not _steady_leaves(plan) or moves_rows(frame):
        return False
    if "AdaptiveSparkPlan" in physical(frame):
        return False
    return bool(execution(frame).toRdd().outputDeterministicLevel().toString() == "DETERMINATE")


def _steady_leaves(plan: Any) -> bool:
    leaves = plan.collectLeaves()
    for place in range(leaves.size()):
        leaf = leaves.apply(place)
        kind = re.sub(r"\$$", "", leaf.getClass().getSimpleName())
        if kind == "LogicalRelation":
            if leaf.relation().getClass().getSimpleName() != "HadoopFsRelation":
                return False
        elif kind not in _STEADY_LEAVES:
            return False
    return True
