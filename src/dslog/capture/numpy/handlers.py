"""numpy functions that need more than a rule: those that write into an argument.

What they write where is found by an index run: the target's cells are 0, the values' cells are
numbered from 1, and the numbers that the function leaves in the target say what came from where.

``x[key]`` and ``x[key] = value`` on tracked arrays.

New arrays in the company of tracked ones: ``np.zeros_like(x)``, ``np.empty(n, like=x)``.

Their cells come from nowhere, but they are tracked, so that what is written into them is seen.
``np.zeros(n)`` without ``like`` gives a plain array, into which values go without their lineage.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dslog.algebra.product import all_to_all, elementwise
from dslog.capture.numpy.call import (
    Call,
    Lineages,
    describe_key,
    form_of,
    signature_of,
)
from dslog.capture.numpy.dispatch import call_function, execute, merge, track_results
from dslog.capture.numpy.index import lineage_of_index, lineage_of_item, open_key, plan_key
from dslog.capture.numpy.index_run import Codes
from dslog.capture.numpy.memory import (
    Inputs,
    Memory,
    Tracked,
    first_tracked,
    is_scalar,
    memory_of,
    node_of,
    plain_of,
    recorder_of,
    wrap_root,
    write_cells,
    write_codes,
)
from dslog.capture.numpy.memory import set_item as assign_item
from dslog.capture.numpy.registry import REGISTRY
from dslog.capture.numpy.resolve import Found
from dslog.capture.numpy.view import positions
from dslog.capture.recorder import Step
from dslog.lineage.lineage import Lineage
from dslog.types import Array


def get_item(array: Tracked, key: Any) -> Any:
    """Return ``array[key]``, tracked."""
    inputs, picks = Inputs(), Inputs()
    plain = inputs.unwrap(array)
    key = _plain_key(key, picks, type(array))
    item = plain[key]
    if isinstance(item, np.void):
        item = plain[open_key(key)]  # numpy's is no copy either
    if inputs.recorder is None or not (type(item) is np.ndarray or isinstance(item, np.generic)):
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
        pairs = [
            (inputs.nodes[0], found.lineages[0][0]),
            *(
                (node, _from_index(plain, key, index, output))
                for index, node in zip(picks.plains, picks.nodes, strict=True)
            ),
        ]
        inputs.nodes, rows = merge([[(node, lin) for node, lin in pairs if lin is not None]])
        found = Found(rows, found.args)
    scalar = isinstance(item, np.generic)
    return track_results(type(array), "getitem", inputs, [output], [scalar], found)[0]


def set_item(array: Tracked, key: Any, value: Any) -> None:
    """Assign ``array[key] = value``: overwritten cells have the value's lineage from now on."""
    if is_scalar(array):
        name = type(plain_of(array)[()]).__name__
        raise TypeError(f"'numpy.{name}' object does not support item assignment")
    key = _plain_key(key, Inputs(), type(array))
    if isinstance(value, list | tuple) and first_tracked(value) is not None:
        value = gather(value, type(array))
    source = node_of(value) if isinstance(value, Tracked) else None
    content = plain_of(value) if isinstance(value, Tracked) else value
    memory = memory_of(array)
    if memory is None:
        plain_of(array)[key] = content
    else:
        assign_item(memory, plain_of(array), key, content, source)


def _plain_key(key: Any, picks: Inputs, kind: type[Tracked]) -> Any:
    """Return a key without tracked arrays; those that pick cells by number are noted."""
    if isinstance(key, tuple):
        return tuple(_plain_key(item, picks, kind) for item in key)
    if isinstance(key, list) and first_tracked(key) is not None:
        key = gather(key, kind)
    if not isinstance(key, Tracked):
        return key
    plain = plain_of(key)
    if plain.dtype.kind not in "iu":
        return plain[()] if is_scalar(key) else plain
    picks.unwrap(key)
    return int(plain) if plain.ndim == 0 and is_scalar(key) else plain


def _from_index(plain: Array, key: Any, index: Array, output: Array) -> Lineage | None:
    """The lineage of an item from an integer, or an array of them, in the key."""
    if index.ndim == 0:
        return all_to_all(output.shape, ())
    plan = plan_key(plain.shape, key)
    if plan is None or plan.shape != output.shape:
        return all_to_all(output.shape, index.shape, exact=False)
    return lineage_of_index(plan, index.shape)


def gather(values: Any, kind: type[Tracked]) -> Any:
    """Make one tracked array of a list that has tracked arrays in it."""
    return execute(kind, "numpy.array", as_array, (values,), {})


def as_array(values: Any, **_options: Any) -> Array:
    """Make an array of nested lists of arrays."""
    return np.array(values)


