"""Arrays of records of tracked numbers, whose fields are attributes: ``np.recarray``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dslog.capture.numpy.array import SUBCLASSES, TrackedArray
from dslog.capture.numpy.item import plain_in
from dslog.capture.numpy.memory import Latent, Tracked, plain_of, tracked_in, wrap, wrap_latent
from dslog.capture.numpy.way_out import decide


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
        return repr(decide(self, "text").view(self.__class__))


SUBCLASSES[np.recarray] = TrackedRecords


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
