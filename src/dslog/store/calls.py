"""Operations as calls, the way one would write them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dslog.cells.wording import shape_text

_FEW = 6  # values of an array that are shown
_LONGEST = 48


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
        return _mapping(value)
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, Sequence):
        return f"[{', '.join(map(value_text, value))}]"
    return repr(value)


def _mapping(value: Mapping[str, Any]) -> str:
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
