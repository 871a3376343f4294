"""Attributes of estimators that hide what was fitted: a tree, an index, an object of another class.

They stay what they are, so that compiled code can have them. That a program reads one is told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Told = Callable[[Any, str], None]
_HIDDEN: list[tuple[type, str]] = []


class HiddenAttribute:
    """Stands in a class for what its instances hold under a name."""

    def __init__(self, name: str, told: Told) -> None:
        self._name, self._told = name, told

    def __get__(self, estimator: Any, kind: type) -> Any:
        if estimator is None:
            return self
        if self._name not in vars(estimator):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {self._name!r}")
        self._told(estimator, self._name)
        return vars(estimator)[self._name]

    def __set__(self, estimator: Any, value: Any) -> None:
        vars(estimator)[self._name] = value

    def __delete__(self, estimator: Any) -> None:
        del vars(estimator)[self._name]


def guard(kind: type, name: str, told: Told) -> None:
    """Tell when an attribute of a class's instances is read, from now on."""
    if not hasattr(kind, name):
        setattr(kind, name, HiddenAttribute(name, told))
        _HIDDEN.append((kind, name))


def unguard() -> None:
    """Let all attributes be read as they were."""
    while _HIDDEN:
        delattr(*_HIDDEN.pop())
