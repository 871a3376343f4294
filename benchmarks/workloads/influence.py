"""What of a result changes with each input cell: calls that are run again, one cell nudged.

Results are taken apart into *leaves*: arrays, numbers and texts, each with the way to it.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dslog.types import Array, Mask

TINY = 1e-6
LARGE = 0.2
NAMES = 4  # integers up to this are names of classes, not amounts
_NOISE = 2e-13  # of the largest value: what other summation orders make of the same numbers
_DEPTH = 6
_TEXT = (str, bytes, bool, type(None))

_WAYS = ("to_numpy", "toarray", "as_integer_ratio")

Leaf = Any
Leaves = dict[str, Leaf]
Run = Callable[[Mapping[str, Any]], Any]


def leaves_of(result: Any) -> Leaves:
    """Take a result apart; functions, classes and modules in it say nothing."""
    return dict(_leaves("result", result, 0))


def _leaves(way: str, value: Any, depth: int) -> Iterator[tuple[str, Leaf]]:
    if isinstance(value, np.ma.MaskedArray):
        yield f"{way}.data", value.data
        yield f"{way}.mask", np.ma.getmaskarray(value)
    elif isinstance(value, np.ndarray) and value.dtype.kind == "O":
        for place, item in enumerate(np.asarray(value).reshape(-1)):
            yield from _leaves(f"{way}[{place}]", item, depth + 1)
    elif isinstance(value, (np.ndarray, np.generic, float, int, complex, *_TEXT)):
        yield way, value
    elif depth < _DEPTH:
        for name, item in _items(value):
            yield from _leaves(f"{way}{name}", item, depth + 1)


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key in value:
            yield f"[{key!r}]", value[key]
    elif isinstance(value, (list, tuple)) or hasattr(value, "typecode"):
        for place, item in enumerate(value):
            yield f"[{place}]", item
    elif isinstance(value, slice):
        yield from ((f".{name}", getattr(value, name)) for name in ("start", "stop", "step"))
    elif ways := [way for way in _WAYS if hasattr(value, way)]:
        yield f".{ways[0]}()", getattr(value, ways[0])()
    else:
        for name, item in getattr(value, "__dict__", {}).items():
            if not name.startswith("_"):
                yield f".{name}", item


def same_kind(one: Leaf, other: Leaf) -> bool:
    """Whether two leaves are of one class, and if arrays, of one dtype and shape."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return (
            isinstance(one, np.ndarray)
            and isinstance(other, np.ndarray)
            and one.dtype == other.dtype
            and one.shape == other.shape
        )
    return type(one) is type(other)


def same_bits(one: Leaf, other: Leaf) -> bool:
    """Whether two leaves are of one kind and hold the same, bit for bit."""
    if not same_kind(one, other):
        return False
    if isinstance(one, (np.ndarray, np.generic)):
        return bool(one.tobytes() == other.tobytes())
    return repr(one) == repr(other)


def changed_cells(old: Leaf, new: Leaf) -> Mask:
    """Mark the cells of a leaf that differ by more than rounding does."""
    if isinstance(old, (*_TEXT, int)) and not isinstance(old, np.generic):
        return np.array(old != new)
    before, after = np.asarray(old), np.asarray(new)
    if before.dtype.kind not in "fc":
        return np.asarray(before != after)
    with np.errstate(all="ignore"):
        size = np.max(np.abs(before), initial=0.0, where=np.isfinite(before))
        near = np.abs(before - after) <= _NOISE * size
    both = np.isnan(before) & np.isnan(after)
    return np.asarray(~(near | both | (before == after)))


@dataclass(slots=True)
class Outcome:
    """What a run gave: leaves, or an error; arguments that were written are leaves too."""

    leaves: Leaves = field(default_factory=dict)
    error: str = ""


def outcome_of(run: Run, arrays: Mapping[str, Array]) -> Outcome:
    """Run something on copies of arrays."""
    mine = {name: array.copy() for name, array in arrays.items()}
    seed()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            leaves = leaves_of(run(mine))
        except Exception as error:  # noqa: BLE001 (what a run raises is what it gives)
            return Outcome(error=message_of(error))
    for name, array in mine.items():
        if not same_bits(array, arrays[name]):
            leaves[name] = array
    return Outcome(leaves)


def message_of(error: Exception) -> str:
    """Return an error as text that can be compared."""
    return f"{type(error).__name__}: {error}"


def seed() -> None:
    """Let global generators draw the same from here on."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 (for programs that draw from it)


@dataclass(slots=True)
class Influence:
    """Per leaf and input, which cells of both change together: (leaf's cells, input's cells).

    ``tiny`` is of changes too small to turn a decision around, ``large`` of all changes. A truth,
    or the number of a class, has no tiny ones: it is another one or it is not.
    """

    tiny: dict[tuple[str, str], Mask] = field(default_factory=dict)
    large: dict[tuple[str, str], Mask] = field(default_factory=dict)

    def note(self, way: str, name: str, cell: int, cells: int, found: Mask, size: float) -> None:
        """Take note of what changed with one cell."""
        for masks in (self.tiny, self.large):
            mask = masks.setdefault((way, name), np.zeros((found.size, cells), bool))
            if size == TINY or masks is self.large:
                mask[:, cell] |= found.reshape(-1)


def influence(run: Run, arrays: Mapping[str, Array], plain: Outcome) -> Influence:
    """Nudge every cell of every array, and see what changes."""
    found = Influence()
    for name, array in arrays.items():
        for cell in range(array.size):
            for size in sizes_for(array):
                other = array.copy()
                other.reshape(-1)[cell] = nudged(array, cell, size)
                again = outcome_of(run, {**arrays, name: other}).leaves
                for way, old in plain.leaves.items():
                    if way in again and same_kind(old, again[way]):
                        cells = changed_cells(old, again[way])
                        found.note(way, name, cell, array.size, cells, size)
    return found


def sizes_for(array: Array) -> tuple[float, ...]:
    """Return by how much the cells of an array are changed, one after the other."""
    if array.dtype.kind in "fc":
        return TINY, LARGE
    return (LARGE,) if array.dtype.kind == "b" or array.max() < NAMES else (TINY,)


def nudged(array: Array, cell: int, size: float) -> Any:
    """Return another value for a cell: a bit more, or the next number or truth."""
    value = array.reshape(-1)[cell]
    if array.dtype.kind == "b":
        return not value
    if array.dtype.kind in "iu":
        return value - 1 if value == array.max() else value + 1
    if np.isnan(value):
        return value
    if size == TINY:
        return value * (1 + TINY) if value else TINY
    return value + size * float(np.nanmax(np.abs(array)))
