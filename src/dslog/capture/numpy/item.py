"""``x[key]`` and ``x[key] = value`` on tracked arrays, and arrays made of lists of numbers.

One rule for numbers that say where to read or write: tracked integers of a key contribute to what
is read, and to what is written, by it. One for masks that write: each of its cells contributes to
what it decides on, be it yes or no, as in ``np.where``. A mask that reads moves cells, no more.
"""

from __future__ import annotations

import operator
from math import prod
from typing import Any

import numpy as np

from dslog.algebra.product import all_to_all
from dslog.capture.numpy.call import Call, Inputs, Lineages, describe_key, form_of
from dslog.capture.numpy.cell_source import Source, lineages_of, united
from dslog.capture.numpy.dispatch import PYTHONS, execute, merge, track_results
from dslog.capture.numpy.index import (
    lineage_of_index,
    lineage_of_item,
    open_key,
    plan_key,
    view_under,
)
from dslog.capture.numpy.index_run import Codes
from dslog.capture.numpy.memory import (
    SUBCLASSES,
    Latent,
    Memory,
    Tracked,
    TrackedScalar,
    first_tracked,
    home_among,
    memory_of,
    memory_to_write,
    node_of,
    plain_of,
    recorder_of,
    tracked_in,
    wrap_latent,
    wrap_root,
)
from dslog.capture.numpy.overwrite import Origin
from dslog.capture.numpy.overwrite import set_item as assign_item
from dslog.capture.numpy.registry import REGISTRY, Found
from dslog.capture.numpy.view import is_view, place
from dslog.capture.numpy.way_out import decide, leak, oversee
from dslog.capture.recorder import Node, Step, StoreRecorder
from dslog.lineage.lineage import Lineage
from dslog.types import I64, Array, Shape


def get_cell(array: Tracked, key: Any) -> Any:
    """Return ``array[key]``; of a single cell without looking at the rest of the array."""
    state = array.tracking
    steps, memory = state.steps, state.memory
    if steps and memory is not None and not memory.is_lent and not state.picked:
        keys = key if type(key) is tuple else (key,)
        if len(keys) + 1 == len(steps):
            position = quick_position(keys, steps, state.plain)
            if position is not None:
                item = state.plain[key]
                made = array.scalar(item, memory.read_cell(position), memory.recorder)
                if type(item) is not type(made) or type(item) is bool:
                    return made
    return get_item(array, key)


def quick_position(keys: tuple[Any, ...], steps: tuple[int, ...], plain: Array) -> int | None:
    """Return the position of the cell that Python integers mean, None if they don't."""
    position, axis = steps[0], 1
    for item in keys:
        if type(item) is not int:
            return None
        if item < 0:
            item += plain.shape[axis - 1]  # noqa: PLW2901
        position += item * steps[axis]
        axis += 1
    return position


def set_cell(array: Tracked, key: Any, value: Any) -> bool:
    """Assign one number to one cell, if that is what is asked for."""
    state = array.tracking
    steps, memory = state.steps, state.memory
    if not steps or memory is None or memory.is_lent or memory.recorder.closed or state.picked:
        return False
    keys = key if type(key) is tuple else (key,)
    kind = type(value)
    if len(keys) + 1 != len(steps) or not (kind is float or issubclass(kind, TrackedScalar)):
        return False
    plain = state.plain
    position = quick_position(keys, steps, plain)
    if position is None or plain.dtype.kind not in "biufc":
        return False
    if kind is float:
        plain[key] = value
        memory.write_cell(position, None)
    else:
        plain[key] = value.plain
        memory.write_cell(position, value.source)
    return True


def get_item(array: Tracked, key: Any) -> Any:
    """Return ``array[key]``, tracked."""
    plain = plain_of(array)
    memory = memory_of(array)
    if memory is None:
        return _get_plain(array, key)
    position = cell_position(array, key, memory)
    if position is not None:
        item = plain[plain_in(key)]
        is_number = type(item) in PYTHONS  # in an array of objects
        if is_number or (isinstance(item, np.generic) and not isinstance(item, np.void)):
            where = _where_sources(array, key)
            source = united((memory.read_cell(position), *where))
            made = array.scalar(item, source, memory.recorder)
            if made is item and source is not None:
                leak("item", array)  # text
            return made
    return _get_part(array, key, memory)


