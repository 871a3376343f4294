"""A set of cells of one array, what it says of itself, and what can be wrong with an index into it.

What an answer says of itself besides its cells are its labels. Everything that has labels, lineage
and cells alike, carries them as one value. Another label is a field of ``Labels``, a word in some
of its methods, and a property of ``Labelled``.
"""

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dslog.cells import kernels
from dslog.cells.boxes import drop_empty, paint, sort_boxes, unpaint, volume
from dslog.cells.linear import list_cells
from dslog.cells.overlap import intersect, normalise, subtract
from dslog.cells.text import counted
from dslog.errors import SelectionError, ShapeError
from dslog.types import I64, Mask

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

Scalar = TypeVar("Scalar", bound=np.generic)

_BYTES_PER_SIDE = 16  # two int64 per box and axis, against one byte per cell of a bitmap


@dataclass(frozen=True, slots=True)
class Target:
    """An array's shape, and its name for messages."""

    shape: tuple[int, ...]
    name: str

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __str__(self) -> str:
        return f"{self.name!r} of shape {self.shape}"

    def example(self) -> str:
        """A query that would be right, for the end of a message."""
        if self.ndim == 0:
            return "() is its one cell"
        cell = f"({', '.join('0' for _ in self.shape)}{',' if self.ndim == 1 else ''})"
        slices = ", ".join(["0:1", *(":" for _ in self.shape[1:])])
        return f"{cell} is a cell, np.s_[{slices}] a selection"

    def refuse_count(self, given: object, count: int) -> NoReturn:
        """The number of indices is not the number of axes."""
        indices, axes = counted(count, "index", "indices"), counted(self.ndim, "axis", "axes")
        raise SelectionError(
            f"{_short(given)} has {indices}, but {self} has {axes}: {self.example()}."
        )

    def refuse_value(self, value: object) -> NoReturn:
        """A value that is no integer stands where an index belongs."""
        if isinstance(value, bool | np.bool_):
            way = f"a mask must have the shape {self.shape}, and an index must be an integer"
        elif value is None:
            way = "leave missing indices and new axes out"
        elif isinstance(value, str | bytes):
            way = "text is read by dslog.cells.selection.parse_cells"
        elif isinstance(value, float | np.floating):
            way = "indices are integers; convert with int(...) or .astype(int) once they are whole"
        else:
            way = f"give integers, slices, a boolean mask or a CellSet ({self.example()})"
        raise SelectionError(f"{_short(value)} is no index into {self}: {way}.")

    def check_range(self, indices: npt.NDArray[Any], axis: int) -> I64:
        """Integers of any type and shape as int64, if all are indices of the axis."""
        length = self.shape[axis]
        if indices.size:
            for value in (int(indices.min()), int(indices.max())):
                if not 0 <= value < length:
                    self._refuse_index(value, axis)
        return indices.astype(np.int64, copy=False)

    def _refuse_index(self, value: int, axis: int) -> NoReturn:
        length = self.shape[axis]
        where = f"on axis {axis} of {self.name!r}, which has length {length}"
        if length == 0:
            raise SelectionError(f"Index {value} is out of range {where}: it has no cells.")
        if value < 0:
            raise SelectionError(
                f"Index {value} is negative {where}: count from 0 (the last index is "
                f"{length - 1}), or use a slice, where a negative bound counts from the end."
            )
        raise SelectionError(f"Index {value} is out of range {where}: use 0 to {length - 1}.")


