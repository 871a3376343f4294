"""The types that every package speaks of: arrays of one dtype, shapes, JSON values."""

from typing import Any

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

Shape = tuple[int, ...]

Json = Any
"""A value that ``json.loads`` gives; what is in it is checked where it is read."""

MOST_CELLS = (1 << 63) - 1
"""Cells of the largest array: they are counted off in an int64."""
