"""Timing that a busy machine disturbs as little as possible."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")
_LONG = 0.1  # seconds; what takes longer is not repeated


def timed(function: Callable[[], T], repeats: int) -> tuple[float, T]:
    """Return the least number of seconds of some runs, and the last result."""
    best = float("inf")
    gc.disable()
    try:
        for _ in range(max(1, repeats)):
            started = perf_counter()
            result = function()
            seconds = perf_counter() - started
            best = min(best, seconds)
            if seconds > _LONG:
                break
    finally:
        gc.enable()
    return best, result


@dataclass(frozen=True, slots=True)
class Spread:
    """Least, mean and greatest of some numbers."""

    low: float
    mean: float
    high: float
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Summarise at least one number."""
        return cls(min(values), sum(values) / len(values), max(values), len(values))
