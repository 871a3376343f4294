"""Arguments of an operation as canonical JSON.

Equal arguments must give equal text, because reuse looks calls up by it. JSON has no slices,
infinities, complex numbers or arrays, so those become one-key objects with a ``$`` name; a key of
the user's own that starts with ``$`` gets a second one.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dslog.errors import DslogError

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class ArgumentError(DslogError, TypeError):
    """An argument of an operation can't be written as JSON."""


def canonical_args(args: Mapping[str, object] | None) -> dict[str, Json]:
    """Return arguments as JSON values.

    >>> canonical_args({"axis": np.int64(1), "key": (slice(0, 2), None), "dtype": np.float32})
    {'axis': 1, 'key': [{'$slice': [0, 2, None]}, None], 'dtype': 'float32'}
    """
    if args is None:
        return {}
    if not isinstance(args, Mapping):
        raise ArgumentError(f"op_args is a dict of arguments by name, not {args!r}")
    return _mapping(args, "op_args")


def _mapping(value: Mapping[Any, object], where: str) -> dict[str, Json]:
    result: dict[str, Json] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise ArgumentError(f"{where} has the key {key!r}: keys must be strings")
        result[f"${key}" if key.startswith("$") else key] = _value(item, f"{where}[{key!r}]")
    return result


def _value(value: object, where: str) -> Json:  # noqa: PLR0911 (one line per kind of value)
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.generic):
        return (
            _value(value.item(), where) if value.dtype.kind in "biufcU" else _refuse(value, where)
        )
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": str(value)}
    if isinstance(value, complex):
        return {"$complex": [_value(value.real, where), _value(value.imag, where)]}
    if isinstance(value, slice):
        ends = (value.start, value.stop, value.step)
        return {"$slice": [_value(end, where) for end in ends]}
    if value is Ellipsis:
        return {"$ellipsis": True}
    if isinstance(value, Mapping):
        return _mapping(value, where)
    if isinstance(value, list | tuple | range):
        return [_value(item, f"{where}[{at}]") for at, item in enumerate(value)]
    return _numpy_value(value, where)


def _numpy_value(value: object, where: str) -> Json:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufcU":
        return {
            "$array": [value.dtype.str, list(value.shape), _value(value.ravel().tolist(), where)]
        }
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, type) and (issubclass(value, np.generic) or value in _PYTHON_DTYPES):
        return np.dtype(value).name
    if isinstance(value, np.ufunc):
        return {"$ufunc": value.__name__}
    return _refuse(value, where)


_PYTHON_DTYPES = (bool, int, float, complex)


def _refuse(value: object, where: str) -> Json:
    raise ArgumentError(
        f"{where} is {value!r}, of type {type(value).__name__}, which can't be stored as an "
        f"argument: use numbers, strings, None, slices, dtypes, numpy arrays, or lists and dicts "
        f"of them"
    )