def _get_part(array: Tracked, key: Any, memory: Memory) -> Any:
    """Return an item that is not known to be one cell of the memory."""
    plain = plain_of(array)
    inputs, picks = Inputs(), Inputs()
    inputs.unwrap(array)
    key = plain_key(key, picks, type(array))
    item = plain[key]
    is_record = isinstance(item, np.void)
    if is_record:
        item = plain[open_key(key)]  # numpy's is no copy either
    is_object = plain.dtype.hasobject and not np.ndim(plain[open_key(key)])
    if is_object or not (type(item) is np.ndarray or isinstance(item, np.generic)):
        leak("item", array)
        return item
    output = np.asarray(item)
    form = None if picks.nodes else form_of(get_item, (plain, key), {}, inputs.plains)
    found = None if form is None else REGISTRY.known.get(form)
    if found is None:
        rows: Lineages = ((lineage_of_item(plain, key, output),),)
        found = Found(rows, describe_key(key), by_shape=True)
        if form is not None:
            REGISTRY.remember(form, found)
    if picks.nodes:
        pairs = [(inputs.nodes[0], found.lineages[0][0]), *_by_index(plain, key, picks, output)]
        inputs.nodes, rows = merge([[(node, lin) for node, lin in pairs if lin is not None]])
        found = Found(rows, found.args)
    scalar = isinstance(item, np.generic)
    made = track_results(type(array), "getitem", inputs, [output], [scalar], found)[0]
    if picks.nodes and isinstance(made, Tracked) and made.tracking.memory is memory:
        made.tracking.picked += tuple(picks.nodes)
    return SUBCLASSES[np.void](made) if is_record else made


def _get_plain(array: Tracked, key: Any) -> Any:
    """Return an item of values that are not tracked; numbers that pick it may be."""
    plain, latent, picks = plain_of(array), array.tracking.latent, Inputs()
    original, key = key, plain_key(key, picks, type(array))
    item = plain[key]
    is_record = latent is not None and isinstance(item, np.void)
    if is_record:
        item = plain[open_key(key)]
    kind = type(item)
    if picks.nodes and latent is not None and kind is np.ndarray and is_view(item, plain):
        memory = memory_to_write(array, picks.home)  # where writes through the view belong
        if memory is not None:
            return get_item(array, original)
    if picks.nodes and (kind is np.ndarray or isinstance(item, np.generic)):
        output = np.asarray(item)
        picks.nodes, rows = merge([_by_index(plain, key, picks, output)])
        scalar = kind is not np.ndarray
        found = Found(rows, describe_key(key))
        return track_results(type(array), "getitem", picks, [output], [scalar], found)[0]
    if latent is None or kind is not np.ndarray:
        return item
    if item.base is not None and is_view(item, plain):
        made = wrap_latent(type(array), item, latent)
        return SUBCLASSES[np.void](made) if is_record else made
    return wrap_latent(type(array), item, Latent(item, "getitem"))


def _by_index(plain: Array, key: Any, picks: Inputs, output: Array) -> list[tuple[Node, Lineage]]:
    """The lineage of an item from each integer, or array of them, in the key."""
    found = [
        (node, _from_index(plain, key, index, output))
        for index, node in zip(picks.plains, picks.nodes, strict=True)
    ]
    return [(node, lineage) for node, lineage in found if lineage is not None]


def target_memory(array: Any, *values: Any) -> Memory | None:
    """Return the memory that values are about to be written into, None if it isn't tracked."""
    if not isinstance(array, Tracked):
        return None
    oversee((array,), *values)
    memory = memory_of(array)
    if memory is None:
        return memory_to_write(array, home_among(values))
    return memory


def set_item(array: Tracked, key: Any, value: Any) -> None:
    """Assign ``array[key] = value``: overwritten cells have the value's lineage from now on."""
    memory, plain = target_memory(array, value, key), plain_of(array)
    if memory is None:
        leak("setitem", value)
        plain[plain_in(key)] = plain_in(value)
        return
    if isinstance(value, (int, float, complex, np.generic, TrackedScalar)):
        position = cell_position(array, key, memory)
        if position is not None and not plain.dtype.hasobject and plain.dtype.names is None:
            plain[plain_in(key)] = plain_in(value)
            sources = [value.source] if isinstance(value, TrackedScalar) else []
            memory.write_cell(position, united((*sources, *_where_sources(array, key))))
            return
    picks, masks = Inputs(), Inputs()
    key = plain_key(key, picks, type(array), masks)
    decided = masks_of(plain, key, picks, masks)
    if plain.dtype.names is not None and type(value) is tuple:
        content, value = plain_in(value), _record(value, type(array), memory.recorder)
    else:
        number = value.plain if isinstance(value, TrackedScalar) else None
        value = as_tracked(value, type(array))
        content = plain_of(value) if isinstance(value, Tracked) else value
        if number is not None and plain.dtype.hasobject:
            content = number  # and no array of it
    source = node_of(value) if isinstance(value, Tracked) else None
    origins = where_origins(array, plain.shape, key, picks)
    assign_item(memory, plain, key, content, source, origins, decided)


