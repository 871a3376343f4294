"""Tables as the store knows them: a name, columns, rows, and the step that made them."""

from __future__ import annotations

import shutil
import threading
import warnings
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from dslog.capture.recorder import Node, Step, StoreRecorder
from dslog.capture.spark.row_id import RowSet
from dslog.capture.spark.source import Kept, count_rdd, fix_order, is_local
from dslog.capture.table_product import Pairs, RowMap, TableProduct, unite_products
from dslog.config import Config
from dslog.errors import CaptureError
from dslog.lineage.large_lineage import LargeLineage
from dslog.lineage.lineage import Lineage
from dslog.spark.job import reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dslog.capture.spark.frame import Frame
    from dslog.capture.spark.manifest import Written


@dataclass(frozen=True, eq=False)
class Input:
    """A table that a step read: for each link between the rows, the columns that go with it.

    A link is one of the output's row maps; None means that rows are the same. ``decides`` says that
    it was not read for values.
    """

    table: TableNode
    parts: tuple[tuple[str | None, Pairs], ...]
    exact: bool = True
    decides: bool = False


@dataclass(frozen=True, eq=False)
class Origin:
    """The step that made a table."""

    op: str
    args: Mapping[str, object] = field(default_factory=dict)
    inputs: tuple[Input, ...] = ()


