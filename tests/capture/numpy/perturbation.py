"""The oracle of all lineage: change one cell of an array, and see which cells of results change.

It knows nothing of rules. What it finds must be among what is said to contribute; a cell may be
read without a change to show for it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

Pairs = list[list[set[tuple[int, ...]]]]
"""Per result and array, the indices of a cell of the one and of a cell of the other, in one."""


def unequal(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Cells that differ, bit by bit; two values that are no numbers do not."""
    if old.dtype.kind in "fc":
        return (old != new) & ~(np.isnan(old) & np.isnan(new))
    return np.asarray(old != new)


def stepped(value: Any, step: float = 1e-6) -> Any:
    """Another value: the opposite, the integer beside it, or one a step away."""
    if value.dtype.kind == "b":
        return ~value
    if value.dtype.kind in "fc":
        return value + step
    return int(value) + (1 if value == 0 or step > 0 else -1)


def changed(
    run: Callable[[], Iterable[np.ndarray]],
    arrays: Sequence[np.ndarray],
    others: Callable[[Any], Iterable[Any]] = lambda value: [stepped(value)],
    differ: Callable[[np.ndarray, np.ndarray], np.ndarray] = unequal,
) -> Pairs:
    """Return the pairs of cells where a change of an array's cell changes a result's.

    ``run`` makes the results of the arrays, which are changed in place; ``others`` are the values
    that a cell is changed to.
    """
    before = [np.array(result) for result in run()]
    found: Pairs = [[set() for _ in arrays] for _ in before]
    for place, array in enumerate(arrays):
        for cell in itertools.product(*map(range, array.shape)):
            value = array[cell].copy()
            for other in others(value):
                array[cell] = other
                try:
                    results = [np.array(result) for result in run()]
                finally:
                    array[cell] = value
                for pairs, old, new in zip(found, before, results, strict=True):
                    assert old.shape == new.shape, "choose values where no shape changes"
                    pairs[place] |= {
                        (*map(int, out), *cell) for out in np.argwhere(differ(old, new))
                    }
    return found
