"""Iterators over the cells of tracked arrays: ``x.flat``, ``np.ndenumerate`` and ``np.nditer``."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from dslog.capture.numpy.call import Inputs
from dslog.capture.numpy.item import (
    as_tracked,
    gather,
    get_item,
    plain_in,
    plain_key,
    target_memory,
    where_origins,
)
from dslog.capture.numpy.memory import (
    Latent,
    Tracked,
    TrackedScalar,
    first_tracked,
    node_of,
    plain_of,
    wrap_latent,
)
from dslog.capture.numpy.overwrite import write_codes, write_mask
from dslog.capture.numpy.way_out import leak, take
from dslog.types import I64, Array


class TrackedFlat:
    """The cells of an array in C order, to read and to write; what is read is a copy."""

    def __init__(self, array: Tracked) -> None:
        self.base = array
        self.index = 0

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> TrackedFlat:
        return self

    def __next__(self) -> Any:
        if self.index >= self.base.size:
            raise StopIteration
        cell = np.unravel_index(self.index, self.base.shape)
        self.index += 1
        return get_item(self.base, tuple(map(int, cell)))

    @property
    def coords(self) -> tuple[int, ...]:
        """The indices of the cell that comes next."""
        if self.index >= self.base.size:
            return tuple(self.base.shape)  # as numpy says, more or less: nothing comes next
        return tuple(map(int, np.unravel_index(self.index, self.base.shape)))

    def __getitem__(self, key: Any) -> Any:
        if type(key) is int or (isinstance(key, np.integer) and not isinstance(key, TrackedScalar)):
            size = self.base.size
            if not -size <= key < size:
                raise IndexError(f"index {key} is out of bounds for size {size}")
            place = np.unravel_index(int(key) % size, self.base.shape)
            return get_item(self.base, tuple(map(int, place)))
        return self.base.flatten()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        memory, plain = target_memory(self.base, value, key), plain_of(self.base)
        if memory is None:
            leak("setitem", value)
            plain.flat[plain_in(key)] = plain_in(value)
            return
        picks, masks, kind = Inputs(), Inputs(), type(self.base)
        key, value = plain_key(key, picks, kind, masks), as_tracked(value, kind)
        source = node_of(value) if isinstance(value, Tracked) else None
        plain.flat[key] = plain_in(value)
        ramp = np.arange(plain.size, dtype=np.int64)
        items = np.arange(np.size(ramp[key]), dtype=np.int64)
        codes = np.zeros(plain.shape, np.int64)
        codes.flat[key] = items + 1 if np.ndim(ramp[key]) else 1
        origins = where_origins(self.base, ramp.shape, key, picks)
        if source is not None:
            origins.append((source, items % max(np.size(plain_in(value)), 1)))  # numpy repeats them
        write_codes(memory, plain, codes, origins)
        for mask in masks.nodes:
            write_mask(memory, plain, mask)

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        flat = take(self.base, "__array__").flatten()
        return flat if dtype is None else flat.astype(dtype)

    def copy(self) -> Any:
        """Return the cells as an array of one axis."""
        return self.base.flatten()


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):

    def _compare(self: TrackedFlat, other: Any, _name: str = _name) -> Any:
        return getattr(operator, _name)(self.base.flatten(), other)

    setattr(TrackedFlat, f"__{_name}__", _compare)


class StandsFor(type):
    """The class of a class that is its base for whoever compares, as numba does."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.__mro__[-2])

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.__mro__[-2]

    def __hash__(cls) -> int:
        return hash(cls.__mro__[-2])


class Enumerated(np.ndenumerate, metaclass=StandsFor):
    """``np.ndenumerate``: of a tracked array, the cells are tracked."""

    def __init__(self, arr: Any) -> None:
        if isinstance(arr, Tracked):
            self.iter = TrackedFlat(arr)
        else:
            super().__init__(arr)


class CellIterator:
    """``np.nditer`` over tracked arrays: the cells of the arrays, as views that can be written.

    numpy's own iterator goes over the positions of the cells.
    """

    def __init__(self, arrays: Sequence[Any], options: dict[str, Any]) -> None:
        self._arrays = arrays
        self._places = np.nditer([_places(plain_in(array)) for array in arrays], **options)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        places = next(self._places)
        return self._cells(places if isinstance(places, tuple) else (places,))

    def _cells(self, places: Sequence[Any]) -> Any:
        cells = tuple([_view(array, at) for array, at in zip(self._arrays, places, strict=True)])
        return cells if len(cells) > 1 else cells[0]

    @property
    def value(self) -> Any:
        """The cells that the iterator is at."""
        places = self._places.value
        return self._cells(places if isinstance(places, tuple) else (places,))

    @property
    def operands(self) -> tuple[Any, ...]:
        """The arrays."""
        return tuple(self._arrays)

    @property
    def dtypes(self) -> tuple[np.dtype[Any], ...]:
        """The dtypes of the arrays."""
        return tuple([array.dtype for array in self._arrays])

    @property
    def itviews(self) -> tuple[Any, ...]:
        """The cells of each array in the order of the iterator, as copies."""
        both = zip(self._arrays, self._places.itviews, strict=True)
        return tuple([array.reshape(-1)[places] for array, places in both])

    def copy(self) -> CellIterator:
        """Return another iterator that is where this one is."""
        other = object.__new__(CellIterator)
        other._arrays, other._places = self._arrays, self._places.copy()
        return other

    __copy__ = copy

    def __getitem__(self, place: int) -> Any:
        return _view(self._arrays[place], self._places[place])

    def __setitem__(self, place: int, value: Any) -> None:
        self[place][...] = value

    def __len__(self) -> int:
        return len(self._arrays)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._places.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._places, name)


