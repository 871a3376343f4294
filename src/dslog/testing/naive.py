"""Slow, obvious twins of the kernels: what every compressed answer must equal."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dslog.types import I64

Cell = tuple[int, ...]
Pairs = set[tuple[Cell, Cell]]


def pairs_of(relation: Any, num_out: int) -> Pairs:
    """Return the relation as a set of (output cell, input cell)."""
    rows = np.asarray(relation).tolist()
    return {(tuple(row[:num_out]), tuple(row[num_out:])) for row in rows}


def relation_of(pairs: Iterable[tuple[Cell, Cell]], num_out: int, num_in: int) -> I64:
    """Return pairs as a relation (n, l + m), sorted."""
    rows = sorted([*out, *inp] for out, inp in pairs)
    return np.array(rows, np.int64).reshape(len(rows), num_out + num_in)


def backward(pairs: Pairs, cells: Iterable[Cell]) -> set[Cell]:
    """Return the input cells of the given output cells, by a scan."""
    wanted = set(cells)
    return {inp for out, inp in pairs if out in wanted}


def forward(pairs: Pairs, cells: Iterable[Cell]) -> set[Cell]:
    """Return the output cells of the given input cells, by a scan."""
    wanted = set(cells)
    return {out for out, inp in pairs if inp in wanted}


def capture(function: Any, out_shape: Sequence[int], in_shape: Sequence[int]) -> I64:
    """Call ``function(output cell) -> input cells`` for every output cell."""
    cells = itertools.product(*(range(s) for s in out_shape))
    pairs = {(out, tuple(inp)) for out in cells for inp in function(out)}
    return relation_of(pairs, len(out_shape), len(in_shape))
