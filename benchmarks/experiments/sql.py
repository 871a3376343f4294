"""SQL and DataFrame code on Spark, with lineage read off the plan: tracked beside untracked.

The 22 queries of TPC-H, as text, and flights and a filter with a join and a group-by as code. Both
ways take turns after a warm-up, each from the call until the action has returned, and medians are
compared; what is recorded after that counts apart. A part of it, at a scale of one's own:
``python -m benchmarks.experiments.sql --scale 0.1 --query 9 18``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from benchmarks.clock import timed
from benchmarks.experiment import Experiment, Ratio, Setting, Target
from benchmarks.experiments.scale import MASTER
from benchmarks.experiments.tables import delays, flights_files
from benchmarks.size import SIZES
from benchmarks.units import nbytes, seconds
from benchmarks.workloads.tpch import query, tables
from dslog.capture.store import Store, open_store
from dslog.spark.session import get_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MODES = ("now",)
"""When lineage is computed; ``now`` is before the action returns, which is what there is."""
MOST_MEAN, MOST_WORST = 1.6, 3.0  # times as long as untracked, over TPC-H's queries
DIGITS = 5  # of sums, whose order Spark chooses
Frames = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SqlRow:
    """One pipeline: medians of both ways, and what was recorded."""

    pipeline: str
    name: str
    mode: str
    rows_in: int
    rows: int
    plain_seconds: float
    seconds: float
    later_seconds: float
    nbytes: int
    lineages: int
    same: bool


def sql_table(setting: Setting) -> Iterator[SqlRow]:
    """Run the pipelines in every mode."""
    session = _started(setting)
    for scale in setting.size.tpch:
        with setting.folder() as folder:
            numbers = range(1, 23, setting.size.tpch_every)
            yield from run_tpch(session, folder, scale, numbers, setting)
    for copies in setting.size.copies:
        with setting.folder() as folder:
            yield from run_flights(session, folder, copies, setting)
    for rows in setting.size.grouped:
        with setting.folder() as folder:
            yield from run_grouped(session, folder, rows, setting)


def _started(setting: Setting) -> SparkSession:
    setting.tick("Spark starts")
    session = get_session({"spark.master": MASTER})
    session.sparkContext.setLogLevel("ERROR")
    return session


def run_tpch(
    session: SparkSession, folder: Path, scale: float, numbers: Sequence[int], setting: Setting
) -> Iterator[SqlRow]:
    """Ask TPC-H's queries over views of Parquet files, of plain frames and of tracked ones."""
    setting.tick(f"TPC-H's tables at scale {scale}")
    made = tables(scale)
    for name, table in made.items():
        pq.write_table(table, folder / f"{name}.parquet")
    read = {name: session.read.parquet(str(folder / f"{name}.parquet")) for name in made}
    plain = session.newSession()  # has views of its own
    for key in ("spark.sql.shuffle.partitions", "spark.sql.ansi.enabled"):
        plain.conf.set(key, str(session.conf.get(key)))
    for name in made:
        path = str(folder / f"{name}.parquet")
        plain.read.parquet(path).createOrReplaceTempView(name)
    total = sum(table.num_rows for table in made.values())
    for mode in MODES:
        with open_store(folder / mode) as store:
            for name, frame in read.items():
                store.track(frame, name).createOrReplaceTempView(name)
            for number in numbers:
                setting.tick(f"TPC-H {number} at scale {scale}, {mode}")
                text = query(number, scale)
                row = race(
                    lambda text=text: plain.sql(text).toPandas(),  # type: ignore[misc]
                    lambda text=text: store.sql(text),  # type: ignore[misc]
                    store,
                    setting.size.turns,
                )
                yield replace(
                    row,
                    pipeline=f"TPC-H at scale {scale}",
                    name=f"Q{number}",
                    mode=mode,
                    rows_in=total,
                )
    for name in made:
        session.catalog.dropTempView(name)


