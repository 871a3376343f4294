"""Writing into a tracked array: the values first, then what that means for its memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dslog.capture.numpy.call import Array
from dslog.capture.numpy.indexing import open_key
from dslog.capture.numpy.indexrun import pairs_of_cells
from dslog.capture.numpy.memory import Memory
from dslog.capture.numpy.node import Node
from dslog.capture.numpy.strided import is_view, place, touches
from dslog.capture.numpy.writes import Write, assigned, slab
from dslog.compress.encoder import compress
from dslog.lineage.factor import Shape

I64 = npt.NDArray[np.int64]


def write_view(memory: Memory, view: Array, source: Node | None) -> None:
    """Take note that a view of the memory holds values of a source, broadcast to its shape."""
    if not view.size:
        return
    placement = place(view, memory.root) if view.itemsize == memory.root.itemsize else None
    region = None if placement is None else slab(placement)
    if placement is not None and region is not None:
        lineage = assigned(placement, source.shape) if source else None
        memory.write(Write(region, source, lineage))
        return
    found = touches(view, memory.root)
    if found is not None:
        spread = _spread(source, view)
        partial = view.itemsize % memory.root.itemsize != 0
        write_cells(memory, found[1], source, spread[found[0]], partial=partial)


def write_cells(
    memory: Memory, cells: I64, source: Node | None, from_: I64, *, partial: bool = False
) -> None:
    """Take note that cells at C-order positions of the root hold cells of a source.

    Positions may repeat: a cell then comes from several cells of the source.
    """
    lineage = None
    if source is not None:
        pairs = pairs_of_cells(cells, memory.root.shape, from_, source.shape)
        lineage = compress(pairs, memory.root.shape, source.shape)
    memory.write(Write(np.unique(cells), source, lineage, partial))


def set_item(memory: Memory, plain: Array, key: Any, value: Any, source: Node | None) -> None:
    """Assign ``plain[key] = value`` and take note of it; ``plain`` looks at the memory."""
    if _has_field(key):
        plain[key] = value
        _write_fields(memory, plain, source)
        return
    region = plain[open_key(key)]
    if is_view(region, plain):
        plain[key] = value
        write_view(memory, region, source)
        return
    codes = np.zeros(plain.shape, np.int64)
    codes[key] = 1 if source is None else _ramp(source.shape) + 1
    plain[key] = value
    write_codes(memory, plain, codes, source)


def write_codes(memory: Memory, plain: Array, codes: I64, source: Node | None) -> None:
    """Take note of cells of a view that hold a source's cell: its C-order position + 1, or 0."""
    flat = codes.reshape(-1)
    cells = np.flatnonzero(flat)
    found = touches(plain, memory.root)
    if not len(cells) or found is None:
        return
    partial = plain.itemsize % memory.root.itemsize != 0
    hit = flat[found[0]] > 0
    write_cells(memory, found[1][hit], source, flat[found[0][hit]] - 1, partial=partial)


def _write_fields(memory: Memory, plain: Array, source: Node | None) -> None:
    """Take note of fields of every cell of a view; what the cells held still contributes."""
    found = touches(plain, memory.root)
    if found is None:
        return
    spread = _spread(source, plain)
    write_cells(memory, found[1], source, spread[found[0]], partial=True)


def _has_field(key: Any) -> bool:
    return isinstance(key, str) or (
        isinstance(key, list) and len(key) > 0 and all(isinstance(name, str) for name in key)
    )


def _trim(array: Array, ndim: int) -> Array:
    """Drop leading axes of one cell, which assignment allows the values to have too many of."""
    while array.ndim > ndim:
        array = array[0]
    return array


def _ramp(shape: Shape) -> I64:
    """C-order positions."""
    return np.arange(math.prod(shape), dtype=np.int64).reshape(shape)


def _spread(source: Node | None, view: Array) -> I64:
    """Per cell of a view, in C order, the position of the source's cell that is assigned to it."""
    ramp = _ramp(source.shape if source else ())
    return np.broadcast_to(_trim(ramp, view.ndim), view.shape).reshape(-1)
