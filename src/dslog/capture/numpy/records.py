"""Arrays of records of tracked numbers, whose fields are attributes, and single records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dslog.capture.numpy.array import TrackedArray
from dslog.capture.numpy.item import plain_in
from dslog.capture.numpy.memory import (
    SUBCLASSES,
    Latent,
    Tracked,
    plain_of,
    tracked_in,
    wrap,
    wrap_latent,
)
from dslog.capture.numpy.way_out import look


class TrackedRecord(TrackedArray):
    """A record: a look at one cell of an array, as numpy's own is."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(plain_of(self)[()])

    def _fields(self) -> tuple[str, ...]:
        return plain_of(self).dtype.names or ()

    def __getitem__(self, key: Any) -> Any:
        plain_of(self)[()][key]  # numpy's error, if there is one
        name = self._fields()[key] if isinstance(key, (int, np.integer)) else key
        found = wrap(TrackedArray, self.tracking)[name]
        return found if found.ndim else found[()]

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(self._fields()[key] if isinstance(key, int) else key, value)

    def __getattr__(self, name: str) -> Any:
        if issubclass(self.__class__, np.record) and name in self._fields():
            return self[name]
        return getattr(plain_of(self)[()], name)  # numpy's error

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "tracking" and issubclass(self.__class__, np.record) and name in self._fields():
            self[name] = value
        else:
            super().__setattr__(name, value)

    def __len__(self) -> int:
        return len(self._fields())

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    def __repr__(self) -> str:
        return repr(look(self)[()])

    def __str__(self) -> str:
        return str(look(self)[()])


class TrackedRecords(TrackedArray):
    """A tracked array of records."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return np.recarray if self.tracking.plain.dtype.names else np.ndarray

    def __getattr__(self, name: str) -> Any:
        if name not in (plain_of(self).dtype.names or ()):
            raise AttributeError(f"recarray has no attribute {name}")
        found = self[name]
        return found if plain_of(found).dtype.names else wrap(TrackedArray, found.tracking)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "tracking" and name in (plain_of(self).dtype.names or ()):
            self[name] = value
        else:
            super().__setattr__(name, value)

    def __repr__(self) -> str:
        return repr(look(self).view(self.__class__))


SUBCLASSES[np.void] = lambda array: wrap(TrackedRecord, array.tracking)


def _records_of(array: Tracked) -> Tracked:
    """Look at an array as numpy's view of this kind does: its cells are ``np.record``."""
    made, dtype = wrap(TrackedRecords, array.tracking), plain_of(array).dtype
    if dtype.type is np.void and dtype.names:
        made.dtype = np.dtype((np.record, dtype))
    return made


SUBCLASSES[np.recarray] = _records_of


def make_records(
    original: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """``np.rec.fromarrays`` and its kin: numpy's records, into which what is tracked is written."""
    values = args[0] if args else kwargs.get("arrayList", kwargs.get("recList", kwargs.get("obj")))
    result = original(*map(plain_in, args), **{key: plain_in(kwargs[key]) for key in kwargs})
    if next(tracked_in([values]), None) is None:
        return result
    plain = np.array(result, subok=False)
    made = wrap_latent(TrackedRecords, plain, Latent(plain, original.__name__))
    if isinstance(values, Tracked):
        made[...] = values
    elif original.__name__ == "fromrecords" or isinstance(values[0], (list, tuple)):
        for place, record in enumerate(values):
            made[place] = tuple(record)
    else:
        for name, column in zip(plain.dtype.names or (), values, strict=True):
            made[name] = column
    return made