def iterate(original: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """``np.nditer(arrays)``: followed where it gives single cells, or lines to look at.

    Arrays that numpy's iterator is to make are made by it.
    """
    names = ("op", "flags", "op_flags")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    op, flags, rights = given.pop("op"), set(given.pop("flags", None) or ()), given.get("op_flags")
    arrays = list(op) if isinstance(op, (list, tuple)) else [op]
    made = [k for k, array in enumerate(arrays) if array is None]
    may = given.keys() - ({"order", "op_flags"} | ({"op_dtypes"} if made else set()))
    known = all(isinstance(array, (Tracked, np.ndarray, type(None))) for array in arrays)
    in_lines = "external_loop" in flags
    writes = in_lines and (made or "write" in str(rights))
    apart = not writes or all(array is None or array.flags.c_contiguous for array in arrays)
    simple = not may and not flags - _FOLLOWED_FLAGS and apart
    if len(args) > len(names) or first_tracked(arrays) is None or not simple or not known:
        return original(*args, **kwargs)
    if made:
        options = {"flags": list(flags), **given}
        plain = original([plain_in(array) for array in arrays], **options)
        kind = type(next(array for array in arrays if isinstance(array, Tracked)))
        for k in made:
            arrays[k] = wrap_latent(kind, plain.operands[k], Latent(plain.operands[k], "nditer"))
    read = {"op_flags": [["readonly"]] * len(arrays), "flags": list(flags)}
    return CellIterator(arrays, {key: given[key] for key in given if key == "order"} | read)


_FOLLOWED_FLAGS = {"multi_index", "c_index", "f_index", "zerosize_ok", "refs_ok", "external_loop"}


def _places(plain: Array) -> I64:
    """The C-order positions of an array's cells, laid out in memory as the cells are."""
    places = np.empty_like(plain, np.int64, subok=False)
    places[...] = np.arange(places.size).reshape(places.shape)
    return places


def _view(array: Any, position: Any) -> Any:
    """A cell of an array as an array of no axes that looks at it; several cells alike if they can.

    They can if they are one after the other in an array without gaps.
    """
    if np.ndim(position):
        in_order = array.flags.c_contiguous and (np.diff(position) == 1).all()
        where = slice(int(position[0]), int(position[-1]) + 1) if in_order else position
        return array.reshape(-1)[where]
    position = int(position)
    place = tuple(int(k) for k in np.unravel_index(position, array.shape)) if array.ndim else ()
    return array[(*place, ...)]


class Vectorized(np.vectorize, metaclass=StandsFor):
    """``np.vectorize``: a function of tracked cells is called with tracked numbers."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """See ``numpy.vectorize``."""
        simple = not kwargs and not self.excluded and self.signature is None
        if first_tracked(args) is None or not simple:
            return super().__call__(*args, **kwargs)
        first = first_tracked(args)
        kind: Any = type(first.as_array() if isinstance(first, TrackedScalar) else first)
        args = tuple([as_tracked(arg, kind) for arg in args])
        shape = np.broadcast_shapes(*(np.shape(plain_in(arg)) for arg in args))
        spread = [np.broadcast_to(arg, shape) for arg in args]
        found = [
            self.pyfunc(*[_python(array, cell) for array in spread]) for cell in np.ndindex(shape)
        ]
        if not found:
            return super().__call__(*args)
        several = isinstance(found[0], tuple)
        made = []
        for k, cells in enumerate(zip(*found, strict=True) if several else [found]):
            chosen = self.otypes[k] if self.otypes else np.asarray(plain_in(cells[0])).dtype.char
            made.append(_of_cells(cells, kind, chosen).reshape(shape))
        return tuple(made) if several else made[0]


def _of_cells(cells: Sequence[Any], kind: type[Tracked], dtype: Any) -> Any:
    """Return an array of numbers; it can be written as one that the program made."""
    made = gather(list(cells), kind, dtype=dtype)
    return made if isinstance(made, Tracked) else wrap_latent(kind, made, Latent(made, "vectorize"))


def _python(array: Any, cell: tuple[int, ...]) -> Any:
    """A cell as Python's own number, as numpy gives it to such functions."""
    if not isinstance(array, Tracked):
        return array[cell].item() if isinstance(array[cell], np.generic) else array[cell]
    item = get_item(array, cell)
    return item.as_python() if isinstance(item, TrackedScalar) else item
