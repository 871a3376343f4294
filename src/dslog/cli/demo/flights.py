"""Tables of flights and airlines through Spark, one odd average, and one flight that vanished.

The DataFrames are tracked, so the pipeline is what it would be without DSLog: drop the flights that
never arrived, join the airlines' names, average the delay per airline and month, sort.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from dslog.cli.demo.lineage_size import Size, measure_steps
from dslog.cli.demo.photo import load_airlines, load_flights

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

    from dslog.capture.store import Store
    from dslog.questions.dropped import Dropped
    from dslog.questions.reach import Why

CARRIER, MONTH = "HA", 1
NAME = "Hawaiian Airlines"


@dataclass(frozen=True, slots=True)
class Flights:
    """What was asked of the flights and what came out."""

    rows: int
    columns: int
    arrived: int
    groups: int
    monthly: tuple[float, ...]
    group: int
    average: float
    why: "Why"
    delays: tuple[float, ...]
    cause: int
    cause_text: str
    without: float
    vanished: int
    vanished_text: str
    dropped: "Dropped"
    spark_seconds: float
    query_seconds: float
    sizes: tuple[Size, ...]

    @property
    def made_of(self) -> int:
        """How many flights the average was made of."""
        return self.why["flights"].count


def run_flights(store: "Store", scratch: Path, say: Callable[[str], None]) -> Flights:
    """Run the pipeline on Spark, tracked, and ask."""
    from dslog.spark.session import get_session

    flights = load_flights()
    say("flights: starting Spark in this machine ...")
    session = get_session(None)
    say(f"flights: drop, join, group and sort {len(flights):,} rows on Spark, tracked ...")
    begin, begun = len(store.operations()), perf_counter()
    averages = pipeline(store, session, flights, scratch)
    seconds = perf_counter() - begun
    say("flights: writing the same lineage as Parquet, to compare ...")
    sizes = tuple(measure_steps(store, {"arrived", "joined", "delays"}, begin))
    return _ask(store, flights, averages, sizes, seconds)


def pipeline(
    store: "Store", session: "SparkSession", flights: "pd.DataFrame", scratch: Path
) -> "pd.DataFrame":
    """Return the average delay per airline and month; its lineage is in the store."""
    from pyspark.sql import functions as F

    path = scratch / "flights.parquet"
    pq.write_table(pa.Table.from_pandas(flights, preserve_index=False), path)
    table = store.track(session.read.parquet(str(path)), "flights")
    airlines = store.track(session.createDataFrame(load_airlines()), "airlines")
    arrived = table.dropna(subset=["arr_delay"]).named("arrived")
    joined = arrived.join(airlines, "carrier").named("joined")
    average = joined.groupBy("name", "month").agg(F.avg("arr_delay").alias("delay"))
    delays: pd.DataFrame = average.orderBy("name", "month").named("delays").toPandas()
    store.flush()
    return delays


def _ask(
    store: "Store",
    flights: "pd.DataFrame",
    averages: "pd.DataFrame",
    sizes: tuple[Size, ...],
    seconds: float,
) -> Flights:
    ours = averages[averages.name.str.startswith(NAME)]
    group = int(ours.index[ours.month == MONTH][0])
    store.why("delays", (group, "delay"))  # loads the lineage
    begun = perf_counter()
    why = store.why("delays", (group, "delay"))
    asked = perf_counter() - begun
    rows = why["flights"].indices()[:, 0]
    delays = flights.arr_delay.to_numpy()[rows]
    cause = int(rows[delays.argmax()])
    vanished = int(flights.arr_delay.isna().to_numpy().argmax())
    return Flights(
        rows=len(flights),
        columns=flights.shape[1],
        arrived=int(flights.arr_delay.notna().sum()),
        groups=len(averages),
        monthly=tuple(ours.sort_values("month").delay.tolist()),
        group=group,
        average=float(averages.delay[group]),
        why=why,
        delays=tuple(delays.tolist()),
        cause=cause,
        cause_text=_flight(flights.iloc[cause]),
        without=float((delays.sum() - delays.max()) / (len(delays) - 1)),
        vanished=vanished,
        vanished_text=_flight(flights.iloc[vanished]),
        dropped=store.dropped("flights", vanished),
        spark_seconds=seconds,
        query_seconds=asked,
        sizes=sizes,
    )


def _flight(flight: Any) -> str:
    day = f"{flight.year}-{flight.month:02}-{flight.day:02}"
    return f"{flight.carrier} {flight.flight} of {day}, {flight.origin} to {flight.dest}"