def run_flights(
    session: SparkSession, folder: Path, copies: int, setting: Setting
) -> Iterator[SqlRow]:
    """Record how late flights are in strong wind, of plain frames that were tracked."""
    files = flights_files(session, folder, copies, setting.size.flights)
    total = sum(frame.count() for frame in files.values())
    for mode in MODES:
        setting.tick(f"flights x {copies}, {mode}")
        with open_store(folder / mode) as store:
            for name, frame in files.items():
                store.track(frame, name)
            row = race(
                lambda: delays(list(files.values())).toPandas(),
                lambda store=store: store.record(delays(list(files.values()))),  # type: ignore[misc]
                store,
                max(2, setting.size.turns // copies),
            )
        yield replace(row, pipeline="flights", name=f"x {copies}", mode=mode, rows_in=total)


def grouped(frames: Sequence[Any]) -> Any:
    """A filter, a join and a group-by."""
    from pyspark.sql import functions as F  # noqa: PLC0415

    facts, groups = frames
    joined = facts.where("value % 10 > 2").join(groups, "key")
    return joined.groupBy("group").agg(F.sum("value").alias("total"), F.count("*").alias("n"))


def run_grouped(
    session: SparkSession, folder: Path, rows: int, setting: Setting
) -> Iterator[SqlRow]:
    """Put so many rows through a filter, a join and a group-by."""
    keys = max(10, rows // 100)
    facts = session.range(rows).selectExpr(
        "id", f"xxhash64(id) % {keys} key", "id * 7 % 1001 value"
    )
    facts.write.parquet(str(folder / "facts"))
    groups = session.range(-keys, keys).selectExpr("id key", "xxhash64(id) % 500 group")
    groups.write.parquet(str(folder / "groups"))
    read = {name: session.read.parquet(str(folder / name)) for name in ("facts", "groups")}
    for mode in MODES:
        setting.tick(f"{rows:,} rows through filter, join and group-by, {mode}")
        with open_store(folder / mode) as store:
            for name, frame in read.items():
                store.track(frame, name)
            row = race(
                lambda: grouped(list(read.values())).toPandas(),
                lambda store=store: store.record(grouped(list(read.values()))),  # type: ignore[misc]
                store,
                max(2, setting.size.turns // 2),
            )
        name = f"{rows:,} rows"
        yield replace(row, pipeline="filter, join, group", name=name, mode=mode, rows_in=rows)


def race(
    untracked: Callable[[], Any], record: Callable[[], Any], store: Store, turns: int
) -> SqlRow:
    """Take turns, the first of which warm up; return medians, and what one turn recorded."""
    spent: dict[str, list[float]] = {"plain": [], "tracked": [], "later": []}
    kept: list[Any] = []
    for turn in range(max(2, turns)):
        before = {info.out for info in store.lineages()} if not turn else set()
        plain_seconds, plain = timed(untracked)
        tracked_seconds, (frame, ours) = timed(lambda: _acted(record()))
        later_seconds, _ = timed(store.flush)
        if not turn:
            kept = [info for info in store.lineages() if info.out not in before]
            same = _alike(plain, ours)
        else:
            spent["plain"].append(plain_seconds)
            spent["tracked"].append(tracked_seconds)
            spent["later"].append(later_seconds)
        del frame
    return SqlRow(
        pipeline="",
        name="",
        mode="",
        rows_in=0,
        rows=len(plain),
        plain_seconds=statistics.median(spent["plain"]),
        seconds=statistics.median(spent["tracked"]),
        later_seconds=statistics.median(spent["later"]),
        nbytes=sum(info.nbytes for info in kept),
        lineages=len(kept),
        same=same,
    )


def _acted(frame: Any) -> tuple[Any, Any]:
    return frame, frame.toPandas()


def _alike(plain: Any, ours: Any) -> bool:
    """Whether both have the same rows, in some order, but for the last digits of sums."""

    def rows(found: Any) -> list[tuple[str, ...]]:
        return sorted(
            tuple(f"{v:.{DIGITS}g}" if isinstance(v, float) else str(v) for v in row)
            for row in found.itertuples(index=False, name=None)
        )

    return rows(plain) == rows(ours)


def sql_ratios(rows: Sequence[SqlRow]) -> Iterator[Ratio]:
    """Tracked against untracked, until the action has returned."""
    for r in rows:
        name = f"sql {r.pipeline} {r.name} {r.mode}"
        yield Ratio(name, "seconds", r.seconds, r.plain_seconds, "untracked")


def summary(rows: Sequence[SqlRow]) -> Iterator[tuple[str, str, float, SqlRow, float]]:
    """For each pipeline and mode: geometric mean of ratios, the worst row, bytes per output row."""
    for pipeline, mode in dict.fromkeys((r.pipeline, r.mode) for r in rows):
        some = [r for r in rows if (r.pipeline, r.mode) == (pipeline, mode)]
        mean = statistics.geometric_mean(r.seconds / r.plain_seconds for r in some)
        worst = max(some, key=lambda r: r.seconds / r.plain_seconds)
        weight = sum(r.nbytes for r in some) / max(1, sum(r.rows for r in some))
        yield pipeline, mode, mean, worst, weight


def sql_targets(rows: Sequence[SqlRow]) -> Iterator[Target]:
    """Bounds on the mean and the worst of TPC-H's queries; the same rows everywhere."""
    if not rows:
        return
    found, misses = [], []
    for pipeline, mode, mean, worst, weight in summary(rows):
        most = worst.seconds / worst.plain_seconds
        found.append(
            f"{pipeline}, {mode}: mean {mean:.2f}, worst {worst.name} {most:.2f}, "
            f"{weight:,.0f} bytes per output row"
        )
        if mean > MOST_MEAN or most > MOST_WORST:
            misses.append(f"{pipeline}, {mode}: {mean:.2f}, {most:.2f}")
    yield Target(
        "queries on Spark, tracked",
        "-",
        f"{MOST_MEAN} times as long as untracked on average, {MOST_WORST} at most",
        "; ".join(found),
        tuple(misses),
    )
    yield Target(
        "queries on Spark, tracked and untracked",
        "-",
        "the same rows",
        f"{sum(r.same for r in rows)} of {len(rows)}",
        tuple(f"{r.pipeline} {r.name}" for r in rows if not r.same),
    )


EXPERIMENTS = (
    Experiment(
        "sql",
        "Queries on Spark",
        "TPC-H's queries as SQL over tracked Parquet files, flights, and many rows through a "
        "filter, a join and a group-by; untracked and recorded in turns.",
        sql_table,
        SqlRow,
        sql_ratios,
        sql_targets,
        columns={
            "pipeline": lambda r: r.pipeline,
            "query": lambda r: r.name,
            "mode": lambda r: r.mode,
            "rows read": lambda r: f"{r.rows_in:,}",
            "rows": lambda r: f"{r.rows:,}",
            "untracked": lambda r: seconds(r.plain_seconds),
            "tracked": lambda r: seconds(r.seconds),
            "times": lambda r: f"{r.seconds / r.plain_seconds:.2f}",
            "after": lambda r: seconds(r.later_seconds),
            "lineage": lambda r: nbytes(r.nbytes),
            "bytes per row": lambda r: f"{r.nbytes / max(1, r.rows):,.0f}",
        },
    ),
)


def _parts(
    session: SparkSession, scratch: Path, options: argparse.Namespace, setting: Setting
) -> Iterator[SqlRow]:
    def made(name: str, number: float) -> Path:
        path = scratch / f"{name}{number}"
        path.mkdir()
        return path

    for scale in options.scale:
        chosen = options.query or range(1, 23)
        yield from run_tpch(session, made("tpch", scale), scale, chosen, setting)
    for copies in options.flights:
        yield from run_flights(session, made("flights", copies), copies, setting)
    for count in options.rows:
        yield from run_grouped(session, made("rows", count), count, setting)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a part, at a scale of one's own, and print it."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--scale", type=float, nargs="*", default=[], help="of TPC-H")
    parser.add_argument("--query", type=int, nargs="*", help="numbers of TPC-H's queries")
    parser.add_argument("--flights", type=int, nargs="*", default=[], help="copies of the flights")
    parser.add_argument("--rows", type=int, nargs="*", default=[], help="to filter, join and group")
    parser.add_argument("--turns", type=int, default=4, help="of which the first warms up")
    options = parser.parse_args(arguments)
    size = replace(SIZES["standard"], turns=options.turns)
    found: list[SqlRow] = []
    with tempfile.TemporaryDirectory() as scratch:
        setting = Setting(size, Path(scratch), tick=lambda text: print(text, file=sys.stderr))
        for row in _parts(_started(setting), Path(scratch), options, setting):
            found.append(row)
            cells = (show(row) for show in EXPERIMENTS[0].columns.values())
            print("  ".join(f"{cell!s:>12}" for cell in cells), flush=True)
    for pipeline, mode, mean, worst, weight in summary(found):
        most = worst.seconds / worst.plain_seconds
        print(
            f"{pipeline}, {mode}: geometric mean {mean:.2f}, worst {worst.name} {most:.2f}, "
            f"{weight:,.0f} bytes of lineage per output row"
        )
    return int(not all(row.same for row in found))


if __name__ == "__main__":
    sys.exit(main())
