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
from typing import Any, ClassVar, Self


@dataclass(frozen=True, slots=True)
class CostModel:
    """Thresholds of one package; see the module."""

    _variable: ClassVar[ContextVar[Any]]

    @classmethod
    def current(cls) -> Self:
        """Return the model in force: the defaults, or what ``using`` chose.

        The first call makes the variable that holds it, and from then on ``current`` is no more
        than a look at that: code may ask as often as it likes.
        """
        default = cls()
        cls._variable = ContextVar(cls.__name__, default=default)
        cls.current = cls._variable.get  # type: ignore[method-assign]
        return default

    @classmethod
    @contextmanager
    def using(cls, **changes: object) -> Iterator[Self]:
        """Choose other numbers inside a ``with`` block."""
        model = replace(cls.current(), **changes)
        token = cls._variable.set(model)
        try:
            yield model
        finally:
            cls._variable.reset(token)
