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
from dslog.capture.spark.parquet import WritingSteps, identify_files, manifest_of
from dslog.capture.spark.rows import RowSet, Trail, numbered
from dslog.capture.spark.sources import identify
from dslog.capture.spark.spawning import ExpressionSteps


class TrackedFrame(
    ExpressionSteps,
    DroppingSteps,
    JoiningSteps,
    DuplicateSteps,
    ArrangingSteps,
    OpaqueSteps,
    WritingSteps,
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
    """Return a DataFrame as a tracked frame, called ``name`` in the store.

    One that reads what a tracked frame wrote is that frame, or made of it if the name is new.
    """
    manifest = manifest_of(frame)
    known = tracker.stored(manifest.array, manifest.columns) if manifest else None
    if manifest is not None and known is not None and known.rows.count == manifest.numbering.total:
        named, one = identify_files(frame, manifest)
        trail = Trail(known.rows, (one,), mixed=len(manifest.files) > 1)
        table = known if name in (None, known.node.name) else tracker.read_again(known, name)
    else:
        named, one = identify(frame)
        trail = numbered(RowSet(numbering=one.pending), one)
        table = tracker.source(name, tuple(frame.columns), trail.rows)
    table.keep = keep_values
    result = TrackedFrame(tracker, table, (named, trail))
    tracker.hold(result)
    return result