@dataclass(eq=False)
class TableNode:
    """A table of the lineage graph; its values are a DataFrame's business."""

    node: Node
    columns: tuple[str, ...]
    rows: RowSet
    origin: Origin
    recorded: bool = False
    keep: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns; the rows must be known."""
        count = self.rows.count
        if count is None:
            raise AssertionError(f"the rows of {self.node.name!r} were not counted yet")
        return count, len(self.columns)


class Tracker:
    """A store's side of tracked frames: names for tables, and frames whose lineage is due."""

    def __init__(self, recorder: StoreRecorder, values: Path | None = None) -> None:
        self.recorder = recorder
        self.values = values
        self.files = recorder.files
        self.collect_rows = Config.from_environment().collect_rows
        self.lock = threading.RLock()
        self.plans: Any = None  # what knows tracked tables in plans, once there is one
        self._due: weakref.WeakSet[Frame] = weakref.WeakSet()
        self._held: list[Frame] = []
        self._scratch = recorder.files.root.absolute().with_name(f"frames-{uuid4().hex}")
        recorder.at_close(self._let_go)

    def table(self, base: str, columns: tuple[str, ...], rows: RowSet, origin: Origin) -> TableNode:
        """Name the result of a step after the table it comes from."""
        wanted = f"{base}.{origin.op}"
        node = self.recorder.node((), wanted, base)
        node.name = self.recorder.free_name(wanted)  # in the order of the frames, not of the jobs
        keep = any(one.table.keep for one in origin.inputs)
        return TableNode(node, columns, rows, origin, keep=keep)

    def source(self, name: str | None, columns: tuple[str, ...], rows: RowSet) -> TableNode:
        """Make the node of a table that the user brings."""
        self.recorder.catalog.require_writable()
        origin = Origin("track")
        with self.recorder.catalog.still():  # nothing is computed for a name
            if name is not None and self.recorder.is_taken(name):
                raise CaptureError(
                    f"there is an array {name!r} in the store: track this table under another name"
                )
        node = self.recorder.node((), name or "table", name or "table")
        node.base = node.name
        return TableNode(node, columns, rows, origin)

    def stored(self, of: Written) -> TableNode | None:
        """Return a table that rows were written of, if it is one of this store."""
        name, columns = of.array, of.columns
        with self.recorder.catalog.still():  # one may be computed right now
            if of.store != self.recorder.catalog.identity():
                return None
        shape = self.recorder.catalog.shape(name)
        if shape is None and self.recorder.is_taken(name):
            self.recorder.flush()
            shape = self.recorder.catalog.shape(name)
        if shape is None or len(shape) != 2 or shape[1] != len(columns):
            return None
        node = self.recorder.known(name, shape)
        return TableNode(node, columns, RowSet(shape[0]), Origin("track"), recorded=True)

    def read_again(self, table: TableNode, name: str | None) -> TableNode:
        """Make the node of a stored table that was read under another name."""
        pairs = frozenset((c, c) for c in range(len(table.columns)))
        node = self.source(name, table.columns, table.rows)
        node.origin = Origin("read", {}, (Input(table, ((None, pairs),)),))
        return node

    def due(self, frame: Frame) -> None:
        """Take note of a frame whose lineage is computed when the store is asked, or closed."""
        with self.lock:
            self._due.add(frame)

    def hold(self, frame: Frame) -> None:
        """Keep a frame until the store is closed, even if nobody else does."""
        with self.lock:
            if frame not in self._held:
                self._held.append(frame)

    def told(self, frame: Frame) -> None:
        """Leave out a frame of which an error has said why it has no lineage."""
        with self.lock:
            self._due.discard(frame)

    def keep(self, frame: DataFrame) -> Kept:
        """Compute rows and keep them."""
        return fix_order(frame, self._scratch)

    def once(self, frame: DataFrame) -> tuple[DataFrame, int | None]:
        """Compute rows that are read several times once, and count them, if they can be kept."""
        if not is_local(frame):
            return frame, None
        kept = frame.localCheckpoint(eager=False)
        return kept, count_rdd(kept).total

    def _let_go(self) -> None:
        with self.lock:
            self._held.clear()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def flush(self) -> None:
        """Compute and record the lineage of every frame that somebody still holds.

        One whose job fails is left out: its own actions say why, other arrays do not suffer for it.
        """
        with self.lock:
            while not self.recorder.closed:
                frame = next((one for one in self._due if not one.computing), None)
                if frame is None:
                    break
                self._due.discard(frame)
                try:
                    if frame.failure is None:
                        frame.record()
                except Exception as error:  # noqa: BLE001 (whatever it is, it is not of the others)
                    frame.failure = reason(error)
                except BaseException:
                    self._due.add(frame)
                    raise
                if frame.failure is not None:
                    warnings.warn(
                        f"the lineage of {frame.name!r} is not recorded, for computing it failed: "
                        f"{frame.failure}",
                        RuntimeWarning,
                        stacklevel=2,
                    )

    def record(self, table: TableNode) -> None:
        """Record the steps that led to a table whose rows are known, earliest first."""
        waiting = [table]
        while waiting:
            last = waiting[-1]
            before = [i.table for i in last.origin.inputs if not i.table.recorded]
            if before and not last.recorded:
                waiting += before
                continue
            waiting.pop()
            if not last.recorded:
                self._record(last)

    def _record(self, table: TableNode) -> None:
        table.node.shape = table.shape
        tables: dict[Node, list[Input]] = {}
        for one in table.origin.inputs:
            tables.setdefault(one.table.node, []).append(one)
        read, decided = (
            tuple(
                self._lineage(table, [one for one in inputs if one.decides is decides])
                for inputs in tables.values()
            )
            for decides in (False, True)
        )
        args = {**table.origin.args, "columns": list(table.columns)}
        influences = (decided,) if any(one is not None for one in decided) else ()
        self.recorder.record(
            Step(
                table.origin.op,
                list(tables),
                [table.node],
                (read,),
                args,
                influences=influences,
            )
        )
        table.recorded = True

    def _lineage(self, table: TableNode, inputs: list[Input]) -> Lineage | LargeLineage | None:
        """Unite what a step read of one table, which may have come in twice."""
        if not inputs:
            return None
        parts = []
        for one in inputs:
            for link, columns in one.parts:
                rows = RowMap.run(table.shape[0]) if link is None else table.rows.maps[link]
                parts.append(TableProduct(rows, columns))
        exact = all(one.exact for one in inputs)
        found = unite_products(table.shape, inputs[0].table.shape, parts, exact=exact)
        return found if found.is_filed else found.in_memory()
