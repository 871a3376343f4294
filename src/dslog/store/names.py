"""Checks on the names and shapes a user gives."""

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

from dslog.errors import NotFoundError, ShapeError, did_you_mean
from dslog.store.arguments import ArgumentError
from dslog.store.catalog import Catalog
from dslog.store.records import ArrayInfo
from dslog.types import Shape

_MOST_CELLS = (1 << 63) - 1  # cells are counted off in an int64


def check_name(name: object, what: str) -> str:
    """Return a name that can be stored and printed."""
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"the name of an {what} is a string that is not empty, not {name!r}")
    if not name.isprintable():
        raise ArgumentError(
            f"the name {name!r} of an {what} holds characters that can't be printed"
        )
    return name


def check_shape(name: str, shape: object) -> Shape:
    """Return a shape as a tuple of Python integers."""
    sizes: Iterable[Any] = (shape,)
    if isinstance(shape, Iterable) and not isinstance(shape, str):
        sizes = shape
    try:
        result = tuple(operator.index(size) for size in sizes)
    except TypeError as error:
        raise ShapeError(
            f"{shape!r} is no shape for array {name!r}: give a tuple of integers, such as (3, 2)"
        ) from error
    if any(size < 0 for size in result):
        raise ShapeError(f"array {name!r} can't have shape {result}: no axis is shorter than 0")
    if math.prod(size or 1 for size in result) > _MOST_CELLS:
        raise ShapeError(f"array {name!r} can't have shape {result}: more than 2**63 - 1 cells")
    return result


def check_names(names: Sequence[str] | str) -> tuple[str, ...]:
    """Return array names as a tuple; one name may come bare."""
    return (names,) if isinstance(names, str) else tuple(names)


def find_array(name: object, catalog: Catalog) -> ArrayInfo:
    """Return a known array; an unknown one is an error with the nearest name."""
    shape = catalog.shape(name) if isinstance(name, str) else None
    if not isinstance(name, str) or shape is None:
        known = [array.name for array in catalog.arrays()]
        hint = did_you_mean(name, known) if isinstance(name, str) else ""
        way_out = hint or f" Define it first: store.array({name!r}, shape)."
        raise NotFoundError(f"there is no array {name!r} in the store.{way_out}")
    return ArrayInfo(name, shape)
