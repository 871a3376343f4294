"""Rules for the lineage of numpy's functions, and how the one for a finished call is found.

Rules are registered by the dotted name of what they are for, and found by the function object. A
rule for all ufuncs, or one method of all ufuncs, is registered as ``numpy.ufunc.__call__``,
``numpy.ufunc.reduce`` and so on; a rule for one ufunc goes before it.

A call's lineage is found by the first that knows it:

1. a result that is a view of an input: its memory says which cells it shows;
2. the registered rules, in the order of ``KINDS``;
3. following each cell through the function, for small arrays (``trace``);
4. every output cell from every input cell, labelled as not exact.

A rule that returns None leaves the call to the next. One that fails must not stop the user's
program, so it costs a warning and exactness, no more.

What is found for a large call is remembered: the same call on the same versions of the same arrays
has the same lineage. Nothing here is predicted: an answer that is not certain is not given.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from dslog.algebra.product import all_to_all
from dslog.capture.capture_cost import CaptureCost
from dslog.capture.leaks import own_read
from dslog.capture.numpy.call import Call, Lineages, Rule, describe, form_of
from dslog.capture.numpy.trace import trace
from dslog.capture.numpy.view import is_view, lineage_of_view
from dslog.capture.recorder import Node, StoreRecorder
from dslog.lineage.lineage import Lineage
from dslog.store.hooks import Answer

Kind = Literal["rule", "index-run", "value", "trace", "superset"]
KINDS: tuple[Kind, ...] = ("rule", "index-run", "value", "trace", "superset")
"""Cheap first: a formula over shapes; the function itself, run on positions; lineage computed from
values; each cell followed through the function; everything from everything, not exact."""

NAMESPACES = ("numpy", "numpy.linalg", "numpy.fft", "numpy.lib.stride_tricks")

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
    call of the same form has the same lineage. Rules for modules that nobody imported yet are
    ``waiting``, by module.
    """

    entries: dict[Any, list[Entry]] = field(default_factory=dict)
    known: dict[Any, Any] = field(default_factory=dict)
    waiting: dict[str, list[Entry]] = field(default_factory=dict)

    def add(self, name: str, kind: Kind, rule: Rule, note: str = "") -> None:
        """Register a rule; a name that is not installed is passed over."""
        module = name.rpartition(".")[0]
        if not (name.startswith("numpy.") or _is_imported(module)):
            self.waiting.setdefault(module, []).append(Entry(name, kind, rule, note))
            return
        target = function_named(name)
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
        for module in [one for one in self.waiting if _is_imported(one)]:
            for entry in self.waiting.pop(module):
                self.add(entry.name, entry.kind, entry.rule, entry.note)
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


def _is_imported(module: str) -> bool:
    """Whether a module is there, and all that it is going to hold."""
    found = sys.modules.get(module)
    return found is not None and not getattr(found.__spec__, "_initializing", False)


def family(func: Callable[..., Any]) -> object:
    """Return what stands for all ufuncs, or all ufuncs' method; None for other functions."""
    if isinstance(func, np.ufunc):
        return np.ufunc.__call__
    if isinstance(getattr(func, "__self__", None), np.ufunc):
        return getattr(np.ufunc, func.__name__)
    return None


def function_named(name: str) -> Any:
    """Return what a dotted name means, or None where the installed library lacks it.

    >>> function_named("numpy.linalg.svd") == np.linalg.svd, function_named("numpy.no_such")
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
    return getattr(found, "stands_for", found)


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Give the dotted name and the object of every public function of the namespaces."""
    for namespace in NAMESPACES:
        module = pkgutil.resolve_name(namespace)
        listed = getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]
        for name in sorted(listed):
            value = getattr(module, name)
            if callable(value) and not isinstance(value, type):
                yield f"{namespace}.{name}", value


REGISTRY = Registry()
rule = REGISTRY.rule


Remembered = OrderedDict[tuple[Any, ...], Lineages]
_REMEMBERED: WeakKeyDictionary[StoreRecorder, Remembered] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Found:
    """A call's lineage, its arguments as they are kept, and what stood in for looking.

    Of a call that was found ``by_shape``, others of the same form have the same.
    """

    lineages: Lineages
    args: dict[str, object]
    by_shape: bool = False
    answer: Answer | None = None


