"""What an assignment does to lineage: overwritten cells come from the new values, others stay.

A write covers a *region* of an array: a slab (one slice per axis) where it can be said so, C-order
positions otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dslog.algebra.affine import point
from dslog.algebra.positions import pairs_of_cells
from dslog.algebra.restrict import restrict, union
from dslog.capture.numpy.index import open_key
from dslog.capture.numpy.view import Placement, is_view, place, touches
from dslog.capture.recorder import Node
from dslog.cells.boxes import unpaint
from dslog.cells.overlap import subtract
from dslog.compress.encoder import compress, encode_table
from dslog.lineage.factor import Factor
from dslog.lineage.lineage import Lineage
from dslog.lineage.table import Fold, Interval, Row, Table
from dslog.types import I64, Array, Mask, Shape

if TYPE_CHECKING:
    from dslog.capture.numpy.memory import Memory

Region = tuple[slice, ...] | I64


@dataclass(frozen=True, slots=True)
class Write:
    """Cells that were overwritten, and where their values came from.

    Lineage is from the whole array to a source. A ``partial`` write changed a part of each cell (a
    field, an imaginary part), so what was there still contributes.
    """

    region: Region
    sources: tuple[tuple[Node, Lineage], ...] = ()
    partial: bool = False


def slab(placement: Placement) -> tuple[slice, ...] | None:
    """Return the cells of a view as slices of its parent, if they are that."""
    step = placement.step
    if prod(placement.shape) == 1:
        return tuple(slice(start, start + 1) for start in placement.start)
    if (np.count_nonzero(step, axis=0) > 1).any() or (np.count_nonzero(step, axis=1) > 1).any():
        return None
    slices = []
    for axis, start in enumerate(placement.start):
        moving = np.flatnonzero(step[axis])
        if not len(moving):
            slices.append(slice(start, start + 1))
            continue
        size, by = placement.shape[moving[0]], int(step[axis, moving[0]])
        low, high = sorted((start, start + by * (size - 1)))
        slices.append(slice(low, high + 1, abs(by)))
    return tuple(slices)


def assigned(placement: Placement, value_shape: Shape) -> Lineage:
    """Return the lineage of an array from values that were assigned, broadcast, to a view of it."""
    if prod(placement.shape) == 1:
        return point(placement.parent, value_shape, placement.start, (0,) * len(value_shape))
    follows = _broadcast_axes(placement.shape, value_shape)
    step = placement.step.copy()
    step[:, [size == 1 for size in placement.shape]] = 0
    single = np.count_nonzero(step, axis=0) <= 1
    single &= ~((step != 0) & (step != 1)).any(axis=0)
    single &= ~step[np.count_nonzero(step, axis=1) > 1].any(axis=0)
    moving = step.any(axis=0)
    folded = np.flatnonzero(moving & ~single)
    outs = [i for i in range(len(placement.parent)) if not step[i, folded].any()]
    ins = [v for v in range(len(value_shape)) if v not in {follows[j] for j in folded}]
    term = [_ranges(placement, step, follows, outs, ins)]
    term += _folds(placement, step, follows, folded.tolist())
    whole = tuple(factor for factor in term if factor.out_axes or factor.in_axes)
    return Lineage(placement.parent, value_shape, (whole or (term[0],),))


def _broadcast_axes(shape: Shape, value_shape: Shape) -> list[int | None]:
    """Per axis of a view, the axis of the values that follows it; None where they repeat."""
    shift = len(shape) - len(value_shape)
    return [
        axis - shift if axis >= shift and value_shape[axis - shift] > 1 else None
        for axis in range(len(shape))
    ]


def _ranges(
    placement: Placement,
    step: I64,
    follows: Sequence[int | None],
    outs: Sequence[int],
    ins: Sequence[int],
) -> Factor:
    """One row over the axes that are constant or a range."""
    ends: list[Interval] = []
    starts, refs = [0] * len(ins), [-1] * len(ins)
    for at, i in enumerate(outs):
        start = placement.start[i]
        moving = np.flatnonzero(step[i])
        size = placement.shape[moving[0]] if len(moving) else 1
        ends.append((start, start + size - 1))
        axis = follows[moving[0]] if len(moving) else None
        if axis is not None:
            starts[ins.index(axis)], refs[ins.index(axis)] = -start, at
    row = Row(tuple(ends), tuple((lo, lo) for lo in starts), tuple(refs))
    return Factor(tuple(outs), tuple(ins), Table.of_rows(len(outs), len(ins), [row]))


def _folds(
    placement: Placement, step: I64, follows: Sequence[int | None], folded: list[int]
) -> list[Factor]:
    """One folded row per group of axes that hang together."""
    factors = []
    while folded:
        group = [folded.pop(0)]
        while True:
            outs = np.flatnonzero(step[:, group].any(axis=1)).tolist()
            more = [j for j in folded if step[outs, j].any()]
            if not more:
                break
            group += more
            folded = [j for j in folded if j not in more]
        ins = sorted(axis for j in group if (axis := follows[j]) is not None)
        folds = tuple(
            Fold(
                placement.shape[j],
                tuple((by, by) for by in step[outs, j].tolist()),
                tuple((int(axis == follows[j]),) * 2 for axis in ins),
            )
            for j in group
        )
        starts = tuple((placement.start[i],) * 2 for i in outs)
        row = Row(starts, ((0, 0),) * len(ins), (-1,) * len(ins), folds)
        table = Table.of_rows(len(outs), len(ins), [row])
        factors.append(Factor(tuple(outs), tuple(ins), table))
    return factors


def identity_on(shape: Shape, boxes: I64) -> Lineage:
    """Each cell of some boxes from itself."""
    d = len(shape)
    if not len(boxes):
        return Lineage.empty(shape, shape)
    n = len(boxes)
    nothing = np.zeros((d, n), np.int64)
    refs = np.repeat(np.arange(d), n).reshape(d, n)
    lo, hi = boxes[:, :, 0].T, boxes[:, :, 1].T
    table = Table(d, d, np.concatenate([lo, nothing, hi - lo, nothing, refs]))
    return Lineage(shape, shape, encode_table(table, shape, shape))


def kept(shape: Shape, region: Region) -> Lineage | None:
    """Return the identity on the cells outside a region; None when there are none."""
    if isinstance(region, tuple) and all(piece.step in (None, 1) for piece in region):
        whole = np.array([[0, size - 1] for size in shape], np.int64).reshape(1, -1, 2)
        hole = np.array([[piece.start, piece.stop - 1] for piece in region], np.int64)
        return _identity_or_none(shape, subtract(whole, hole.reshape(1, -1, 2)))
    mask = np.zeros(shape, bool)
    paint(mask, region)
    return _identity_or_none(shape, unpaint(~mask))


def _identity_or_none(shape: Shape, boxes: I64) -> Lineage | None:
    return identity_on(shape, boxes) if len(boxes) else None


def paint(mask: Mask, region: Region) -> Mask:
    """Mark a region in a mask and return which of its cells were marked before."""
    if isinstance(region, tuple):
        before = mask[region].copy()
        mask[region] = True
        return before
    flat = mask.reshape(-1)
    before = flat[region]
    flat[region] = True
    return before


def resolve(
    writes: Sequence[Write], shape: Shape
) -> tuple[Lineage | None, list[tuple[Node, Lineage]]]:
    """Return what is left of the old array after some writes, and what came from each source."""
    if not prod(shape):
        return None, []
    if len(writes) == 1 and not writes[0].partial:
        return kept(shape, writes[0].region), _sources(writes)
    covered = np.zeros(shape, bool)
    last: list[Write] = []
    for write in reversed(writes):
        before = _peek(covered, write.region) if write.partial else paint(covered, write.region)
        if not before.any():
            last.append(write)
        elif not before.all() and write.sources:
            visible = np.zeros(shape, bool)
            paint(visible, write.region)
            visible &= ~_later(writes, write, shape)
            seen = [(node, restrict(lineage, out=visible)) for node, lineage in write.sources]
            last.append(Write(write.region, tuple(seen)))
    left = unpaint(~covered)
    return _identity_or_none(shape, left), _sources(last[::-1])


def _peek(mask: Mask, region: Region) -> Mask:
    return mask[region] if isinstance(region, tuple) else mask.reshape(-1)[region]


def _later(writes: Sequence[Write], write: Write, shape: Shape) -> Mask:
    """The cells that were overwritten after a write."""
    mask = np.zeros(shape, bool)
    for other in writes[next(k for k, w in enumerate(writes) if w is write) + 1 :]:
        if not other.partial:
            paint(mask, other.region)
    return mask


def _sources(writes: Sequence[Write]) -> list[tuple[Node, Lineage]]:
    found: dict[Node, list[Lineage]] = {}
    for write in writes:
        for source, lineage in write.sources:
            found.setdefault(source, []).append(lineage)
    return [(source, union(*lineages)) for source, lineages in found.items()]


# what is written


def write_view(memory: Memory, view: Array, source: Node | None, *, partial: bool = False) -> None:
    """Take note that a view of the memory holds values of a source, broadcast to its shape."""
    if not view.size:
        return
    placement = place(view, memory.root) if view.itemsize == memory.root.itemsize else None
    region = None if placement is None else slab(placement)
    if placement is not None and region is not None:
        sources = ((source, assigned(placement, source.shape)),) if source else ()
        memory.write(Write(region, sources, partial))
        return
    _write_touched(
        memory, view, source, partial=partial or view.itemsize % memory.root.itemsize != 0
    )


def _write_touched(memory: Memory, view: Array, source: Node | None, *, partial: bool) -> None:
    """Take note of a view whose place in the memory is no formula."""
    found = touches(view, memory.root)
    if found is not None:
        spread = _spread(source, view)
        parts = [(source, found[1], spread[found[0]])] if source else []
        write_cells(memory, found[1], parts, partial=partial)


def write_mask(memory: Memory, view: Array, mask: Node) -> None:
    """Take note that a mask decided what the cells of a view hold: those it sets and the others.

    The mask is broadcast to the view, or has the view's cells in C order in another shape.
    """
    if prod(mask.shape) == view.size and mask.shape != view.shape:
        write_codes(memory, view, _ramp(view.shape) + 1, all_cells(mask), partial=True)
    else:
        write_view(memory, view, mask, partial=True)


Part = tuple[Node, I64, I64]
"""A source, cells of the root at C-order positions, and the source's cells that each comes from."""


