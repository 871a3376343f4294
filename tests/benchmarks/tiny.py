"""Sizes at which even the slow twins of an experiment are quick."""

from dataclasses import replace

from benchmarks.size import QUICK

TINY = replace(
    QUICK,
    side=24,
    tile=120,
    sort=60,
    widen=5,
    upscale=1,
    titles=3_000,
    flights=2_000,
    cells=(30, 20),
    max_pairs=60_000,
)
