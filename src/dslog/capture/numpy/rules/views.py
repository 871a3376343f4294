"""Functions whose results are views: lineage read off memory, or by an index run where that fails.

All of them only arrange the cells they are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dslog.capture.numpy.arrange import arrange
from dslog.capture.numpy.call import Array, Call, Lineages
from dslog.capture.numpy.indexrun import moves
from dslog.capture.numpy.registry import rule
from dslog.capture.numpy.strided import is_view, lineage_of_view
from dslog.lineage.lineage import Lineage

_DATA = {
    "a": "transpose permute_dims moveaxis rollaxis swapaxes expand_dims squeeze diagonal",
    "x": "matrix_transpose linalg.matrix_transpose linalg.diagonal unstack "
    "lib.stride_tricks.sliding_window_view lib.stride_tricks.as_strided",
    "m": "flip fliplr flipud rot90",
    "ary": "split array_split hsplit vsplit dsplit",
    "array": "broadcast_to",
}
_NAMES = [f"numpy.{name}" for names in _DATA.values() for name in names.split()]


@rule(*_NAMES, note="each cell from the cell it was; read off the view's memory layout")
def view(call: Call) -> Lineages | None:
    """All outputs are views of the one input."""
    if len(call.inputs) != 1:
        return None
    return per_view(call, [call.inputs[0]] * len(call.outputs))


@rule(
    "numpy.atleast_1d", "numpy.atleast_2d", "numpy.atleast_3d",
    note="each cell from the cell it was; read off the view's memory layout",
)  # fmt: skip
def at_least(call: Call) -> Lineages | None:
    """Output k is a view of argument k."""
    return per_view(call, call.argument("arys", ()))


def per_view(call: Call, sources: Sequence[Any]) -> Lineages | None:
    """Output k is a view of source k."""
    outputs = []
    for output, source in zip(call.outputs, sources, strict=True):
        lineage = None
        if call.which(source) is not None:
            lineage = _lineage(output, source)
            if lineage is None:
                return None
        outputs.append([*((array, None) for array in call.inputs), (source, lineage)])
    return arrange(call, *outputs)


def _lineage(output: Array, source: Array) -> Lineage | None:
    """Return a view's lineage; None for a copy, or where memory does not tell cells apart."""
    if not output.size or not source.size:
        return Lineage.empty(output.shape, source.shape)
    if not (output is source or is_view(output, source)):
        return None
    return lineage_of_view(output, source)


for _data, _names in _DATA.items():
    moves(*(f"numpy.{name}" for name in _names.split()), data=_data)
moves("numpy.atleast_1d", "numpy.atleast_2d", "numpy.atleast_3d", data="arys")
