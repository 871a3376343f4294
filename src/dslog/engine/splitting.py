"""Where to cut a relation: partitions of equal size, by a sample, at places that can be mended.

Partitions should end where a row of the output array ends, because what is compressed within whole
rows is what one process would find. If rows are too long for that they end with an output cell, and
if one cell has too many pairs, anywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dslog.compress.encoder import Method
from dslog.engine.blocks import Split
from dslog.engine.packing import Packing

I64 = npt.NDArray[np.int64]
_MOST_PARTITIONS = 1 << 16
_UNEVEN = 1.5  # times its share that a partition may get for the sake of a good place to cut
_SMALL = 1 << 18  # pairs of a partition that is not worth making smaller
_UNITS = 8  # units that a chunk should hold


@dataclass(frozen=True)
class Options:
    """How a relation is compressed on Spark.

    ``collect_rows`` compressed rows may come to the driver; a partition should get ``pairs`` pairs
    unless ``partitions`` fixes their number; ``chunk`` and ``combine`` are those of ``Split``.
    """

    method: Method = "auto"
    collect_rows: int = 1_000_000
    partitions: int | None = None
    pairs: int = 1 << 21
    chunk: int = 1 << 20
    combine: int = 1 << 16


def partitions_for(rows: int, pairs: int, cores: int) -> int:
    """As many partitions as the pairs need, and enough for the cores when there is work for them.

    >>> partitions_for(10, 4_000_000, 8), partitions_for(10**9, 4_000_000, 8)
    (1, 250)
    """
    enough = min(cores, rows // (1 << 18))
    return min(max(math.ceil(rows / pairs), enough, 1), _MOST_PARTITIONS)


def plan_split(sample: I64, rows: int, wanted: int, packing: Packing, options: Options) -> Split:
    """Cut the order of the pairs by a sorted sample of their first numbers."""
    bounds, unit = _bounds(sample, wanted, 1), 1
    for stride in _strides(packing):
        rounded = _bounds(sample, wanted, stride)
        units = int(sample[-1] // stride - sample[0] // stride) + 1 if len(sample) else 1
        largest = _largest(sample, rounded) * rows / max(len(sample), 1)
        even = largest <= max(_UNEVEN * rows / wanted, _SMALL)
        if even and rows <= max(units * options.chunk / _UNITS, _SMALL):
            bounds, unit = rounded, stride
            break
    if options.partitions is None:
        bounds = np.unique(bounds)
    thorough = options.method == "provrc"
    found = tuple(bounds.tolist())
    return Split(packing, found, unit, thorough, options.combine, options.chunk)


def _strides(packing: Packing) -> list[int]:
    """Numbers in a row of the output array, in a row of each of its rows, ..., in a cell."""
    outputs = len([axis for axis in packing.groups[0] if axis < len(packing.out_shape)])
    return packing.strides(packing.groups[0])[:outputs]


def _bounds(sample: I64, wanted: int, unit: int) -> I64:
    at = np.arange(1, wanted) * len(sample) // wanted
    return sample[at] // unit * unit if len(sample) else sample


def _largest(sample: I64, bounds: I64) -> int:
    """Return how much of the sample the largest partition gets."""
    ends = np.concatenate([[0], np.searchsorted(sample, bounds), [len(sample)]])
    return int(np.diff(ends).max())
