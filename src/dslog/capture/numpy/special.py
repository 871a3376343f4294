"""numpy functions that need more than a rule: those that write into an argument.

What they write where is found by an index run: the target's cells are 0, the values' cells are
numbered from 1, and the numbers that the function leaves in the target say what came from where.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dslog.capture.numpy.assign import write_cells, write_codes
from dslog.capture.numpy.call import Array, signature_of
from dslog.capture.numpy.dispatch import Job, execute, job_of
from dslog.capture.numpy.inputs import Inputs, first_tracked
from dslog.capture.numpy.items import as_array, gather, set_item
from dslog.capture.numpy.state import Tracked, memory_of, node_of, plain_of
from dslog.capture.numpy.strided import positions

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
    job = Job("numpy.nan_to_num", np.nan_to_num, bound.args, bound.kwargs)
    result = execute(job, kind)
    if in_place and isinstance(array, Tracked):
        set_item(array, ..., result)
        return array
    return result


def _not_overwriting(func: Callable[..., Any]) -> Handler:
    """Make the handler of a function that may use its input as scratch space: it may not."""

    def handle(kind: type[Tracked], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        bound = _signature(func).bind(*args, **kwargs)
        bound.arguments.pop("overwrite_input", None)
        return execute(job_of(func, bound.args, bound.kwargs), kind)

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
        return execute(Job("numpy.array", as_array, args, kwargs, run=func), kind)

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
