"""A capture that is a function: called once per output cell, its answers checked.

The answers become integer arrays piece by piece, so the Python objects of at most ``PIECE`` pairs
exist at a time.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import cast

import numpy as np
import numpy.typing as npt

from dslog.capture.progress import progress
from dslog.errors import CaptureError

PIECE = 1 << 16

Ints = npt.NDArray[np.int64]
Cell = tuple[int, ...]
Capture = Callable[[Cell], Iterable[object]]


@dataclass(frozen=True, slots=True)
class _Source:
    """A capture function and the arrays it speaks of."""

    function: Capture
    out_name: str
    out_shape: tuple[int, ...]
    in_name: str
    in_shape: tuple[int, ...]

    def fault(self, cell: Cell, what: str) -> CaptureError:
        return CaptureError(f"the capture of {self.out_name!r} at cell {cell} {what}")


def call_capture(
    function: Capture,
    out_name: str,
    out_shape: tuple[int, ...],
    in_name: str,
    in_shape: tuple[int, ...],
) -> Ints:
    """Call a capture for every output cell in C order and return the relation (n, l + m).

    A call gives the input cells of one output cell: an iterable of tuples, one integer per axis
    of the input; bare integers will do for a 1-d input. An exception becomes a CaptureError that
    names the cell and has the exception as its cause.
    """
    source = _Source(function, out_name, out_shape, in_name, in_shape)
    pieces = list(_pieces(source))
    width = len(out_shape) + len(in_shape)
    return np.concatenate(pieces) if pieces else np.zeros((0, width), np.int64)


def _pieces(source: _Source) -> Iterator[Ints]:
    """Give the relation in pieces of about ``PIECE`` rows."""
    cells: list[Cell] = []
    counts: list[int] = []
    items: list[object] = []
    total = math.prod(source.out_shape)
    with progress(f"capturing {source.out_name} <- {source.in_name}", total) as advance:
        for done, cell in enumerate(np.ndindex(*source.out_shape)):
            for answer in _answers(source, cell):
                cells.append(cell)
                counts.append(len(answer))
                items += answer
                if len(items) >= PIECE or len(cells) >= PIECE:
                    yield _relation(source, cells, counts, items)
                    cells, counts, items = [], [], []
            advance(done + 1)
    if items:
        yield _relation(source, cells, counts, items)


def _answers(source: _Source, cell: Cell) -> Iterator[list[object]]:
    """Call the capture for one cell and give its answer in lists of at most ``PIECE``."""
    try:
        answer: object = source.function(cell)
        if isinstance(answer, np.ndarray) and answer.ndim:
            answer = answer.tolist()
        if isinstance(answer, Iterable) and not isinstance(answer, np.ndarray | str | bytes):
            remaining = iter(answer)
            while piece := list(islice(remaining, PIECE)):
                yield piece
            return
    except Exception as error:
        raise source.fault(cell, f"raised {type(error).__name__}: {error}") from error
    raise source.fault(cell, f"returned {answer!r}: return an iterable of input cells, [] for none")


def _relation(source: _Source, cells: list[Cell], counts: list[int], items: list[object]) -> Ints:
    """Put output cells beside the input cells that their calls gave."""
    ndim = len(source.out_shape)
    outs = np.array(cells, np.int64).reshape(len(cells), ndim)
    ins = _input_cells(items, len(source.in_shape))
    if ins is None or not _inside(ins, source.in_shape):
        raise _first_fault(source, cells, counts, items)
    return np.concatenate([np.repeat(outs, counts, axis=0), ins], axis=1)


def _input_cells(items: list[object], ndim: int) -> Ints | None:
    """Return items as an int64 array (n, ndim), or None if they are not all cells.

    Types are compared before numpy sees the values: it would take True for 1, and make floats of
    some mixtures of integers.
    """
    if ndim == 1:
        items = [item if isinstance(item, _SEQUENCES) else (item,) for item in items]
    if not all(issubclass(kind, _SEQUENCES) for kind in set(map(type, items))):
        return None
    rows = cast("list[Sequence[int]]", items)
    try:
        if not set(map(len, rows)) <= {ndim}:
            return None
        values = list(chain.from_iterable(rows))
        if not all(_is_integer(kind) for kind in set(map(type, values))):
            return None
        return np.fromiter(values, np.int64, len(values)).reshape(len(rows), ndim)
    except (TypeError, OverflowError):  # an array without axes; a number beyond int64
        return None


_SEQUENCES = (tuple, list, np.ndarray)


def _is_integer(kind: type) -> bool:
    return issubclass(kind, int | np.integer) and not issubclass(kind, bool)


def _inside(cells: Ints, shape: tuple[int, ...]) -> bool:
    sizes = np.array(shape, np.int64)
    return bool(((cells >= 0) & (cells < sizes)).all())


def _first_fault(
    source: _Source, cells: list[Cell], counts: list[int], items: list[object]
) -> CaptureError:
    """Find the first item that is no cell of the input and say what is wrong with it."""
    ndim = len(source.in_shape)
    owners = (cell for cell, count in zip(cells, counts, strict=True) for _ in range(count))
    for cell, item in zip(owners, items, strict=True):
        single = _input_cells([item], ndim)
        if single is None:
            return source.fault(
                cell,
                f"gave {item!r}, which is no cell of {source.in_name!r}: each is a tuple of {ndim} "
                f"integers; one cell alone goes in a list, [{(0,) * ndim}]",
            )
        if not _inside(single, source.in_shape):
            return source.fault(
                cell,
                f"gave {item!r}, which is outside {source.in_name!r} of shape {source.in_shape}: "
                f"indices run from 0",
            )
    raise AssertionError(items)  # only called when some item is at fault
