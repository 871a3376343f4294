"""Read a query: find the cells of an array that the caller named.

What each form means for an array with n axes:

======================================= ========================================================
query                                   cells
======================================= ========================================================
``None`` or ``...``                     all
``5``                                   one cell, if n is 1
``(0, 1)``                              one cell: a tuple of integers is always one cell
``[(0, 1), (2, 3)]``                    these cells; the same for any list, set, tuple or iterator
                                        of index tuples and for an integer array of shape (k, n);
                                        if n is 1, also for a list or 1-d array of integers
``np.s_[0:2, :]``, ``slice(0, 2)``      what numpy's indexing takes: a tuple with a slice, ``...``,
                                        a list or an array in it is a selection. Axes left out
                                        count whole, slices clip, integer arrays broadcast
                                        together: ``np.s_[[0, 1], [2, 3]]`` is two cells, and so
                                        ``np.nonzero(mask)`` is the cells of the mask
a boolean array of the array's shape    the cells where it is true
a ``CellSet`` of the array's shape      its cells
a list with any such selection in it    their union
``(3, "price")``                        in a table: a column by its name, in all of these forms
======================================= ========================================================

Unlike in numpy a negative integer is an error, not a position from the end: in a query it is most
often a slip in the arithmetic before it. In a slice it counts from the end, as in numpy. A slice
without a step stays an interval, so selecting from an array of any size costs nothing per cell.
"""

import operator
import re
from collections.abc import Iterable, Sequence
from itertools import chain
from math import prod
from types import EllipsisType
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from dslog.cells.cellset import PLAIN, CellSet, Target, bitmap_is_smaller
from dslog.errors import SelectionError, did_you_mean
from dslog.types import I64

_GROUP = re.compile(r"[(\[]([^()\[\]]*)[)\]]\s*(?:,|$)\s*")
_INTEGER = re.compile(r"[+-]?[0-9]+")

# One axis of an index: the positions a slice takes, or indices that broadcast with other axes'.
Axis = range | I64


def select(query: object, shape: tuple[int, ...], name: str = "array") -> CellSet:
    """The cells that a query in one of the module's forms names; `name` is for messages.

    >>> select(np.s_[0:2, 1], (3, 2))
    CellSet(shape=(3, 2), count=2, boxes=1, exact)
    >>> select([(0, 1), (2, 0)], (3, 2)).indices().tolist()
    [[0, 1], [2, 0]]
    >>> select((0, -1), (3, 2), "B")
    Traceback (most recent call last):
    ...
    dslog.errors.SelectionError: Index -1 is negative on axis 1 of 'B', which has length 2: count
    from 0 (the last index is 1), or use a slice, where a negative bound counts from the end.
    """
    return _select(query, Target(tuple(shape), name))


def number_columns(query: object, name: str, columns: Sequence[str]) -> object:
    """Put numbers in place of names of a table's columns."""
    if isinstance(query, tuple) and len(query) == 2 and isinstance(query[1], str):
        return (query[0], _column(query[1], name, columns))
    if isinstance(query, list):
        return [number_columns(item, name, columns) for item in query]
    return query


def number_text(text: str, columns: Sequence[str]) -> str:
    """Put numbers in place of names of columns, at the end of each selection."""
    groups = []
    for group in text.split(";"):
        before, comma, last = group.rpartition(",")
        name = last.strip(" )]")
        known = bool(comma) and name in columns
        groups.append(
            f"{before},{last.replace(name, str(columns.index(name)))}" if known else group
        )
    return ";".join(groups)


def _column(wanted: str, name: str, columns: Sequence[str]) -> int:
    if wanted in columns:
        return columns.index(wanted)
    names = ", ".join(map(repr, columns))
    known = f"its columns are {names}" if columns else "its columns have no names here"
    hint = did_you_mean(wanted, columns)
    raise SelectionError(f"there is no column {wanted!r} in {name!r}: {known}.{hint}")


def _select(query: Any, target: Target) -> CellSet:
    if query is None or query is Ellipsis:
        return CellSet.full(target.shape)
    if isinstance(query, CellSet):
        return _same_shape(query, target)
    if isinstance(query, slice | tuple):
        return _read_tuple(query if isinstance(query, tuple) else (query,), target)
    if _is_array(query) or _is_integer(query) or isinstance(query, bool):
        return _read_array(np.asarray(query), target)
    if isinstance(query, Iterable) and not isinstance(query, str | bytes | dict):
        return _read_list(list(query), target)
    return target.refuse_value(query)


