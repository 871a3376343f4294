"""What tracking costs where numpy takes next to nothing: small arrays, and loops over cells.

*small* times calls on small arrays: the call alone, and with all that the store gets of it.
*loops* runs Python loops over single cells, of arrays of two sizes, and a loop grouped into one
operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.clock import many, race
from benchmarks.experiment import Experiment, Ratio, Setting, Target
from benchmarks.units import seconds
from dslog.capture.capture_cost import CaptureCost
from dslog.capture.numpy.group import operation
from dslog.capture.store import open_store

MOST_EACH = 20e-6  # seconds of a call beyond numpy's own
MOST_LOOP, MOST_GROUP = 100.0, 20.0  # times plain numpy
_CALLS = 250
_GROWTH = 1.5  # of the ratio, when an array gets 64 times as large


@dataclass(frozen=True, slots=True)
class SmallRow:
    """One call on a small array: of plain numpy, tracked, and tracked and written to the store."""

    call: str
    plain_seconds: float
    seconds: float
    written_seconds: float


@dataclass(frozen=True, slots=True)
class LoopRow:
    """A loop over the cells of an array, on plain and tracked values, written to the store."""

    loop: str
    cells: int
    plain_seconds: float
    seconds: float


CALLS: dict[str, Callable[[Any], Any]] = {
    "x + 1": lambda x: x + 1,
    "x * x": lambda x: x * x,
    "np.sqrt(x)": np.sqrt,
    "x.sum()": lambda x: x.sum(),
    "x.mean(axis=0)": lambda x: x.mean(axis=0),
    "x[2:8]": lambda x: x[2:8],
    "x[3]": lambda x: x[3],
    "x[3, 4]": lambda x: x[3, 4],
    "x[3, 4] + 1": lambda x: x[3, 4] + 1,
    "x.T": lambda x: x.T,
}


def small_table(setting: Setting) -> Iterator[SmallRow]:
    """Time calls on 10 x 10 cells."""
    values = np.random.default_rng(0).random((10, 10))
    waits = CaptureCost.using(waiting_steps=1 << 30, waiting_seconds=1e6)
    with waits, open_store(":memory:") as store:
        x = store.track(values, "x")
        for name, call in CALLS.items():
            setting.tick(name)

            def written(call: Callable[[Any], Any] = call) -> None:
                many(lambda: call(x), _CALLS)()
                store.flush()

            best = race(
                {
                    "plain": many(lambda call=call: call(values), _CALLS),  # type: ignore[misc]
                    "tracked": many(lambda call=call: call(x), _CALLS),  # type: ignore[misc]
                    "flush": store.flush,  # what the tracked calls left
                    "written": written,
                },
                setting.size.turns,
            )
            each = (best[key] / _CALLS for key in ("plain", "tracked", "written"))
            yield SmallRow(name, *each)


def doubled(x: Any) -> None:
    """Double an array, cell by cell."""
    rows, columns = x.shape
    for i in range(rows):
        for j in range(columns):
            x[i, j] = x[i, j] * 2


def jacobi(x: Any, sweeps: int) -> Any:
    """Smooth an array: each inner cell becomes the mean of its neighbours."""
    size = len(x)
    for _ in range(sweeps):
        new = x.copy()
        for i in range(1, size - 1):
            for j in range(1, size - 1):
                new[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])
        x = new
    return x


def loop_table(setting: Setting) -> Iterator[LoopRow]:
    """Run loops over cells."""
    rng, grouped = np.random.default_rng(0), operation(jacobi)
    with open_store(":memory:") as store:
        for side in (25, 200):
            setting.tick(f"{side} x {side}")
            values = rng.random((side, side))
            x = store.track(values.copy())

            def written(x: Any = x) -> None:
                doubled(x)
                store.flush()

            runners = {"plain": lambda v=values: doubled(v), "tracked": written}
            best = race(runners, 3)
            yield LoopRow("x[i, j] = x[i, j] * 2", values.size, best["plain"], best["tracked"])
        sweeps = 4 if setting.size.name == "quick" else 40
        setting.tick(f"Jacobi, {sweeps} sweeps")
        values = rng.random((60, 60))

        def together() -> None:
            grouped(store.track(values), sweeps)
            store.flush()

        best = race({"plain": lambda: jacobi(values, sweeps), "tracked": together}, 2)
        name = f"Jacobi, {sweeps} sweeps, one operation"
        yield LoopRow(name, values.size, best["plain"], best["tracked"])


def small_targets(rows: Sequence[SmallRow]) -> Iterator[Target]:
    """A bound on what tracking adds to a call."""
    if not rows:
        return
    extra = {r.call: r.seconds - r.plain_seconds for r in rows}
    misses = tuple(f"{call}: {seconds(more)}" for call, more in extra.items() if more > MOST_EACH)
    found = f"{seconds(min(extra.values()))} to {seconds(max(extra.values()))}"
    yield Target("tracked calls on 100 cells", "-", "20 us beyond numpy's own", found, misses)


def loop_ratios(rows: Sequence[LoopRow]) -> Iterator[Ratio]:
    """Tracked loops against plain ones."""
    for r in rows:
        yield Ratio(f"{r.loop}, {r.cells:,} cells", "seconds", r.seconds, r.plain_seconds, "numpy")


def loop_targets(rows: Sequence[LoopRow]) -> Iterator[Target]:
    """Bounds on loops over cells, which do not grow with the array."""
    if not rows:
        return
    few, many_, group = (r.seconds / r.plain_seconds for r in rows)
    found = f"{few:.0f} and {many_:.0f} times plain numpy"
    late = max(few, many_) > MOST_LOOP or many_ > _GROWTH * few
    aim = f"at most {MOST_LOOP:.0f} times, however large the array"
    yield Target("a loop over cells", "-", aim, found, (found,) if late else ())
    found = f"{group:.0f} times plain numpy"
    aim = f"at most {MOST_GROUP:.0f} times"
    yield Target("a grouped Jacobi loop", "-", aim, found, (found,) if group > MOST_GROUP else ())


EXPERIMENTS = (
    Experiment(
        "small",
        "Tracked calls on small arrays",
        "One call on 10 x 10 cells: of plain numpy, tracked, and with what the store gets of it.",
        small_table,
        SmallRow,
        targets=small_targets,
        columns={
            "call": lambda r: r.call,
            "numpy": lambda r: seconds(r.plain_seconds),
            "tracked": lambda r: seconds(r.seconds),
            "and written": lambda r: seconds(r.written_seconds),
        },
    ),
    Experiment(
        "loops",
        "Loops over cells",
        "Python loops that read and write single cells, tracked and written to the store.",
        loop_table,
        LoopRow,
        loop_ratios,
        loop_targets,
        columns={
            "loop": lambda r: r.loop,
            "cells": lambda r: f"{r.cells:,}",
            "numpy": lambda r: seconds(r.plain_seconds),
            "tracked": lambda r: seconds(r.seconds),
            "ratio": lambda r: f"{r.seconds / r.plain_seconds:.0f}x",
        },
    ),
)
