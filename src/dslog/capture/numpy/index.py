"""Lineage of ``x[key]``, for every kind of key.

Slices, integers, ellipsis and new axes give views, which their memory explains. Integer arrays and
masks act on the axes they index, all together, and leave the other axes to slices: the lineage is
the product of the two, so that picking n rows costs n rows, whatever they hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from dslog.algebra.affine import affine
from dslog.algebra.positions import lineage_of_positions, pairs_of_cells
from dslog.algebra.product import matched, place, product
from dslog.capture.numpy.view import is_view, lineage_of_view
from dslog.compress.encoder import compress
from dslog.lineage.lineage import Lineage
from dslog.types import I64, Array, Shape


def lineage_of_item(array: Array, key: Any, item: Array) -> Lineage:
    """Return the lineage of ``item = array[key]`` from the array."""
    if not item.size:
        return Lineage.empty(item.shape, array.shape)
    if is_view(item, array) and (lineage := lineage_of_view(item, array)) is not None:
        return lineage
    if item.ndim == 0:
        cell = array[open_key(key)]
        if is_view(cell, array) and (lineage := lineage_of_view(cell, array)) is not None:
            return lineage
    plan = plan_key(array.shape, key)
    if plan is not None and plan.shape == item.shape:
        return _advanced(array.shape, plan)
    positions = np.arange(array.size, dtype=np.int64).reshape(array.shape)[key]
    return lineage_of_positions(np.asarray(positions), array.shape)


def as_tuple(key: Any) -> tuple[Any, ...]:
    """Return a key as a tuple of its items."""
    return key if isinstance(key, tuple) else (key,)


def open_key(key: Any) -> tuple[Any, ...]:
    """Return a key that gives a view of no axes where the key itself gives a scalar."""
    items = as_tuple(key)
    return items if any(item is Ellipsis for item in items) else (*items, ...)


@dataclass(frozen=True, slots=True)
class Slice:
    """An axis of the result: of an input axis from ``start`` by ``step``, or a new one."""

    size: int
    axis: int | None = None
    start: int = 0
    step: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """What a key with integer arrays or masks does.

    ``picks`` are the indices into ``axes``, broadcast against each other to ``block``; the
    result has the axes of the block at ``at``, among those of the slices.
    """

    shape: Shape
    slices: tuple[Slice, ...]
    block: Shape
    at: int
    axes: tuple[int, ...]
    picks: tuple[I64, ...]

    @property
    def block_axes(self) -> tuple[int, ...]:
        """The axes of the block in the result."""
        return tuple(range(self.at, self.at + len(self.block)))

    @property
    def slice_axes(self) -> tuple[int, ...]:
        """The axes of the slices in the result."""
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.block_axes)


def plan_key(shape: Shape, key: Any) -> Plan | None:
    """Read a key that has an integer array or a mask; None for a key this can't read."""
    items = [_read(item) for item in as_tuple(key)]
    if any(item is _ODD for item in items) or not any(isinstance(i, np.ndarray) for i in items):
        return None
    if not any(item is Ellipsis for item in items):
        items.append(Ellipsis)
    reader = _KeyReader(shape, len(shape) - sum(_width(item) for item in items))
    for k, item in enumerate(items):
        reader.read(k, item)
    return reader.plan()


@dataclass(slots=True)
class _KeyReader:
    """Goes along the items of a key and the axes of an array."""

    shape: Shape
    rest: int  # axes that the ellipsis stands for
    axis: int = 0
    at: int = 0  # where the first array stands among the result's slices
    slices: list[Slice] = field(default_factory=list)
    axes: list[int] = field(default_factory=list)
    picks: list[I64] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  # in the key, of what picks

    def read(self, place: int, item: Any) -> None:
        if item is Ellipsis:
            for _ in range(self.rest):
                self._slice(slice(None))
        elif item is np.newaxis:
            self.slices.append(Slice(1))
        elif isinstance(item, slice):
            self._slice(item)
        else:
            self._pick(place, item)

    def _slice(self, item: slice) -> None:
        reach = range(*item.indices(self.shape[self.axis]))
        self.slices.append(Slice(len(reach), self.axis, reach.start, reach.step))
        self.axis += 1

    def _pick(self, place: int, item: Any) -> None:
        if not self.places:
            self.at = len(self.slices)
        self.places.append(place)
        for indices in _indices(item):
            size = self.shape[self.axis]
            self.axes.append(self.axis)
            self.picks.append(np.where(indices < 0, indices + size, indices))
            self.axis += 1

    def plan(self) -> Plan:
        """Return what was read; numpy puts the block first when slices stand between arrays."""
        together = self.places[-1] - self.places[0] + 1 == len(self.places)
        at = self.at if together else 0
        block = np.broadcast_shapes(*(pick.shape for pick in self.picks))
        sizes = [piece.size for piece in self.slices]
        return Plan(
            (*sizes[:at], *block, *sizes[at:]),
            tuple(self.slices),
            block,
            at,
            tuple(self.axes),
            tuple(np.broadcast_to(pick, block) for pick in self.picks),
        )