def _same_shape(cells: CellSet, target: Target) -> CellSet:
    if cells.shape != target.shape:
        raise SelectionError(
            f"These cells belong to an array of shape {cells.shape}, but {target.name!r} has shape "
            f"{target.shape}: select the cells in {target.name!r} itself."
        )
    return cells


def _read_tuple(query: tuple[Any, ...], target: Target) -> CellSet:
    if _is_selection(query):
        return select_index(query, target)
    if query and all(isinstance(item, tuple) for item in query):
        return _read_list(list(query), target)
    return _read_cells([query], target)


def _read_list(items: list[Any], target: Target) -> CellSet:
    """Cells, selections, or a mask written as nested lists."""
    if set(map(type, items)) == {tuple} and _all_integers(items):
        return _read_cells(items, target)
    selections = [item for item in items if _is_selection(item)]
    if selections:
        cells = [item for item in items if not _is_selection(item)]
        return _union([_select(item, target) for item in selections], cells, target)
    if items and isinstance(_first_leaf(items), bool | np.bool_):
        return _read_array(np.asarray(items), target)
    return _read_cells([_read_row(item, target) for item in items], target)


def _union(parts: list[CellSet], cells: list[Any], target: Target) -> CellSet:
    if cells:
        parts = [*parts, _read_list(cells, target)]
    boxes = np.concatenate([part.boxes for part in parts])
    labels = PLAIN.joined(*(part.labels for part in parts))
    return CellSet.from_boxes(target.shape, boxes).with_labels(labels)


def _read_row(item: Any, target: Target) -> tuple[Any, ...]:
    """One cell of a list: a sequence of indices, or a lone index if there is one axis."""
    if isinstance(item, str | bytes | dict | CellSet):
        target.refuse_value(item)
    if _is_integer(item):
        return (item,)
    return tuple(item) if isinstance(item, Iterable) else target.refuse_value(item)


def _read_cells(rows: list[tuple[Any, ...]], target: Target) -> CellSet:
    """One cell per tuple of indices."""
    wrong = next((row for row in rows if len(row) != target.ndim), None)
    if not _all_integers(rows):
        for value in chain.from_iterable(rows):
            if not _is_integer(value):
                target.refuse_value(value)
        rows = [tuple(map(operator.index, row)) for row in rows]
    if wrong is not None:
        target.refuse_count(wrong, len(wrong))
    try:
        table: npt.NDArray[Any] = np.array(rows, np.int64)
    except OverflowError:
        table = np.array(rows, object)
    return _read_table(table.reshape(len(rows), target.ndim), target)


def _read_array(values: npt.NDArray[Any], target: Target) -> CellSet:
    """A mask, or integers of shape (k, n), or (k,) if there is one axis."""
    if values.dtype.kind == "b":
        if values.shape != target.shape:
            raise SelectionError(
                f"A mask of shape {values.shape} can't select from {target}: make it that shape, "
                "or use np.s_ for a mask of some axes."
            )
        return CellSet.from_mask(values)
    if values.dtype.kind == "O" and values.ndim:
        return _read_list(values.tolist(), target)
    if values.dtype.kind not in "iu" and values.size:
        flat = values.reshape(-1)
        broken = flat[flat % 1 != 0] if values.dtype.kind == "f" else flat
        target.refuse_value((broken if broken.size else flat)[:1].tolist()[0])
    if values.ndim == 0 and target.ndim != 1:
        target.refuse_count(values.item(), 1)
    if values.ndim < 2 and (target.ndim == 1 or values.size == 0):
        values = values.reshape(-1, target.ndim) if target.ndim else values.reshape(0, 0)
    if values.ndim != 2 or values.shape[1] != target.ndim:
        raise SelectionError(
            f"An integer array of shape {values.shape} names no cells of {target}: give one row "
            f"per cell, shape (k, {target.ndim}), or a tuple of arrays as np.nonzero does."
        )
    return _read_table(values, target)


def _read_table(table: npt.NDArray[Any], target: Target) -> CellSet:
    columns = [target.check_range(table[:, axis], axis) for axis in range(target.ndim)]
    cells = np.stack(columns, axis=1) if columns else np.empty((len(table), 0), np.int64)
    return CellSet.from_indices(target.shape, cells)


def _is_array(value: object) -> bool:
    """Whether numpy can read it by itself: arrays, pandas and Arrow data, tracked arrays."""
    return hasattr(value, "__array__") and not isinstance(value, np.generic)


