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
    latency=(1_000, 10_000),
    coverage_runs=4,
    scale=(30_000, 60_000),
    point_rows=20_000,
    huge=10**5,
    reused=(10**3, 10**4),
    tpch=(0.0005,),
    tpch_every=8,
    grouped=(5_000,),
)
