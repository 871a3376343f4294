"""Cells as a Spark DataFrame. Imported only when a frame is asked for: pyspark starts slowly."""

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dslog.cells.cells_cost import CellsCost
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
        return session.range(boxes.num_rows).select()
    frame = session.createDataFrame(boxes)
    if not listed:
        return frame
    block = CellsCost.current().listed
    for axis in range(ndim):
        start, stop = F.col(f"start{axis}"), F.col(f"hi{axis}")
        starts = F.sequence(f"lo{axis}", stop, F.lit(block))
        frame = frame.withColumn(f"start{axis}", F.explode(starts))
        indices = F.sequence(start, F.least(start + block - 1, stop))
        frame = frame.withColumn(f"i{axis}", F.explode(indices))
    return frame.select(*(f"i{axis}" for axis in range(ndim)))