def _is_integer(value: object) -> bool:
    if isinstance(value, bool | np.bool_):
        return False
    try:
        operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _all_integers(rows: Iterable[Iterable[Any]]) -> bool:
    """Whether all values are plain integers, found from their few types: there may be millions."""
    kinds = set(map(type, chain.from_iterable(rows)))
    return all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds)


def _is_selection(item: Any) -> bool:
    """Whether an item of a list selects by itself, rather than being one cell."""
    if isinstance(item, tuple):
        return any(
            isinstance(part, slice | EllipsisType | list | range)
            or (_is_array(part) and np.ndim(part) > 0)
            for part in item
        )
    return isinstance(item, slice | EllipsisType | CellSet) or (
        isinstance(item, np.ndarray) and item.ndim > 0 and item.dtype == np.bool_
    )


def _first_leaf(items: Any) -> object:
    while isinstance(items, list) and items:
        items = items[0]
    return items


# a tuple as numpy indexes with


def select_index(index: tuple[Any, ...], target: Target) -> CellSet:
    """The cells of ``array[index]``.

    >>> select_index(np.s_[::2, [1, 3]], Target((3, 5), "B")).indices().tolist()
    [[0, 1], [0, 3], [2, 1], [2, 3]]
    """
    items = [_read_item(item, target) for item in index]
    axes = _place(items, index, target)
    points = _broadcast(axes, target)
    sliced = [axis for axis in axes if isinstance(axis, range)]
    boxes = len(points) * prod(1 if abs(axis.step) == 1 else len(axis) for axis in sliced)
    if any(len(axis) == 0 for axis in sliced) or boxes == 0:
        return CellSet.empty(target.shape)
    if bitmap_is_smaller(boxes, target.shape):
        return _paint(axes, target)
    return CellSet.from_boxes(target.shape, _product(axes, points))


def _read_item(item: Any, target: Target) -> slice | EllipsisType | npt.NDArray[Any]:
    """One entry of the tuple: a slice of integers, ``...``, or an array of integers or booleans."""
    if item is Ellipsis:
        return item
    if isinstance(item, slice):
        return _read_slice(item, target)
    if item is None or isinstance(item, bool | np.bool_):
        target.refuse_value(item)
    values = np.asarray(item)
    if values.size == 0 and values.dtype.kind == "f":  # the type numpy gives to []
        values = values.astype(np.int64)
    if values.dtype.kind not in "biu":
        flat = values.reshape(-1).tolist()
        target.refuse_value(next((v for v in flat if not isinstance(v, int)), flat[0]))
    return values


def _read_slice(item: slice, target: Target) -> slice:
    for bound in (item.start, item.stop, item.step):
        if bound is None:
            continue
        try:
            operator.index(bound)
        except TypeError:
            target.refuse_value(bound)
    if item.step is not None and operator.index(item.step) == 0:
        raise SelectionError(f"{item} into {target} has step 0: leave the step out, or use 1.")
    return item


def _place(items: Sequence[Any], index: tuple[Any, ...], target: Target) -> list[Axis]:
    """One entry per axis of the array, each checked against the axis's length."""
    taken = sum(_width(item) for item in items)
    dots = sum(item is Ellipsis for item in items)
    if dots > 1:
        raise SelectionError(f"{index} into {target} has {dots} times '...': one fills all gaps.")
    if taken > target.ndim:
        target.refuse_count(index, taken)
    rest = [slice(None)] * (target.ndim - taken)
    at = next((n for n, item in enumerate(items) if item is Ellipsis), len(items))
    axes: list[Axis] = []
    for item in [*items[:at], *rest, *items[at + 1 :]]:
        axis = len(axes)
        if isinstance(item, slice):
            axes.append(range(*item.indices(target.shape[axis])))
        elif item.dtype == np.bool_:
            axes.extend(_read_mask(item, axis, target))
        else:
            axes.append(target.check_range(item, axis))
    return axes


def _width(item: Any) -> int:
    """How many axes an entry takes."""
    if item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, np.ndarray) and item.dtype == np.bool_ else 1


def _read_mask(mask: npt.NDArray[Any], axis: int, target: Target) -> tuple[I64, ...]:
    wanted = target.shape[axis : axis + mask.ndim]
    if mask.shape != wanted:
        raise SelectionError(
            f"A mask of shape {mask.shape} stands where {target} has shape {wanted} "
            f"(axis {axis} on): make them equal."
        )
    return mask.nonzero()


