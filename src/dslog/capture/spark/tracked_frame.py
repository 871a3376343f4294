"""TrackedFrame: a Spark DataFrame that knows where its cells came from.

It has PySpark's methods and no others: each is that of the plain DataFrame behind it, and a
DataFrame that comes out is tracked as well. Where its lineage comes from its plan says (``frame``).
What hands out rows does so from those that were recorded, in the order of their positions.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

from dslog.capture.numpy.array import TrackedArray, track
from dslog.capture.spark.frame import Frame, KnownFrames, read_frame
from dslog.capture.spark.frame_cost import FrameCost
from dslog.capture.spark.plan_reader import analysed
from dslog.capture.spark.row_id import RowSet
from dslog.capture.spark.sink import Writer, leave
from dslog.capture.spark.sql_command import note_command
from dslog.capture.spark.table_node import Origin, Tracker
from dslog.errors import CaptureError

ATTRIBUTE = "dslog"
"""Where a pandas frame keeps the name of the table it is, in its ``attrs``."""

_ROWS = {
    "approxQuantile", "collect", "corr", "cov", "first", "foreach", "foreachPartition", "head",
    "pandas_api", "show", "tail", "take", "toArrow", "toJSON", "toLocalIterator", "toPandas",
}  # fmt: skip
"""What hands out rows."""

_MADE_OF_ROWS = {"transpose"}
"""What is computed at once, so that its plan does not tell what it is made of."""

_INNER = ("GroupedData", "DataFrameNaFunctions", "DataFrameStatFunctions", "PandasCogroupedOps")
"""Classes of PySpark's that make DataFrames of one."""

_SPECIAL = (
    "__getitem__", "__repr__", "__dir__", "_repr_html_", "_ipython_key_completions_",
    "_show_string", "_joinAsOf",
)  # fmt: skip


class TrackedFrame(ClassicFrame):
    """A table whose lineage is recorded; ``store.track`` makes one of a DataFrame.

    All that PySpark's DataFrame has is here. Beside it, unless a column is called so: ``name``, the
    name in the store; ``named(name)``; ``df``, the DataFrame without tracking; ``shape``;
    ``record()``; ``toNumpy(dtype)``; ``one_hot(column)``.
    """

    if TYPE_CHECKING:
        name: str
        df: DataFrame
        shape: tuple[int, int]
        named: Callable[[str], TrackedFrame]
        record: Callable[[], None]
        toNumpy: Callable[..., TrackedArray]  # noqa: N815
        one_hot: Callable[..., TrackedFrame]

    def __init__(self, frame: Frame) -> None:
        self._dslog = frame
        super().__init__(frame.plain._jdf, frame.plain.sparkSession)  # noqa: SLF001

    @property
    def _jdf(self) -> Any:
        """Java's frame; a model that MLlib fits to it has values that no plan tells of."""
        caller = sys._getframe(1)  # noqa: SLF001 (there is no other way to know who asked)
        fits = caller.f_globals.get("__name__", "").startswith("pyspark.ml.")
        if fits and "transform" not in caller.f_code.co_name:
            leave(self._dslog, "pyspark.ml")
        return self._dslog.plain._jdf  # noqa: SLF001

    @_jdf.setter
    def _jdf(self, _: Any) -> None:
        """Leave it to the frame behind this one."""

    @property
    def rdd(self) -> Any:
        """The rows, as an RDD."""
        found = self._dslog.handed_out().rdd
        self._dslog.known.left(self._dslog, found.id())
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_dslog"):
            raise AttributeError(name)
        frame = self._dslog
        if name in _OWN and name not in frame.table.columns:
            return _OWN[name](self)
        return getattr(frame.plain, name)

    def transform(self, func: Callable[..., DataFrame], *args: Any, **kwargs: Any) -> DataFrame:
        """Return ``func(frame, ...)``."""
        result = func(self, *args, **kwargs)
        if not isinstance(result, DataFrame):
            self._dslog.plain.transform(lambda _: result)  # which says what is wrong
        return result

    def count(self) -> int:
        """Count the rows."""
        known = self._dslog.table.rows.count
        return self._dslog.rows().count() if known is None else known

    def isEmpty(self) -> bool:  # noqa: N802
        """Whether there is no row."""
        return self.count() == 0

    def toPandas(self) -> Any:  # noqa: N802
        """Return the rows as a pandas frame, row i of the table at place i."""
        result: Any = self._dslog.handed_out().toPandas()
        result.attrs[ATTRIBUTE] = self._dslog.name
        return result

    def _persisted(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TrackedFrame:
        getattr(self._dslog.plain, name)(*args, **kwargs)
        return self

    def cache(self) -> TrackedFrame:
        """Have Spark keep the rows once they are computed."""
        return self._persisted("cache", (), {})

    def persist(self, *args: Any, **kwargs: Any) -> TrackedFrame:
        """Have Spark keep the rows once they are computed."""
        return self._persisted("persist", args, kwargs)

    def unpersist(self, *args: Any, **kwargs: Any) -> TrackedFrame:
        """Let go of what Spark keeps."""
        return self._persisted("unpersist", args, kwargs)

    def checkpoint(self, eager: bool = True) -> TrackedFrame:  # noqa: FBT002
        """Compute the rows; they are kept, and go on from what they were made of."""
        return self.localCheckpoint(eager)

    def localCheckpoint(  # noqa: N802
        self,
        eager: bool = True,  # noqa: FBT002
        storageLevel: Any = None,  # noqa: N803
    ) -> TrackedFrame:
        """Compute the rows; they are kept, and go on from what they were made of."""
        if eager or storageLevel is not None:
            self._dslog.rows()
        return self

    @property
    def write(self) -> Any:
        """Write the rows out, as PySpark's ``DataFrame.write`` does."""
        return Writer(self._dslog, "write")

    def writeTo(self, table: str) -> Any:  # noqa: N802
        """Write the rows to a table, as PySpark's ``DataFrame.writeTo`` does."""
        return Writer(self._dslog, "writeTo", table)


def forwarded(value: Any, frame: Frame, op: str, args: Mapping[str, object]) -> Any:
    """Pass on what PySpark gives, and track every DataFrame in it."""
    if isinstance(value, DataFrame):
        return made_of(frame, value, op, args)
    if isinstance(value, list) and any(isinstance(item, DataFrame) for item in value):
        return [forwarded(item, frame, op, args) for item in value]
    if type(value).__name__ in _INNER:
        return Forwarding(value, frame)
    return value


def told(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, object]:
    """Return the arguments of a call that say something, by name."""
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return {}
    found = {name: _text(value) for name, value in given.items() if name != "self"}
    return {name: text for name, text in found.items() if text not in (None, [], {})}


def _text(value: Any) -> object:
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, Column):
        inner: Any = value._jc  # noqa: SLF001 (what Spark calls it)
        return str(inner.toString())
    if isinstance(value, list | tuple):
        return [text for item in value if (text := _text(item)) is not None]
    if isinstance(value, dict):
        return {str(key): _text(item) for key, item in value.items()}
    return None


