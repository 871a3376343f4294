"""Index runs: a function that only moves cells, run once more on their positions.

Each data argument is replaced by int64 codes: cell p of the k-th tracked array, in C order, is
``first_k + p``. Whatever the function does with them, the codes in its result say where each cell
came from. 0 stands for nothing, so untracked arrays and cells that a function fills with zeros
(padding, ``tril``, ``diag``) have no lineage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dslog.capture.numpy.call import Array, Call, Lineages, Rule
from dslog.capture.numpy.registry import REGISTRY
from dslog.capture.numpy.structured import find_affine
from dslog.compress.encoder import compress
from dslog.lineage.factor import Shape
from dslog.lineage.lineage import Lineage

I64 = npt.NDArray[np.int64]

_VALUES_ONLY = ("dtype", "casting", "out")  # arguments that would spoil codes and move nothing


class Codes:
    """The codes of a call's inputs."""

    def __init__(self, inputs: Sequence[Array]) -> None:
        self.inputs = tuple(inputs)
        self.first = np.cumsum([1, *(array.size for array in self.inputs)])

    def of(self, place: int) -> I64:
        """Return the codes of an input, in its shape and memory order."""
        array = self.inputs[place]
        codes = np.empty_like(array, dtype=np.int64, order="K", subok=False)
        codes[...] = self._ramp(place).reshape(array.shape)
        return codes

    def _ramp(self, place: int) -> I64:
        return np.arange(self.first[place], self.first[place + 1], dtype=np.int64)

    def replace(self, value: Any) -> Any:
        """Return an argument with tracked arrays as codes and all other values as zeros."""
        if type(value) in (list, tuple):
            return type(value)(self.replace(item) for item in value)
        for place, array in enumerate(self.inputs):
            if array is value:
                return self.of(place)
        return np.zeros(np.shape(value), np.int64)

    def read(self, codes: I64) -> tuple[Lineage | None, ...]:
        """Return what the codes in a result say about each input."""
        return tuple(
            _lineage(codes - self.first[place], array)
            if len(self.inputs) == 1
            else _lineage(_within(codes, self.first[place], array.size), array)
            for place, array in enumerate(self.inputs)
        )


def _within(codes: I64, first: int, size: int) -> I64:
    """Positions in one input, -1 where the code is another's."""
    positions = codes - first
    positions[(positions < 0) | (positions >= size)] = -1
    return positions


def _lineage(positions: I64, array: Array) -> Lineage | None:
    if not (positions >= 0).any():
        return None
    return lineage_of_positions(positions, array.shape)


def lineage_of_positions(positions: I64, in_shape: Shape) -> Lineage:
    """Return the lineage of an output whose cells came from these C-order positions.

    A negative position is a cell that came from nowhere.
    """
    formula = find_affine(positions, in_shape)
    if formula is not None:
        return formula
    out = np.flatnonzero(positions >= 0)
    pairs = pairs_of_cells(out, positions.shape, positions.reshape(-1)[out], in_shape)
    return compress(pairs, positions.shape, in_shape)


def pairs_of_cells(out: I64, out_shape: Shape, in_: I64, in_shape: Shape) -> I64:
    """Return a relation (n, l + m) from C-order positions of output and input cells."""
    pairs = np.empty((len(out), len(out_shape) + len(in_shape)), np.int64)
    for column, axis in enumerate(_unravel(out, out_shape)):
        pairs[:, column] = axis
    for column, axis in enumerate(_unravel(in_, in_shape), start=len(out_shape)):
        pairs[:, column] = axis
    return pairs


def _unravel(positions: I64, shape: Shape) -> Iterator[I64]:
    return iter(np.unravel_index(positions, shape) if shape and len(positions) else ())


def index_run(
    call: Call, data: Sequence[str] | str, replace: Mapping[str, Any] | None = None
) -> Lineages | None:
    """Run a call again on codes and read its lineage off the result.

    ``data`` names the arguments whose cells move; ``replace`` gives other arguments values that fit
    codes. Tracked arrays in other arguments get no lineage here. None when the result is not codes.
    """
    names = (data,) if isinstance(data, str) else tuple(data)
    codes = Codes(call.inputs)
    changes = {
        name: codes.replace(call.arguments[name]) for name in names if name in call.arguments
    }
    results = flatten(call.again({**changes, **(replace or {})}, without=_VALUES_ONLY))
    if len(results) != len(call.outputs) or any(
        result.dtype.kind != "i" or result.shape != output.shape
        for result, output in zip(results, call.outputs, strict=True)
    ):
        return None
    return tuple(codes.read(result.astype(np.int64, copy=False)) for result in results)


def flatten(result: Any) -> tuple[Array, ...]:
    """Return the arrays in a result, in order, with scalars as arrays of no axes.

    >>> [array.shape for array in flatten((np.zeros(3), [np.float64(1), "text"]))]
    [(3,), ()]
    """
    if isinstance(result, np.ndarray | np.generic):
        return (np.asarray(result),)
    if isinstance(result, tuple | list):
        return tuple(array for item in result for array in flatten(item))
    return ()


def moves(*names: str, data: Sequence[str] | str, note: str = "") -> Rule:
    """Register an index run for functions whose named arguments only have their cells moved."""

    def run(call: Call) -> Lineages | None:
        return index_run(call, data)

    return REGISTRY.rule(*names, kind="index-run", note=note)(run)
