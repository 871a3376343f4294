"""Actions: what computes a frame and hands out its rows, always in the order of their positions."""

from __future__ import annotations

from typing import Any, Self

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql.types import StructType

from dslog.capture.numpy.track import track
from dslog.capture.numpy.tracked import TrackedArray
from dslog.capture.spark.base import Frame
from dslog.errors import CaptureError, did_you_mean

ATTRIBUTE = "dslog"
"""Where a pandas frame keeps the name of the table it is, in its ``attrs``."""


class Actions(Frame):
    """toPandas, collect, count, show and the like."""

    def toPandas(self) -> Any:  # noqa: N802
        """Return the rows as a pandas frame, row i of the table at place i."""
        result: Any = self.fetch(lambda rows: rows.toPandas())
        result.attrs[ATTRIBUTE] = self.name
        return result

    def toArrow(self) -> pa.Table:  # noqa: N802
        """Return the rows as an Arrow table."""
        return self.fetch(lambda rows: rows.toArrow())

    def toNumpy(self, dtype: Any = None) -> TrackedArray:  # noqa: N802
        """Return the values as a tracked array, rows by columns: lineage goes on in numpy."""
        values = self.toPandas().to_numpy(dtype=dtype)
        return track(self.tracker.session, values, self.name)

    def collect(self) -> list[Row]:
        """Return the rows."""
        return self.fetch(lambda rows: rows.collect())

    def take(self, num: int) -> list[Row]:
        """Return the first rows."""
        return self.ordered().take(num)

    def head(self, n: int | None = None) -> Any:
        """Return the first row, or the first ``n``."""
        return self.first() if n is None else self.take(n)

    def first(self) -> Row | None:
        """Return the first row, None if there is none."""
        rows = self.take(1)
        return rows[0] if rows else None

    def count(self) -> int:
        """Count the rows."""
        known = self.table.rows.count
        return self.df.count() if known is None else known

    def isEmpty(self) -> bool:  # noqa: N802
        """Whether there is no row."""
        return self.df.isEmpty()

    def show(self, n: int = 20, truncate: bool | int = True, vertical: bool = False) -> None:  # noqa: FBT002
        """Print the first rows."""
        self.ordered().show(n, truncate, vertical)

    def printSchema(self) -> None:  # noqa: N802
        """Print names and types."""
        self.df.printSchema()

    def explain(self, extended: Any = None, mode: str | None = None) -> None:
        """Print Spark's plan for the untracked rows."""
        self.df.explain(extended, mode)

    @property
    def schema(self) -> StructType:
        """Names and types of the columns."""
        return self.df.schema

    @property
    def dtypes(self) -> list[tuple[str, str]]:
        """Names and types of the columns."""
        return self.df.dtypes

    # where rows are, not what they are

    def cache(self) -> Self:
        """Have Spark keep the rows once they are computed."""
        self.data[0].cache()
        return self

    def persist(self, *level: Any) -> Self:
        """Have Spark keep the rows once they are computed."""
        self.data[0].persist(*level)
        return self

    def unpersist(self, blocking: bool = False) -> Self:  # noqa: FBT002
        """Let go of what Spark keeps."""
        self.data[0].unpersist(blocking)
        return self

    def repartition(self, *args: Any) -> Self:
        """Spread the rows over partitions; their positions stay."""
        return self._placed(self.data[0].repartition(*args))

    def coalesce(self, numPartitions: int) -> Self:  # noqa: N803
        """Gather the rows in fewer partitions; their positions stay."""
        return self._placed(self.data[0].coalesce(numPartitions))

    def hint(self, name: str, *parameters: Any) -> Self:
        """Tell Spark how to join this frame."""
        return self._placed(self.data[0].hint(name, *parameters))

    def alias(self, alias: str) -> Self:
        """Name the frame within expressions, as ``F.col("alias.column")``."""
        return self._placed(self.data[0].alias(alias))

    def transform(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        """Return ``func(frame, ...)``."""
        return func(self, *args, **kwargs)

    def _placed(self, frame: DataFrame) -> Self:
        return type(self)(self.tracker, self.table, (frame, self.data[1]))

    # columns

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, Column):
            return self.filter(item)
        if isinstance(item, list | tuple):
            return self.select(*item)
        name = self.columns[item] if isinstance(item, int) else item
        return self.data[0][name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "table" not in self.__dict__:
            raise AttributeError(name)
        if name in self.table.columns:
            return self[name]
        if hasattr(DataFrame, name):
            raise AttributeError(
                f"a tracked frame has no {name}: use frame.df for a DataFrame without tracking"
            )
        raise AttributeError(
            f"{self.name!r} has no column {name!r}.{did_you_mean(name, self.columns)}"
        )

    def colRegex(self, colName: str) -> Column:  # noqa: N802, N803
        """Select columns by a regular expression."""
        return self.data[0].colRegex(colName)

    def __repr__(self) -> str:
        rows = self.table.rows.count
        size = f"{'?' if rows is None else rows} x {len(self.columns)}"
        return f"TrackedFrame({self.name!r}, {size}: {', '.join(self.columns)})"

    def __len__(self) -> int:
        raise CaptureError("a frame has no len(): use frame.count()")
