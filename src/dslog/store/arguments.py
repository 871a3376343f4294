"""What a call is given, checked and in one form: names, shapes, arguments, and values as digests.

Equal arguments must give equal text, because reuse looks calls up by it: they become canonical
JSON. JSON has no slices, infinities, complex numbers or arrays, so those become one-key objects
with a ``$`` name; a key of the user's own that starts with ``$`` gets a second one. ``call_text``
writes a stored call the way one would type it.
"""

import hashlib
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from dslog.cells.text import shape_text
from dslog.errors import CaptureError, DslogError, ShapeError
from dslog.types import MOST_CELLS, Json, Shape

_PYTHON_DTYPES = (bool, int, float, complex)
_FEW = 6  # values of an array that are shown
_LONGEST = 48


class ArgumentError(DslogError, TypeError):
    """An argument of an operation can't be written as JSON."""


def check_name(name: object, what: str) -> str:
    """Return a name that can be stored and printed."""
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"the name of an {what} is a string that is not empty, not {name!r}")
    if not name.isprintable():
        raise ArgumentError(
            f"the name {name!r} of an {what} holds characters that can't be printed"
        )
    return name


def check_names(names: Sequence[str] | str) -> tuple[str, ...]:
    """Return array names as a tuple; one name may come bare."""
    return (names,) if isinstance(names, str) else tuple(names)


def check_shape(name: str, shape: object) -> Shape:
    """Return a shape as a tuple of Python integers."""
    sizes: Iterable[Any] = (shape,)
    if isinstance(shape, Iterable) and not isinstance(shape, str):
        sizes = shape
    try:
        result = tuple(operator.index(size) for size in sizes)
    except TypeError as error:
        raise ShapeError(
            f"{shape!r} is no shape for array {name!r}: give a tuple of integers, such as (3, 2)"
        ) from error
    if any(size < 0 for size in result):
        raise ShapeError(f"array {name!r} can't have shape {result}: no axis is shorter than 0")
    if prod(size or 1 for size in result) > MOST_CELLS:
        raise ShapeError(f"array {name!r} can't have shape {result}: more than 2**63 - 1 cells")
    return result


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


def _refuse(value: object, where: str) -> Json:
    raise ArgumentError(
        f"{where} is {value!r}, of type {type(value).__name__}, which can't be stored as an "
        f"argument: use numbers, strings, None, slices, dtypes, numpy arrays, or lists and dicts "
        f"of them"
    )


def fingerprints(
    name: str, contents: Sequence[object] | None, count: int
) -> tuple[str | None, ...]:
    """Return a fingerprint of each input's values, None where they are not known."""
    if contents is None:
        return (None,) * count
    if len(contents) != count:
        raise CaptureError(
            f"operation {name!r} has {count} inputs, but contents holds {len(contents)} values: "
            f"give one per input, None where they are not at hand"
        )
    return tuple(None if values is None else fingerprint(values) for values in contents)


def fingerprint(values: object) -> str:
    """Return a digest of an array's values, their type and shape.

    >>> fingerprint(np.arange(3)) == fingerprint([0, 1, 2])
    True
    """
    array: npt.NDArray[Any] = np.asarray(values)
    digest = hashlib.blake2b(f"{array.dtype.str}{array.shape}".encode(), digest_size=16)
    if array.dtype.hasobject:
        digest.update(repr(array.tolist()).encode())
    elif array.size:
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def call_text(name: str, args: Mapping[str, object]) -> str:
    """Return an operation as a call; what is long is cut.

    >>> call_text("sum", {"axis": 1, "where": {"$array": ["|b1", [2], [True, False]]}})
    'sum(axis=1, where=[True, False])'
    >>> call_text("getitem", {"key": [{"$slice": [0, 2, None]}, {"$ellipsis": True}]})
    'getitem(key=[0:2, ...])'
    """
    return f"{name}({', '.join(f'{key}={_cut(value_text(value))}' for key, value in args.items())})"


def value_text(value: Any) -> str:
    """Return an argument, which the store keeps as JSON, as Python.

    >>> value_text({"array": "int64", "shape": [416, 2]}), value_text("edge"), value_text(None)
    ('<416 x 2 int64>', "'edge'", 'None')
    """
    if isinstance(value, Mapping):
        return _mapping_text(value)
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, Sequence):
        return f"[{', '.join(map(value_text, value))}]"
    return repr(value)


def _mapping_text(value: Mapping[str, Any]) -> str:
    if value.keys() == {"array", "shape"}:
        return f"<{shape_text(value['shape'])} {value['array']}>"
    if len(value) == 1:
        (kind, inner), *_ = value.items()
        if kind in _SPECIAL:
            return _SPECIAL[kind](inner)
    return "{" + ", ".join(f"{key!r}: {value_text(item)}" for key, item in value.items()) + "}"


def _slice(ends: Sequence[Any]) -> str:
    start, stop, step = ("" if end is None else value_text(end) for end in ends)
    return f"{start}:{stop}" + (f":{step}" if step else "")


def _array(parts: Sequence[Any]) -> str:
    kind, shape, values = parts
    if len(shape) == 1 and len(values) <= _FEW:
        return value_text(values)
    return f"<{shape_text(shape)} {kind.lstrip('|<>=')}>"


def _complex(parts: Sequence[Any]) -> str:
    real, imaginary = map(value_text, parts)
    return f"{real}+{imaginary}j"


_SPECIAL: dict[str, Callable[[Any], str]] = {
    "$slice": _slice,
    "$array": _array,
    "$complex": _complex,
    "$float": str,
    "$ellipsis": lambda _: "...",
    "$ufunc": str,
}


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