def _record(fields: tuple[Any, ...], kind: type[Tracked], home: StoreRecorder) -> Any:
    """Return something tracked that is from all that is tracked in the fields of a record."""
    sources: list[Source] = []
    for each in tracked_in(fields):
        if isinstance(each, TrackedScalar):
            sources.append(each.source)
        elif (node := node_of(each)) is not None:
            sources += [(node, position) for position in range(each.size)]
    number = kind.scalar(0.0, united(sources), home)
    return number.as_array() if isinstance(number, TrackedScalar) else fields


def as_tracked(value: Any, kind: type[Tracked]) -> Any:
    """Return a tracked scalar, or a list with tracked values in it, as a tracked array."""
    if isinstance(value, TrackedScalar):
        return execute(kind, "numpy.array", as_array, (value,), {})
    if isinstance(value, list | tuple) and first_tracked(value) is not None:
        return gather(value, kind)
    return value


def cell_position(array: Tracked, key: Any, memory: Memory) -> int | None:
    """Return the C-order position in the root of the one cell that a key means, if it means one."""
    state = array.tracking
    shape = state.plain.shape
    items = key if type(key) is tuple else (key,)
    if len(items) != len(shape):
        return None
    steps = state.steps
    if steps is None:
        steps = state.steps = _steps(state.plain, memory.root)
    if not steps:
        return None
    position = steps[0]
    for item, size, step in zip(items, shape, steps[1:], strict=True):
        if type(item) is not int:
            item = _whole(item)  # noqa: PLW2901
            if item is None:
                return None
        if item < 0:
            item += size  # noqa: PLW2901
        if not 0 <= item < size:
            return None
        position += item * step
    return position


def _whole(item: Any) -> int | None:
    """Return an integer of a key as Python's, None for anything else."""
    if isinstance(item, TrackedScalar):
        item = item.plain
    if isinstance(item, np.integer) or type(item) is int:
        return int(item)
    return None


def _steps(plain: Array, root: Array) -> tuple[int, ...]:
    """What turns indices of a view into positions of its root; () if nothing of this kind does."""
    placement = place(plain, root) if plain.itemsize == root.itemsize else None
    if placement is None:
        return ()
    weights = [prod(root.shape[axis + 1 :]) for axis in range(root.ndim)]
    first = sum(start * weight for start, weight in zip(placement.start, weights, strict=True))
    by_axis = np.array(weights, np.int64) @ placement.step
    return (first, *by_axis.tolist())


def _where_sources(array: Tracked, key: Any) -> list[Source]:
    """What the tracked integers come from that pick a cell, and those that picked the array."""
    items = key if type(key) is tuple else (key,)
    sources: list[Source] = [(node, 0) for node in array.tracking.picked]
    return sources + [item.source for item in items if isinstance(item, TrackedScalar)]


def where_origins(array: Tracked, shape: Shape, key: Any, picks: Inputs) -> list[Origin]:
    """What tracked integers each item of a key is from: those in it, and those of the array.

    ``shape`` is that of what the key picks from.
    """
    ramp = np.broadcast_to(np.int64(0), shape)
    found = [
        (node, _index_of_items(ramp, key, index))
        for index, node in zip(picks.plains, picks.nodes, strict=True)
    ]
    if array.tracking.picked:
        items = np.zeros(np.size(ramp[open_key(key)]), np.int64)
        found += [(node, items) for node in array.tracking.picked]
    return found


def masks_of(plain: Array, key: Any, picks: Inputs, masks: Inputs) -> list[tuple[Node, Array]]:
    """Return the masks of a key, each with a view of the cells that it decides on.

    A mask among other arrays stands for the indices of what it sets: it goes to the ``picks``.
    """
    found = []
    for array, mask, node in zip(masks.arrays, masks.plains, masks.nodes, strict=True):
        view = view_under(plain, key, mask)
        if view is None:
            picks.unwrap(array)
        else:
            found.append((node, view))
    return found


def plain_key(key: Any, picks: Inputs, kind: type[Tracked], masks: Inputs | None = None) -> Any:
    """Return a key without tracked values; those that pick cells by number are noted.

    So are those that say yes or no, where ``masks`` are asked for.
    """
    if isinstance(key, tuple):
        return tuple(plain_key(item, picks, kind, masks) for item in key)
    if isinstance(key, slice):
        start, step = (_plain_end(end, picks) for end in (key.start, key.step))
        return slice(start, _decided_end(key.stop), step)
    if isinstance(key, list) and first_tracked(key) is not None:
        key = gather(key, kind)
    if isinstance(key, TrackedScalar):
        return _plain_number(key, picks, masks)
    if not isinstance(key, Tracked):
        return key
    plain = plain_of(key)
    if plain.dtype.kind in "iu":
        picks.unwrap(key)
    elif masks is not None and plain.dtype.kind == "b":
        masks.unwrap(key)
    return plain


