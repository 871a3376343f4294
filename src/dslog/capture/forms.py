"""Read a capture in any of its forms.

========================================== =====================================================
capture                                    meaning
========================================== =====================================================
a callable                                 ``capture(index) -> input indices``, per output cell
an integer array (n, l + m)                one pair per row: output axes, then input axes
an Arrow table, batch or reader            columns ``b0 ..`` and ``a0 ..``; so for any object with
                                           Arrow's stream interface, such as a pandas DataFrame
a path                                     a Parquet file, or a directory of them, with those
                                           columns
a Lineage                                  itself
========================================== =====================================================
"""

from os import PathLike
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dslog.capture.callables import Capture, call_capture
from dslog.compress.encoder import compress
from dslog.errors import CaptureError, EngineError
from dslog.lineage.lineage import Lineage
from dslog.store.content import check_shapes
from dslog.store.files import Files
from dslog.store.seams import Pair


def read_capture(capture: object, pair: Pair, files: Files, engine: str) -> Lineage:  # noqa: ARG001
    """Return the lineage of a pair from a capture in any form; the store's ``ReadCapture``."""
    if isinstance(capture, Lineage):
        check_shapes(capture, pair)
        return capture
    return compress(_relation(capture, pair), pair.out.shape, pair.in_.shape)


def _relation(capture: object, pair: Pair) -> object:
    if isinstance(capture, np.ndarray | list | pa.Table | pa.RecordBatch):
        return capture
    if isinstance(capture, str | PathLike) and capture:
        return _read_parquet(Path(capture))
    if type(capture).__module__.startswith("pyspark."):
        raise EngineError(
            "a Spark DataFrame can't be a capture yet: write it as Parquet and give the path"
        )
    if hasattr(capture, "__arrow_c_stream__"):
        return pa.table(capture)
    if callable(capture):
        out, in_ = pair.out, pair.in_
        function = cast("Capture", capture)
        return call_capture(function, out.name, out.shape, in_.name, in_.shape)
    raise CaptureError(
        f"the capture of {pair.out.name!r} <- {pair.in_.name!r} is {capture!r}: give a callable, "
        f"an integer array of shape (n, {len(pair.out.shape) + len(pair.in_.shape)}), an Arrow "
        f"table, a Parquet path or a Lineage"
    )


def _read_parquet(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise CaptureError(f"can't read the capture {path} as Parquet: {error}") from error
