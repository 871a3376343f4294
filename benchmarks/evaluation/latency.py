"""Time to compress and write, over array sizes: elementwise and aggregate (the paper's figure)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from benchmarks.baselines.formats import FORMATS
from benchmarks.baselines.provrc import PROVRC
from benchmarks.evaluation.parts import I64, Part, Shape
from benchmarks.evaluation.scratch import Scratch
from benchmarks.evaluation.sizes import Sizes
from benchmarks.evaluation.storage import OURS, write_baseline, write_ours
from dslog.testing.operations import moved, reduction

Tick = Callable[[str], None]
_COLUMNS = 100


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """Seconds to read a relation from memory, compress it and flush it to disk."""

    kind: str
    cells: int
    format: str
    seconds: float
    nbytes: int


def latency_table(sizes: Sizes, scratch: Scratch, tick: Tick) -> Iterator[LatencyRow]:
    """Measure both kinds of operation at every size, in every format."""
    for cells in sizes.latency:
        shape = (cells // _COLUMNS, _COLUMNS)
        kinds = {
            "elementwise": Part(shape, shape, partial(_same, shape)),
            "aggregate": Part((_COLUMNS,), shape, partial(_sums, shape)),
        }
        for kind, part in kinds.items():
            for form in (*FORMATS, *PROVRC):
                tick(f"{kind}, {cells:,} cells: {form.name}")
                nbytes, seconds = write_baseline(part, form, sizes.repeats, scratch)
                yield LatencyRow(kind, cells, form.name, seconds, nbytes)
            tick(f"{kind}, {cells:,} cells: {OURS}")
            nbytes, seconds = write_ours(part, sizes.repeats, scratch)
            yield LatencyRow(kind, cells, OURS, seconds, nbytes)
            part.forget()


def _same(shape: Shape) -> I64:
    return moved(shape, lambda p: p)[0]


def _sums(shape: Shape) -> I64:
    return reduction(shape, 0)[0]
