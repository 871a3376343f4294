"""Random numpy workflows, as the paper draws them, with DSLog's capture to give the relations.

Operations are drawn uniformly, with one alternative per argument; results of no or one axis become
(1, 1) and (n, 1). An operation that the array at hand does not allow, or whose relation would have
more than ``max_pairs`` pairs (a cumulative sum of 1000 x 100 has 50 million), is drawn again: no
baseline could hold it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.evaluation.parts import I64, Part, Shape, Workflow
from benchmarks.evaluation.query_ops import PLACE, QUERY_OPS
from benchmarks.evaluation.sizes import Sizes
from dslog.capture.numpy.call import Call
from dslog.capture.numpy.resolve import find_lineages
from dslog.lineage.lineage import Lineage

Array = npt.NDArray[Any]
_PLACES = 100  # positions are drawn below this, as the paper does
_TRIES = 200


@dataclass(frozen=True, slots=True)
class Applied:
    """One operation that was run: its result with two axes, and its relation."""

    result: Array
    part: Part


def random_workflow(length: int, seed: int, sizes: Sizes, first: str | None = None) -> Workflow:
    """Draw a workflow of some length; ``first`` fixes the first operation."""
    rng = np.random.default_rng([length, seed])
    array: Array = rng.random(sizes.cells)
    steps: list[Part] = []
    labels: list[str] = []
    names = sorted(QUERY_OPS)
    for _ in range(_TRIES * length):
        if len(steps) == length:
            break
        name = first if first and not steps else names[rng.integers(len(names))]
        applied = apply(name, draw_arguments(name, rng), array, sizes.max_pairs)
        if applied is not None:
            array = applied.result
            steps.append(applied.part)
            labels.append(name)
    return Workflow(f"numpy {length}, seed {seed}", tuple(steps), tuple(labels))


def draw_arguments(name: str, rng: np.random.Generator) -> dict[str, Any]:
    """Draw one alternative of each argument."""
    drawn: dict[str, Any] = {}
    for key, values in QUERY_OPS[name][1].items():
        value = values[rng.integers(len(values))]
        drawn[key] = int(rng.integers(_PLACES)) if value == PLACE else value
    return drawn


def apply(name: str, kwargs: dict[str, Any], array: Array, max_pairs: int) -> Applied | None:
    """Run an operation and capture it; None when it can't be run or grows too large."""
    function = getattr(np, QUERY_OPS[name][0])
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(function(array, **kwargs))
    except (ValueError, IndexError, TypeError):
        return None
    if not result.size or result.size > max_pairs or result.dtype.kind not in "fiu":
        return None
    call = Call(name, function, (array,), kwargs, (array,), (result,))
    lineage = find_lineages(call)[0][0]
    if lineage is None or not lineage.exact or not 0 < pairs_at_most(lineage) <= max_pairs:
        return None
    shape = two_axes(result.shape)
    extra = len(shape) - result.ndim
    flat = result.astype(float).reshape(shape)

    def make(lineage: Lineage = lineage) -> I64:
        relation = lineage.to_relation()
        zeros = np.zeros((len(relation), extra), np.int64)
        ndim = len(lineage.out_shape)
        return np.concatenate([relation[:, :ndim], zeros, relation[:, ndim:]], axis=1)

    return Applied(flat, Part(shape, (*array.shape,), make))


def two_axes(shape: Shape) -> Shape:
    """Return the shape with two axes that the next operation sees."""
    return (*shape, *(1,) * (2 - len(shape)))


def pairs_at_most(lineage: Lineage) -> int:
    """Count pairs, those that two rows share twice."""
    total = 0
    for term in lineage.terms:
        counts = []
        for factor in term:
            plain = factor.table.unfold()
            outs = np.prod((plain.out_hi - plain.out_lo + 1).astype(float), axis=1)
            ins = np.prod((plain.in_hi - plain.in_lo + 1).astype(float), axis=1)
            counts.append(int((outs * ins).sum()))
        total += math.prod(counts)
    return total
