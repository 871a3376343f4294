"""Timing on a machine that does other things too."""

from collections.abc import Callable, Mapping
from time import perf_counter


def race(runners: Mapping[str, Callable[[], object]], turns: int = 8) -> dict[str, float]:
    """Return the best time of each runner in seconds.

    They take turns, so that a slow moment of the machine hits all of them; the first turn warms up
    and does not count.
    """
    best = dict.fromkeys(runners, float("inf"))
    for turn in range(turns):
        for name, runner in runners.items():
            begun = perf_counter()
            runner()
            taken = perf_counter() - begun
            if turn:
                best[name] = min(best[name], taken)
    return best


def many(action: Callable[[], object], times: int) -> Callable[[], None]:
    """Return a runner that does something several times, for what a clock can't see once."""

    def run() -> None:
        for _ in range(times):
            action()

    return run
