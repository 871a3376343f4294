"""A small picture of a cell set, drawn with characters.

The picture shows two axes of the array; the cells of the others are counted in. A small array has
two characters per cell, so that cells look square. In a large one each character stands for a block
of cells and its shade for the share of them that is lit; a block with any lit cell is never blank.

The shares are computed from the boxes, never from a bitmap of the array: an array of 10^12 cells
costs as much as a small one with as many boxes. The module is imported when a picture is asked for:
the command line starts without numpy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dslog.types import Floats

if TYPE_CHECKING:
    from dslog.cells.cellset import CellSet


WIDTH, HEIGHT = 60, 18
"""Characters a picture may take."""

_DARK, _SHADES = " ", "▒▓█"
_LEAST_BLOCKS = 8  # an axis with fewer blocks than this gets blocks of its own proportion
_CHUNK = 1 << 14


@dataclass(frozen=True, slots=True)
class Picture:
    """Lines to print, and what a reader must know of them."""

    lines: tuple[str, ...]
    caption: str


def draw(cells: "CellSet", width: int = WIDTH, height: int = HEIGHT) -> Picture | None:
    r"""Draw a cell set; None when the array has no cells or is a scalar.

    >>> from dslog.cells.cellset import CellSet
    >>> print(*draw(CellSet.from_boxes((3, 4), [[[1, 2], [1, 2]]])).lines, sep="\n")
    ┌────────┐
    │        │
    │  ████  │
    │  ████  │
    └────────┘
    """
    if not cells.shape or not prod(cells.shape):
        return None
    axes = _drawn_axes(cells.shape)
    rows, columns = (1 if axis is None else cells.shape[axis] for axis in axes)
    doubled = 2 * columns <= width and rows <= height
    block = (1, 1) if doubled else _block(rows, columns, width, height)
    lit = _shares(cells, axes, block)
    lines = ["".join(_glyph(share) * (1 + doubled) for share in line) for line in lit.tolist()]
    return Picture(_framed(lines), _caption(cells.shape, axes, block))


def _drawn_axes(shape: Sequence[int]) -> tuple[int | None, int]:
    """Return the axes drawn downwards and across: the two longest, in order."""
    if len(shape) == 1:
        return None, 0
    longest = sorted(range(len(shape)), key=lambda axis: -shape[axis])[:2]
    return min(longest), max(longest)


def _block(rows: int, columns: int, width: int, height: int) -> tuple[int, int]:
    """Return how many cells, down and across, one character stands for.

    A character is about twice as high as wide; a long thin array gives up that proportion.
    """
    side = max(ceil(columns / width), ceil(rows / (2 * height)))
    high = 2 * side if rows > 1 else 1
    if ceil(columns / side) < _LEAST_BLOCKS or ceil(rows / high) < min(_LEAST_BLOCKS, rows):
        return ceil(rows / height), ceil(columns / width)
    return high, side


def _shares(cells: "CellSet", axes: tuple[int | None, int], block: tuple[int, int]) -> Floats:
    """Return the share of lit cells in each block, (rows, columns)."""
    down, across = axes
    boxes = cells.boxes
    rest = [axis for axis in range(cells.ndim) if axis not in axes]
    depth = prod(cells.shape[axis] for axis in rest)
    rows = 1 if down is None else cells.shape[down]
    row_edges = _edges(rows, block[0])
    column_edges = _edges(cells.shape[across], block[1])
    total = np.zeros((len(row_edges) - 1, len(column_edges) - 1))
    for start in range(0, len(boxes), _CHUNK):
        some = boxes[start : start + _CHUNK]
        weight = np.prod(some[:, rest, 1] - some[:, rest, 0] + 1, axis=1, dtype=float)
        single = np.zeros((len(some), 2), np.int64)
        vertical = _overlap(single if down is None else some[:, down], row_edges)
        total += (vertical * weight[:, None]).T @ _overlap(some[:, across], column_edges)
    area = np.outer(np.diff(row_edges), np.diff(column_edges)) * float(depth)
    shares: Floats = total / area
    return shares


def _edges(length: int, block: int) -> npt.NDArray[np.int64]:
    return np.append(np.arange(0, length, block, dtype=np.int64), length)


def _overlap(intervals: npt.NDArray[np.int64], edges: npt.NDArray[np.int64]) -> Floats:
    """Return how many cells of each inclusive interval lie between each pair of edges."""
    low = np.maximum(intervals[:, :1], edges[:-1])
    high = np.minimum(intervals[:, 1:] + 1, edges[1:])
    shared: Floats = np.maximum(high - low, 0).astype(np.float64)
    return shared


def _glyph(share: float) -> str:
    if share <= 0:
        return _DARK
    full = len(_SHADES) - 1
    return _SHADES[full] if share >= 1 else _SHADES[min(int(share * full), full - 1)]


def _framed(lines: Sequence[str]) -> tuple[str, ...]:
    bar = "─" * len(lines[0])
    return (f"┌{bar}┐", *(f"│{line}│" for line in lines), f"└{bar}┘")


def _caption(shape: Sequence[int], axes: tuple[int | None, int], block: tuple[int, int]) -> str:
    parts = []
    if len(shape) > 2:
        hidden = [axis for axis in range(len(shape)) if axis not in axes]
        word = "axis" if len(hidden) == 1 else "axes"
        parts.append(f"axes {axes[0]} and {axes[1]}, over all of {word} {_listed(hidden)}")
    if block != (1, 1):
        scale = f"{block[1]:,}" if axes[0] is None else f"{block[0]:,} x {block[1]:,}"
        parts.append(f"one character is {scale} cells")
    return "; ".join(parts)


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(str(number) for number in numbers)