def _short(value: object, most: int = 60) -> str:
    text = str(value) if isinstance(value, np.number) else repr(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."


@dataclass(frozen=True, slots=True)
class Leak:
    """A place where values of an array left tracking.

    They left by ``way`` ("float", "__array__", "bool" ...) at a ``line`` of a ``function`` of the
    program, ``inside`` a function of a library, or "" for the program itself; ``count`` times.
    ``loses`` is False where nothing can be made of them: a decision such as ``if x > 0``, a
    picture. Other leaks make answers incomplete.

    >>> print(Leak("x", "float", "prog.py", 12, "main", "scipy.ndimage.gaussian_filter", 3))
    x left by float() at prog.py:12 in main, inside scipy.ndimage.gaussian_filter, 3 times
    """

    array: str
    way: str
    file: str
    line: int
    function: str
    inside: str = ""
    count: int = 1
    loses: bool = True

    @property
    def place(self) -> str:
        """The file and the line."""
        return f"{self.file}:{self.line}"

    def __str__(self) -> str:
        text = f"{self.array} left by {self.way}() at {self.place} in {self.function}"
        text += f", inside {self.inside}" if self.inside else ""
        return f"{text}, {counted(self.count, 'time')}" if self.count != 1 else text


@dataclass(frozen=True, slots=True)
class Labels:
    """What is said of cells, or of lineage.

    ``exact``: no superset is behind it, and nothing is missing. ``predicted``: something behind it
    was derived from earlier calls, instead of captured, and not compared with a capture in full; it
    may be wrong in cells that nobody looked at. ``leaks``: where values left tracking on the way,
    so that cells may be missing. ``loose``: a superset, or an estimate, is behind it.

    >>> print(Labels(), Labels(exact=False).joined(Labels(predicted=True)), sep="; ")
    exact; superset, predicted
    >>> print(Labels(leaks=(Leak("x", "float", "prog.py", 12, "main"),)))
    incomplete
    """

    exact: bool = True
    predicted: bool = False
    leaks: tuple[Leak, ...] = ()
    loose: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "loose", not self.exact)
        if self.leaks:
            object.__setattr__(self, "exact", False)

    @property
    def complete(self) -> bool:
        """Whether no cell can be missing: no value left tracking on the way."""
        return not self.leaks

    def with_exact(self, exact: bool) -> "Labels":
        """The same labels, of a superset or not; what has leaks is not exact either way."""
        return Labels(exact, self.predicted, self.leaks)

    def joined(self, *others: "Labels") -> "Labels":
        """The labels of what was made of all of these."""
        labels = self
        for other in others:
            if labels is PLAIN:
                labels = other
            elif other is not PLAIN and other is not labels:
                exact = not (labels.loose or other.loose)
                leaks = _united(labels.leaks, other.leaks)
                labels = Labels(exact, labels.predicted or other.predicted, leaks)
        return labels

    def to_dict(self) -> dict[str, object]:
        """Return the labels by name, ready for JSON."""
        found = {name: getattr(self, name) for name in LABEL_NAMES}
        return {**found, "leaks": [asdict(leak) for leak in self.leaks]}

    def __str__(self) -> str:
        return self.text("superset")

    def text(self, loose: str) -> str:
        """Return the labels in words; ``loose`` is the one for a superset."""
        words = {
            "exact": self.exact,
            loose: self.loose,
            "predicted": self.predicted,
            "incomplete": not self.complete,
        }
        return ", ".join(word for word, holds in words.items() if holds)

    @property
    def notes(self) -> dict[str, str]:
        """What a person should know, each after a mark that may stand in a table."""
        found = {}
        if self.loose:
            found["*"] = "not exact: some lineage on the way is a superset, or an estimate"
        if self.predicted:
            found["~"] = (
                "predicted: some lineage on the way was derived from earlier calls, "
                "and not compared in full"
            )
        if self.leaks:
            places = list(dict.fromkeys(leak.place for leak in self.leaks))
            more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
            found["!"] = (
                f"incomplete: values left tracking at {places[0]}{more}; cells may be missing"
            )
        return found


PLAIN = Labels()
"""Exact and not predicted; most are."""
SUPERSET = Labels(exact=False)
LABEL_NAMES = ("exact", "predicted", "complete", "leaks")


def leaky(leaks: Iterable[Leak]) -> Labels:
    """The labels of what these leaks make incomplete."""
    found = tuple(leaks)
    return Labels(leaks=found) if found else PLAIN


