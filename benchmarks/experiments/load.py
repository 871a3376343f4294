"""What a store with many operations costs: to write, and to ask about a few of them.

Chains of ten calls on one small array are tracked. Nothing that is asked may take longer because of
what else there is: why of the last chain, and a page of the list of arrays.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.clock import race
from benchmarks.experiment import Experiment, Setting, Target
from benchmarks.units import seconds
from dslog.capture.store import open_store
from dslog.store.files import CATALOG

OPERATIONS = {"quick": (1_000, 10_000), "standard": (10_000, 50_000), "full": (10_000, 200_000)}
MOST_SECONDS, LEAST_RATE, MOST_BYTES, MOST_LOG = 0.1, 2_000, 300, 32 << 20
_CHAIN = 10


@dataclass(frozen=True, slots=True)
class LoadRow:
    """A store with so many operations: what it takes, and how long questions take."""

    operations: int
    write_seconds: float
    why_seconds: float
    list_seconds: float
    catalog_bytes: int
    log_bytes: int


def load_table(setting: Setting) -> Iterator[LoadRow]:
    """Write stores of two sizes and ask the same of both."""
    for operations in OPERATIONS[setting.size.name]:
        setting.tick(f"{operations:,} operations")
        with tempfile.TemporaryDirectory() as directory:
            log = Path(directory) / f"{CATALOG}-wal"
            most = 0
            with open_store(directory) as store:
                start = perf_counter()
                x = store.track(np.arange(20.0), "x")
                for number in range(operations // _CHAIN):
                    y: Any = x
                    for _ in range(_CHAIN):
                        y = y + 1
                    most = max(most, log.stat().st_size) if number % 100 == 0 else most
                store.flush()
                last = str(y.name)
                written = perf_counter() - start
            with open_store(directory, "r") as store:
                why = partial(store.why, last, 3)
                best = race({"why": why, "list": partial(store.listing, 50)}, 3)
            size = (Path(directory) / CATALOG).stat().st_size
            yield LoadRow(operations, written, best["why"], best["list"], size, most)


def load_targets(rows: Sequence[LoadRow]) -> Iterator[Target]:
    """Bounds on speed and size, and that questions don't grow with the store."""
    for row in rows[-1:]:
        rate, size = row.operations / row.write_seconds, row.catalog_bytes / row.operations
        misses = {
            f"why: {seconds(row.why_seconds)}": row.why_seconds > MOST_SECONDS,
            f"list: {seconds(row.list_seconds)}": row.list_seconds > MOST_SECONDS,
            f"{rate:,.0f} operations a second": rate < LEAST_RATE,
            f"{size:.0f} bytes each": size > MOST_BYTES,
            f"a log of {row.log_bytes:,} bytes": row.log_bytes > MOST_LOG,
        }
        aim = f"{LEAST_RATE:,} a second, {MOST_BYTES} bytes each, questions in 0.1 s"
        missed = tuple(text for text, is_missed in misses.items() if is_missed)
        yield Target(f"{row.operations:,} operations", "-", aim, "; ".join(misses), missed)


EXPERIMENTS = (
    Experiment(
        "load",
        "Stores with many operations",
        "Tracked calls in chains of ten; then why of the last one, and the first page of a list.",
        load_table,
        LoadRow,
        targets=load_targets,
        columns={
            "operations": lambda r: f"{r.operations:,}",
            "written in": lambda r: seconds(r.write_seconds),
            "why": lambda r: seconds(r.why_seconds),
            "list": lambda r: seconds(r.list_seconds),
            "bytes each": lambda r: f"{r.catalog_bytes / r.operations:.0f}",
            "log": lambda r: f"{r.log_bytes:,}",
        },
    ),
)
