"""Cells as a Spark DataFrame. Imported only when a frame is asked for: pyspark starts slowly."""

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (as PySpark's own pages write it)
from pyspark.sql.types import StructType

from dslog.errors import EngineError


def active_session() -> SparkSession:
    """The session that is running already."""
    session = SparkSession.getActiveSession()
    if session is None:
        raise EngineError(
            "No Spark session is active. Start one with dslog.spark(), or pass your own session."
        )
    return session


def cells_frame(session: SparkSession, boxes: pa.Table, ndim: int, *, listed: bool) -> DataFrame:
    """A frame of boxes (lo0, hi0, ...), or of their cells (i0, i1, ...) listed by Spark."""
    if ndim == 0:
        return session.createDataFrame([()] * boxes.num_rows, StructType([]))
    frame = session.createDataFrame(boxes)
    if not listed:
        return frame
    for axis in range(ndim):
        frame = frame.withColumn(f"i{axis}", _indices(axis))
    return frame.select(*(f"i{axis}" for axis in range(ndim)))


def _indices(axis: int) -> Column:
    return F.explode(F.sequence(f"lo{axis}", f"hi{axis}"))
