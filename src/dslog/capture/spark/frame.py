"""What every tracked frame has: a table of the lineage graph, a DataFrame, and a trail to its rows.

Nothing is computed until it is needed: by an action, by a question to the store, or by a step that
needs the positions of rows (a sort, a window). Then one pass of Spark gives the row lineage of all
steps since rows were last numbered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

from pyspark.sql import DataFrame

from dslog.capture.spark.row_id import RowSet, Trail, numbered, present, visible
from dslog.capture.spark.row_trace import trace_rows
from dslog.capture.spark.source import fix_order, in_order, kept_frame
from dslog.capture.spark.table_node import Input, Origin, TableNode, Tracker
from dslog.capture.table_product import Pairs
from dslog.capture.values import new_file, sum_of

Data = tuple[DataFrame, Trail]
R = TypeVar("R")


class Frame:
    """A DataFrame whose lineage is recorded.

    ``data`` is a DataFrame with hidden columns and the trail that reads them, or a function that
    computes both when they are first needed; ``planned`` then makes the DataFrame as it will be, to
    answer for types.
    """

    def __init__(
        self,
        tracker: Tracker,
        table: TableNode,
        data: Data | Callable[[], Data],
        planned: Callable[[], DataFrame] | None = None,
    ) -> None:
        self.tracker = tracker
        self.table = table
        self._data = data
        self._planned = planned
        self._saved: str | None = None  # the name its values were kept under
        tracker.due(self)

    # what it is

    @property
    def name(self) -> str:
        """The name of this table in the store."""
        return self.table.node.name

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(self.table.columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns; this computes the lineage, if it was not yet."""
        self.record()
        return self.table.shape

    @property
    def df(self) -> DataFrame:
        """The DataFrame without tracking: what is done to it is not recorded."""
        if callable(self._data) and self._planned is not None:
            return visible(self._planned())
        frame, trail = self.data
        return visible(present(frame, trail))

    def named(self, name: str) -> Self:
        """Give this table a name in the store and return it."""
        if not self.tracker.recorder.rename(self.table.node, name):
            pairs = frozenset((c, c) for c in range(len(self.columns)))
            self.table = self.tracker.table(
                name,
                self.table.columns,
                self.table.rows,
                Origin("named", {}, (Input(self.table, ((None, pairs),)),)),
            )
            self.tracker.recorder.rename(self.table.node, name)
            self.tracker.due(self)
        return self

    # how it works

    @property
    def data(self) -> Data:
        """The DataFrame with its hidden columns, and the trail."""
        if callable(self._data):
            self._data, self._planned = self._data(), None  # lets go of the frame it comes from
        return self._data

    def record(self) -> None:
        """Compute the lineage of this frame and of all it comes from, and hand it to the store."""
        with self.tracker.lock:
            if not self.table.recorded and not self.tracker.recorder.closed:
                frame, trail = self.data
                trace_rows(frame, trail, self.tracker.part_writer)
                self.tracker.record(self.table)
            self._save()
            self.tracker.alive[self.name] = self

    def fetch(self, action: Callable[[DataFrame], R]) -> R:
        """Do an action on the rows, in order, and compute the lineage on the way."""
        frame, trail = self.data
        if self.table.recorded:
            return action(self.ordered())
        with self.tracker.lock, kept_frame(frame, trail) as (copy, moved):
            trace_rows(copy, trail, self.tracker.part_writer, moved=moved)
            self.record()
            return action(visible(in_order(present(copy, trail), trail, moved=moved)))

    def ordered(self) -> DataFrame:
        """The untracked DataFrame, its rows in the order of their positions."""
        frame, trail = self.data
        return visible(in_order(present(frame, trail), trail))

    def _save(self) -> None:
        """Write the values into the store's folder, once, if they are to be kept."""
        directory = self.tracker.values
        if not self.table.keep or self._saved == self.name or self.tracker.recorder.closed:
            return
        if directory is not None:
            self._saved = self.name
            path = directory.absolute() / new_file(self.name, ".parquet")
            self.ordered().write.parquet(str(path))
            self.tracker.recorder.keep_file(self.table.node, path.name, sum_of(path))

    def settle(self) -> Data:
        """Give rows positions: keep the DataFrame as it is, in order, with one id per row."""
        with self.tracker.lock:
            frame, trail = self.data
            if not trail.numbered:
                with kept_frame(frame, trail) as (copy, moved):
                    trace_rows(copy, trail, self.tracker.part_writer, moved=moved)
                    fixed, one = fix_order(in_order(present(copy, trail), trail, moved=moved))
                old = [i.column for i in trail.ids]
                self._data = fixed.drop(*old), numbered(trail.rows, one)
            return self.data

    def follow(
        self,
        op: str,
        frame: DataFrame,
        trail: Trail,
        columns: Sequence[str],
        inputs: Sequence[Input],
        args: Mapping[str, object],
    ) -> Self:
        """Make the frame that a step gives."""
        origin = Origin(op, args, tuple(inputs))
        return self._make(origin, columns, trail.rows, (frame, trail))

    def keep_rows(
        self, op: str, frame: DataFrame, columns: Sequence[str], pairs: Pairs, args: dict[str, Any]
    ) -> Self:
        """Make the frame of a step that changes columns alone."""
        read = Input(self.table, ((None, pairs),))
        return self.follow(op, frame, self.data[1], columns, [read], args)

    def _make(
        self,
        origin: Origin,
        columns: Sequence[str],
        rows: RowSet,
        data: Data | Callable[[], Data],
        planned: Callable[[], DataFrame] | None = None,
    ) -> Self:
        table = self.tracker.table(self.table.node.base, tuple(columns), rows, origin)
        return type(self)(self.tracker, table, data, planned)
