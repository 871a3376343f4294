"""What a reused registration costs on top of its catalog commit, beside a full capture.

The commit alone is measured as the same call with its lineage at hand and ``reuse=False``: nothing
is looked up, captured or compressed. A full capture gets the raw relation as an array of pairs, up
to 10^6 cells.

Targets: a reused registration takes under 1 ms more than its commit, from 10^3 to 10^9 cells, with
a capture that is compared on a few cells and without any; recalling a slow capture of a tracked
numpy call takes less time than the capture.
"""

import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

import dslog
from benchmarks.clock import race
from dslog.capture.numpy.call import Call
from dslog.capture.numpy.call_reuse import SLOW, Recall
from dslog.capture.recorder import Node, Recorder
from dslog.capture.numpy.resolve import find_lineages
from dslog.compress.encoder import compress
from dslog.reuse.signature import BASE, DIM, GEN

MOST_SECONDS = 1e-3
SIZES = [10**power for power in range(3, 10)]
CAPTURED = 10**6  # cells up to which a relation is captured in full
TURNS = 40
LEARNED = [(40, 60), (70, 30), (90, 110), (25, 80), (55, 45), (120, 21)]

Shape = tuple[int, int]
Cell = tuple[int, int]
Pairs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Case:
    """An operation that keeps the shape: what a cell reads, and all pairs."""

    name: str
    reads: Callable[[Shape], Callable[[Cell], list[Cell]]]
    pairs: Callable[[Shape], Pairs]


def flipped(shape: Shape) -> Callable[[Cell], list[Cell]]:
    """Rows in reverse order."""
    return lambda cell: [(shape[0] - 1 - cell[0], cell[1])]


def flipped_pairs(shape: Shape) -> Pairs:
    """The same as a relation."""
    i, j = (axis.ravel() for axis in np.indices(shape))
    return np.stack([i, j, shape[0] - 1 - i, j], axis=1)


def window(shape: Shape) -> Callable[[Cell], list[Cell]]:
    """A cell and its neighbours to both sides, cut at the edges."""
    return lambda cell: [
        (cell[0], j) for j in range(max(cell[1] - 1, 0), min(cell[1] + 2, shape[1]))
    ]


def window_pairs(shape: Shape) -> Pairs:
    """The same as a relation."""
    i, j = (axis.ravel() for axis in np.indices(shape))
    pairs = np.concatenate([np.stack([i, j, i, j + near], axis=1) for near in (-1, 0, 1)])
    return pairs[(pairs[:, 3] >= 0) & (pairs[:, 3] < shape[1])]


FLIP = Case("flip", flipped, flipped_pairs)
WINDOW = Case("window", window, window_pairs)