def _broadcast(axes: Sequence[Axis], target: Target) -> I64:
    """One row of indices per point that the integer axes name together, (n, integer axes)."""
    arrays = [axis for axis in axes if not isinstance(axis, range)]
    if not arrays:
        return np.empty((1, 0), np.int64)
    try:
        together = np.broadcast_arrays(*arrays)
    except ValueError as error:
        shapes = " and ".join(str(array.shape) for array in arrays)
        raise SelectionError(
            f"Integer arrays of shapes {shapes} in an index into {target} don't broadcast: give "
            "them one length, or use np.ix_ for all combinations."
        ) from error
    return np.stack([array.reshape(-1) for array in together], axis=1)


def _paint(axes: Sequence[Axis], target: Target) -> CellSet:
    """Let numpy itself select, where a mask takes less than the boxes."""
    mask = np.zeros(target.shape, np.bool_)
    mask[tuple(_as_slice(axis) if isinstance(axis, range) else axis for axis in axes)] = True
    return CellSet.from_mask(mask)


def _as_slice(axis: range) -> slice:
    first, last = min(axis[0], axis[-1]), max(axis[0], axis[-1])
    return slice(first, last + 1, abs(axis.step))


def _product(axes: Sequence[Axis], points: I64) -> I64:
    """Boxes of every point combined with every interval of each slice."""
    boxes = np.empty((len(points), len(axes), 2), np.int64)
    column = 0
    for number, axis in enumerate(axes):
        if isinstance(axis, range):
            intervals = _intervals(axis)
            copies = len(intervals)
            boxes = np.repeat(boxes, copies, axis=0)
            boxes[:, number] = np.tile(intervals, (len(boxes) // copies, 1))
            points = np.repeat(points, copies, axis=0)
        else:
            boxes[:, number] = points[:, column, None]
            column += 1
    return boxes


def _intervals(axis: range) -> I64:
    first, last = min(axis[0], axis[-1]), max(axis[0], axis[-1])
    if abs(axis.step) == 1:
        return np.array([[first, last]], np.int64)
    positions = np.arange(first, last + 1, abs(axis.step), dtype=np.int64)
    return np.stack([positions, positions], axis=1)


# text


def parse_cells(text: str, shape: tuple[int, ...], name: str = "array") -> CellSet:
    """The cells that a command line names: indices and slices, several of them split by ``;``.

    Cells may stand in brackets, and those may also be split by commas.

    >>> parse_cells("0:2, :", (3, 2)).count
    4
    >>> two = [parse_cells(text, (3, 2)) for text in ("(0, 1); (2, 0)", "(0,1),(2,0)", "0,1;2,0")]
    >>> two[0] == two[1] == two[2]
    True
    """
    target = Target(tuple(shape), name)
    groups = [group for part in text.split(";") for group in _split_groups(part, target)]
    return _read_list([_parse_index(group, target) for group in groups], target)


def _split_groups(part: str, target: Target) -> list[str]:
    """The insides of bracketed groups, or the part itself if it has no brackets."""
    part = part.strip()
    if not any(bracket in part for bracket in "()[]"):
        if not part:
            _refuse_text(part, target)
        return [part]
    groups, at = [], 0
    while at < len(part):
        match = _GROUP.match(part, at)
        if match is None:
            _refuse_text(part[at:], target)
        groups.append(match[1])
        at = match.end()
    return groups


def _parse_index(group: str, target: Target) -> tuple[int | slice | EllipsisType, ...]:
    tokens = group.removesuffix(",").split(",") if group.strip() else []
    return tuple(_parse_token(token.strip(), target) for token in tokens)


def _parse_token(token: str, target: Target) -> int | slice | EllipsisType:
    if token == "...":  # noqa: S105 (not that kind of token)
        return ...
    bounds = [bound.strip() for bound in token.split(":")]
    if len(bounds) > 3 or not all(_INTEGER.fullmatch(b) or not b for b in bounds) or not token:
        _refuse_text(token, target)
    if len(bounds) == 1:
        return int(token)
    return slice(*(int(bound) if bound else None for bound in bounds))


def _refuse_text(text: str, target: Target) -> NoReturn:
    given = repr(text) if text else "Nothing"
    raise SelectionError(
        f"{given} selects no cells of {target}: write integers, slices such as 0:2 or : and ..., "
        "one per axis and split by commas; put ; between several selections."
    )
