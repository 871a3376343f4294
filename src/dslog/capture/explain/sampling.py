"""What both methods check and draw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dslog.capture.numpy.state import Tracked, plain_of
from dslog.errors import CaptureError


def read_input(values: Any, least_axes: int) -> npt.NDArray[Any]:
    """Return what is to be explained as a plain array of numbers."""
    plain = plain_of(values) if isinstance(values, Tracked) else np.asarray(values)
    if plain.dtype.kind not in "biuf" or plain.ndim < least_axes or not plain.size:
        raise CaptureError(
            f"can't explain an array of shape {plain.shape} and type {plain.dtype}: give numbers "
            f"with at least {least_axes} axes, and some cells"
        )
    return plain


def check_samples(samples: int) -> None:
    """Refuse a number of samples that says nothing."""
    if samples < 2:
        raise CaptureError(f"samples={samples} is too few: take at least 2, better hundreds")


def chunks(total: int, size: int) -> Iterator[slice]:
    """Split a range into slices of at most ``size``."""
    return (slice(start, min(start + size, total)) for start in range(0, total, size))