def write_cells(
    memory: Memory, cells: I64, parts: Sequence[Part], *, partial: bool = False
) -> None:
    """Take note that cells at C-order positions of the root hold cells of some sources.

    Positions may repeat: a cell then comes from several cells.
    """
    shape = memory.root.shape
    sources = tuple(
        (source, compress(pairs_of_cells(outs, shape, ins, source.shape), shape, source.shape))
        for source, outs, ins in parts
    )
    memory.write(Write(np.unique(cells), sources, partial))


Origin = tuple[Node, I64]
"""A source, and by the number of an item the C-order position of the cell it comes from."""


def set_item(
    memory: Memory,
    plain: Array,
    key: Any,
    value: Any,
    source: Node | None,
    picks: Sequence[Origin] = (),
    masks: Sequence[tuple[Node, Array]] = (),
) -> None:
    """Assign ``plain[key] = value`` and take note of it; ``plain`` looks at the memory.

    ``picks`` are sources of the key's numbers, by the C-order position of the item; ``masks`` are
    those in the key, with what they decide on.
    """
    if _has_field(key):
        plain[key] = value
        # what the cells held still contributes
        _write_touched(memory, plain, source, partial=True)
        return
    region = plain[open_key(key)]
    if is_view(region, plain) and not picks:
        plain[key] = value
        write_view(memory, region, source)
        return
    codes = np.zeros(plain.shape, np.int64)
    codes[key] = _ramp(region.shape) + 1
    origins = list(picks)
    if source is not None:
        origins.append((source, _spread(source, region)))
    plain[key] = value
    write_codes(memory, plain, codes, origins)
    for node, view in masks:
        write_mask(memory, view, node)


def write_codes(
    memory: Memory,
    plain: Array,
    codes: I64,
    origins: Sequence[Origin],
    *,
    partial: bool = False,
) -> None:
    """Take note of cells of a view that hold an item: its number + 1, or 0 where there is none."""
    flat = codes.reshape(-1)
    found = touches(plain, memory.root)
    if not flat.any() or found is None:
        return
    partial = partial or plain.itemsize % memory.root.itemsize != 0
    hit = flat[found[0]] > 0
    cells, items = found[1][hit], flat[found[0][hit]] - 1
    parts = [(source, cells, positions[items]) for source, positions in origins]
    write_cells(memory, cells, parts, partial=partial)


def all_cells(source: Node | None) -> list[Origin]:
    """Say that the items are the cells of a source."""
    return [] if source is None else [(source, _ramp(source.shape).reshape(-1))]


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
    return np.arange(prod(shape), dtype=np.int64).reshape(shape)


def _spread(source: Node | None, view: Array) -> I64:
    """Per cell of a view, in C order, the position of the source's cell that is assigned to it."""
    ramp = _ramp(source.shape if source else ())
    return np.broadcast_to(_trim(ramp, view.ndim), view.shape).reshape(-1)
