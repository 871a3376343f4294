"""Read a capture in any of its forms.

========================================== =====================================================
capture                                    meaning
========================================== =====================================================
a callable                                 ``capture(index) -> input indices``, per output cell
an integer array (n, l + m)                one pair per row: output axes, then input axes
an Arrow table, batch or reader            columns ``b0 ..`` and ``a0 ..``; so for any object with
                                           Arrow's stream interface, such as a pandas DataFrame
a path                                     a Parquet file, or a directory of them, with those
                                           columns
a Lineage                                  itself
========================================== =====================================================

Progress of a long capture, on a terminal.

A capture that is a function: called once per output cell, its answers checked.

The answers become integer arrays piece by piece, so the Python objects of a few pairs
exist at a time.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from math import prod
from os import PathLike
from pathlib import Path
from time import monotonic
from typing import Protocol, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from dslog.capture.capture_cost import CaptureCost
from dslog.compress.encoder import compress
from dslog.errors import CaptureError, EngineError
from dslog.lineage.lineage import Lineage
from dslog.store.catalog import Pair
from dslog.store.files import Files, check_shapes
from dslog.types import I64


class Advance(Protocol):
    """Tells how many cells are done."""

    def __call__(self, done: int) -> None:
        """Take note, and show it when the work has become long."""
        ...


@contextmanager
def progress(what: str, total: int) -> Iterator[Advance]:
    """Show a bar on stderr if the block takes long and stderr is a terminal.

    The bar goes away at the end; nothing is ever written to a file or a pipe.
    """
    if not sys.stderr.isatty():
        yield _ignore
        return
    bar = Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(what, total=total)
    shown_from = monotonic() + CaptureCost.current().patience

    def advance(done: int) -> None:
        if done % CaptureCost.current().look_every == 0 and (
            bar.live.is_started or monotonic() > shown_from
        ):
            bar.start()
            bar.update(task, completed=done)

    try:
        yield advance
    finally:
        bar.stop()


def _ignore(done: int) -> None:
    """Show nothing."""


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
) -> I64:
    """Call a capture for every output cell in C order and return the relation (n, l + m).

    A call gives the input cells of one output cell: an iterable of tuples, one integer per axis
    of the input; bare integers will do for a 1-d input. An exception becomes a CaptureError that
    names the cell and has the exception as its cause.
    """
    source = _Source(function, out_name, out_shape, in_name, in_shape)
    pieces = list(_pieces(source))
    width = len(out_shape) + len(in_shape)
    return np.concatenate(pieces) if pieces else np.zeros((0, width), np.int64)


def _pieces(source: _Source) -> Iterator[I64]:
    """Give the relation in pieces of some rows."""
    cells: list[Cell] = []
    counts: list[int] = []
    items: list[object] = []
    total, most = prod(source.out_shape), CaptureCost.current().piece_pairs
    with progress(f"capturing {source.out_name} <- {source.in_name}", total) as advance:
        for done, cell in enumerate(np.ndindex(*source.out_shape)):
            for answer in _answers(source, cell):
                cells.append(cell)
                counts.append(len(answer))
                items += answer
                if max(len(items), len(cells)) >= most:
                    yield _relation(source, cells, counts, items)
                    cells, counts, items = [], [], []
            advance(done + 1)
    if items:
        yield _relation(source, cells, counts, items)


def _answers(source: _Source, cell: Cell) -> Iterator[list[object]]:
    """Call the capture for one cell and give its answer in short lists."""
    try:
        answer: object = source.function(cell)
        if isinstance(answer, np.ndarray) and answer.ndim:
            answer = answer.tolist()
        if isinstance(answer, Iterable) and not isinstance(answer, np.ndarray | str | bytes):
            remaining = iter(answer)
            while piece := list(islice(remaining, CaptureCost.current().piece_pairs)):
                yield piece
            return
    except Exception as error:
        raise source.fault(cell, f"raised {type(error).__name__}: {error}") from error
    raise source.fault(cell, f"returned {answer!r}: return an iterable of input cells, [] for none")


def _relation(source: _Source, cells: list[Cell], counts: list[int], items: list[object]) -> I64:
    """Put output cells beside the input cells that their calls gave."""
    ndim = len(source.out_shape)
    outs = np.array(cells, np.int64).reshape(len(cells), ndim)
    ins = _input_cells(items, len(source.in_shape))
    if ins is None or not _inside(ins, source.in_shape):
        raise _first_fault(source, cells, counts, items)
    return np.concatenate([np.repeat(outs, counts, axis=0), ins], axis=1)


def _input_cells(items: list[object], ndim: int) -> I64 | None:
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


def _inside(cells: I64, shape: tuple[int, ...]) -> bool:
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


def read_capture(capture: object, pair: Pair, files: Files, engine: str) -> Lineage:  # noqa: ARG001
    """Return the lineage of a pair from a capture in any form; the store's ``ReadCapture``."""
    if isinstance(capture, Lineage):
        check_shapes(capture, pair)
        return capture
    return compress(_read_relation(capture, pair), pair.out.shape, pair.in_.shape)


def _read_relation(capture: object, pair: Pair) -> object:
    if isinstance(capture, np.ndarray | list | pa.Table | pa.RecordBatch):
        return capture
    if isinstance(capture, str | PathLike) and capture:
        return _read_parquet(Path(capture))
    if type(capture).__module__.startswith("pyspark."):
        raise EngineError(
            "a Spark DataFrame can't be a capture yet: write it as Parquet and give the path"
        )
    if hasattr(capture, "__arrow_c_stream__"):
        return pa.table(capture)
    if callable(capture):
        out, in_ = pair.out, pair.in_
        function = cast("Capture", capture)
        return call_capture(function, out.name, out.shape, in_.name, in_.shape)
    raise CaptureError(
        f"the capture of {pair.out.name!r} <- {pair.in_.name!r} is {capture!r}: give a callable, "
        f"an integer array of shape (n, {len(pair.out.shape) + len(pair.in_.shape)}), an Arrow "
        f"table, a Parquet path or a Lineage"
    )


def _read_parquet(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise CaptureError(f"can't read the capture {path} as Parquet: {error}") from error
