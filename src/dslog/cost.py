"""Cost models: the thresholds by which a package chooses between exact ways to one answer.

Each package has one, a frozen dataclass of named and explained numbers in its ``NAME_cost.py``.
Code reads a number where it decides, ``LineageCost.current().few_rows``; a test that wants
the other way taken chooses its own numbers for a while:

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True, slots=True)
... class TripCost(CostModel):
...     walk_km: float = 2.0  # up to here walking is quicker than waiting for a bus
>>> TripCost.current().walk_km
2.0
>>> with TripCost.using(walk_km=0.0):
...     TripCost.current().walk_km
0.0

What is chosen holds for the thread, or the task, that chose it. Spark's executors see the defaults:
what a job may choose travels with the job.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Self

_CHOSEN: ContextVar[dict[type, CostModel]] = ContextVar("chosen cost models")
_DEFAULTS: dict[type, CostModel] = {}


@dataclass(frozen=True, slots=True)
class CostModel:
    """Thresholds of one package; see the module."""

    @classmethod
    def current(cls) -> Self:
        """Return the model in force: the defaults, or what ``using`` chose."""
        chosen = _CHOSEN.get(_DEFAULTS).get(cls)
        if chosen is None:
            chosen = _DEFAULTS[cls] = cls()
        return chosen  # type: ignore[return-value]

    @classmethod
    @contextmanager
    def using(cls, **changes: object) -> Iterator[Self]:
        """Choose other numbers inside a ``with`` block."""
        model = replace(cls.current(), **changes)
        token = _CHOSEN.set({**_CHOSEN.get(_DEFAULTS), cls: model})
        try:
            yield model
        finally:
            _CHOSEN.reset(token)
