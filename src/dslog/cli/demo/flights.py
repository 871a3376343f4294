"""A table of flights through Spark, and one odd average traced to the flight behind it.

Spark drops the flights that never arrived and averages the delay per carrier and month. It also
writes, pair by pair, which cell of each result came from which cell before; DSLog compresses that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dslog.cli.demo.sizes import Size, of_file
from dslog.cli.demo.sources import load_flights

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

    from dslog.capture.tracking import TrackingStore
    from dslog.cells.cellset import CellSet

CARRIER, MONTH = "HA", 1
NAME = "Hawaiian Airlines"
_COLUMNS = ("carrier", "month", "arr_delay")


@dataclass(frozen=True, slots=True)
class Flights:
    """What was asked of the flights and what came out."""

    rows: int
    arrived: int
    groups: int
    monthly: tuple[float, ...]
    group: int
    average: float
    made_it: "CellSet"
    delays: tuple[float, ...]
    cause: int
    cause_text: str
    without: float
    touched: "CellSet"
    spark_seconds: float
    query_seconds: float
    sizes: tuple[Size, ...]


def run_flights(store: "TrackingStore", scratch: Path, say: Callable[[str], None]) -> Flights:
    """Run the pipeline on Spark, store its lineage, and ask."""
    from dslog.engine.session import spark

    flights = load_flights()
    begun = perf_counter()
    say("flights: starting Spark in this machine ...")
    session = spark(None)
    say(f"flights: filter and group {len(flights):,} rows, and write which cell made which ...")
    arrived, averages = pipeline(session, flights, scratch)
    say("flights: compressing ...")
    sizes = _store(store, scratch, len(flights), arrived, len(averages), flights.shape[1])
    spark_seconds = perf_counter() - begun
    return _ask(store, flights, averages, sizes, spark_seconds)


def pipeline(
    session: "SparkSession", flights: "pd.DataFrame", scratch: Path
) -> tuple[int, "pd.DataFrame"]:
    """Return how many flights arrived and the averages; write both relations below ``scratch``."""
    pq.write_table(_table(flights), scratch / "flights.parquet")
    source = session.read.parquet(str(scratch / "flights.parquet"))
    arrived = source.where("arr_delay is not null")
    arrived = arrived.selectExpr("*", "row_number() over (order by row) - 1 as kept").cache()
    grouped = arrived.groupBy("carrier", "month").agg({"arr_delay": "avg"})
    grouped = grouped.toDF("carrier", "month", "delay").orderBy("carrier", "month")
    averages = grouped.toPandas()
    _write_filter(session, arrived, flights.shape[1], scratch / "filter")
    _write_group(arrived, [flights.columns.get_loc(name) for name in _COLUMNS], scratch / "group")
    return arrived.count(), averages


def _table(flights: "pd.DataFrame") -> pa.Table:
    table = pa.Table.from_pandas(flights[list(_COLUMNS)], preserve_index=False)
    return table.append_column("row", pa.array(np.arange(len(flights))))


def _write_filter(session: "SparkSession", arrived: "DataFrame", columns: int, to: Path) -> None:
    """Each cell that was kept comes from the same column of its old row."""
    pairs = arrived.crossJoin(session.range(columns).toDF("column"))
    pairs = pairs.selectExpr("kept as b0", "column as b1", "row as a0", "column as a1")
    pairs.write.option("compression", "zstd").parquet(str(to))


def _write_group(arrived: "DataFrame", columns: list[int], to: Path) -> None:
    """Each of the three columns of a group comes from one column of all its rows."""
    number = "dense_rank() over (order by carrier, month) - 1 as b0"
    made = ", ".join(f"struct({out}L as b1, {in_}L as a1)" for out, in_ in enumerate(columns))
    pairs = arrived.selectExpr(number, "kept as a0", f"explode(array({made})) as made")
    pairs = pairs.selectExpr("cast(b0 as bigint) b0", "made.b1", "a0", "made.a1")
    pairs.write.option("compression", "zstd").parquet(str(to))


def _store(
    store: "TrackingStore", scratch: Path, rows: int, arrived: int, groups: int, columns: int
) -> tuple[Size, ...]:
    store.array("flights", (rows, columns))
    store.array("arrived", (arrived, columns))
    store.array("delays", (groups, len(_COLUMNS)))
    sizes = []
    for out, in_, name in (("arrived", "flights", "filter"), ("delays", "arrived", "group")):
        path = scratch / name
        info = store.lineage(out, in_, path, engine="spark")
        files = sorted(path.glob("*.parquet"))
        pairs = sum(pq.read_metadata(file).num_rows for file in files)
        parquet = sum(file.stat().st_size for file in files)
        sizes.append(of_file(out, parquet, pairs, 4, info))
    return tuple(sizes)


def _ask(
    store: "TrackingStore",
    flights: "pd.DataFrame",
    averages: "pd.DataFrame",
    sizes: tuple[Size, ...],
    spark_seconds: float,
) -> Flights:
    ours = averages[averages.carrier == CARRIER]
    group = int(ours.index[ours.month == MONTH][0])
    path = ["delays", "arrived", "flights"]
    store.prov_query(path, (group, 2))  # loads the lineage
    begun = perf_counter()
    made_it = store.prov_query(path, (group, 2))
    asked = perf_counter() - begun
    rows = made_it.indices()[:, 0]
    delays = flights.arr_delay.to_numpy()[rows]
    cause = int(rows[delays.argmax()])
    flight = flights.iloc[cause]
    return Flights(
        rows=len(flights),
        arrived=int(flights.arr_delay.notna().sum()),
        groups=len(averages),
        monthly=tuple(ours.sort_values("month").delay.tolist()),
        group=group,
        average=float(averages.delay[group]),
        made_it=made_it,
        delays=tuple(delays.tolist()),
        cause=cause,
        cause_text=(
            f"{flight.carrier} {flight.flight} of {flight.year}-{flight.month:02}-{flight.day:02}, "
            f"{flight.origin} to {flight.dest}"
        ),
        without=float((delays.sum() - delays.max()) / (len(delays) - 1)),
        touched=store.forward("flights", np.s_[cause, :], to="delays"),
        spark_seconds=spark_seconds,
        query_seconds=asked,
        sizes=sizes,
    )
