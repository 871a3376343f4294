"""numpy functions that need more than a rule: those that write into an argument.

What they write where is found by an index run: the target's cells are 0, the values' cells are
numbered from 1, and the numbers that the function leaves in the target say what came from where.

``x[key]`` and ``x[key] = value`` on tracked arrays.

One rule for numbers that say where to read or write: tracked integers of a key contribute to what
is read, and to what is written, by it. A mask only decides.

New arrays in the company of tracked ones: ``np.zeros_like(x)``, ``np.empty(n, like=x)``. Their
cells come from nowhere, but they are tracked, so that what is written into them is seen.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from dslog.algebra.product import all_to_all, elementwise
from dslog.capture.numpy.call import (
    Call,
    Inputs,
    Lineages,
    describe_key,
    form_of,
    signature_of,
)
from dslog.capture.numpy.cell_source import Source, lineages_of, united
from dslog.capture.numpy.dispatch import call_function, execute, merge, track_results
from dslog.capture.numpy.index import lineage_of_index, lineage_of_item, open_key, plan_key
from dslog.capture.numpy.index_run import Codes
from dslog.capture.numpy.memory import (
    Latent,
    Memory,
    Tracked,
    TrackedScalar,
    first_tracked,
    home_among,
    home_of,
    memory_of,
    memory_to_write,
    node_of,
    plain_of,
    recorder_of,
    tracked_in,
    wrap_latent,
    wrap_root,
)
from dslog.capture.numpy.overwrite import Origin, all_cells, write_cells, write_codes
from dslog.capture.numpy.overwrite import set_item as assign_item
from dslog.capture.numpy.registry import REGISTRY, Found
from dslog.capture.numpy.view import is_view, place, positions
from dslog.capture.numpy.way_out import decide, leak, nodes_behind
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
        if isinstance(item, np.generic) and not isinstance(item, np.void):
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
    if isinstance(item, np.void):
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
    return made


def _get_plain(array: Tracked, key: Any) -> Any:
    """Return an item of values that are not tracked; numbers that pick it may be."""
    plain, latent, picks = plain_of(array), array.tracking.latent, Inputs()
    original, key = key, plain_key(key, picks, type(array))
    item = plain[key]
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
        return wrap_latent(type(array), item, latent)
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
    picks = Inputs()
    key = plain_key(key, picks, type(array))
    if plain.dtype.names is not None and type(value) is tuple:
        content, value = plain_in(value), _record(value, type(array), memory.recorder)
    else:
        value = as_tracked(value, type(array))
        content = plain_of(value) if isinstance(value, Tracked) else value
    source = node_of(value) if isinstance(value, Tracked) else None
    origins = where_origins(array, plain.shape, key, picks)
    assign_item(memory, plain, key, content, source, origins)


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


_SEQUENCES = frozenset(
    [
        *("atleast_1d", "atleast_2d", "atleast_3d", "block", "broadcast_arrays", "choose"),
        *("column_stack", "concat", "concatenate", "dstack", "einsum", "histogram", "histogram2d"),
        *("histogram_bin_edges", "histogramdd", "hstack", "ix_", "lexsort", "meshgrid"),
        *("multi_dot", "piecewise", "ravel_multi_index", "row_stack", "select", "stack", "vstack"),
    ]
)
"""Functions that take several arrays in a list, and whose rules know that."""
_NOT_VALUES = frozenset(
    [
        *("axes", "axis", "axisa", "axisb", "axisc", "destination", "dims", "k", "newshape"),
        *("order", "pad_width", "reps", "shape", "shift", "source", "subscripts", "window_shape"),
    ]
)
"""Arguments that say where to, and go into no cell."""


def without_lists(
    kind: type[Tracked], func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """Return a call's arguments with arrays in place of lists that have tracked values in them."""
    if first_tracked((*args, *kwargs.values())) is None:
        return args, kwargs
    signature = signature_of(func)
    names = [] if signature is None else list(signature.parameters)
    names += [""] * (len(args) - len(names))

    def convert(name: str, value: Any) -> Any:
        if type(value) not in (list, tuple) or first_tracked(value) is None:
            return value
        if name in _NOT_VALUES:
            leak(func.__name__, value, loses=False)
            return plain_in(value)
        if func.__name__ not in _SEQUENCES:
            return as_tracked(value, kind)
        return value if func.__name__ == "block" else type(value)(map(numbers, value))

    def numbers(item: Any) -> Any:
        is_list = type(item) in (list, tuple) and _cells_in(item, []) is not None
        return as_tracked(item, kind) if is_list else item

    return (
        tuple([convert(name, arg) for name, arg in zip(names, args, strict=False)]),
        {name: convert(name, value) for name, value in kwargs.items()},
    )


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


