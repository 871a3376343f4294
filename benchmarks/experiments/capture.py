"""What capturing numpy costs: rules on 10^9 cells, tracked calls beside plain ones, the tracer.

*capture* asks the rules for the lineage of an array that takes no memory. *tracked* runs calls and
registers them in a store: ten on an array of usual size, and one on a huge array in a process of
its own, so that its peak of memory is its own. *rules* stands beside following each cell.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clock import race, timed
from benchmarks.experiment import Experiment, Ratio, Setting, Target
from benchmarks.machine import memory
from benchmarks.units import more, nbytes, power, seconds
from benchmarks.workloads.numpy_call import lineage_of
from dslog.capture.numpy.call import Call
from dslog.capture.numpy.registry import find_lineages
from dslog.capture.numpy.trace import trace
from dslog.capture.store import open_store
from dslog.types import Array, Shape

SIDE = 31_623  # squared: 10^9 cells
CALLS = 10  # of the chain
MOST_SECONDS, MOST_BYTES = 1.0, 100 << 20
MOST_TIMES, MOST_EACH = 2.0, 1e-3  # of plain numpy, and seconds more per call
_SMALL = (6, 6)


@dataclass(frozen=True, slots=True)
class CaptureRow:
    """One structured operation on an array of ``cells`` cells."""

    operation: str
    cells: int
    seconds: float
    peak_bytes: int
    lineage_bytes: int
    exact: bool


@dataclass(frozen=True, slots=True)
class TrackedRow:
    """Calls on plain and on tracked arrays; ``beyond`` is memory beyond the values, where known."""

    what: str
    cells: int
    calls: int
    plain_seconds: float
    seconds: float
    beyond: int | None = None


@dataclass(frozen=True, slots=True)
class RuleRow:
    """The lineage of one call by its rule, and by following each cell."""

    call: str
    seconds: float
    trace_seconds: float


OPERATIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "negative": (np.negative, {}),
    "sum, axis 0": (np.sum, {"axis": 0}),
    "mean": (np.mean, {}),
    "transpose": (np.transpose, {}),
    "flip": (np.flip, {}),
    "roll": (np.roll, {"shift": 10, "axis": 1}),
    "tile": (np.tile, {"reps": (2, 2)}),
    "repeat": (np.repeat, {"repeats": 3, "axis": 0}),
    "cumsum": (np.cumsum, {"axis": 1}),
    "diff": (np.diff, {"axis": 0}),
    "ravel": (np.ravel, {}),
    "pad": (np.pad, {"pad_width": 2}),
}
VIEWS = ("transpose", "flip", "ravel")  # numpy computes nothing for these


def virtual(shape: Shape) -> Array:
    """An array of any shape that takes no memory: one cell seen everywhere."""
    return np.broadcast_to(np.zeros(()), shape)


def capture_table(setting: Setting) -> Iterator[CaptureRow]:
    """Capture each operation on an array whose cells are never touched, so take no memory.

    Views of it are made; of other results the shape is worked out, and no cell computed.
    """
    array = np.zeros((SIDE, SIDE), np.uint8)
    for name, (function, kwargs) in OPERATIONS.items():
        setting.tick(name)
        result = function(array, **kwargs) if name in VIEWS else _result(function, kwargs)
        find = partial(lineage_of, function, (array,), kwargs, result)
        find()  # compiles what there is to compile
        tracemalloc.start()
        lineage = find()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        taken, _ = timed(find, 3)
        if lineage is not None:
            yield CaptureRow(name, SIDE * SIDE, taken, peak, lineage.nbytes, lineage.exact)


def _result(function: Callable[..., Any], kwargs: dict[str, Any]) -> Array:
    small = np.asarray(function(np.arange(36.0).reshape(_SMALL), **kwargs))
    return virtual(grown(small.shape, kwargs))


def grown(small: Shape, kwargs: dict[str, Any]) -> Shape:
    """Scale the shape of a result on 6 x 6 cells to SIDE x SIDE."""
    if small == (36,):
        return (SIDE * SIDE,)
    pad = kwargs.get("pad_width", 0)
    sizes = []
    for size in small:
        times, rest = divmod(size - 2 * pad, 6)
        sizes.append(times * SIDE + rest + 2 * pad if times else SIDE - (6 - size) if size else 0)
    return tuple(sizes)


def capture_targets(rows: Sequence[CaptureRow]) -> Iterator[Target]:
    """Time and memory of the rules do not grow with the arrays."""
    if rows:
        yield Target(
            "numpy capture of structured operations on 10^9 cells",
            "per cell",
            "under 1 s and 100 MB",
            f"at most {max(r.seconds for r in rows) * 1e3:.1f} ms, "
            f"{max(r.peak_bytes for r in rows) / 2**20:.1f} MB",
            tuple(
                f"{r.operation}: {r.seconds:.2f} s, {r.peak_bytes / 2**20:.0f} MB"
                + ("" if r.exact else ", superset")
                for r in rows
                if r.seconds > MOST_SECONDS or r.peak_bytes > MOST_BYTES or not r.exact
            ),
        )


def chain(x: Any) -> Any:
    """Ten structured calls: arithmetic, views, a flip, reductions."""
    y = x * 2.0
    y = y + x
    y = y.T
    y = np.sqrt(y)
    y = y[:, ::-1]
    y = y.reshape(len(x) // 2, -1)
    y = np.concatenate([y, y])
    y = np.maximum(y, 0.5)
    y = np.exp(y - 1.0)
    return y.sum(axis=1)


def tracked_table(setting: Setting) -> Iterator[TrackedRow]:
    """Run calls on plain and on tracked arrays."""
    size = setting.size
    setting.tick(f"a chain of {CALLS} calls")
    values = np.random.default_rng(0).random((size.chain, size.chain))
    with setting.folder() as folder, open_store(folder / "store") as store:

        def tracked() -> None:
            chain(store.track(values))
            store.flush()

        best = race({"plain": lambda: chain(values), "tracked": tracked}, size.turns)
    yield TrackedRow("chain", values.size, CALLS, best["plain"], best["tracked"])
    for what in ("add", "sum"):
        setting.tick(f"{what}, {size.huge:,} cells")
        command = [sys.executable, "-m", "benchmarks.experiments.capture", what, str(size.huge)]
        root = Path(__file__).parents[2]
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=root)
        yield TrackedRow(**json.loads(done.stdout))


def huge_call(what: str, cells: int) -> dict[str, Any]:
    """Run one call on many cells in this process; measure what tracking it takes."""
    function: Any = {"add": np.add, "sum": np.sum}[what]
    args: tuple[int, ...] = (1,) if what == "add" else ()
    kwargs: dict[str, Any] = {} if what == "add" else {"axis": 0}
    with open_store(":memory:") as store:
        function(store.track(np.zeros((2, 2), np.int8)), *args, **kwargs)  # compiles
        store.flush()
        values = np.ones((1000, cells // 1000), np.int8)
        plain, _ = timed(lambda: function(values, *args, **kwargs).shape)
        x = store.track(values, "A")
        before = memory("VmRSS")

        def tracked() -> int:
            nbytes: int = function(x, *args, **kwargs).nbytes
            store.flush()
            return nbytes

        spent, result = timed(tracked)
        beyond = max(0, memory("VmHWM") - before - result)
        again = race(
            {"plain": lambda: function(values, *args, **kwargs).shape, "tracked": tracked}, 2
        )
    plain, spent = min(plain, again["plain"]), min(spent, again["tracked"])
    row = {"what": what, "cells": values.size, "calls": 1, "beyond": beyond}
    return {**row, "plain_seconds": plain, "seconds": spent}


def tracked_ratios(rows: Sequence[TrackedRow]) -> Iterator[Ratio]:
    """Tracked calls against plain numpy."""
    for r in rows:
        name = f"tracked {r.what}, {r.cells:,} cells"
        yield Ratio(name, "seconds", r.seconds, r.plain_seconds, "numpy")


def tracked_targets(rows: Sequence[TrackedRow]) -> Iterator[Target]:
    """A bound on time per call, and on time and memory of huge ones."""
    for r in rows:
        limit = MOST_TIMES * r.plain_seconds + r.calls * MOST_EACH
        extra = r.seconds - r.plain_seconds
        text = f"{seconds(r.seconds)}, {more(extra / r.calls)} per call; numpy takes "
        text += seconds(r.plain_seconds)
        if r.beyond is None:
            yield Target(
                f"{r.calls} tracked and registered calls on {r.cells:,} cells",
                "-",
                "at most twice plain numpy and 1 ms per call",
                text,
                (text,) if r.seconds > limit else (),
            )
        else:
            text += f"; {r.beyond / 2**20:.1f} MB beyond the values"
            late = extra > MOST_SECONDS or r.beyond > MOST_BYTES
            yield Target(
                f"tracked {r.what} of {r.cells:,} cells",
                "-",
                "under 1 s and 100 MB beyond plain numpy",
                text,
                (text,) if late else (),
            )


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = {
    "negative": (np.negative, (), {}),
    "add, broadcast": (np.add, (np.arange(64.0),), {}),
    "sum axis 0": (np.sum, (), {"axis": 0}),
    "cumsum axis 1": (np.cumsum, (), {"axis": 1}),
    "sort axis 0": (np.sort, (), {"axis": 0}),
    "roll": (np.roll, (5,), {}),
    "tile": (np.tile, ((1, 2),), {}),
    "diff": (np.diff, (), {}),
}


def rule_table(setting: Setting) -> Iterator[RuleRow]:
    """Time rules beside following each cell, on 64 x 64 cells."""
    x = np.random.default_rng(0).random((64, 64))
    for name, (function, args, kwargs) in CASES.items():
        setting.tick(name)
        result = np.asarray(function(x, *args, **kwargs))
        call = Call(f"numpy.{function.__name__}", function, (x, *args), kwargs, (x,), (result,))
        best = race({"rule": partial(find_lineages, call), "cells": partial(trace, call)}, 4)
        yield RuleRow(name, best["rule"], best["cells"])


EXPERIMENTS = (
    Experiment(
        "capture",
        "numpy capture on 10^9 cells",
        "Rules look at shapes; the array here takes no memory, and nothing is computed.",
        capture_table,
        CaptureRow,
        targets=capture_targets,
        columns={
            "operation": lambda r: r.operation,
            "cells": lambda r: f"{r.cells:,}",
            "time": lambda r: seconds(r.seconds),
            "memory": lambda r: nbytes(r.peak_bytes),
            "lineage": lambda r: nbytes(r.lineage_bytes),
            "": lambda r: "exact" if r.exact else "superset",
        },
    ),
    Experiment(
        "tracked",
        "Tracked calls",
        "Calls on tracked arrays, registered in a store, beside the same calls on plain ones. The "
        "chain is arithmetic, views, a flip and reductions.",
        tracked_table,
        TrackedRow,
        tracked_ratios,
        tracked_targets,
        columns={
            "calls": lambda r: f"{r.what}, {r.calls}",
            "cells": lambda r: power(r.cells),
            "numpy": lambda r: seconds(r.plain_seconds),
            "tracked": lambda r: seconds(r.seconds),
            "more per call": lambda r: more((r.seconds - r.plain_seconds) / r.calls),
            "memory beyond the values": lambda r: "-" if r.beyond is None else nbytes(r.beyond),
        },
    ),
    Experiment(
        "rules",
        "Rules beside the tracer",
        "The lineage of one call on 64 x 64 cells, by its rule and by following each cell.",
        rule_table,
        RuleRow,
        columns={
            "call": lambda r: r.call,
            "rule": lambda r: seconds(r.seconds),
            "each cell": lambda r: seconds(r.trace_seconds),
            "times": lambda r: f"{r.trace_seconds / r.seconds:,.0f}x",
        },
    ),
)

if __name__ == "__main__":
    print(json.dumps(huge_call(sys.argv[1], int(sys.argv[2]))))
