"""``x[key]`` and ``x[key] = value`` on tracked arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from dslog.capture.numpy.arguments import describe_key
from dslog.capture.numpy.assign import set_item as assign_item
from dslog.capture.numpy.call import Array, Call, Lineages
from dslog.capture.numpy.dispatch import Job, execute
from dslog.capture.numpy.indexing import lineage_of_index, lineage_of_item, open_key, plan_key
from dslog.capture.numpy.indexrun import Codes
from dslog.capture.numpy.inputs import Inputs, first_tracked
from dslog.capture.numpy.masking import merge
from dslog.capture.numpy.registry import REGISTRY
from dslog.capture.numpy.results import Placing
from dslog.capture.numpy.state import Tracked, is_scalar, memory_of, node_of, plain_of
from dslog.capture.numpy.structured import all_to_all
from dslog.lineage.lineage import Lineage


def get_item(array: Tracked, key: Any) -> Any:
    """Return ``array[key]``, tracked."""
    inputs, picks = Inputs(), Inputs()
    plain = inputs.unwrap(array)
    key = _plain_key(key, picks, type(array))
    item = plain[key]
    if isinstance(item, np.void):
        item = plain[open_key(key)]  # numpy's is no copy either
    if inputs.session is None or not (type(item) is np.ndarray or isinstance(item, np.generic)):
        return item
    output = np.asarray(item)
    pairs = [(inputs.nodes[0], lineage_of_item(plain, key, output))]
    pairs += [
        (node, lineage)
        for index, node in zip(picks.plains, picks.nodes, strict=True)
        if (lineage := _from_index(plain, key, index, output)) is not None
    ]
    nodes, rows = merge([pairs])
    placing = Placing("getitem", inputs.session, type(array), nodes[0].base, inputs)
    finish = placing.prepare(output, rows[0], scalar=isinstance(item, np.generic))
    placing.record("getitem", nodes, describe_key(key))
    return finish()


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
    return execute(Job("numpy.array", as_array, (values,)), kind)


def as_array(values: Any, **_options: Any) -> Array:
    """Make an array of nested lists of arrays."""
    return np.array(values)


def _array_rule(call: Call) -> Lineages:
    codes = Codes(call.inputs)
    return (codes.read(np.array(codes.replace(call.args[0]))),)


REGISTRY.attach(as_array, "numpy.array", "index-run", _array_rule)