def _united(some: tuple[Leak, ...], more: tuple[Leak, ...]) -> tuple[Leak, ...]:
    """The leaks of both, in order, each once."""
    if not more or some == more:
        return some
    return tuple(dict.fromkeys((*some, *more)))


class _HasLabels(Protocol):
    @property
    def labels(self) -> Labels: ...


class Labelled:
    """Something with ``labels``, each of which can be asked for by its name."""

    __slots__ = ()

    @property
    def exact(self: _HasLabels) -> bool:
        """Whether this is exactly what was asked for, not a superset, and nothing is missing."""
        return self.labels.exact

    @property
    def predicted(self: _HasLabels) -> bool:
        """Whether lineage behind this was derived by reuse and not compared in full."""
        return self.labels.predicted

    @property
    def complete(self: _HasLabels) -> bool:
        """Whether no cell can be missing: no value left tracking on the way."""
        return self.labels.complete

    @property
    def leaks(self: _HasLabels) -> tuple[Leak, ...]:
        """Where values left tracking on the way."""
        return self.labels.leaks


class CellSet(Labelled):
    """An immutable set of cells of an array of `shape`: disjoint boxes, or a bitmap if smaller.

    A box costs 16 bytes per axis and a bitmap one byte per cell, so a set is kept as a bitmap when
    its boxes would take more. Both forms are made on demand and give the same answers. `exact` says
    whether these are exactly the cells asked for, or a superset, because lineage on the way was
    one; a combination is exact if both sides are. `predicted` says whether lineage on the way was
    derived by reuse and not compared in full; a combination is predicted if either side is.
    `complete` says that no cell can be missing; where values left tracking on the way, at one of
    `leaks`, it is False, and so is `exact`; a combination is complete if both sides are.
    Equality compares cells, not labels.

    >>> a = CellSet.from_boxes((3, 2), np.array([[[0, 1], [0, 1]]]))
    >>> a
    CellSet(shape=(3, 2), count=4, boxes=1, exact)
    >>> (1, 1) in a, (2, 0) in a
    (True, False)
    >>> (a - CellSet.from_indices((3, 2), [(0, 0)])).indices().tolist()
    [[0, 1], [1, 0], [1, 1]]
    """

    __slots__ = ("_boxes", "_count", "_labels", "_mask", "_shape")

    _shape: tuple[int, ...]
    _boxes: I64 | None
    _mask: Mask | None
    _count: int | None
    _labels: Labels

    def __init__(self) -> None:
        raise TypeError(
            "CellSet has no constructor of its own: use CellSet.empty, full, from_boxes, "
            "from_mask or from_indices."
        )

    @classmethod
    def _make(
        cls, shape: tuple[int, ...], boxes: I64 | None, mask: Mask | None, labels: Labels = PLAIN
    ) -> Self:
        """Wrap sorted disjoint boxes, or a mask, or both; neither is copied."""
        self = object.__new__(cls)
        put = object.__setattr__
        put(self, "_shape", shape)
        put(self, "_boxes", boxes)
        put(self, "_mask", mask)
        put(self, "_count", None)
        put(self, "_labels", labels)
        return self

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"A CellSet is immutable: can't set {name!r} to {value!r}.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"A CellSet is immutable: can't delete {name!r}.")

    # -- making one --------------------------------------------------------------------------

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> Self:
        """No cell."""
        shape = _read_shape(shape)
        return cls._make(shape, np.empty((0, len(shape), 2), np.int64), None)

    @classmethod
    def full(cls, shape: tuple[int, ...]) -> Self:
        """Every cell."""
        shape = _read_shape(shape)
        if 0 in shape:
            return cls.empty(shape)
        box = np.array([(0, length - 1) for length in shape], np.int64).reshape(1, len(shape), 2)
        return cls._make(shape, box, None)

    @classmethod
    def from_boxes(
        cls,
        shape: tuple[int, ...],
        boxes: npt.ArrayLike,
        *,
        disjoint: bool = False,
        exact: bool = True,
    ) -> Self:
        """The cells of inclusive boxes (k, ndim, 2) that lie within the shape.

        Boxes may overlap, and empty ones (hi < lo) count for nothing. With ``disjoint=True`` the
        caller vouches that none overlap and none is empty, and the boxes are only sorted.
        """
        shape = _read_shape(shape)
        table = _read_boxes(boxes, shape)
        if bitmap_is_smaller(len(table), shape):
            return cls._make(shape, None, paint(table, shape), PLAIN if exact else SUPERSET)
        if len(table) > 1:
            table = sort_boxes(table) if disjoint else normalise(table)
        return cls._make(shape, _own(table, boxes), None, PLAIN if exact else SUPERSET)

    @classmethod
    def from_mask(cls, mask: npt.ArrayLike, *, exact: bool = True) -> Self:
        """The cells where a boolean array is true; its shape is the array's."""
        bits = np.array(mask, order="C")
        if bits.dtype != np.bool_:
            raise SelectionError(
                f"A mask must be boolean, not {bits.dtype}. Compare first, such as mask != 0."
            )
        return cls._make(bits.shape, None, bits, PLAIN if exact else SUPERSET)

    @classmethod
    def from_indices(
        cls, shape: tuple[int, ...], indices: npt.ArrayLike, *, exact: bool = True
    ) -> Self:
        """The cells at integer indices (n, ndim), in any order, repeated or not."""
        shape = _read_shape(shape)
        table = np.asarray(indices)
        if table.size == 0 and table.ndim < 2:
            table = np.empty((0, len(shape)), np.int64)
        if table.ndim != 2 or table.shape[1] != len(shape):
            raise SelectionError(
                f"Indices of an array of shape {shape} need shape (n, {len(shape)}), "
                f"not {table.shape}."
            )
        if table.dtype.kind not in "iu" and table.size:
            raise SelectionError(f"Indices must be integers, not {table.dtype}.")
        for axis in range(len(shape)):
            Target(shape, "array").check_range(table[:, axis], axis)
        return cls.from_boxes(shape, np.stack([table, table], axis=2), exact=exact)

    def with_exact(self, exact: bool) -> Self:
        """The same cells, labelled exact or superset."""
        return self.with_labels(self._labels.with_exact(exact))

    def with_labels(self, labels: Labels) -> Self:
        """The same cells under other labels."""
        if labels == self._labels:
            return self
        return self._make(self._shape, self._boxes, self._mask, labels)

    def __reduce__(self) -> tuple[Callable[..., "CellSet"], tuple[Any, ...]]:
        return _rebuild, (self._shape, self._boxes, self._mask, self._labels)

    # -- looking at it -----------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self._shape

    @property
    def ndim(self) -> int:
        """The array's number of axes."""
        return len(self._shape)

    @property
    def labels(self) -> Labels:
        """What is said of the cells: whether they are exact, predicted, complete."""
        return self._labels

    @property
    def count(self) -> int:
        """The number of cells; a Python int, so never too large."""
        if self._count is None:
            bits = self._mask
            count = volume(self._rows()) if bits is None else int(np.count_nonzero(bits))
            object.__setattr__(self, "_count", count)
            return count
        return self._count

    @property
    def boxes(self) -> I64:
        """Disjoint inclusive boxes, int64 (k, ndim, 2), sorted by lower corner; read-only."""
        return _read_only(self._rows())

    def _rows(self) -> I64:
        """The boxes; once they are known, a bitmap that takes more bytes is dropped."""
        if self._boxes is None:
            boxes = unpaint(self._bits())
            object.__setattr__(self, "_boxes", boxes)
            if not bitmap_is_smaller(len(boxes), self._shape):
                object.__setattr__(self, "_mask", None)
            return boxes
        return self._boxes

    @property
    def num_boxes(self) -> int:
        """The number of boxes."""
        return len(self._rows())

    @property
    def is_whole(self) -> bool:
        """Whether this is certainly every cell; False if only counting could tell."""
        if self._boxes is not None:
            ends = [(0, length - 1) for length in self._shape]
            return len(self._boxes) == 1 and list(map(tuple, self._boxes[0].tolist())) == ends
        return self._mask is not None and bool(self._mask.all())

    @property
    def is_painted(self) -> bool:
        """Whether only a bitmap is at hand, and boxes would have to be read off it."""
        return self._boxes is None

    @property
    def is_bitmap(self) -> bool:
        """Whether a bitmap takes fewer bytes than the boxes."""
        return bitmap_is_smaller(self.num_boxes, self._shape)

    def _bits(self) -> Mask:
        """The mask, kept only where it is the smaller form."""
        bits = self._mask
        if bits is not None:
            return bits
        boxes = self._rows()
        bits = paint(boxes, self._shape)
        if bitmap_is_smaller(len(boxes), self._shape):
            object.__setattr__(self, "_mask", bits)
        return bits

    def mask(self) -> Mask:
        """A boolean array of the shape, true on the cells; read-only."""
        return _read_only(self._bits())

    def indices(self) -> I64:
        """One row of indices per cell, int64 (count, ndim), in C order."""
        if self._mask is not None:
            return np.argwhere(self._mask)
        return list_cells(self._rows())

    def slices(self) -> list[tuple[slice, ...]]:
        """One tuple of slices per box, each an index into a numpy array of the shape."""
        return [tuple(slice(low, high + 1) for low, high in box) for box in self._rows().tolist()]

    def to_arrow(self, *, boxes: bool = False) -> pa.Table:
        """A table with columns i0, i1, ..., one row per cell in C order.

        With ``boxes=True``: columns lo0, hi0, lo1, hi1, ..., one row per box.
        """
        sides = ("lo", "hi") if boxes else ("i",)
        names = [f"{side}{axis}" for axis in range(self.ndim) for side in sides]
        rows = self.boxes.reshape(self.num_boxes, len(names)) if boxes else self.indices()
        if not names:  # only a table cut from structs keeps its rows without any column
            return pa.Table.from_struct_array(pa.array([{}] * len(rows), pa.struct([])))
        return pa.table(list(np.ascontiguousarray(rows.T)), names=names)

    def to_pandas(self, *, boxes: bool = False) -> "pd.DataFrame":
        """The same as ``to_arrow``, as a pandas DataFrame."""
        return self.to_arrow(boxes=boxes).to_pandas()

    def to_spark(
        self, session: "SparkSession | None" = None, *, boxes: bool = False
    ) -> "DataFrame":
        """The same as ``to_arrow``, as a Spark DataFrame, in no particular order.

        Spark lists the cells from the boxes, so the driver never holds more than the boxes. The
        session is the given one, or the active one.
        """
        from dslog.cells.dataframe import active_session, cells_frame

        session = active_session() if session is None else session
        return cells_frame(session, self.to_arrow(boxes=True), self.ndim, listed=not boxes)

    def __repr__(self) -> str:
        parts = (f"shape={self._shape}", f"count={self.count}", f"boxes={self.num_boxes}")
        return f"CellSet({', '.join(parts)}, {self._labels})"

    def __bool__(self) -> bool:
        if self._boxes is not None:
            return len(self._boxes) > 0
        return bool(self._bits().any())

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return map(tuple, self.indices().tolist())

    def __hash__(self) -> int:
        return hash((self._shape, self.count))

    def __contains__(self, cell: object) -> bool:
        index = _read_index(cell, self._shape)
        if not all(0 <= i < length for i, length in zip(index, self._shape, strict=True)):
            return False
        bits = self._mask
        if bits is not None:
            return bool(bits[index])
        point = np.array(index, np.int64)
        inside = (self._rows()[:, :, 0] <= point) & (point <= self._rows()[:, :, 1])
        return bool(inside.all(axis=1).any())

    # -- combining ---------------------------------------------------------------------------

    def __or__(self, other: Self) -> Self:
        return self._combine(other, np.logical_or, _unite)

    def __and__(self, other: Self) -> Self:
        return self._combine(other, np.logical_and, intersect)

    def __sub__(self, other: Self) -> Self:
        return self._combine(other, np.greater, subtract)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CellSet):
            return NotImplemented
        if self._shape != other._shape or self.count != other.count:
            return False
        if self._mask is not None or other._mask is not None:
            return np.array_equal(self._bits(), other._bits())
        return np.array_equal(self._rows(), other._rows()) or not self - other

    def _combine(
        self,
        other: Self,
        on_masks: Callable[[Mask, Mask], Mask],
        on_boxes: Callable[[I64, I64], I64],
    ) -> Self:
        if not isinstance(other, CellSet):
            return NotImplemented
        if self._shape != other._shape:
            raise ShapeError(
                f"Can't combine cells of arrays of shape {self._shape} and {other._shape}: "
                "both sets must belong to arrays of one shape."
            )
        labels = self._labels.joined(other._labels)
        if self._mask is not None or other._mask is not None:
            mask = on_masks(self._bits(), other._bits())
            return self._make(self._shape, None, np.asarray(mask), labels)
        boxes = on_boxes(self._rows(), other._rows())
        return self._make(self._shape, boxes, None, labels)


