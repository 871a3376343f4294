"""The paper's workflows: image, ResNet block and relational by hand, numpy at random.

Image: area resize to the detector's 416 x 416, luminosity, rot90, fliplr, LIME on the detector.
ResNet block: 3 x 3 convolution with zero padding, batch norm, ReLU, convolution, batch norm,
addition of the skip input, ReLU. Relational: inner join on tconst, drop rows with missing values
(the endYear may be), a column from two others, one-hot of the first genre, a constant added.

numpy: operations are drawn uniformly from the paper's list, 77 of them, not 76, with one
alternative per argument, and DSLog's capture gives the relations; results of no or one axis become
(1, 1) and (n, 1). An operation that the array at hand does not allow, or whose relation would have
more than ``max_pairs`` pairs (a cumulative sum of 1000 x 100 has 50 million), is drawn again: no
baseline could hold it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.size import Size
from benchmarks.workloads.numpy_call import lineage_of
from benchmarks.workloads.operations import lime_mask
from benchmarks.workloads.part import Part, Workflow
from benchmarks.workloads.relations import Case, cells, convolution, moved, resize
from benchmarks.workloads.titles import BASICS_COLUMNS, EPISODE_COLUMNS, Titles, join_part
from dslog.lineage.lineage import Lineage
from dslog.types import I64, Array, Shape

GENRES = 28
_JOINED = BASICS_COLUMNS + EPISODE_COLUMNS - 1
_GENRE_COLUMN = 8
_ADDED = (2, 7)  # the columns that the new one is made of
_PLACES = 100  # positions are drawn below this, as the paper does
_TRIES = 200
PLACE = "place"  # a random position on the axis
_AXES = [0, 1]

_PLAIN = (
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "deg2rad", "rad2deg", "sinh", "cosh",
    "tanh", "arcsinh", "arccosh", "arctanh", "rint", "fix", "floor", "ceil", "trunc", "ediff1d",
    "exp", "expm1", "exp2", "log", "log10", "log2", "log1p", "sinc", "spacing", "reciprocal",
    "positive", "negative", "real", "imag", "conj", "conjugate", "sqrt", "cbrt", "square",
    "absolute", "fabs", "unique", "ravel", "atleast_1d", "atleast_2d", "fliplr", "flipud",
)  # fmt: skip

_WITH_ARGUMENTS: dict[str, tuple[str, dict[str, list[Any]]]] = {
    "unwrap": ("unwrap", {"period": [1, 2, 3], "discont": [0.4, 1, 0.5], "axis": _AXES}),
    "around": ("around", {"decimals": [0, 2, 5]}),
    "round_": ("round", {"decimals": [0, 2, 5]}),
    "prod": ("prod", {"keepdims": [True, False], "axis": _AXES}),
    "sum": ("sum", {"keepdims": [True, False], "axis": _AXES}),
    "cumsum": ("cumsum", {"axis": _AXES}),
    "cumprod": ("cumprod", {"axis": _AXES}),
    "nancumsum": ("nancumsum", {"axis": _AXES}),
    "nancumprod": ("nancumprod", {"axis": _AXES}),
    "diff": ("diff", {"n": [1, 2, 3], "axis": _AXES}),
    "trapz": ("trapezoid", {"axis": _AXES, "dx": [1, 2, 0.5]}),
    "angle": ("angle", {"deg": [True, False]}),
    "amax": ("amax", {"axis": _AXES}),
    "real_if_close": ("real_if_close", {"tol": [100, 1000, 50]}),
    "sort": ("sort", {"axis": _AXES}),
    "msort": ("sort", {"axis": [0]}),
    "partition": ("partition", {"axis": _AXES, "kth": [PLACE]}),
    "percentile": ("percentile", {"axis": _AXES, "q": [10, 20, 40]}),
    "quantile": ("quantile", {"axis": _AXES, "q": [0.1, 0.2, 0.4]}),
    "median": ("median", {"axis": _AXES}),
    "mean": ("mean", {"axis": _AXES}),
    "moveaxis": ("moveaxis", {"source": _AXES, "destination": _AXES}),
    "swapaxes": ("swapaxes", {"axis1": _AXES, "axis2": _AXES}),
    "tile": ("tile", {"reps": [[2, 2], 2, [1, 3]]}),
    "repeat": ("repeat", {"repeats": [2, 3], "axis": _AXES}),
    "delete": ("delete", {"axis": _AXES, "obj": [PLACE]}),
    "insert": ("insert", {"axis": _AXES, "obj": [PLACE], "values": [0.0]}),
    "flip": ("flip", {"axis": _AXES}),
    "roll": ("roll", {"shift": [10, 20], "axis": _AXES}),
    "rot90": ("rot90", {"k": [1, 2, 3]}),
}

# The name in the paper's list, what it is in numpy 2, and the alternatives of each argument.
QUERY_OPS: dict[str, tuple[str, dict[str, list[Any]]]] = {
    **{name: (name, {}) for name in _PLAIN},
    **_WITH_ARGUMENTS,
}


def _part(case: Case) -> Part:
    relation, out_shape, in_shape = case
    return Part(out_shape, in_shape, lambda: relation)


def _same(shape: Shape) -> Part:
    return _part(moved(shape, lambda p: p))


def image(frame: tuple[int, int], side: int, shared: Path | None = None) -> Workflow:
    """Five steps from a camera frame to one detection."""
    small = (side, side)
    mask = lime_mask(shared)[0]
    pick = np.arange(side) * len(mask) // side  # the detector may be smaller than the mask
    found = np.argwhere(mask[np.ix_(pick, pick)])
    explained = np.concatenate([np.zeros((len(found), 2), np.int64), found], axis=1)
    steps = (
        _part(resize(frame, small)),
        _same(small),
        _part(moved(small, np.rot90)),
        _part(moved(small, np.fliplr)),
        _part((explained, (1, 1), small)),
    )
    return Workflow("image", steps, ("resize", "luminosity", "rot90", "fliplr", "LIME"))


def resnet(frame: tuple[int, int]) -> Workflow:
    """Seven steps of a ResNet block, on one channel."""
    same, window = _same(frame), _part(convolution(frame, padding=1))
    steps = (window, same, same, window, same, same, same)
    labels = ("conv", "norm", "ReLU", "conv", "norm", "skip", "ReLU")
    return Workflow("ResNet block", steps, labels)


def relational(rows: int) -> Workflow:
    """Five steps from a table of titles to a table of features."""
    titles = Titles(rows)
    kept = np.flatnonzero(titles.complete)
    n = len(kept)
    join = join_part(rows, BASICS_COLUMNS, titles.episodes, 0, _JOINED)
    drop = join_part(len(titles.episodes), _JOINED, kept, 0, _JOINED)
    added = _part(_columns(n, _JOINED, _with_sum()))
    encoded = _part(_columns(n, _JOINED + 1, _one_hot()))
    steps = (join, drop, added, encoded, _same(encoded.out_shape))
    labels = ("inner join", "drop missing", "add columns", "one-hot", "add constant")
    return Workflow("relational", steps, labels)


def _with_sum() -> list[list[int]]:
    """Which input columns each output column reads: all as they are, and one from two."""
    return [*([column] for column in range(_JOINED)), list(_ADDED)]


def _one_hot() -> list[list[int]]:
    """Every column but the genre as it is, then a column per genre."""
    kept = [[column] for column in range(_JOINED + 1) if column != _GENRE_COLUMN]
    return kept + [[_GENRE_COLUMN]] * GENRES


def _columns(rows: int, columns: int, reads: list[list[int]]) -> Case:
    """Each row by itself; output column c reads the input columns ``reads[c]``."""
    pairs = np.array([(c, a) for c, ins in enumerate(reads) for a in ins], np.int64)
    index = cells((rows, len(pairs)))
    row, pick = index[:, 0], pairs[index[:, 1]]
    relation = np.stack([row, pick[:, 0], row, pick[:, 1]], axis=1)
    return np.ascontiguousarray(relation), (rows, len(reads)), (rows, columns)


@dataclass(frozen=True, slots=True)
class Applied:
    """One operation that was run: its result with two axes, and its relation."""

    result: Array
    part: Part


def random_workflow(length: int, seed: int, size: Size, first: str | None = None) -> Workflow:
    """Draw a workflow of some length; ``first`` fixes the first operation."""
    rng = np.random.default_rng([length, seed])
    array: Array = rng.random(size.cells)
    steps: list[Part] = []
    labels: list[str] = []
    names = sorted(QUERY_OPS)
    for _ in range(_TRIES * length):
        if len(steps) == length:
            break
        name = first if first and not steps else names[rng.integers(len(names))]
        applied = apply(name, draw_arguments(name, rng), array, size.max_pairs)
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
    lineage = lineage_of(function, (array,), kwargs, result)
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
    unfolded = [math.prod(f.table.unfold().most_pairs for f in term) for term in lineage.terms]
    return int(sum(unfolded))
