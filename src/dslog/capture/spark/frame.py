"""A table that a DataFrame gives: computed when it is needed, kept, and known again in plans.

Spark keeps a mark on a plan through all that is made of it: joins with itself, views over views,
subqueries. So a DataFrame, whoever made it and however, is followed down to the marks of tables
that somebody still holds, or has named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import quote
from uuid import uuid4
from weakref import WeakKeyDictionary, WeakValueDictionary

from pyspark.sql import DataFrame

from dslog.capture.recorder import Node
from dslog.capture.spark.catalyst import (
    Catalyst,
    expr_id,
    items,
    kind_of,
    leaves,
    output_ids,
    output_names,
    walk,
)
from dslog.capture.spark.manifest import (
    FilePart,
    Written,
    columns_read,
    parts_of,
    whole_array,
)
from dslog.capture.spark.plan_reader import analysed, check_session, of_plan, rdds_of
from dslog.capture.spark.plan_rows import Made, PlanRows, Source
from dslog.capture.spark.plan_rule import PlanRule
from dslog.capture.spark.plan_table import PlanTables
from dslog.capture.spark.row_id import RowSet, fresh_column
from dslog.capture.spark.source import (
    FileSlice,
    JobError,
    Kept,
    file_rows,
    files_of,
    jobs,
    keep_files,
    was_cancelled,
)
from dslog.capture.spark.table_node import Input, Origin, TableNode, Tracker
from dslog.capture.table_product import Pairs, RowMap
from dslog.errors import CaptureError
from dslog.lineage.table import Row, Table
from dslog.spark.job import reason

_NEVER_FAIL = {
    "Alias", "And", "AttributeReference", "Coalesce", "EqualNullSafe", "EqualTo", "GreaterThan",
    "GreaterThanOrEqual", "If", "IsNotNull", "IsNull", "LessThan", "LessThanOrEqual", "Literal",
    "Lower", "Not", "Or", "Upper",
}  # fmt: skip
_RDDS = {"LogicalRDD", "ExternalRDD"}
_FROM_PROGRAM = {"LocalRelation", *_RDDS}


class Frame:
    """A DataFrame whose lineage is recorded: ``plain`` is the user's, ``kept`` what it gave.

    A ``source`` comes from nowhere, others from what their plan says.
    """

    def __init__(
        self,
        known: KnownFrames,
        table: TableNode,
        plain: DataFrame,
        *,
        source: bool = False,
        parts: Mapping[str, FilePart] | None = None,
    ) -> None:
        self.known = known
        self.tracker = known.tracker
        self.table = table
        self.source = source
        self.parent: Frame | None = None  # what it is made of, where its plan does not tell
        self._parts = parts or {}
        self.kept: Kept | None = None
        self.failure: str | None = None
        self.computing = False
        self._saved: str | None = None  # the name its values were kept under
        self.plain = known.mark(plain, self)
        self.tracker.due(self)

    @property
    def name(self) -> str:
        """The name of this table in the store."""
        return self.table.node.name

    def rename(self, name: str) -> None:
        """Give this table a name in the store."""
        if not self.tracker.recorder.rename(self.table.node, name):
            pairs = frozenset((c, c) for c in range(len(self.table.columns)))
            same = Input(self.table, ((None, pairs),))
            self.table = self.tracker.table(
                name, self.table.columns, self.table.rows, Origin("named", {}, (same,))
            )
            self.tracker.recorder.rename(self.table.node, name)
            self.tracker.due(self)
        self.tracker.hold(self)

    def compute(self) -> Kept:
        """Compute the rows and what they come from, once."""
        with self.tracker.lock:
            if self.kept is not None:
                check_session(self.plain, self.name)
                if self.kept.files is not None:
                    self.kept.files.check(self.name)
                return self.kept
            self.computing = True
            try:
                check_session(self.plain, self.name)
                kept = self._source() if self.source else follow_plan(self)
            except Exception as error:
                self.failure = reason(error)
                raise
            finally:
                self.computing = False
            self.kept, self.failure = kept, None
            return kept

    def _source(self) -> Kept:
        """Rows that come from nowhere, or from files that tracked frames wrote."""
        found = file_rows(self.plain, sorted(self._parts, key=lambda f: self._parts[f].start))
        slices: Iterable[FileSlice] = ()
        if found is not None:
            files, numbering = found
            kept = files.kept(self.plain, numbering)
            slices = files.slices(numbering)
        elif self._parts:
            kept, slices = keep_files(self.plain, self.tracker.keep)
        else:
            kept = self.tracker.keep(self.plain)
        self.table.rows.count = kept.one.numbering.total
        if not self.table.recorded:
            inputs = tuple(self._read_again(list(slices)))
            self.table.origin = replace(self.table.origin, inputs=inputs)
        return kept

    def _read_again(self, slices: Sequence[FileSlice]) -> Iterator[Input]:
        """Link rows to those that were written; of files with other rows, any of them."""
        sizes = Counter[str]()
        for one in slices:
            sizes[one.file] += one.count
        arrays: dict[tuple[Written, Pairs, bool], list[FileSlice]] = {}
        for one in slices:
            if one.file in self._parts:
                part = self._parts[one.file]
                arrays.setdefault((part.of, *columns_read(self.plain, part)), []).append(one)
        for (of, columns, same), some in arrays.items():
            table = self.tracker.stored(of)
            if table is None:
                continue
            rows, exact = [], same
            for one in some:
                part = self._parts[one.file]
                out = one.row, one.row + one.count - 1
                if same and sizes[one.file] == part.count:
                    shift = part.start + one.begin - one.row
                    rows.append(Row((out,), ((shift, shift),), (0,)))
                else:
                    rows.append(Row((out,), ((part.start, part.start + part.count - 1),), (-1,)))
                    exact = False
            link = fresh_column("link")
            self.table.rows.maps[link] = RowMap(Table.of_rows(1, 1, rows))
            yield Input(table, ((link, columns),), exact)

    def record(self) -> None:
        """Compute the lineage of this frame and of all it comes from, and hand it to the store."""
        with self.tracker.lock:
            if self.tracker.recorder.closed:
                return
            if self.kept is None or not self.table.recorded:
                self.compute()
                self.tracker.record(self.table)
            self._save()

    def rows(self) -> DataFrame:
        """Return the rows that were recorded, in order; Spark's, if there is no store any more."""
        with self.tracker.lock:
            if self.kept is None or not self.tracker.recorder.closed:
                try:
                    self.record()
                except CaptureError:
                    self.tracker.told(self)
                    raise
            return self.plain if self.kept is None else self.compute().rows()

    def handed_out(self) -> DataFrame:
        """Return the rows for somebody who takes their values away."""
        rows = self.rows()
        self.known.left(self)
        return rows

    def _save(self) -> None:
        """Write the values into the store's folder, once, if they are to be kept."""
        directory = self.tracker.values
        if not self.table.keep or self._saved == self.name or self.kept is None:
            return
        if directory is not None:
            self._saved = self.name
            path = directory.absolute() / f"{quote(self.name, safe='')}.parquet"
            self.kept.rows().write.mode("overwrite").parquet(str(path))


