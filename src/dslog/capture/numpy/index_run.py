"""Index runs: a function that only moves cells, run once more on their positions.

Each data argument is replaced by int64 codes: cell p of the k-th tracked array, in C order, is
``first_k + p``. Whatever the function does with them, the codes in its result say where each cell
came from. 0 stands for nothing, so untracked arrays and cells that a function fills with zeros
(padding, ``tril``, ``diag``) have no lineage.

Building blocks of lineage that depends on values; all vectorised over cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from dslog.algebra.positions import lineage_of_positions
from dslog.algebra.product import elementwise
from dslog.capture.numpy.call import Call, Lineages, Rule
from dslog.capture.numpy.registry import REGISTRY
from dslog.lineage.lineage import Lineage
from dslog.types import I64, Array, Shape

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
            else _lineage(self.within(codes, place), array)
            for place, array in enumerate(self.inputs)
        )

    def within(self, codes: I64, place: int) -> I64:
        """Positions in one input, -1 where the code is another's."""
        positions: I64 = np.array(codes - self.first[place], np.int64)
        positions[(positions < 0) | (positions >= self.inputs[place].size)] = -1
        return positions


def _lineage(positions: I64, array: Array) -> Lineage | None:
    if not (positions >= 0).any():
        return None
    return lineage_of_positions(positions, array.shape)


def index_run(
    call: Call, data: Sequence[str] | str, replace: Mapping[str, Any] | None = None
) -> Lineages | None:
    """Run a call again on codes and read its lineage off the result.

    ``data`` names the arguments whose cells move; ``replace`` gives other arguments values that fit
    codes. Tracked arrays in other arguments get no lineage here. None when the result is not codes.
    """
    ran = run_on_codes(call, data, replace)
    if ran is None:
        return None
    codes, results = ran
    return tuple(codes.read(result) for result in results)


def run_on_codes(
    call: Call, data: Sequence[str] | str, replace: Mapping[str, Any] | None = None
) -> tuple[Codes, list[I64]] | None:
    """Run a call again on codes; None when the result is not codes."""
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
    return codes, [result.astype(np.int64, copy=False) for result in results]


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


def positions_of(shape: Sequence[int]) -> I64:
    """Return the C-order position of each cell of an array."""
    return np.arange(prod(shape), dtype=np.int64).reshape(tuple(shape))


def along_axis(order: Any, in_shape: Shape, axis: int | None) -> Lineage:
    """Each output cell from the cell of its line that ``order`` names, as ``argsort`` gives it."""
    order = np.asarray(order)
    positions = positions_of(in_shape)
    if axis is None:
        return lineage_of_positions(positions.reshape(-1)[order], in_shape)
    return lineage_of_positions(np.take_along_axis(positions, order, axis), in_shape)


def chosen(mask: Any, out_shape: Shape, in_shape: Shape) -> Lineage:
    """Each output cell where ``mask`` is set from the input cell broadcast to it."""
    mask = np.broadcast_to(np.asarray(mask, bool), out_shape)
    if mask.all():
        return elementwise(out_shape, in_shape)
    positions = np.broadcast_to(positions_of(in_shape), out_shape)
    return lineage_of_positions(np.where(mask, positions, -1), in_shape)


def ordered(values: Array, axis: int | None) -> I64:
    """Return the order that sorts each line, equal cells in the order they come."""
    return np.argsort(values, axis=axis, kind="stable")


def lines(values: Array, axes: Sequence[int]) -> tuple[Array, I64]:
    """Return the cells of each output cell of a reduction as a row, and their positions."""
    kept = [k for k in range(values.ndim) if k not in axes]
    order = [*kept, *axes]
    length = prod(values.shape[k] for k in axes)
    count = prod(values.shape[k] for k in kept)
    positions = positions_of(values.shape).transpose(order).reshape(count, length)
    return values.transpose(order).reshape(count, length), positions


def has_nan(values: Any) -> bool:
    """Whether any value is NaN; kinds that have none are not looked at."""
    values = np.asarray(values)
    return values.dtype.kind in "fcmMO" and bool(is_nan(values).any())


def is_nan(values: Any) -> npt.NDArray[np.bool_]:
    """Return where values are NaN (NaT); nowhere for kinds that have none."""
    values = np.asarray(values)
    if values.dtype.kind in "fc":
        return np.asarray(np.isnan(values))
    if values.dtype.kind in "mM":
        return np.asarray(np.isnat(values))
    if values.dtype.kind == "O":
        return np.asarray(values != values, bool)  # noqa: PLR0124  only NaN differs from itself
    return np.zeros(values.shape, bool)
