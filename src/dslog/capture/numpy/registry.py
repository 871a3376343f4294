"""Which rules know which numpy function.

Rules are registered by the dotted name of what they are for, and found by the function object. A
rule for all ufuncs, or one method of all ufuncs, is registered as ``numpy.ufunc.__call__``,
``numpy.ufunc.reduce`` and so on; a rule for one ufunc goes before it.

The kinds are tried in the order of ``KINDS``; a rule that returns None leaves the call to the next.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np

from dslog.capture.capture_cost import CaptureCost
from dslog.capture.numpy.call import Rule

Kind = Literal["rule", "index-run", "value", "trace", "superset"]
KINDS: tuple[Kind, ...] = ("rule", "index-run", "value", "trace", "superset")
"""Cheap first: a formula over shapes; the function itself, run on positions; lineage computed from
values; each cell followed through the function; everything from everything, not exact."""

R = TypeVar("R", bound=Rule)


@dataclass(frozen=True, slots=True)
class Entry:
    """A registered rule: its dotted name, how it works, and the function."""

    name: str
    kind: Kind
    rule: Rule
    note: str = ""


@dataclass(frozen=True, slots=True)
class Registry:
    """Rules by function object, in the order of registration.

    ``known`` is what rules found for calls of a form: while only shapes and arguments matter, a
    call of the same form has the same lineage.
    """

    entries: dict[Any, list[Entry]] = field(default_factory=dict)
    known: dict[Any, Any] = field(default_factory=dict)

    def add(self, name: str, kind: Kind, rule: Rule, note: str = "") -> None:
        """Register a rule; a name that is not installed is passed over."""
        target = resolve(name)
        if target is not None:
            self.attach(target, name, kind, rule, note)

    def attach(self, target: Any, name: str, kind: Kind, rule: Rule, note: str = "") -> None:
        """Register a rule for a function that has no public name."""
        self.known.clear()
        self.entries.setdefault(target, []).append(Entry(name, kind, rule, note))

    def remember(self, form: Any, found: Any) -> None:
        """Keep what was found for a form of call; the oldest ones go."""
        if len(self.known) >= CaptureCost.current().most_forms:
            self.known.clear()
        self.known[form] = found

    def rule(self, *names: str, kind: Kind = "rule", note: str = "") -> Callable[[R], R]:
        """Register a rule under one or more names: ``@rule("numpy.sum", "numpy.prod")``."""

        def register(function: R) -> R:
            for name in names:
                self.add(name, kind, function, note)
            return function

        return register

    def find(self, func: Callable[..., Any]) -> Iterator[Entry]:
        """Give the rules for a function in the order in which they are to be tried."""
        found = [*self.entries.get(func, ()), *self.entries.get(family(func), ())]
        for kind in KINDS:
            yield from (entry for entry in found if entry.kind == kind)

    def table(self) -> Mapping[str, tuple[Entry, ...]]:
        """Return the entries by name."""
        by_name: dict[str, tuple[Entry, ...]] = {}
        for entries in self.entries.values():
            for entry in entries:
                by_name[entry.name] = (*by_name.get(entry.name, ()), entry)
        return by_name


def family(func: Callable[..., Any]) -> object:
    """Return what stands for all ufuncs, or all ufuncs' method; None for other functions."""
    if isinstance(func, np.ufunc):
        return np.ufunc.__call__
    if isinstance(getattr(func, "__self__", None), np.ufunc):
        return getattr(np.ufunc, func.__name__)
    return None


def resolve(name: str) -> Any:
    """Return what a dotted name means, or None where the installed library lacks it.

    >>> resolve("numpy.linalg.svd") is np.linalg.svd, resolve("numpy.no_such_function")
    (True, None)
    """
    parts = name.split(".")
    found: Any = None
    for place, part in enumerate(parts):
        inner = getattr(found, part, None)
        if inner is None:
            try:
                inner = importlib.import_module(".".join(parts[: place + 1]))
            except ImportError:
                return None
        found = inner
    return found


REGISTRY = Registry()
rule = REGISTRY.rule