def _read(item: Any) -> Any:
    """Return an item of a key as slice, ellipsis, None, integer or array; else _ODD."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    array = np.asarray(item)
    if array.dtype.kind == "b":
        return array if array.ndim else _ODD
    if array.dtype.kind not in "iu":
        return array.astype(np.intp) if not array.size else _ODD
    return array if array.ndim else int(array)


_ODD = object()


def _width(item: Any) -> int:
    if isinstance(item, np.ndarray):
        return item.ndim if item.dtype.kind == "b" else 1
    return 1 if isinstance(item, int | slice) else 0


def _indices(item: Any) -> Iterable[I64]:
    if isinstance(item, np.ndarray) and item.dtype.kind == "b":
        return [index.astype(np.int64) for index in np.nonzero(item)]
    return [np.asarray(item).astype(np.int64)]


def _advanced(shape: Shape, plan: Plan) -> Lineage:
    """The product of what the arrays pick and what the slices leave."""
    count = prod(plan.block)
    out = pairs_of_cells(np.arange(count), plan.block, np.zeros(count, np.int64), ())
    columns = [np.broadcast_to(pick, plan.block).reshape(-1, 1) for pick in plan.picks]
    sizes = [shape[axis] for axis in plan.axes]
    picked = compress(np.concatenate([out, *columns], axis=1), plan.block, sizes)
    rest, old = _sliced(shape, plan.slices)
    return product(
        plan.shape,
        shape,
        place(picked.terms, plan.block_axes, plan.axes),
        place(rest.terms, plan.slice_axes, old),
    )


def _sliced(shape: Shape, slices: Sequence[Slice]) -> tuple[Lineage, list[int]]:
    """The lineage of the slices alone, and the input axes that it is from."""
    old = [s for s in slices if s.axis is not None]
    axes = [s.axis for s in old if s.axis is not None]
    step = np.zeros((len(old), len(slices)), np.int64)
    for row, piece in enumerate(old):
        step[row, slices.index(piece)] = piece.step
    in_shape = tuple(shape[axis] for axis in axes)
    return affine(tuple(s.size for s in slices), in_shape, [s.start for s in old], step), axes


def view_under(array: Array, key: Any, mask: Array) -> Array | None:
    """Return a view of the cells that a mask in a key decides on, with the mask's axes last.

    None where other arrays in the key pick cells together with the mask.
    """
    items = as_tuple(key)
    lists = [
        item for item in items if isinstance(item, (np.ndarray, list, tuple)) and np.ndim(item)
    ]
    if len(lists) > (mask.ndim > 0) or any(isinstance(item, (bool, np.bool_)) for item in items):
        return None
    place = next(k for k, item in enumerate(items) if item is mask)
    before, after = ([_read(item) for item in part] for part in (items[:place], items[place + 1 :]))
    view = array[(*before, *[slice(None)] * mask.ndim, *after)]
    if any(item is Ellipsis for item in before):
        at = view.ndim - mask.ndim - sum(not isinstance(item, int) for item in after)
    else:
        at = sum(not isinstance(item, int) for item in before)
    return np.moveaxis(view, range(at, at + mask.ndim), range(-mask.ndim, 0))


def lineage_of_index(plan: Plan, index_shape: Shape) -> Lineage:
    """Return the lineage of a result from an integer array in the key: each cell that it picked."""
    shift = plan.at + len(plan.block) - len(index_shape)
    follows = {axis: shift + axis for axis, size in enumerate(index_shape) if size > 1}
    return matched(plan.shape, index_shape, follows)