class Bench:
    """A store in which operations are registered on ever new arrays."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self._numbers = itertools.count()

    def arrays(self, shape: Shape) -> tuple[list[str], list[str]]:
        """Define an input and an output."""
        number = next(self._numbers)
        names = [self.store.array(f"{side}{number}", shape).name for side in ("in", "out")]
        return names[:1], names[1:]

    def register(
        self,
        name: str,
        shape: Shape,
        expected: str | None,
        *,
        source: list[str] | None = None,
        **call: Any,
    ) -> Callable[[], Any]:
        """Return a call that registers on new arrays and checks which signature answers."""
        waiting = iter([self.arrays(shape) for _ in range(TURNS + 1)])

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
def on_disk() -> Iterator[Bench]:
    """A store in a temporary directory."""
    with tempfile.TemporaryDirectory() as directory, dslog.open(Path(directory) / "s") as store:
        yield Bench(store)


def of_cells(cells: int) -> Shape:
    """Return a shape with that many cells."""
    columns = 10 ** (len(str(cells)) // 2)
    return cells // columns, columns


def compare_sizes(case: Case) -> bool:
    """Measure one operation at every size; return whether the target held."""
    print(f"{case.name}, milliseconds; a formula learned from {len(LEARNED)} small calls answers")
    print(f"  {'cells':5} {'commit':>8} {'no capture':>11} {'probed':>8} {'full capture':>13}")
    held = True
    for cells in SIZES:
        shape = of_cells(cells)
        with on_disk() as bench:
            bench.teach(case)
            reused = bench.register(case.name, shape, "gen_sig")
            first = reused()
            (ready,) = bench.store.load(first.outputs[0], first.inputs[0])
            capture = [case.reads(shape)]
            runners = {
                "commit": bench.register(case.name, shape, None, capture=ready, reuse=False),
                "reused": reused,
                "probed": bench.register(case.name, shape, "gen_sig", capture=capture),
            }
            best = race(runners, TURNS)
            full = full_capture(bench, case, shape) if cells <= CAPTURED else None
        reused_more, probed_more = (best[key] - best["commit"] for key in ("reused", "probed"))
        held &= max(reused_more, probed_more) < MOST_SECONDS
        shown = "-" if full is None else f"{full * 1e3:.2f}"
        print(
            f"  10^{len(str(cells)) - 1:<2} {best['commit'] * 1e3:8.3f} {reused_more * 1e3:+11.3f} "
            f"{probed_more * 1e3:+8.3f} {shown:>13}"
        )
    return held


def full_capture(bench: Bench, case: Case, shape: Shape) -> float:
    """Seconds of a call whose relation is given and has to be compressed."""
    relation = case.pairs(shape)
    call = bench.register(case.name, shape, None, capture=relation, reuse=False)
    return race({"full": call}, 3)["full"]


def compare_signatures() -> bool:
    """Measure every kind of signature on 10^6 cells; return whether the target held."""
    shape = of_cells(10**6)
    with on_disk() as bench:
        ready = compress(FLIP.pairs(shape), shape, shape)
        bench.teach(FLIP)
        source, outs = bench.arrays(shape)
        bench.store.register_operation("once", source, outs, ready)
        for _ in range(2):
            bench.store.register_operation("same shape", *bench.arrays(shape), ready)
        runners: Mapping[str, Callable[[], Any]] = {
            "commit": bench.register("flip", shape, None, capture=ready, reuse=False),
            "base_sig": bench.register("once", shape, "base_sig", source=source),
            "dim_sig": bench.register("same shape", shape, "dim_sig"),
            "gen_sig, learned": bench.register("flip", shape, "gen_sig"),
            "gen_sig, library": bench.register("numpy.flipud", shape, "gen_sig"),
        }
        best = race(runners, TURNS)
    print("flip of 10^6 cells, milliseconds on top of the commit, by what answers; no capture")
    more = {name: seconds - best["commit"] for name, seconds in best.items() if name != "commit"}
    for name, seconds in more.items():
        print(f"  {name:18} {seconds * 1e3:+7.3f}")
    return max(more.values()) < MOST_SECONDS


def numpy_call(shape: Shape, func: Callable[..., Any], **kwargs: Any) -> Call:
    """Return a finished call on random values."""
    x = np.random.default_rng(0).random(shape)
    return Call(f"numpy.{func.__name__}", func, (x,), kwargs, (x,), (func(x, **kwargs),))


def compare_tracked() -> bool:
    """Measure what calls on tracked arrays cost to capture, and to recall.

    Recalling has to pay for every capture that counts as slow.
    """
    shape = of_cells(10**6)
    flat = [numpy_call((900 + 60 * n, 1000 - 70 * n), np.ravel, order="F") for n in range(6)]
    sort = numpy_call(shape, np.sort, axis=0)
    cases = {
        "sort, the same array": (BASE, [sort], sort),
        "ravel(order='F'), the same shape": (DIM, flat[:1], flat[0]),
        "ravel(order='F'), another shape": (GEN, flat, numpy_call(shape, np.ravel, order="F")),
    }
    held = True
    print(f"tracked calls on 10^6 cells, milliseconds; captures over {SLOW * 1e3:.0f} are recalled")
    for name, (kind, earlier, call) in cases.items():
        recall = Recall()
        node, other = (Node(x, shape, x, cast("Recorder", None)) for x in "AB")
        for one in earlier:
            recall.find(one, [node], written=False)
        nodes = [node if kind == BASE else other]
        found = recall.find(call, nodes, written=False).hit
        if found is None or found.reused != kind:
            raise AssertionError(f"{name}: recalled by {found}, not by {kind}")
        best = race(
            {
                "capture": partial(find_lineages, call),
                "recall": partial(recall.find, call, nodes, written=False),
            },
            6,
        )
        held &= best["recall"] < min(best["capture"], SLOW)
        print(
            f"  {name:34} capture {best['capture'] * 1e3:8.2f}   recall {best['recall'] * 1e3:6.3f}"
        )
    return held


def main() -> bool:
    """Run all."""
    held = [compare_sizes(FLIP), compare_sizes(WINDOW), compare_signatures(), compare_tracked()]
    return all(held)


if __name__ == "__main__":
    sys.exit(not main())
