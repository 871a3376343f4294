"""The paper's list of numpy operations for random workflows: 77 of them, not 76.

Each entry: the name in the paper's list, what it is in numpy 2, and the alternatives of each
argument. ``place`` stands for a random position on the axis.
"""

from __future__ import annotations

from typing import Any

PLACE = "place"
_AXES = [0, 1]

_PLAIN = (
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "deg2rad", "rad2deg", "sinh", "cosh",
    "tanh", "arcsinh", "arccosh", "arctanh", "rint", "fix", "floor", "ceil", "trunc", "ediff1d",
    "exp", "expm1", "exp2", "log", "log10", "log2", "log1p", "sinc", "spacing", "reciprocal",
    "positive", "negative", "real", "imag", "conj", "conjugate", "sqrt", "cbrt", "square",
    "absolute", "fabs", "unique", "ravel", "atleast_1d", "atleast_2d", "fliplr", "flipud",
)  # fmt: skip

_WITH_ARGUMENTS: dict[str, tuple[str, dict[str, list[Any]]]] = {
    "unwrap": ("unwrap", {"period": [1, 2, 3], "discont": [0.4, 1, 0.5], "axis": _AXES}),
    "around": ("around", {"decimals": [0, 2, 5]}),
    "round_": ("round", {"decimals": [0, 2, 5]}),
    "prod": ("prod", {"keepdims": [True, False], "axis": _AXES}),
    "sum": ("sum", {"keepdims": [True, False], "axis": _AXES}),
    "cumsum": ("cumsum", {"axis": _AXES}),
    "cumprod": ("cumprod", {"axis": _AXES}),
    "nancumsum": ("nancumsum", {"axis": _AXES}),
    "nancumprod": ("nancumprod", {"axis": _AXES}),
    "diff": ("diff", {"n": [1, 2, 3], "axis": _AXES}),
    "trapz": ("trapezoid", {"axis": _AXES, "dx": [1, 2, 0.5]}),
    "angle": ("angle", {"deg": [True, False]}),
    "amax": ("amax", {"axis": _AXES}),
    "real_if_close": ("real_if_close", {"tol": [100, 1000, 50]}),
    "sort": ("sort", {"axis": _AXES}),
    "msort": ("sort", {"axis": [0]}),
    "partition": ("partition", {"axis": _AXES, "kth": [PLACE]}),
    "percentile": ("percentile", {"axis": _AXES, "q": [10, 20, 40]}),
    "quantile": ("quantile", {"axis": _AXES, "q": [0.1, 0.2, 0.4]}),
    "median": ("median", {"axis": _AXES}),
    "mean": ("mean", {"axis": _AXES}),
    "moveaxis": ("moveaxis", {"source": _AXES, "destination": _AXES}),
    "swapaxes": ("swapaxes", {"axis1": _AXES, "axis2": _AXES}),
    "tile": ("tile", {"reps": [[2, 2], 2, [1, 3]]}),
    "repeat": ("repeat", {"repeats": [2, 3], "axis": _AXES}),
    "delete": ("delete", {"axis": _AXES, "obj": [PLACE]}),
    "insert": ("insert", {"axis": _AXES, "obj": [PLACE], "values": [0.0]}),
    "flip": ("flip", {"axis": _AXES}),
    "roll": ("roll", {"shift": [10, 20], "axis": _AXES}),
    "rot90": ("rot90", {"k": [1, 2, 3]}),
}

QUERY_OPS: dict[str, tuple[str, dict[str, list[Any]]]] = {
    **{name: (name, {}) for name in _PLAIN},
    **_WITH_ARGUMENTS,
}