def _rebuild(
    shape: tuple[int, ...], boxes: I64 | None, mask: Mask | None, labels: Labels
) -> CellSet:
    return CellSet._make(shape, boxes, mask, labels)


def _unite(a: I64, b: I64) -> I64:
    return normalise(np.concatenate([a, b]))


def bitmap_is_smaller(boxes: int, shape: tuple[int, ...]) -> bool:
    """Whether so many boxes take more bytes than a bitmap of the shape."""
    return boxes * _BYTES_PER_SIDE * max(len(shape), 1) > prod(shape)


def _own(table: I64, given: npt.ArrayLike) -> I64:
    """The table, copied if it is still the caller's array."""
    shared = isinstance(given, np.ndarray) and np.may_share_memory(table, given)
    return table.copy() if shared else table


def _read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """A view that refuses writes; the set's own arrays stay writable, as compiled loops need."""
    view = array.view()
    view.setflags(write=False)
    return view


def _read_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    lengths = tuple(int(length) for length in shape)
    if any(length < 0 for length in lengths):
        raise ShapeError(f"Shape {lengths} has a negative length; lengths start at 0.")
    return lengths


def _read_boxes(boxes: npt.ArrayLike, shape: tuple[int, ...]) -> I64:
    table = np.asarray(boxes)
    if table.size == 0 and table.ndim == 1:
        table = np.empty((0, len(shape), 2), np.int64)
    if table.ndim != 3 or table.shape[1:] != (len(shape), 2):
        raise ShapeError(
            f"Boxes of an array of shape {shape} need shape (k, {len(shape)}, 2), "
            f"not {table.shape}."
        )
    if table.dtype.kind not in "iu" and table.size:
        raise SelectionError(f"Boxes must be integers, not {table.dtype}.")
    table = table.astype(np.int64, copy=False)
    empty, outside = kernels.check_boxes(table, np.array(shape, np.int64))
    if empty:
        table = drop_empty(table)
    if outside >= 0:
        box = np.asarray(boxes)[outside].tolist()
        raise SelectionError(
            f"Box {box} does not lie within an array of shape {shape}: bounds are inclusive and "
            "count from 0."
        )
    return table


def _read_index(cell: object, shape: tuple[int, ...]) -> tuple[int, ...]:
    try:
        index = tuple(operator.index(i) for i in (cell if isinstance(cell, tuple) else (cell,)))
    except TypeError:
        index = None
    if index is None or len(index) != len(shape):
        raise SelectionError(
            f"{cell!r} is no cell of an array of shape {shape}: give {len(shape)} integers in a "
            "tuple."
        )
    return index