def plain_key(key: Any, picks: Inputs, kind: type[Tracked]) -> Any:
    """Return a key without tracked values; those that pick cells by number are noted."""
    if isinstance(key, tuple):
        return tuple(plain_key(item, picks, kind) for item in key)
    if isinstance(key, slice):
        start, step = (_plain_end(end, picks) for end in (key.start, key.step))
        return slice(start, _decided_end(key.stop), step)
    if isinstance(key, list) and first_tracked(key) is not None:
        key = gather(key, kind)
    if isinstance(key, TrackedScalar):
        if isinstance(key.plain, (int, np.integer)) and not isinstance(key.plain, bool):
            picks.unwrap(key)
            return int(key.plain)
        return key.plain
    if not isinstance(key, Tracked):
        return key
    plain = plain_of(key)
    if plain.dtype.kind in "iu":
        picks.unwrap(key)
    return plain


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
    if result.size != len(cells) or not homes:
        return result
    sources = [
        (place, cell.source) for place, cell in enumerate(cells) if isinstance(cell, TrackedScalar)
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


Handler = Callable[[type[Tracked], tuple[Any, ...], Mapping[str, Any]], Any]


def plain_in(value: Any) -> Any:
    """Return a value with plain ones in place of tracked ones, also inside lists."""
    if isinstance(value, Tracked):
        return plain_of(value)
    if isinstance(value, TrackedScalar):
        return value.plain
    if type(value) in (list, tuple):
        return type(value)([plain_in(item) for item in value])
    return value


def _signature(func: Callable[..., Any]) -> inspect.Signature:
    signature = signature_of(func)
    if signature is None:
        raise TypeError(f"{func} has no signature")
    return signature


def _writes(func: Callable[..., Any], target: str, values: str, where: str = "") -> Handler:
    """Make the handler of a function that writes some of ``values`` into ``target``.

    ``where`` is its argument, if it has one, of integers that say where: they contribute.
    """
    signature = _signature(func)

    def handle(kind: type[Tracked], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        bound = signature.bind_partial(*args, **kwargs)
        array, new = bound.arguments[target], as_tracked(bound.arguments[values], kind)
        places = as_tracked(bound.arguments.get(where), kind)
        for name, value in bound.arguments.items():
            bound.arguments[name] = plain_in(value)
        bound.arguments[values] = plain_in(new)
        memory = target_memory(array, new, places)
        if memory is None:
            leak(func.__name__, new, places)
            return func(*bound.args, **bound.kwargs)

        def run(numbers: Array) -> I64:
            """Say of each cell of the target which of some numbers the function writes into it."""
            codes = np.zeros(plain_of(array).shape, np.int64)
            again = signature.bind_partial(*bound.args, **bound.kwargs)
            again.arguments.pop("casting", None)
            again.arguments[target], again.arguments[values] = codes, numbers
            func(*again.args, **again.kwargs)
            return codes

        origins = all_cells(node_of(new) if isinstance(new, Tracked) else None)
        codes = run(_numbered(new))
        items = np.zeros(max(np.size(codes), int(codes.max(initial=0))), np.int64)
        picked = [(node, items) for node in array.tracking.picked]
        if isinstance(places, Tracked) and (index := node_of(places)) is not None:
            by_value, codes = codes, run(_numbered(places))
            found = np.zeros(places.size, np.int64)
            found[codes[codes > 0] - 1] = by_value[codes > 0] - 1
            origins = [(source, found) for source, _ in origins] + all_cells(index)
        result = func(*bound.args, **bound.kwargs)
        write_codes(memory, plain_of(array), codes, origins + picked)
        return result

    return handle


def _numbered(value: Any) -> Array:
    """Number the cells of tracked values; untracked ones are all 1, to mark what they change."""
    shape = np.shape(value)
    if isinstance(value, Tracked):
        return np.arange(1, value.size + 1, dtype=np.int64).reshape(shape)
    return np.ones(shape, np.int64)


def _nan_to_num(kind: type[Tracked], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """``copy=False``: compute as usual, then write the result back."""
    bound = _signature(np.nan_to_num).bind(*args, **kwargs)
    in_place = not bound.arguments.pop("copy", True)
    array = bound.arguments["x"]
    result = execute(kind, "numpy.nan_to_num", np.nan_to_num, bound.args, bound.kwargs)
    if in_place and isinstance(array, Tracked):
        set_item(array, ..., result)
        return array
    return result


def _not_overwriting(func: Callable[..., Any]) -> Handler:
    """Make the handler of a function that may use its input as scratch space: it may not."""

    def handle(kind: type[Tracked], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        bound = _signature(func).bind(*args, **kwargs)
        bound.arguments.pop("overwrite_input", None)
        return call_function(kind, func, bound.args, bound.kwargs)

    return handle


def ufunc_at(ufunc: np.ufunc, args: tuple[Any, ...]) -> None:
    """``ufunc.at(a, indices, b)``: cells of ``a`` also from the cells of ``b`` put on them.

    Tracked numbers in the indices say where, and so contribute to the cells that they pick.
    """
    array, key, *operands = args
    memory = target_memory(array, *operands, key)
    if memory is None or not isinstance(array, Tracked):
        leak(f"{ufunc.__name__}.at", key, *operands)
        ufunc.at(plain_in(array), plain_in(key), *map(plain_in, operands))
        return
    kind, picks = type(array), Inputs()
    key = plain_key(key, picks, kind)
    operand = as_tracked(operands[0], kind) if operands else None
    source = node_of(operand) if isinstance(operand, Tracked) else None
    plain = plain_of(array)
    picked = np.arange(plain.size, dtype=np.int64).reshape(plain.shape)[key]
    origins = where_origins(array, plain.shape, key, picks)
    if source is not None:
        ramp = np.arange(np.size(plain_in(operand)), dtype=np.int64).reshape(source.shape)
        origins.append((source, np.broadcast_to(ramp, np.shape(picked)).reshape(-1)))
    ufunc.at(plain, key, *map(plain_in, operands))
    cells = positions(plain, memory.root)
    if cells is not None and origins:
        targets = cells.reshape(-1)[np.reshape(picked, -1)]
        parts = [(node, targets, found) for node, found in origins]
        write_cells(memory, targets, parts, partial=True)


_PLACES = {
    "array": ("object", "dtype"),
    "asarray": ("a", "dtype", "order"),
    "asanyarray": ("a", "dtype", "order"),
    "ascontiguousarray": ("a", "dtype"),
    "asfortranarray": ("a", "dtype"),
    "require": ("a", "dtype", "requirements"),
}


def _as_array(func: Callable[..., Any]) -> Handler:
    """Make the handler of ``np.array(..., like=x)`` and its kin: lists keep their lineage."""

    def handle(kind: type[Tracked], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        given = _PLACES[func.__name__]
        kwargs = {**dict(zip(given, args, strict=False)), **kwargs}
        values = kwargs.pop(given[0])
        if isinstance(values, (list, tuple)) and _cells_in(values, []) is not None:
            values = gather(values, kind)
        if isinstance(values, TrackedScalar):
            values = as_tracked(values, kind)
        if isinstance(values, Tracked) and kwargs.get("subok") is not None:
            kwargs = {key: kwargs[key] for key in kwargs if key != "subok"}
        return execute(kind, "numpy.array", as_array, (values,), kwargs, run=func)

    return handle


def saved(func: Callable[..., Any]) -> Handler:
    """Make the handler of a function that writes values into a file."""

    def handle(_kind: type[Tracked], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        leak(func.__name__, *args, *kwargs.values())
        return func(*map(plain_in, args), **{key: plain_in(value) for key, value in kwargs.items()})

    return handle


SPECIAL: dict[Callable[..., Any], Handler] = {
    np.copyto: _writes(np.copyto, "dst", "src"),
    np.put: _writes(np.put, "a", "v", "ind"),
    np.place: _writes(np.place, "arr", "vals"),
    np.putmask: _writes(np.putmask, "a", "values"),
    np.fill_diagonal: _writes(np.fill_diagonal, "a", "val"),
    np.put_along_axis: _writes(np.put_along_axis, "arr", "values", "indices"),
    np.nan_to_num: _nan_to_num,
    **{func: saved(func) for func in (np.save, np.savez, np.savez_compressed, np.savetxt)},
    **{
        func: _as_array(func)
        for func in (
            np.array,
            np.asarray,
            np.asanyarray,
            np.ascontiguousarray,
            np.asfortranarray,
            np.require,
        )
    },
    **{
        func: _not_overwriting(func)
        for func in (
            np.median,
            np.percentile,
            np.quantile,
            np.nanmedian,
            np.nanpercentile,
            np.nanquantile,
        )
    },
}


LIKE = frozenset({np.zeros_like, np.ones_like, np.empty_like, np.full_like})
NEW: frozenset[Callable[..., Any]] = frozenset(
    {
        np.arange,
        np.empty,
        np.eye,
        np.frombuffer,
        np.fromfile,
        np.fromfunction,
        np.fromiter,
        np.fromstring,
        np.full,
        np.genfromtxt,
        np.identity,
        np.loadtxt,
        np.ones,
        np.tri,
        np.zeros,
    }
)


def create(
    kind: type[Tracked],
    like: Tracked | TrackedScalar,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Any:
    """Run a function that makes an array, and track it; a tracked fill value contributes."""
    home = home_of(like)
    values = Inputs()
    prototype = func in LIKE
    args = tuple(
        plain_in(arg) if prototype and place == 0 else values.unwrap(arg)
        for place, arg in enumerate(args)
    )
    options = {
        key: plain_in(value) if key in ("a", "prototype") else values.unwrap(value)
        for key, value in kwargs.items()
    }
    if prototype and options.get("subok", True):
        options["subok"] = False
    result = func(*args, **options)
    if type(result) is not np.ndarray:
        return result
    if home is None:
        return wrap_latent(kind, result, Latent(result, func.__name__))
    recorder = recorder_of(home)
    base = next(iter(nodes_behind(like))).base
    node = recorder.node(result.shape, f"{base}.{func.__name__}", base)
    lineages = tuple(elementwise(result.shape, plain.shape) for plain in values.plains)
    recorder.record(Step(func.__name__, values.nodes, [node], (lineages,), {}))
    return wrap_root(kind, result, Memory(result, node, home))
