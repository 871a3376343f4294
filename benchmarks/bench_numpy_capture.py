"""What tracking costs: calls beside plain numpy, rules beside the tracer, and a billion cells.

Targets: ten structured calls on 1000 x 1000 cells, tracked and registered, take at most twice as
long as plain numpy and 1 ms per call; elementwise and sum over 10^9 cells are captured in under a
second and 100 MB beyond the values.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import dslog
from benchmarks.clock import race
from dslog.capture.numpy.call import Call
from dslog.capture.numpy.dispatch import Job, execute
from dslog.capture.numpy.resolve import find_lineages
from dslog.capture.numpy.trace import trace

CALLS = 10
BILLION = 10**9
MOST_SECONDS = 1.0
MOST_BYTES = 100 << 20


def chain(x: Any) -> Any:
    """Ten structured calls: arithmetic, views, a flip, reductions."""
    y = x * 2.0
    y = y + x
    y = y.T
    y = np.sqrt(y)
    y = y[:, ::-1]
    y = y.reshape(500, 2000)
    y = np.concatenate([y, y])
    y = np.maximum(y, 0.5)
    y = np.exp(y - 1.0)
    return y.sum(axis=1)


def compare_chain() -> bool:
    """Time the chain on plain and on tracked arrays; return whether the target held."""
    values = np.random.default_rng(0).random((1000, 1000))
    with tempfile.TemporaryDirectory() as directory, dslog.open(Path(directory) / "store") as store:

        def tracked() -> None:
            chain(store.track(values))
            store.flush()

        best = race({"numpy": lambda: chain(values), "tracked": tracked}, turns=12)
    plain, ours = best["numpy"], best["tracked"]
    limit = 2 * plain + CALLS * 1e-3
    print(f"chain of {CALLS} calls on 1000 x 1000, in a store on disk")
    print(f"  plain numpy          {plain * 1e3:9.2f} ms")
    print(f"  tracked, registered  {ours * 1e3:9.2f} ms   limit {limit * 1e3:.2f} ms")
    print(f"  per call             {(ours - plain) / CALLS * 1e3:9.2f} ms more")
    return ours <= limit


CASES: list[tuple[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    ("negative", np.negative, (), {}),
    ("add, broadcast", np.add, (np.arange(64.0),), {}),
    ("sum axis 0", np.sum, (), {"axis": 0}),
    ("cumsum axis 1", np.cumsum, (), {"axis": 1}),
    ("sort axis 0", np.sort, (), {"axis": 0}),
    ("roll", np.roll, (5,), {}),
    ("tile", np.tile, ((1, 2),), {}),
    ("diff", np.diff, (), {}),
]


def compare_tracer() -> bool:
    """Time rules beside following each cell, on 64 x 64 cells."""
    print("lineage of one call on 64 x 64, by rule and by following each cell")
    for name, func, args, kwargs in CASES:
        x = np.random.default_rng(0).random((64, 64))
        call = Call(f"numpy.{func.__name__}", func, (x, *args), kwargs, (x,), ())
        call = Call(
            call.name, func, call.args, kwargs, (x,), (np.asarray(func(x, *args, **kwargs)),)
        )
        best = race({"rule": lambda c=call: find_lineages(c), "cells": lambda c=call: trace(c)}, 4)
        ratio = best["cells"] / best["rule"]
        print(
            f"  {name:16} rule {best['rule'] * 1e3:8.3f} ms   "
            f"cells {best['cells'] * 1e3:9.2f} ms   {ratio:7.0f} x"
        )
    return True


def peak() -> int:
    """The most memory this process had so far, in bytes."""
    return _status("VmHWM")


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) << 10
    raise LookupError(field)


def huge_call(what: str) -> dict[str, float]:
    """Run one call on 10^9 cells in this process and measure what capturing it takes."""
    func: Any = {"add": np.add, "sum": np.sum}[what]
    args = (1,) if what == "add" else ()
    kwargs: dict[str, Any] = {} if what == "add" else {"axis": 0}
    with dslog.open(":memory:") as store:
        warm = store.track(np.zeros((2, 2), np.int8))
        func(warm, *args, **kwargs)
        store.flush()
        values = np.ones((1000, BILLION // 1000), np.int8)
        begun = perf_counter()
        plain = func(values, *args, **kwargs)
        numpy_seconds = perf_counter() - begun
        del plain
        x = store.track(values, "A")
        before = _status("VmRSS")
        begun = perf_counter()
        y = func(x, *args, **kwargs)
        store.flush()
        tracked_seconds = perf_counter() - begun
        beyond = peak() - before - y.nbytes
        known = np.asarray(y)
        job = Job(f"numpy.{what}", func, (x, *args), kwargs, run=lambda *_, **__: known.view())
        begun = perf_counter()
        execute(job, type(x))
        store.flush()
        capture_seconds = perf_counter() - begun
    return {
        "numpy": numpy_seconds,
        "tracked": tracked_seconds,
        "capture": capture_seconds,
        "beyond": beyond,
    }


def compare_huge() -> bool:
    """Measure each call in a process of its own, so that peaks are its own."""
    held = True
    print("10^9 cells of int8")
    for what in ("add", "sum"):
        command = [sys.executable, "-m", "benchmarks.bench_numpy_capture", what]
        root = Path(__file__).parent.parent
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=root)
        found = json.loads(done.stdout)
        ok = found["capture"] < MOST_SECONDS and found["beyond"] < MOST_BYTES
        held &= ok
        print(
            f"  {what:4} numpy {found['numpy']:6.2f} s   tracked {found['tracked']:6.2f} s   "
            f"capture alone {found['capture'] * 1e3:7.2f} ms   "
            f"memory beyond the values {found['beyond'] / 2**20:6.1f} MB"
        )
    return held


def main() -> bool:
    """Run all three."""
    return all([compare_chain(), compare_tracer(), compare_huge()])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(huge_call(sys.argv[1])))
    else:
        sys.exit(not main())
