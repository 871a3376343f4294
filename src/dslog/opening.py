"""Put a store together with what reads captures for it and what answers in place of them."""

from os import PathLike
from typing import Literal

from dslog.capture.forms import read_capture
from dslog.capture.tracking import TrackingStore
from dslog.config import Config
from dslog.reuse.library import depends_on_values, numpy_library
from dslog.reuse.predictor import Predictor


def open_store(
    path: str | PathLike[str], mode: Literal["a", "r"] = "a", *, spark: object = None
) -> TrackingStore:
    """Open the store in a directory, or make one there.

    ``":memory:"`` gives a throw-away store. Mode ``"r"`` only reads, and so does ``"a"`` where the
    directory can't be written. ``spark`` is a session, or settings for one, for the steps that run
    on Spark.
    """
    config = Config.from_environment()
    reuse = Predictor(
        config.reuse_after, config.reuse_probes, numpy_library, on_values=depends_on_values
    )
    return TrackingStore(path, mode, read_capture=read_capture, reuse=reuse, spark=spark)
