"""numpy capture of 10^9 cells: time and memory of the rules, which look at shapes alone."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.evaluation.timing import timed
from dslog.capture.numpy.call import Call
from dslog.capture.numpy.resolve import find_lineages

Tick = Callable[[str], None]
SIDE = 31_623  # squared: 10^9 cells
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


def virtual(shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """An array of any shape that takes no memory: one cell seen everywhere."""
    return np.broadcast_to(np.zeros(()), shape)


def capture_table(tick: Tick) -> Iterator[CaptureRow]:
    """Capture each operation on an array whose cells are never touched, so take no memory.

    Views of it are made; of other results the shape is worked out, and no cell computed.
    """
    array = np.zeros((SIDE, SIDE), np.uint8)
    for name, (function, kwargs) in OPERATIONS.items():
        tick(f"capture of {name}")
        result = function(array, **kwargs) if name in VIEWS else _result(function, kwargs)
        call = Call(name, function, (array,), kwargs, (array,), (result,))
        find_lineages(call)  # compiles what there is to compile
        tracemalloc.start()
        lineage = find_lineages(call)[0][0]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        seconds, _ = timed(partial(find_lineages, call), 3)
        if lineage is not None:
            yield CaptureRow(name, SIDE * SIDE, seconds, peak, lineage.nbytes, lineage.exact)


def _result(function: Callable[..., Any], kwargs: dict[str, Any]) -> npt.NDArray[Any]:
    small = np.asarray(function(np.arange(36.0).reshape(_SMALL), **kwargs))
    return virtual(grown(small.shape, kwargs))


def grown(small: tuple[int, ...], kwargs: dict[str, Any]) -> tuple[int, ...]:
    """Scale the shape of a result on 6 x 6 cells to SIDE x SIDE."""
    if small == (36,):
        return (SIDE * SIDE,)
    pad = kwargs.get("pad_width", 0)
    sizes = []
    for size in small:
        times, rest = divmod(size - 2 * pad, 6)
        sizes.append(times * SIDE + rest + 2 * pad if times else SIDE - (6 - size) if size else 0)
    return tuple(sizes)