def follow_plan(frame: Frame) -> Kept:
    """Compute a frame and its lineage, and fill in its table."""
    catalyst, origin = Catalyst(frame.plain), frame.table.origin
    plan = analysed(frame.plain)
    try:
        try:
            joined = catalyst.with_joins(plan)
            return _followed(frame, catalyst, joined, PlanRule.follow)
        except (CaptureError, JobError):
            raise
        except Exception as error:  # noqa: BLE001 (a plan of a kind that nobody has thought of)
            frame.table.origin = replace(origin, args={**origin.args, "superset": reason(error)})
            return _followed(frame, catalyst, plan, PlanRule.superset)
    except JobError as error:
        raise error.reason from None


def _followed(
    frame: Frame, catalyst: Catalyst, plan: Any, how: Callable[[PlanRule, Any], PlanRows]
) -> Kept:
    table = frame.table
    tables = PlanTables(frame.tracker, table.node.base, catalyst)
    rule = PlanRule(catalyst, frame.known, tables.make)
    found = how(rule, plan)
    if frame.parent is not None:
        found = rule.made_of(found, Source(frame.parent.table, frame.parent.compute()))
    columns = catalyst.columns(found.plan)
    outputs: list[Any] = []
    reads = dict(found.reads)
    seen: set[int] = set()
    for number in output_ids(plan):
        one = columns[number]
        if number in seen:  # the same column once more
            one = catalyst.alias(one, str(one.name()))
            reads[expr_id(one)] = reads.get(number, frozenset())
        seen.add(number)
        outputs.append(one)
    rows = found.with_reads(reads)
    computed = catalyst.project([*outputs, *found.hidden], found.plan)
    if same_rows(rule, plan) and len(found.ids) == 1:
        ((source, _),) = found.ids.values()
        tables.share(table, source.table, outputs, rows)
        frame_of = catalyst.frame_of(computed)
        return Kept(frame_of, source.kept.one, source.kept.files, placed=source.kept.placed)
    everything = frame.known.keep(catalyst.frame_of(computed))
    tables.fill(table, Made(table.origin.op, everything, outputs, rows))
    columns = catalyst.columns(everything.plan)
    ids = next(a for a in columns.values() if str(a.name()) == everything.one.column)
    slim = catalyst.project([*(columns[expr_id(one)] for one in outputs), ids], everything.plan)
    return Kept(catalyst.frame_of(slim), everything.one, placed=everything.placed)


