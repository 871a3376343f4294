"""What a stored header must look like before it is decoded: a store may come from a stranger.

Kernels check no bounds, so nothing reaches them unchecked: here the form of a header, axes and
sizes; in ``column_code`` that columns are as long as they say; and in ``Table.is_inside``, asked of
every table that is read, references, cells and folds. What is wrong is a ValueError.
"""

from collections.abc import Sequence
from math import prod

from dslog.types import Json, Shape

MOST_TEXT = 1 << 28  # characters of a header
MOST_ROWS = 1 << 34  # of one table
MOST_PLAIN_ROWS = 1 << 20  # of one table that says the same of every row
MOST_LEVELS = 16  # of folds
MOST_CELLS = (1 << 63) - 1


def admit(header: Json) -> None:
    """Raise a ValueError unless a header, parsed, has the form of one."""
    shapes = _shape(header["b"]), _shape(header["a"])
    _require(isinstance(header.get("exact", True), bool), "exact")
    absolute, relative = shapes[::-1] if header.get("forward") else shapes
    for term in _list(header["t"]):
        for item in _list(term):
            _factor(item, absolute, relative)
        for letter, shape in (("b", absolute), ("a", relative)):
            axes = [axis for item in term for axis in item.get(letter, range(len(shape)))]
            _require(sorted(axes) == list(range(len(shape))), "the axes of a product")


def _factor(item: Json, absolute: Shape, relative: Shape) -> None:
    outs = _axes(item.get("b", range(len(absolute))), absolute)
    ins = _axes(item.get("a", range(len(relative))), relative)
    _require(item.get("flat", "") in ("", "b", "a", "ba"), "flat")
    l, m = (1 if s in item.get("flat", "") else len(axes) for s, axes in (("b", outs), ("a", ins)))
    if "r" in item:
        for row in _list(item["r"]):
            _require(len(row[0]) == l and len(row[1]) == m, "the length of a row")
            _require(len(row) < 3 or len(row[2]) <= MOST_LEVELS, "the folds of a row")
        return
    n, levels = item["n"], item.get("k", 0)
    _require(_is_count(n, MOST_ROWS) and _is_count(levels, MOST_LEVELS), "the size of a table")
    varying = item.get("p") or item.get("w")
    _require(bool(varying) or n <= MOST_PLAIN_ROWS, "the number of rows")
    for name, value in item["c"].items():
        _require(name == "cells" or type(value) is int, "a constant")
    cells = item["c"].get("cells")
    if cells == "all":
        sizes = [absolute[axis] for axis in outs]
        _require(n == prod(sizes) and not levels, "the cells")
    _require(cells in (None, "all") or (cells == "next" and l == 1 and not levels), "the cells")


def check_spec(spec: Json, most: int) -> None:
    """Raise a ValueError unless a column's code makes sense; ``most`` units to a value."""
    kind, width, *numbers = spec
    _require(kind in ("bits", "dbits", "bytes", "dbytes"), "the code of a column")
    _require(_is_count(width, most) and width > 0, "the width of a column")
    texts = numbers[2 if kind.startswith("d") else 1 :]
    whole = numbers[: len(numbers) - len(texts)]
    _require(all(type(value) is int and abs(value) < 1 << 63 for value in whole), "a column")


def _axes(axes: Sequence[Json], shape: Shape) -> list[int]:
    _require(all(_is_count(axis, len(shape) - 1) for axis in axes), "an axis")
    return list(axes)


def _shape(value: Json) -> Shape:
    shape = _list(value)
    _require(all(_is_count(size, MOST_CELLS) for size in shape), "a shape")
    _require(prod(size or 1 for size in shape) <= MOST_CELLS, "the number of cells")
    return tuple(shape)


def _list(value: Json) -> list[Json]:
    _require(isinstance(value, list), "a list")
    return value  # type: ignore[no-any-return]


def _is_count(value: Json, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"{what} can't be right")
