"""TrackedFrame: a Spark DataFrame that knows where its cells came from."""

from __future__ import annotations

from typing import Any, Self

from pyspark.sql import DataFrame

from dslog.capture.spark.actions import Actions
from dslog.capture.spark.arranging import ArrangingSteps
from dslog.capture.spark.dropping import DroppingSteps
from dslog.capture.spark.duplicates import DuplicateSteps
from dslog.capture.spark.grouped import GroupedFrame, group_keys
from dslog.capture.spark.joining import JoiningSteps
from dslog.capture.spark.nodes import Tracker
from dslog.capture.spark.opaque import OpaqueSteps
from dslog.capture.spark.rows import RowSet, numbered
from dslog.capture.spark.sources import identify
from dslog.capture.spark.spawning import ExpressionSteps


class TrackedFrame(
    ExpressionSteps,
    DroppingSteps,
    JoiningSteps,
    DuplicateSteps,
    ArrangingSteps,
    OpaqueSteps,
    Actions,
):
    """A table whose lineage is recorded; ``store.track`` makes one of a DataFrame.

    Methods have the names and arguments of PySpark's. ``frame.df`` is the DataFrame without
    tracking.
    """

    def groupBy(self, *cols: Any) -> GroupedFrame[Self]:  # noqa: N802
        """Group rows by columns."""
        return GroupedFrame(self, group_keys(cols, self.columns))

    def groupby(self, *cols: Any) -> GroupedFrame[Self]:
        """Group rows by columns."""
        return self.groupBy(*cols)

    def agg(self, *exprs: Any) -> Self:
        """Compute aggregates of all rows."""
        return self.groupBy().agg(*exprs)


def track_frame(
    tracker: Tracker, frame: DataFrame, name: str | None = None, *, keep_values: bool = False
) -> TrackedFrame:
    """Return a DataFrame as a tracked frame, called ``name`` in the store."""
    named, one = identify(frame)
    rows = RowSet(numbering=one.pending)
    table = tracker.source(name, tuple(frame.columns), rows)
    table.keep = keep_values
    result = TrackedFrame(tracker, table, (named, numbered(rows, one)))
    tracker.hold(result)
    return result