def _plain_number(key: TrackedScalar, picks: Inputs, masks: Inputs | None) -> Any:
    """Return an integer of a key as Python's own, and a mask of one cell as an array."""
    if isinstance(key.plain, (bool, np.bool_)):
        if masks is None:
            return key.plain
        masks.unwrap(key)
        return masks.for_rules(key)
    if not isinstance(key.plain, (int, np.integer)):
        return key.plain
    picks.unwrap(key)
    return int(key.plain)


def _plain_end(end: Any, picks: Inputs) -> Any:
    """Return where a slice begins, or its step; a tracked one contributes, as an integer does."""
    if isinstance(end, (Tracked, TrackedScalar)):
        picks.unwrap(end)
        return operator.index(plain_in(end))
    return end


def _decided_end(end: Any) -> Any:
    """Return where a slice ends: that says how many cells there are, and goes into none."""
    if isinstance(end, (Tracked, TrackedScalar)):
        return operator.index(decide(end, "slice"))
    return end


def _from_index(plain: Array, key: Any, index: Array, output: Array) -> Lineage | None:
    """The lineage of an item from an integer, or an array of them, in the key."""
    if index.ndim == 0:
        return all_to_all(output.shape, ())
    plan = plan_key(plain.shape, key)
    if plan is None or plan.shape != output.shape:
        return all_to_all(output.shape, index.shape, exact=False)
    return lineage_of_index(plan, index.shape)


def _index_of_items(plain: Array, key: Any, index: Array) -> I64:
    """By the C-order position of an item, the position in an index of the number that picks it."""
    item = plain[open_key(key)]
    if index.dtype.kind == "b" and index.ndim:
        set_places = np.flatnonzero(index)
        return set_places[_index_of_items(plain, key, set_places)]
    lineage = _from_index(plain, key, index, item)
    found = np.zeros(item.size, np.int64)
    if lineage is None or not index.ndim:
        return found
    pairs = lineage.to_relation()
    items = np.ravel_multi_index(tuple(pairs[:, : item.ndim].T), item.shape)
    found[items] = np.ravel_multi_index(tuple(pairs[:, item.ndim :].T), index.shape)
    return found


def gather(values: Any, kind: type[Tracked], **options: Any) -> Any:
    """Make one tracked array of a list that has tracked arrays or scalars in it."""
    cells = _cells_in(values, [])
    if cells is None:
        return execute(kind, "numpy.array", as_array, (values,), options)
    result = np.array(plain_in(values), **options)
    homes = [cell.home for cell in cells if isinstance(cell, TrackedScalar) if not cell.home.closed]
    if not homes or not result.size:
        return result
    width, rest = divmod(len(cells), result.size)  # the fields of a record are one cell
    if rest or (width > 1 and result.dtype.names is None):
        leak("array", *cells)
        return result
    records = [cells[at : at + width] for at in range(0, len(cells), width)]
    sources = [
        (place, united([each.source for each in record if isinstance(each, TrackedScalar)]))
        for place, record in enumerate(records)
    ]
    pairs = lineages_of(sources, result.shape)
    recorder = recorder_of(homes[0])
    base = pairs[0][0].base
    node = recorder.node(result.shape, f"{base}.array", base)
    nodes, row = [each for each, _ in pairs], [lineage for _, lineage in pairs]
    recorder.record(Step("array", nodes, [node], (row,), {}))
    keep = any(each.keep for each in nodes)
    return wrap_root(kind, result, Memory(result, node, homes[0], keep=keep))


def _cells_in(values: Any, found: list[Any]) -> list[Any] | None:
    """Return the numbers in nested lists, in order; None if there is anything else in them."""
    for value in values:
        if isinstance(value, (TrackedScalar, int, float, complex, np.generic)):
            found.append(value)
        elif type(value) not in (list, tuple) or _cells_in(value, found) is None:
            return None
    return found


def as_array(values: Any, **options: Any) -> Array:
    """Make an array of nested lists of arrays."""
    return np.array(values, **options)


def _array_rule(call: Call) -> Lineages:
    output = call.outputs[0]
    if output.dtype.hasobject and any(not each.dtype.hasobject for each in call.inputs):
        return (tuple(all_to_all(output.shape, a.shape, exact=False) for a in call.inputs),)
    codes = Codes(call.inputs)
    return (codes.read(np.array(codes.replace(call.args[0]))),)


REGISTRY.attach(as_array, "numpy.array", "index-run", _array_rule)


def plain_in(value: Any) -> Any:
    """Return a value with plain ones in place of tracked ones, also inside lists."""
    if isinstance(value, Tracked):
        return plain_of(value)
    if isinstance(value, TrackedScalar):
        return value.plain
    if type(value) in (list, tuple):
        return type(value)([plain_in(item) for item in value])
    return value
