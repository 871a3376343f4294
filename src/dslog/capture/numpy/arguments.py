"""What is kept of a call's arguments: enough to read it later, never large arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from dslog.capture.numpy.call import Call
from dslog.store.arguments import ArgumentError, canonical_args

_FEW = 16  # values of an untracked array that are worth keeping


def describe(call: Call) -> dict[str, object]:
    """Return a call's arguments, without its tracked arrays, as JSON values."""
    shown = {
        name: _show(value, call)
        for name, value in call.arguments.items()
        if call.which(value) is None and type(value).__name__ != "_NoValueType"
    }
    return dict(canonical_args({k: v for k, v in shown.items() if v is not _HIDDEN}))


def describe_key(key: Any) -> dict[str, object]:
    """Return the key of an item as JSON values."""
    call = Call("", describe_key, ())
    shown = [_show(item, call) for item in key] if isinstance(key, tuple) else _show(key, call)
    return dict(canonical_args({"key": shown}))


_HIDDEN = object()


def _show(value: Any, call: Call) -> Any:
    """Shorten what is large, name what can't be written down."""
    if isinstance(value, list | tuple):
        items = [_show(item, call) for item in value if call.which(item) is None]
        items = [item for item in items if item is not _HIDDEN]
        return items if items or not value else _HIDDEN
    if isinstance(value, np.ndarray):
        if value.size <= _FEW and value.dtype.kind in "biufcU":
            return value
        return {"array": str(value.dtype), "shape": list(value.shape)}
    if callable(value) and not isinstance(value, type | np.ufunc):
        return getattr(value, "__qualname__", type(value).__name__)
    try:
        canonical_args({"value": value})
    except ArgumentError:
        return str(type(value).__name__) if not isinstance(value, np.generic) else str(value)
    return value
