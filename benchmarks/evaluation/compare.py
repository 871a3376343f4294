"""Two runs side by side: which ratios got worse."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.evaluation.ratios import Kind, all_ratios
from benchmarks.evaluation.results import Results

SIZE_TOLERANCE = 0.01
TIME_TOLERANCE = 0.5  # on a shared machine, half as much again is noise


@dataclass(frozen=True, slots=True)
class Change:
    """One ratio in two runs."""

    name: str
    kind: Kind
    old: float
    new: float
    regressed: bool


def compare(
    old: Results,
    new: Results,
    size_tolerance: float = SIZE_TOLERANCE,
    time_tolerance: float = TIME_TOLERANCE,
) -> list[Change]:
    """Return every ratio that both runs have; one that is missing in the new run got worse.

    A ratio regressed when it grew by more than its tolerance. Runs of different sizes compare
    different operations, so only their common names are looked at.
    """
    before, after = all_ratios(old), all_ratios(new)
    changes = []
    for name, ratio in before.items():
        tolerance = size_tolerance if ratio.kind == "bytes" else time_tolerance
        if name not in after:
            if old.size == new.size and _measured(new, name):
                changes.append(Change(name, ratio.kind, ratio.value, float("inf"), regressed=True))
            continue
        value = after[name].value
        worse = value > ratio.value * (1 + tolerance)
        changes.append(Change(name, ratio.kind, ratio.value, value, regressed=worse))
    return changes


def _measured(results: Results, name: str) -> bool:
    """Whether a run took part in the experiment that a ratio belongs to."""
    if name.startswith("size"):
        return bool(results.storage)
    if name.startswith("write"):
        return bool(results.latency if "cells" in name else results.storage)
    return bool(results.queries)
