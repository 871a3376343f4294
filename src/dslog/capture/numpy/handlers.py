"""numpy functions that need more than a rule: those that write into an argument.

What they write where is found by an index run: the target's cells are 0, the values' cells are
numbered from 1, and the numbers that the function leaves in the target say what came from where.

New arrays in the company of tracked ones: ``np.zeros_like(x)``, ``np.empty(n, like=x)``. Their
cells come from nowhere, but they are tracked, so that what is written into them is seen.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dslog.algebra.product import elementwise
from dslog.capture.numpy.call import Inputs, signature_of
from dslog.capture.numpy.dispatch import call_function, execute
from dslog.capture.numpy.item import (
    _cells_in,
    as_array,
    as_tracked,
    gather,
    masks_of,
    plain_in,
    plain_key,
    set_item,
    target_memory,
    where_origins,
)
from dslog.capture.numpy.memory import (
    Latent,
    Memory,
    Tracked,
    TrackedScalar,
    first_tracked,
    home_of,
    node_of,
    plain_of,
    recorder_of,
    wrap_latent,
    wrap_root,
)
from dslog.capture.numpy.overwrite import all_cells, write_cells, write_codes, write_mask
from dslog.capture.numpy.view import positions
from dslog.capture.numpy.way_out import leak, nodes_behind
from dslog.capture.recorder import Step
from dslog.types import I64, Array

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


Handler = Callable[[type[Tracked], tuple[Any, ...], Mapping[str, Any]], Any]


def _signature(func: Callable[..., Any]) -> inspect.Signature:
    signature = signature_of(func)
    if signature is None:
        raise TypeError(f"{func} has no signature")
    return signature


def _writes(
    func: Callable[..., Any], target: str, values: str, where: str = "", mask: str = ""
) -> Handler:
    """Make the handler of a function that writes some of ``values`` into ``target``.

    ``where`` is its argument, if it has one, of integers that say where, ``mask`` one that says yes
    or no: they contribute.
    """
    signature = _signature(func)

    def handle(kind: type[Tracked], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        bound = signature.bind_partial(*args, **kwargs)
        array, new = bound.arguments[target], as_tracked(bound.arguments[values], kind)
        places = as_tracked(bound.arguments.get(where), kind)
        choice = as_tracked(bound.arguments.get(mask), kind)
        decider = node_of(choice) if isinstance(choice, Tracked) else None
        for name, value in bound.arguments.items():
            bound.arguments[name] = plain_in(value)
        bound.arguments[values] = plain_in(new)
        memory = target_memory(array, new, places, choice)
        if memory is None:
            leak(func.__name__, new, places, choice)
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
        if decider is not None:
            write_mask(memory, plain_of(array), decider)
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
    kind, picks, masks = type(array), Inputs(), Inputs()
    key = plain_key(key, picks, kind, masks)
    decided = masks_of(plain_of(array), key, picks, masks)
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
    for mask, view in decided:
        write_mask(memory, view, mask)


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
        if isinstance(values, list) and np.dtype(kwargs.get("dtype")).names is not None:
            return _records(kind, func, values, kwargs)
        if isinstance(values, (list, tuple)) and _cells_in(values, []) is not None:
            values = gather(values, kind, dtype=kwargs.get("dtype"))
        if isinstance(values, TrackedScalar):
            values = as_tracked(values, kind)
        if isinstance(values, Tracked) and kwargs.get("subok") is not None:
            kwargs = {key: kwargs[key] for key in kwargs if key != "subok"}
        return execute(kind, "numpy.array", as_array, (values,), kwargs, run=func)

    return handle


def _records(
    kind: type[Tracked], func: Callable[..., Any], rows: list[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Return an array of records, each from the values of its tuple; lists are axes."""
    result = func(plain_in(rows), **kwargs)
    made = wrap_latent(kind, result, Latent(result, func.__name__))
    for place in np.ndindex(result.shape):
        record = rows
        for axis in place:
            record = record[axis]
        if first_tracked((record,)) is not None:
            made[place] = record
    return made


def saved(func: Callable[..., Any]) -> Handler:
    """Make the handler of a function that writes values into a file."""

    def handle(_kind: type[Tracked], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        leak(func.__name__, *args, *kwargs.values())
        return func(*map(plain_in, args), **{key: plain_in(value) for key, value in kwargs.items()})

    return handle


def _named(names: str) -> list[Callable[..., Any]]:
    return [getattr(np, name) for name in names.split()]


SPECIAL: dict[Callable[..., Any], Handler] = {
    np.copyto: _writes(np.copyto, "dst", "src", mask="where"),
    np.put: _writes(np.put, "a", "v", "ind"),
    np.place: _writes(np.place, "arr", "vals", mask="mask"),
    np.putmask: _writes(np.putmask, "a", "values", mask="mask"),
    np.fill_diagonal: _writes(np.fill_diagonal, "a", "val"),
    np.put_along_axis: _writes(np.put_along_axis, "arr", "values", "indices"),
    np.nan_to_num: _nan_to_num,
}
SPECIAL |= {func: saved(func) for func in _named("save savez savez_compressed savetxt")}
SPECIAL |= {getattr(np, name): _as_array(getattr(np, name)) for name in _PLACES}
SPECIAL |= {
    func: _not_overwriting(func)
    for func in _named("median percentile quantile nanmedian nanpercentile nanquantile")
}

LIKE = frozenset(_named("zeros_like ones_like empty_like full_like"))
NEW = frozenset(
    _named(
        "arange empty eye frombuffer fromfile fromfunction fromiter fromstring full genfromtxt "
        "identity loadtxt ones tri zeros"
    )
)


def create(
    kind: type[Tracked],
    like: Tracked | TrackedScalar,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Any:
    """Run a function that makes an array, and track it; a tracked fill value contributes."""
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
    home = home_of(like) or values.recorder
    if home is None:
        return wrap_latent(kind, result, Latent(result, func.__name__))
    recorder = recorder_of(home)
    base = next(iter([*nodes_behind(like), *values.nodes])).base
    node = recorder.node(result.shape, f"{base}.{func.__name__}", base)
    lineages = tuple(elementwise(result.shape, plain.shape) for plain in values.plains)
    recorder.record(Step(func.__name__, values.nodes, [node], (lineages,), {}))
    return wrap_root(kind, result, Memory(result, node, home))
