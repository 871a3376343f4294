"""Hypothesis strategies: relations without structure, with structure, and just short of it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dslog.types import I64, Shape

Case = tuple[I64, Shape, Shape]  # relation, output shape, input shape


def shapes(most_axes: int = 3, most_cells: int = 4) -> st.SearchStrategy[Shape]:
    """Shapes of up to ``most_axes`` axes of 1 to ``most_cells`` cells, 0-d included."""
    return st.lists(st.integers(1, most_cells), max_size=most_axes).map(tuple)


@st.composite
def random_relations(draw: Any) -> Case:
    """Any set of pairs, in any order, with repeats."""
    out_shape, in_shape = draw(shapes()), draw(shapes())
    everything = _all_cells(out_shape + in_shape)
    density = draw(st.sampled_from([0.0, 0.05, 0.3, 0.7, 0.95, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = everything[rng.random(len(everything)) < density]
    rows = rows[rng.permutation(np.arange(len(rows)).repeat(draw(st.sampled_from([1, 1, 2]))))]
    return rows, out_shape, in_shape


@st.composite
def product_relations(draw: Any) -> Case:
    """Products of one-axis relations, each a progression, a band, a gather or full."""
    axes = draw(st.integers(1, 3))
    parts = [draw(_axis_relations()) for _ in range(axes)]
    order = draw(st.permutations(range(axes)))
    rows = [
        [*(pair[0] for pair in pick), *(pick[k][1] for k in order)]
        for pick in itertools.product(*(part[0] for part in parts))
    ]
    out_shape = tuple(part[1] for part in parts)
    in_shape = tuple(parts[k][2] for k in order)
    return np.array(rows, np.int64).reshape(len(rows), 2 * axes), out_shape, in_shape


@st.composite
def _axis_relations(draw: Any) -> tuple[list[tuple[int, int]], int, int]:
    """A relation between one output and one input axis: pairs and both sizes."""
    n = draw(st.integers(1, 9))
    kind = draw(st.sampled_from(["stride", "flip", "repeat", "window", "scan", "gather", "full"]))
    k = draw(st.integers(1, 3))
    if kind == "stride":
        pairs = [(b, k * b) for b in range(n)]
    elif kind == "flip":
        pairs = [(b, n - 1 - b) for b in range(n)]
    elif kind == "repeat":
        pairs = [(b, b // k) for b in range(n)]
    elif kind == "window":
        pairs = [(b, b + d) for b in range(n) for d in range(k)]
    elif kind == "scan":
        pairs = [(b, a) for b in range(n) for a in range(b + 1)]
    elif kind == "gather":
        chosen = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
        pairs = list(enumerate(chosen))
    else:
        pairs = [(b, a) for b in range(n) for a in range(k)]
    return pairs, n, max(a for _, a in pairs) + 1


@st.composite
def linear_relations(draw: Any) -> Case:
    """Reshapes, flat shifts and flat scans between arrays of the same size."""
    sides = draw(st.lists(st.integers(1, 5), min_size=2, max_size=3))
    out_shape = tuple(draw(st.permutations(sides)))
    in_shape = tuple(sides)
    n = int(np.prod(sides))
    kind = draw(st.sampled_from(["same", "shift", "scan"]))
    cells = np.arange(n)
    if kind == "scan":
        flat = [(b, a) for b in range(n) for a in range(b + 1)]
    else:
        shift = draw(st.integers(0, n)) if kind == "shift" else 0
        flat = list(zip(cells.tolist(), ((cells + shift) % n).tolist(), strict=True))
    outs = np.stack(np.unravel_index([b for b, _ in flat], out_shape), axis=1)
    ins = np.stack(np.unravel_index([a for _, a in flat], in_shape), axis=1)
    return np.concatenate([outs, ins], axis=1).astype(np.int64), out_shape, in_shape


@st.composite
def near_misses(draw: Any, base: st.SearchStrategy[Case]) -> Case:
    """A structured relation with one pair missing, one pair too many, or both."""
    rows, out_shape, in_shape = draw(base)
    everything = _all_cells(out_shape + in_shape)
    if draw(st.booleans()) and len(rows):
        rows = np.delete(rows, draw(st.integers(0, len(rows) - 1)), axis=0)
    if draw(st.booleans()) and len(everything):
        rows = np.concatenate([rows, everything[[draw(st.integers(0, len(everything) - 1))]]])
    return rows, out_shape, in_shape


@st.composite
def side_by_side(draw: Any) -> Case:
    """Two products of the same number of axes, placed next to each other on one output axis."""
    first = draw(product_relations())
    second = draw(product_relations().filter(lambda case: len(case[1]) == len(first[1])))
    axis = draw(st.integers(0, len(first[1]) - 1))
    moved = second[0].copy()
    moved[:, axis] += first[1][axis]
    out_shape = list(np.maximum(first[1], second[1]))
    out_shape[axis] = first[1][axis] + second[1][axis]
    in_shape = tuple(np.maximum(first[2], second[2]).tolist())
    return np.concatenate([first[0], moved]), tuple(int(s) for s in out_shape), in_shape


def relations() -> st.SearchStrategy[Case]:
    """All of the above."""
    structured = st.one_of(product_relations(), linear_relations(), side_by_side())
    return st.one_of(random_relations(), structured, near_misses(structured))


def _all_cells(shape: Shape) -> I64:
    cells = list(itertools.product(*(range(s) for s in shape)))
    return np.array(cells, np.int64).reshape(len(cells), len(shape))