def find(
    call: Call, nodes: Sequence[Node], recorder: StoreRecorder, *, written: bool = False
) -> Found:
    """Return a call's lineage: found by its rules, or remembered from the same call."""
    args = describe(call)
    if not nodes:
        return Found(((),) * len(call.outputs), args)
    costs = CaptureCost.current()
    large = max(array.size for array in (*call.inputs, *call.outputs)) >= costs.reuse_cells
    form = form_of(call.func, call.args, call.kwargs, call.inputs) if large else None
    if written or form is None:
        lineages, kind = resolve(call, written=written)
        return Found(lineages, args, by_shape=kind in ("rule", "index-run"))
    remembered, versions = _REMEMBERED.setdefault(recorder, OrderedDict()), (form, *nodes)
    if versions in remembered:
        remembered.move_to_end(versions)
        lineages = remembered[versions]
        flat = tuple(lineage for row in lineages for lineage in row)
        return Found(lineages, args, answer=Answer("base_sig", flat))
    lineages, kind = resolve(call)
    by_shape = kind in ("rule", "index-run")
    if not by_shape:
        rows = sum(one.num_rows for row in lineages for one in row if one is not None)
        if rows <= costs.reuse_rows:
            remembered[versions] = lineages
        while len(remembered) > costs.reuse_calls:
            remembered.popitem(last=False)
    return Found(lineages, args, by_shape)


class CaptureWarning(UserWarning):
    """The lineage of a call is a superset because a rule failed: a bug worth a report."""


def find_lineages(call: Call) -> Lineages:
    """Return the lineage of every output from every input."""
    return resolve(call)[0]


def resolve(call: Call, *, written: bool = False) -> tuple[Lineages, Kind]:
    """Return the lineage of every output from every input, and the kind of rule that found it.

    ``written`` says that the outputs were given with ``out``: they may be inputs, but no views.
    """
    known = by_rule(call, written=written)
    if known is not None:
        return known
    traced = _try(trace, call)
    return (superset(call), "superset") if traced is None else (traced, "trace")


@own_read
def by_rule(call: Call, *, written: bool = False) -> tuple[Lineages, Kind] | None:
    """Return the lineage that a call's results show, or a rule knows."""
    views = None if written else _views(call)
    if views is not None:
        return views
    for entry in REGISTRY.find(call.func):
        found = _try(entry.rule, call)
        if found is not None:
            return found, entry.kind
    return None


def superset(call: Call) -> Lineages:
    """Say that every output cell may come from every input cell."""
    return tuple(
        tuple(all_to_all(output.shape, array.shape, exact=False) for array in call.inputs)
        for output in call.outputs
    )


def _views(call: Call) -> tuple[Lineages, Kind] | None:
    """The lineage of a call all of whose outputs look at inputs.

    Where two inputs share memory either is right, but not for other calls of the same form: that
    is found by the addresses, which are no more than values.
    """
    rows = []
    kind: Kind = "rule"
    for output in call.outputs:
        row: list[Lineage | None] = [None] * len(call.inputs)
        if output.base is None:
            return None
        places = [k for k, array in enumerate(call.inputs) if is_view(output, array)]
        if len(places) > 1:
            kind = "value"
        for place in places:
            row[place] = lineage_of_view(output, call.inputs[place])
            if row[place] is not None:
                break
        else:
            return None
        rows.append(tuple(row))
    return tuple(rows), kind


def _try(rule: Rule, call: Call) -> Lineages | None:
    try:
        found = rule(call)
        return found if found is None or _fits(found, call) else None
    except Exception as error:  # noqa: BLE001 (whatever it is, the user's program goes on)
        _warn(call, f"{type(error).__name__}: {error}")
        return None


def _fits(found: Lineages, call: Call) -> bool:
    """Whether lineage is between arrays of the call's shapes."""
    good = len(found) == len(call.outputs) and all(
        len(row) == len(call.inputs)
        and all(
            lineage is None
            or (lineage.out_shape == output.shape and lineage.in_shape == array.shape)
            for lineage, array in zip(row, call.inputs, strict=True)
        )
        for row, output in zip(found, call.outputs, strict=True)
    )
    if not good:
        _warn(call, "its shapes are wrong")
    return good


def _warn(call: Call, why: str) -> None:
    warnings.warn(f"a rule for {call.name} failed ({why})", CaptureWarning, stacklevel=2)
