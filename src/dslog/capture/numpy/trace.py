"""Per-cell tracing: run a numpy function on object arrays whose cells remember where they are from.

Each cell carries its value and a set of input positions; arithmetic unites the sets, moving a cell
takes its set along, comparing decides (``if a < b``) but leaves no trace unless the comparison's
result is itself an output cell. That is the definition of "contributes" run cell by cell: slow,
obvious, and independent of the rules, so it is their oracle in tests, and the last exact resort for
functions without a rule. What turns cells into machine numbers (LAPACK, fft) can't be traced.
"""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np
import numpy.typing as npt

from dslog.algebra.positions import from_pairs
from dslog.capture.capture_cost import CaptureCost
from dslog.capture.numpy.call import Call, Lineages
from dslog.lineage.lineage import Lineage
from dslog.types import I64

_TESTED: ContextVar[bool] = ContextVar("TESTED", default=False)


class Cell:
    """A value and the input positions that contributed to it, as the bits of an integer."""

    __slots__ = ("source", "value")
    __array_priority__ = 1e6  # numpy's scalars leave `scalar + cell` to the cell

    def __init__(self, value: Any, source: int) -> None:
        self.value = value
        self.source = source

    def __bool__(self) -> bool:
        if not _asked_by(_BRANCHES):  # numpy takes one of two objects, and reads both
            _TESTED.set(True)
        return bool(self.value)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"Cell({self.value!r})"

    @property
    def real(self) -> Cell:
        """The real part."""
        return Cell(np.real(self.value), self.source)

    @property
    def imag(self) -> Cell:
        """The imaginary part."""
        return Cell(np.imag(self.value), self.source)


class Verdict(Cell):
    """What a comparison gives, on which a program or a sort decides."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return bool(self.value)


_COMPARES = {dis.opmap["COMPARE_OP"]}
_BRANCHES = {code for name, code in dis.opmap.items() if "JUMP" in name or name == "UNARY_NOT"}


def _asked_by(operations: set[int]) -> bool:
    """Whether the program itself asks a cell, by one of these operations, and not what it calls."""
    frame = sys._getframe(2)  # noqa: SLF001 (who asks decides)
    return frame.f_code.co_code[frame.f_lasti] in operations


def _apply(function: Callable[..., Any], *operands: Any) -> Any:
    """Compute with the values of cells; the result is from all of them."""
    source = 0
    values = []
    for operand in operands:
        if isinstance(operand, Cell):
            source |= operand.source
            values.append(operand.value)
        else:
            values.append(operand)
    result = function(*values)
    if isinstance(result, tuple):
        return tuple(Cell(one, source) for one in result)
    return Cell(result, source)


def _method(function: Callable[..., Any], *, swap: bool = False) -> Callable[..., Any]:
    def method(self: Cell, *others: Any) -> Any:
        if any(isinstance(other, np.ndarray) for other in others):
            box = np.empty((), object)
            box[()] = self
            return function(*others, box) if swap else function(box, *others)
        return _apply(function, *others, self) if swap else _apply(function, self, *others)

    return method


def _comparison(name: str) -> Callable[..., Any]:
    """Make a comparison; numpy takes the smaller of two objects by ``<=``, and sorts by ``<``."""
    compare = _method(getattr(operator, f"__{name}__"))

    def method(self: Cell, other: Any) -> Any:
        if name in ("le", "ge") and not _asked_by(_COMPARES):
            _TESTED.set(True)
        found = compare(self, other)
        return Verdict(found.value, found.source) if isinstance(found, Cell) else found

    return method


_BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift",
    "rshift", "matmul",
)  # fmt: skip
for _name in _BINARY:
    _function = getattr(operator, f"__{_name}__")
    setattr(Cell, f"__{_name}__", _method(_function))
    setattr(Cell, f"__r{_name}__", _method(_function, swap=True))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Cell, f"__{_name}__", _method(getattr(operator, f"__{_name}__")))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Cell, f"__{_name}__", _comparison(_name))
setattr(Cell, "__divmod__", _method(divmod))  # noqa: B010
setattr(Cell, "__rdivmod__", _method(divmod, swap=True))  # noqa: B010
_UFUNCS = {name: getattr(np, name) for name in dir(np) if isinstance(getattr(np, name), np.ufunc)}
for _name, _ufunc in _UFUNCS.items():  # object loops call the method of the ufunc's name
    if _ufunc.nin == 1 and not hasattr(Cell, _name):
        setattr(Cell, _name, _method(_ufunc))
for _name in ("floor", "ceil", "trunc"):
    setattr(Cell, f"__{_name}__", _method(_UFUNCS[_name]))


_READ_BOTH = ("maximum", "minimum", "fmax", "fmin")
_PAIRWISE = {
    name: np.frompyfunc(lambda a, b, f=_UFUNCS[name]: _apply(f, a, b), 2, 1, identity=None)
    for name in _READ_BOTH
} | {"clip": np.frompyfunc(lambda *cells: _apply(np.clip, *cells), 3, 1)}
"""numpy's object loops return one operand of these, and so would lose the other."""