def read_frame(known: KnownFrames, plain: DataFrame, name: str | None) -> Frame:
    """Return the frame of a DataFrame that comes from nowhere, or from what was written."""
    tracker, parts = known.tracker, parts_of(plain)
    columns = tuple(plain.columns)
    same = whole_array(plain, parts)
    if same is not None and file_rows(plain) is None:  # which alone puts them in their order
        same = None
    table = None
    if same is not None:
        table = tracker.stored(same)
        if table is not None and table.rows.count != sum(part.count for part in parts.values()):
            table = None
        if table is not None and name not in (None, same.array):
            table = tracker.read_again(table, name)
    if table is None:
        table = tracker.source(name, columns, RowSet())
    frame = Frame(known, table, plain, source=True, parts=parts)
    tracker.hold(frame)
    return frame


def same_rows(rule: PlanRule, plan: Any) -> bool:
    """Whether a plan only picks columns, or compares them, of the rows of one table.

    What may fail is computed, and kept if it does not.
    """
    above = []
    while (kind := kind_of(plan)) in ("Project", "SubqueryAlias", "View"):
        if rule.is_table(plan):
            break
        above += [plan] if kind == "Project" else []
        plan = plan.child()
    expressions = (e for p in above for one in items(p.projectList()) for e in walk(one))
    return rule.is_table(plan) and all(kind_of(e) in _NEVER_FAIL for e in expressions)


