"""Put a store together with what reads captures for it."""

from os import PathLike
from typing import Literal

from dslog.capture.forms import read_capture
from dslog.capture.tracking import TrackingStore


def open_store(
    path: str | PathLike[str], mode: Literal["a", "r"] = "a", *, spark: object = None
) -> TrackingStore:
    """Open the store in a directory, or make one there.

    ``":memory:"`` gives a throw-away store. Mode ``"r"`` only reads, and so does ``"a"`` where the
    directory can't be written. ``spark`` is a session, or settings for one, for the steps that run
    on Spark.
    """
    return TrackingStore(path, mode, read_capture=read_capture, spark=spark)
