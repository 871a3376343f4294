"""The one way to time: the best of some runs, contenders in turns.

A busy machine disturbs the least time least, and turns let a slow moment hit all contenders.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")
_LONG = 0.1  # seconds; what takes longer is not repeated


def timed(function: Callable[[], T], repeats: int = 1) -> tuple[float, T]:
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


def race(runners: Mapping[str, Callable[[], object]], turns: int = 8) -> dict[str, float]:
    """Return the least seconds of each runner; they take turns, and the first turn warms up."""
    best = dict.fromkeys(runners, float("inf"))
    for turn in range(max(2, turns)):
        for name, runner in runners.items():
            seconds, _ = timed(runner)
            if turn:
                best[name] = min(best[name], seconds)
    return best


def many(action: Callable[[], object], times: int) -> Callable[[], None]:
    """Return a runner that does something several times, for what a clock can't see once."""

    def run() -> None:
        for _ in range(times):
            action()

    return run


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