class KnownFrames:
    """The tracked tables that plans of DataFrames can be made of."""

    _stores: ClassVar[WeakValueDictionary[str, KnownFrames]] = WeakValueDictionary()

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker
        self._store = uuid4().hex
        self._frames: WeakValueDictionary[str, Frame] = WeakValueDictionary()
        self._columns: WeakValueDictionary[int, Frame] = WeakValueDictionary()
        self._rdds: dict[int, Frame] = {}
        self._others: WeakKeyDictionary[Frame, Source] = WeakKeyDictionary()
        self._left: dict[str, dict[Node, None]] = {}
        self.anyone: DataFrame  # of the session
        self._count = 0
        KnownFrames._stores[self._store] = self

    @classmethod
    def of(cls, tracker: Tracker) -> KnownFrames:
        """Return that of a store."""
        if tracker.plans is None:
            tracker.plans = cls(tracker)
        found: KnownFrames = tracker.plans
        return found

    def mark(self, plain: DataFrame, frame: Frame) -> DataFrame:
        """Mark the plan of a frame; another one, if it is that of a frame already."""
        catalyst, plan = Catalyst(plain), analysed(plain)
        self.anyone = plain
        marks = catalyst.mark_of(plan)
        if self._store in marks:
            plan, marks = plan.clone(), ""
            plain = of_plan(plain, plan)
        self._count += 1
        key = f"{self._store}:{self._count}"
        catalyst.mark(plan, f"{marks};{key}" if marks else key)
        self._frames[key] = frame
        for number in output_ids(plan):
            self._columns.setdefault(number, frame)
        return plain

    def frame_of(self, plain: DataFrame) -> Frame | None:
        """Return the frame that somebody holds of a DataFrame's plan."""
        return self._marked(Catalyst(plain).mark_of(analysed(plain)))

    def is_derived(self, plain: DataFrame) -> bool:
        """Whether a DataFrame is made of tables that are known here, and is none of them."""
        plan = analysed(plain)
        catalyst, waiting = Catalyst(plain), [plan]
        while waiting and files_of(plan) is None:
            node = waiting.pop()
            if node is not plan and self._store in catalyst.mark_of(node):
                return True
            if self._made_of_rdds(node):
                return True
            if kind_of(node) == "LogicalRelation" and parts_of(of_plan(plain, node)):
                self.anyone = plain
                return True
            waiting += items(node.children())
        return False

    def frames_in(self, plan: Any) -> Iterator[Frame]:
        """Return the frames whose marks are in a plan."""
        catalyst, waiting = Catalyst(self.anyone), [plan]
        while waiting:
            node = waiting.pop()
            found = self._marked(catalyst.mark_of(node))
            if found is not None:
                yield found
            else:
                waiting += [*items(node.children()), *items(node.innerChildren())]

    def _marked(self, marks: str) -> Frame | None:
        keys = [key for key in marks.split(";") if key.startswith(self._store)]
        return self._frames.get(keys[0]) if keys else None

    def _of_another(self, marks: str) -> Frame | None:
        """Return the frame of another store, which is open, that these are the marks of."""
        for key in filter(None, marks.split(";")):
            other = KnownFrames._stores.get(key.partition(":")[0])
            if other is not None and other is not self and not other.tracker.recorder.closed:
                return other._frames.get(key)  # noqa: SLF001 (of this class)
        return None

    def _adopted(self, frame: Frame, kept: Kept) -> Source:
        """Return a table of another store as one that comes from nowhere in this one."""
        if frame not in self._others:
            with self.tracker.recorder.catalog.still():
                name = None if self.tracker.recorder.is_taken(frame.name) else frame.name
            rows = RowSet(kept.one.numbering.total)
            table = self.tracker.source(name, frame.table.columns, rows)
            self._others[frame] = Source(table, kept)
        return self._others[frame]

    def table_of(self, node: Any, marks: str) -> Source | None:
        """Return the table that a node is, if it is one that somebody holds."""
        frame = self._marked(marks)
        if frame is None and self._store not in marks:
            frame = self._of_another(marks)
        if frame is None and kind_of(node) == "LogicalRelation" and self._store not in marks:
            frame = self._read_again(node)
        if frame is None or frame.computing:
            return None
        columns = output_names(node)
        width = len(frame.table.columns)
        if columns[:width] != frame.table.columns or (len(columns) > width and not frame.source):
            return None  # Spark has added columns: what is below has what they are from
        try:
            kept = frame.compute()
        except CaptureError:
            raise
        except Exception as error:
            if frame.source or was_cancelled(error):
                raise JobError(error) from error
            return None  # this plan may do without what fails
        return Source(frame.table, kept) if frame.known is self else self._adopted(frame, kept)

    def _read_again(self, node: Any) -> Frame | None:
        """Return the frame of files that tracked frames wrote, from now on."""
        plain = of_plan(self.anyone, node)
        return read_frame(self, plain, None) if parts_of(plain) else None

    def behind(self, node: Any) -> Iterator[Source]:
        """Return tables that values of a leaf may be from: rows that Spark kept, or that came back.

        A checkpoint has the columns of what it was made of, and nothing else of it.
        """
        found = {self._columns.get(number) for number in output_ids(node)}
        found |= self._made_of_rdds(node)
        self.came_back(node)
        for frame in found:
            if frame is not None and not frame.computing:
                yield Source(frame.table, frame.compute())

    def left(self, frame: Frame, rdd: int | None = None) -> None:
        """Take note that values of a frame were handed out: they may come back."""
        if rdd is not None:
            self._rdds[rdd] = frame
        for column in frame.table.columns:
            self._left.setdefault(column, {})[frame.table.node] = None

    def _made_of_rdds(self, leaf: Any) -> set[Frame | None]:
        if not self._rdds or kind_of(leaf) not in _RDDS:
            return set()
        return {self._rdds.get(number) for number in rdds_of(leaf)} - {None}

    def came_back(self, plan: Any) -> None:
        """Take note of tables whose values may be in rows that come from the program."""
        for leaf in leaves(plan) if self._left else ():
            names = output_names(leaf) if kind_of(leaf) in _FROM_PROGRAM else ()
            nodes = dict.fromkeys(node for name in names for node in self._left.get(name, ()))
            if nodes:
                self.tracker.recorder.leak("createDataFrame", nodes, tell=True)

    def keep(self, frame: DataFrame) -> Kept:
        """Compute rows and keep them."""
        with jobs():
            return self.tracker.keep(frame)