def made_of(
    frame: Frame, made: DataFrame, op: str, args: Mapping[str, object] | None = None
) -> TrackedFrame:
    """Track a DataFrame that is made of another one."""
    table = frame.tracker.table(
        frame.table.node.base, tuple(made.columns), RowSet(), Origin(op, args or {})
    )
    return TrackedFrame(Frame(frame.known, table, made))


class Forwarding:
    """Groups of rows, and other things of PySpark's that make DataFrames."""

    def __init__(self, inner: Any, frame: Frame) -> None:
        self._dslog_inner = inner
        self._dslog_frame = frame

    @property
    def __class__(self) -> type:
        found: type = type(self._dslog_inner)
        return found

    @__class__.setter
    def __class__(self, _: type) -> None:
        raise TypeError("what stands for groups stays so")

    def __repr__(self) -> str:
        return repr(self._dslog_inner)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_dslog"):
            raise AttributeError(name)
        value = getattr(self._dslog_inner, name)
        if name.startswith("_") or not callable(value):
            return value
        frame = self._dslog_frame

        def call(*args: Any, **kwargs: Any) -> Any:
            result = _called(value, args, kwargs)
            return forwarded(result, frame, name, told(value, args, kwargs))

        return call


def _called(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    plain = [_inner(arg) for arg in args]
    return function(*plain, **{name: _inner(arg) for name, arg in kwargs.items()})


def _inner(value: Any) -> Any:
    return value._dslog_inner if type(value) is Forwarding else value  # noqa: SLF001


def _forwarding(name: str) -> Any:
    """Make a member that does what that of the plain DataFrame does."""
    static = inspect.getattr_static(ClassicFrame, name)

    def target(self: TrackedFrame) -> Any:
        frame = self._dslog
        if name in _MADE_OF_ROWS:
            return getattr(frame.rows(), name)
        return getattr(frame.handed_out() if name in _ROWS else frame.plain, name)

    if not callable(static) or inspect.isclass(static):
        return property(lambda self: forwarded(target(self), self._dslog, name, {}))

    def call(self: TrackedFrame, *args: Any, **kwargs: Any) -> Any:
        method = target(self)
        result = _called(method, args, kwargs)
        made = isinstance(result, DataFrame | list)
        found = forwarded(result, self._dslog, name, told(method, args, kwargs) if made else {})
        if name in _MADE_OF_ROWS:
            found._dslog.parent = self._dslog  # noqa: SLF001 (of this module)
        return found

    call.__name__ = call.__qualname__ = name
    call.__doc__ = None if name.startswith("_") else static.__doc__
    return call


for _name in dir(ClassicFrame):
    if _name not in TrackedFrame.__dict__ and (not _name.startswith("_") or _name in _SPECIAL):
        setattr(TrackedFrame, _name, _forwarding(_name))


def _named(frame: TrackedFrame) -> Callable[[str], TrackedFrame]:
    def named(name: str) -> TrackedFrame:
        """Give this table a name in the store and return it."""
        frame._dslog.rename(name)  # noqa: SLF001 (of this module)
        return frame

    return named


def _shape(frame: TrackedFrame) -> tuple[int, int]:
    frame._dslog.record()  # noqa: SLF001 (of this module)
    return frame._dslog.table.shape  # noqa: SLF001 (of this module)


def _to_numpy(frame: TrackedFrame) -> Callable[..., TrackedArray]:
    def to_numpy(dtype: Any = None) -> TrackedArray:
        """Return the values as a tracked array, rows by columns: lineage goes on in numpy."""
        own = frame._dslog  # noqa: SLF001 (of this module)
        found: Any = own.rows().toPandas()
        return track(own.tracker.recorder, found.to_numpy(dtype=dtype), own.name)

    return to_numpy


def _one_hot(frame: TrackedFrame) -> Callable[..., TrackedFrame]:
    def one_hot(
        column: str,
        values: Sequence[Any] | None = None,
        *,
        prefix: str | None = None,
        keep: bool = False,
    ) -> TrackedFrame:
        """Put a column of 0 and 1 per value in place of a column; a null gives 0 in all of them.

        Without ``values``, they are the different ones of the column, sorted. ``keep`` leaves the
        column in its place.
        """
        own = frame._dslog  # noqa: SLF001 (of this module)
        values = _values_of(own, column) if values is None else list(values)
        start = column if prefix is None else prefix
        added = {f"{start}_{v}": F.col(column).eqNullSafe(F.lit(v)).cast("int") for v in values}
        wider = own.plain.withColumns(added) if added else own.plain
        return made_of(own, wider if keep else wider.drop(column), "one_hot")

    return one_hot


def _values_of(frame: Frame, column: str) -> list[Any]:
    most = FrameCost.current().category_values
    found = frame.rows().select(column).distinct().dropna().limit(most + 1).collect()
    if len(found) > most:
        raise CaptureError(
            f"column {column!r} of {frame.name!r} has more than {most} different values: "
            f"give those to encode, one_hot({column!r}, values=[...])"
        )
    return sorted(row[0] for row in found)


_OWN: dict[str, Callable[[TrackedFrame], Any]] = {
    "name": lambda frame: frame._dslog.name,  # noqa: SLF001 (of this module)
    "named": _named,
    "df": lambda frame: frame._dslog.plain,  # noqa: SLF001 (of this module)
    "shape": _shape,
    "record": lambda frame: frame._dslog.record,  # noqa: SLF001 (of this module)
    "toNumpy": _to_numpy,
    "one_hot": _one_hot,
}
"""What tracked frames have beside PySpark's, where no column is called so."""


def record_frame(
    tracker: Tracker,
    plain: DataFrame,
    name: str | None,
    op: str,
    args: Mapping[str, object] | None = None,
    base: str = "table",
) -> TrackedFrame:
    """Return a DataFrame, however it was made, as a tracked frame: lineage is read off its plan."""
    note_command(KnownFrames.of(tracker), plain)
    columns, rows, origin = tuple(plain.columns), RowSet(), Origin(op, args or {})
    if name is not None:
        table = tracker.source(name, columns, rows)
        table.origin = origin
    else:
        table = tracker.table(base, columns, rows, origin)
    frame = Frame(KnownFrames.of(tracker), table, plain)
    if name is not None:
        tracker.hold(frame)
    return TrackedFrame(frame)


def track_frame(
    tracker: Tracker, plain: DataFrame, name: str | None = None, *, keep_values: bool = False
) -> TrackedFrame:
    """Return a DataFrame as a tracked frame, called ``name`` in the store."""
    known = KnownFrames.of(tracker)
    if known.is_derived(plain):
        result = record_frame(tracker, plain, name, "track")
        result._dslog.table.keep = keep_values  # noqa: SLF001 (of this module)
        return result
    known.came_back(analysed(plain))
    frame = read_frame(known, plain, name)
    frame.table.keep = keep_values
    return TrackedFrame(frame)