def _array_rule(call: Call) -> Lineages:
    codes = Codes(call.inputs)
    return (codes.read(np.array(codes.replace(call.args[0]))),)


REGISTRY.attach(as_array, "numpy.array", "index-run", _array_rule)


Handler = Callable[[type[Tracked], tuple[Any, ...], Mapping[str, Any]], Any]


def _plain(value: Any) -> Any:
    return Inputs().unwrap(value)


def _signature(func: Callable[..., Any]) -> inspect.Signature:
    signature = signature_of(func)
    if signature is None:
        raise TypeError(f"{func} has no signature")
    return signature


def _writes(func: Callable[..., Any], target: str, values: str) -> Handler:
    """Make the handler of a function that writes some of ``values`` into ``target``."""
    signature = _signature(func)

    def handle(kind: type[Tracked], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        bound = signature.bind_partial(*args, **kwargs)
        array, new = bound.arguments[target], bound.arguments[values]
        if isinstance(new, list | tuple) and first_tracked(new) is not None:
            new = gather(new, kind)
        for name, value in bound.arguments.items():
            bound.arguments[name] = _plain(value)
        bound.arguments[values] = _plain(new)
        memory = memory_of(array) if isinstance(array, Tracked) else None
        if memory is None:
            return func(*bound.args, **bound.kwargs)
        source = node_of(new) if isinstance(new, Tracked) else None
        plain = plain_of(array)
        codes = np.zeros(plain.shape, np.int64)
        run = signature.bind_partial(*bound.args, **bound.kwargs)
        run.arguments.pop("casting", None)
        run.arguments[target] = codes
        run.arguments[values] = _numbered(new)
        result = func(*bound.args, **bound.kwargs)
        func(*run.args, **run.kwargs)
        write_codes(memory, plain, codes, source)
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
    """``ufunc.at(a, indices, b)``: cells of ``a`` also from the cells of ``b`` put on them."""
    array, key, *operands = args
    key = _plain(key)
    operand = operands[0] if operands else None
    memory = memory_of(array) if isinstance(array, Tracked) else None
    source = node_of(operand) if isinstance(operand, Tracked) else None
    values = [_plain(value) for value in operands]
    ufunc.at(_plain(array), key, *values)
    if memory is None or source is None:
        return
    plain = plain_of(array)
    picked = np.arange(plain.size, dtype=np.int64).reshape(plain.shape)[key]
    ramp = np.arange(values[0].size, dtype=np.int64).reshape(values[0].shape)
    cells = positions(plain, memory.root)
    if cells is not None:
        targets = cells.reshape(-1)[np.reshape(picked, -1)]
        spread = np.broadcast_to(ramp, np.shape(picked)).reshape(-1)
        write_cells(memory, targets, source, spread, partial=True)


def _as_array(func: Callable[..., Any]) -> Handler:
    """Make the handler of ``np.array(..., like=x)`` and its kin: lists keep their lineage."""

    def handle(kind: type[Tracked], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return execute(kind, "numpy.array", as_array, args, kwargs, run=func)

    return handle


SPECIAL: dict[Callable[..., Any], Handler] = {
    np.copyto: _writes(np.copyto, "dst", "src"),
    np.put: _writes(np.put, "a", "v"),
    np.place: _writes(np.place, "arr", "vals"),
    np.putmask: _writes(np.putmask, "a", "values"),
    np.fill_diagonal: _writes(np.fill_diagonal, "a", "val"),
    np.put_along_axis: _writes(np.put_along_axis, "arr", "values"),
    np.nan_to_num: _nan_to_num,
    **{
        func: _as_array(func)
        for func in (
            np.array,
            np.asarray,
            np.asanyarray,
            np.ascontiguousarray,
            np.asfortranarray,
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
    like: Tracked, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Run a function that makes an array, and track it; a tracked fill value contributes."""
    memory = memory_of(like)
    values = Inputs()
    prototype = func in LIKE
    args = tuple(
        Inputs().unwrap(arg) if prototype and place == 0 else values.unwrap(arg)
        for place, arg in enumerate(args)
    )
    options = {
        key: Inputs().unwrap(value) if key in ("a", "prototype") else values.unwrap(value)
        for key, value in kwargs.items()
    }
    if prototype and options.get("subok", True):
        options["subok"] = False
    result = func(*args, **options)
    if memory is None or type(result) is not np.ndarray:
        return result
    recorder = recorder_of(memory.recorder)
    base = memory.node.base
    node = recorder.node(result.shape, f"{base}.{func.__name__}", base)
    lineages = tuple(elementwise(result.shape, plain.shape) for plain in values.plains)
    recorder.record(Step(func.__name__, values.nodes, [node], (lineages,), {}))
    return wrap_root(type(like), result, Memory(result, node, memory.recorder))