class TracedArray(np.ndarray[Any, Any]):
    """An object array of cells."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Compute cell by cell; tests, which answer yes or no, on the values alone."""
        plain = [_plain(x) for x in inputs]
        kwargs = {key: _plain(value) for key, value in kwargs.items() if key != "out"} | _out(
            kwargs
        )
        if method == "__call__" and _is_test(ufunc):
            _TESTED.set(True)
            return ufunc(*map(values_of, plain), **kwargs)
        if ufunc.__name__ in _PAIRWISE:
            ufunc = _PAIRWISE[ufunc.__name__]
        elif method == "__call__" and ufunc.signature is None:
            ufunc = np.frompyfunc(lambda *cells, f=ufunc: _apply(f, *cells), ufunc.nin, ufunc.nout)
        return _wrap(getattr(ufunc, method)(*plain, **kwargs))


def _out(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {"out": tuple(map(_plain, kwargs["out"]))} if kwargs.get("out") is not None else {}


def _is_test(ufunc: np.ufunc) -> bool:
    """Whether every result of a ufunc is a boolean."""
    return all(loop.endswith("->?") for loop in ufunc.types if "O" not in loop)


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, TracedArray) else value


def _wrap(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(map(_wrap, result))
    if isinstance(result, np.ndarray) and result.dtype == object:
        return result.view(TracedArray)
    return result


def values_of(array: Any) -> Any:
    """Return the values of an object array of cells; anything else as it is."""
    if isinstance(array, Cell):
        return array.value
    if not (isinstance(array, np.ndarray) and array.dtype == object):
        return array
    flat = [cell.value if isinstance(cell, Cell) else cell for cell in array.ravel().tolist()]
    return np.array(flat).reshape(array.shape) if flat else np.zeros(array.shape)


def cells_of(array: npt.NDArray[Any], first: int) -> TracedArray:
    """Make an object array of cells that are their own source: bits from ``first`` on."""
    traced = np.empty(array.shape, object)
    flat = traced.reshape(-1)
    for position, value in enumerate(array.ravel()):
        flat[position] = Cell(value, 1 << (first + position))
    return traced.view(TracedArray)


def trace(call: Call, *, tests: bool = False) -> Lineages | None:
    """Run the call on cells; None when that fails, costs too much, or gives other values.

    Also when cells were compared in arrays, for masks that write would have to contribute, or
    numpy took the larger of two in an array that it made itself. ``tests``
    lets that pass.
    """
    if (
        sum(array.size for array in (*call.inputs, *call.outputs))
        > CaptureCost.current().traced_cells
    ):
        return None
    firsts = np.cumsum([0, *(array.size for array in call.inputs)]).tolist()
    swap = {
        id(array): cells_of(array, first) for array, first in zip(call.inputs, firsts, strict=False)
    }
    kwargs = {key: value for key, value in call.kwargs.items() if key != "dtype"}
    _TESTED.set(False)
    try:
        with np.errstate(all="ignore"):
            result = call.func(*_exchange(call.args, swap), **_exchange(kwargs, swap))
        outputs = list(_arrays(result))
    except Exception:  # noqa: BLE001  whatever a function does to cells it was not made for
        return None
    if (_TESTED.get() and not tests) or not _agree(outputs, call.outputs):
        return None
    return tuple(_per_input(traced, call, firsts) for traced in outputs)


def _exchange(value: Any, swap: dict[int, TracedArray]) -> Any:
    """Put traced arrays in the place of the inputs, also inside lists, tuples and dicts."""
    if id(value) in swap:
        return swap[id(value)]
    if isinstance(value, dict):
        return {key: _exchange(one, swap) for key, one in value.items()}
    if type(value) in {list, tuple}:
        return type(value)(_exchange(one, swap) for one in value)
    return value


def _arrays(result: Any) -> Iterator[npt.NDArray[Any]]:
    """Give the arrays of a result in order; a bare cell is an array of no axes."""
    if isinstance(result, (tuple, list)):
        for one in result:
            yield from _arrays(one)
    elif isinstance(result, Cell):
        array = np.empty((), object)
        array[()] = result
        yield array
    else:
        yield np.asarray(result)


def _agree(traced: list[npt.NDArray[Any]], outputs: Iterable[npt.NDArray[Any]]) -> bool:
    """Whether the cells have the values of the outputs, up to rounding."""
    plain = list(outputs)
    if [a.shape for a in traced] != [a.shape for a in plain]:
        return False
    if any(a.dtype != object and a.size for a in traced):
        return False
    for a, b in zip(traced, plain, strict=True):
        values = values_of(np.asarray(a))
        if b.dtype.kind in "fciub" and values.dtype.kind in "fciub":
            if not np.allclose(values, b, rtol=1e-3, equal_nan=True):
                return False
        elif not bool(np.all(values == b)):
            return False
    return True


def _per_input(
    traced: npt.NDArray[Any], call: Call, firsts: list[int]
) -> tuple[Lineage | None, ...]:
    """Read the cells' sources as one lineage per input."""
    outs: list[I64] = []
    ins: list[I64] = []
    total = firsts[-1]
    for position, cell in enumerate(np.asarray(traced).ravel().tolist()):
        if isinstance(cell, Cell) and cell.source:
            raw = cell.source.to_bytes(total // 8 + 1, "little")
            found = np.flatnonzero(np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little"))
            ins.append(found)
            outs.append(np.full(len(found), position))
    out = np.concatenate(outs) if outs else np.zeros(0, np.int64)
    inp = np.concatenate(ins) if ins else np.zeros(0, np.int64)
    lineages = []
    for array, first in zip(call.inputs, firsts, strict=False):
        mine = (inp >= first) & (inp < first + array.size)
        lineages.append(from_pairs(out[mine], inp[mine] - first, traced.shape, array.shape))
    return tuple(lineages)
