"""What reuse saves: registrations answered without a capture.

*reuse* stands on top of the catalog commit alone, which is the same call with its lineage at hand
and ``reuse=False``: nothing is looked up, captured or compressed. *no capture* gives none,
*probed* one that is compared on a few cells. A full capture gets the raw relation as an array of
pairs, up to 10^6 cells.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.clock import race
from benchmarks.experiment import Experiment, Ratio, Setting, Target
from benchmarks.units import more, power, seconds
from dslog.capture.store import Store, open_store
from dslog.compress.encoder import compress
from dslog.types import I64

MOST_SECONDS = 1e-3  # on top of a commit
CAPTURED = 10**6  # cells up to which a relation is captured in full
MEGA = 10**6
LEARNED = [(40, 60), (70, 30), (90, 110), (25, 80), (55, 45), (120, 21)]

Area = tuple[int, int]
Cell = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ReuseRow:
    """One way to register an operation; ``full_seconds`` is with a full capture, up to 10^6."""

    operation: str
    cells: int
    how: str
    commit_seconds: float
    seconds: float
    full_seconds: float | None = None


@dataclass(frozen=True)
class Case:
    """An operation that keeps the shape: what a cell reads, and all pairs."""

    name: str
    reads: Callable[[Area], Callable[[Cell], list[Cell]]]
    pairs: Callable[[Area], I64]


def flipped(shape: Area) -> Callable[[Cell], list[Cell]]:
    """Rows in reverse order."""
    return lambda cell: [(shape[0] - 1 - cell[0], cell[1])]


def flipped_pairs(shape: Area) -> I64:
    """The same as a relation."""
    i, j = (axis.ravel() for axis in np.indices(shape))
    return np.stack([i, j, shape[0] - 1 - i, j], axis=1)


def window(shape: Area) -> Callable[[Cell], list[Cell]]:
    """A cell and its neighbours to both sides, cut at the edges."""
    return lambda cell: [
        (cell[0], j) for j in range(max(cell[1] - 1, 0), min(cell[1] + 2, shape[1]))
    ]


def window_pairs(shape: Area) -> I64:
    """The same as a relation."""
    i, j = (axis.ravel() for axis in np.indices(shape))
    pairs = np.concatenate([np.stack([i, j, i, j + near], axis=1) for near in (-1, 0, 1)])
    return pairs[(pairs[:, 3] >= 0) & (pairs[:, 3] < shape[1])]


FLIP = Case("flip", flipped, flipped_pairs)
WINDOW = Case("window", window, window_pairs)


class Bench:
    """A store in which operations are registered on ever new arrays."""

    def __init__(self, store: Store, turns: int) -> None:
        self.store = store
        self.turns = turns
        self._numbers = itertools.count()

    def arrays(self, shape: Area) -> tuple[list[str], list[str]]:
        """Define an input and an output."""
        number = next(self._numbers)
        names = [self.store.array(f"{side}{number}", shape).name for side in ("in", "out")]
        return names[:1], names[1:]

    def register(
        self,
        name: str,
        shape: Area,
        expected: str | None,
        *,
        source: list[str] | None = None,
        **call: Any,
    ) -> Callable[[], Any]:
        """Return a call that registers on new arrays and checks which signature answers."""
        waiting = iter([self.arrays(shape) for _ in range(self.turns + 1)])

        def run() -> Any:
            ins, outs = next(waiting)
            done = self.store.register_operation(name, source or ins, outs, **call)
            if done.reused != expected:
                raise AssertionError(f"answered by {done.reused}, not by {expected}")
            return done

        return run

    def teach(self, case: Case) -> None:
        """Capture calls until a formula is known."""
        for shape in LEARNED:
            ins, outs = self.arrays(shape)
            self.store.register_operation(case.name, ins, outs, case.pairs(shape))


@contextmanager
def bench(setting: Setting) -> Iterator[Bench]:
    """Give a store on disk; what takes a millisecond is repeated more often."""
    with setting.folder() as folder, open_store(folder / "s") as store:
        yield Bench(store, 5 * setting.size.turns)


def of_cells(cells: int) -> Area:
    """Return a shape with that many cells."""
    columns = 10 ** (len(str(cells)) // 2)
    return cells // columns, columns


def reuse_table(setting: Setting) -> Iterator[ReuseRow]:
    """Measure two operations at every size, and one by every kind of signature."""
    for case, cells in itertools.product((FLIP, WINDOW), setting.size.reused):
        setting.tick(f"{case.name}, {cells:,} cells")
        with bench(setting) as made:
            yield from _by_size(made, case, cells)
    setting.tick("signatures")
    with bench(setting) as made:
        yield from _by_signature(made, of_cells(MEGA))


def _by_size(made: Bench, case: Case, cells: int) -> Iterator[ReuseRow]:
    shape = of_cells(cells)
    made.teach(case)
    reused = made.register(case.name, shape, "gen_sig")
    first = reused()
    (ready,) = made.store.load(first.outputs[0], first.inputs[0])
    capture = [case.reads(shape)]
    best = race(
        {
            "commit": made.register(case.name, shape, None, capture=ready, reuse=False),
            "no capture": reused,
            "probed": made.register(case.name, shape, "gen_sig", capture=capture),
        },
        made.turns,
    )
    full = None
    if cells <= CAPTURED:
        pairs = case.pairs(shape)
        call = made.register(case.name, shape, None, capture=pairs, reuse=False)
        full = race({"full": call}, 3)["full"]
    for how in ("no capture", "probed"):
        yield ReuseRow(case.name, cells, how, best["commit"], best[how], full)


def _by_signature(made: Bench, shape: Area) -> Iterator[ReuseRow]:
    ready = compress(FLIP.pairs(shape), shape, shape)
    made.teach(FLIP)
    source, outs = made.arrays(shape)
    made.store.register_operation("once", source, outs, ready)
    for _ in range(2):
        made.store.register_operation("same shape", *made.arrays(shape), ready)
    best = race(
        {
            "commit": made.register("flip", shape, None, capture=ready, reuse=False),
            "base_sig": made.register("once", shape, "base_sig", source=source),
            "dim_sig": made.register("same shape", shape, "dim_sig"),
            "gen_sig, learned": made.register("flip", shape, "gen_sig"),
            "gen_sig, library": made.register("numpy.flipud", shape, "gen_sig"),
        },
        made.turns,
    )
    for how, taken in best.items():
        if how != "commit":
            yield ReuseRow("flip", MEGA, how, best["commit"], taken)


def reuse_ratios(rows: Sequence[ReuseRow]) -> Iterator[Ratio]:
    """A reused registration against its commit."""
    for r in rows:
        name = f"reuse {r.operation}, {power(r.cells)} cells, {r.how}"
        yield Ratio(name, "seconds", r.seconds, r.commit_seconds, "the commit")


def reuse_targets(rows: Sequence[ReuseRow]) -> Iterator[Target]:
    """A bound on what a reused registration takes beyond its commit."""
    if rows:
        worst = max(r.seconds - r.commit_seconds for r in rows)
        yield Target(
            "a reused registration, from 10^3 to 10^9 cells",
            "-",
            f"under {MOST_SECONDS * 1e3:.0f} ms more than its commit",
            f"at most {more(worst)}",
            tuple(
                f"{r.operation}, {power(r.cells)} cells, {r.how}: "
                f"{more(r.seconds - r.commit_seconds)}"
                for r in rows
                if r.seconds - r.commit_seconds > MOST_SECONDS
            ),
        )


EXPERIMENTS = (
    Experiment(
        "reuse",
        "Registrations that are reused",
        f"An operation is learned from {len(LEARNED)} small calls and then answered at every size; "
        "what that takes on top of the catalog commit alone, without a capture and with one that "
        "is compared on a few cells, beside a full capture.",
        reuse_table,
        ReuseRow,
        reuse_ratios,
        reuse_targets,
        columns={
            "operation": lambda r: r.operation,
            "cells": lambda r: power(r.cells),
            "how": lambda r: r.how,
            "commit": lambda r: seconds(r.commit_seconds),
            "more": lambda r: more(r.seconds - r.commit_seconds),
            "full capture": lambda r: "-" if r.full_seconds is None else seconds(r.full_seconds),
        },
    ),
)
