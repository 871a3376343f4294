"""Ways out: values are given to somebody who goes on without lineage, and that is noted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from dslog.capture.leaks import gives_nothing_back
from dslog.capture.numpy.cell_source import nodes_in
from dslog.capture.numpy.memory import (
    Tracked,
    TrackedScalar,
    home_of,
    is_overseen,
    memory_of,
    node_of,
    plain_of,
    tracked_in,
)
from dslog.capture.place import called_in, caller, find_place
from dslog.capture.recorder import RECORDERS, Node, StoreRecorder
from dslog.capture.text_use import use_of_text
from dslog.types import Array


@dataclass(frozen=True, slots=True)
class Leaving:
    """Values that left while somebody looked."""

    way: str
    values: tuple[Any, ...]
    loses: bool


_SEEN: ContextVar[list[Leaving] | None] = ContextVar("SEEN", default=None)


@contextmanager
def seen_leaving() -> Iterator[list[Leaving]]:
    """Give the values that leave, instead of taking note: what they go into is seen."""
    found: list[Leaving] = []
    token = _SEEN.set(found)
    try:
        yield found
    finally:
        _SEEN.reset(token)


def leak(way: str, *values: Any, loses: bool = True, drawn: bool = False) -> None:
    """Take note that values leave tracking."""
    known = tuple([value for value in tracked_in(values) if home_of(value) is not None])
    seen = _SEEN.get()
    if seen is not None or not known:
        if seen is not None and known:
            seen.append(Leaving(way, known, loses))
        return
    nodes: dict[StoreRecorder, dict[Node, None]] = {}
    for value in known:
        home = home_of(value)
        if home is not None:
            nodes.setdefault(home, {}).update(dict.fromkeys(nodes_behind(value)))
    for home, found in nodes.items():
        home.leak(way, found, loses=loses, drawn=drawn)


def take(value: Tracked | TrackedScalar, way: str) -> Any:
    """Return the values of an array or scalar to somebody who goes on without lineage."""
    leak(way, value)
    return value.plain if isinstance(value, TrackedScalar) else plain_of(value)


def lend(array: Tracked, way: str, *, ends: bool = True) -> Array:
    """Return the memory of an array to somebody who goes on without lineage, and may write.

    ``ends`` says whether it is seen when they let go of it. What only draws gets a copy.
    """
    leak(way, array)
    plain = plain_of(array)
    if _called_by_f2py() or gives_nothing_back(find_place(caller())):
        return plain.copy("K")
    lender = memory_of(array) or array.tracking.latent
    return plain if lender is None else lender.lend(plain, ends=ends)


def oversee(arrays: Iterable[Any], *values: Any) -> None:
    """Take note that values are about to go into memory that somebody else may read."""
    if any(map(is_overseen, arrays)):
        leak("lent memory", *values)


def _called_by_f2py() -> bool:
    """Whether values go to code that f2py made: it writes into what it made of no ``ndarray``."""
    frame = caller()
    return frame is not None and type(called_in(frame)).__name__ == "fortran"


def decide(value: Tracked | TrackedScalar, way: str = "bool") -> Any:
    """Return values to somebody who only decides what to do."""
    leak(way, value, loses=False)
    return value.plain if isinstance(value, TrackedScalar) else plain_of(value)


def look(value: Tracked | TrackedScalar) -> Any:
    """Return values to be written as a text, which can be read again if it is not only shown."""
    use = use_of_text()
    leak("text", value, loses=not use, drawn=use == "drawn")
    return value.plain if isinstance(value, TrackedScalar) else plain_of(value)


class Leaves:
    """What Python asks of an array and of a number alike, and gets without lineage."""

    __slots__ = ()

    def __bool__(self: Any) -> bool:
        return bool(decide(self))

    def __float__(self: Any) -> float:
        return float(take(self, "float"))

    def __int__(self: Any) -> int:
        return int(take(self, "int"))

    def __complex__(self: Any) -> complex:
        return complex(take(self, "complex"))

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return take(self, "pickle").__reduce_ex__(protocol)

    def __reduce__(self: Any) -> Any:
        return take(self, "pickle").__reduce__()

    def __repr__(self: Any) -> str:
        return repr(look(self))

    def __str__(self: Any) -> str:
        return str(look(self))

    def __format__(self: Any, spec: str) -> str:
        return format(look(self), spec)

    def __dir__(self: Any) -> list[str]:
        return [*dir(self.__class__), "name", "named"]


def nodes_behind(value: Tracked | TrackedScalar) -> Iterable[Node]:
    """Return the nodes that hold a value, or that a scalar was computed from."""
    if isinstance(value, Tracked):
        node = node_of(value)
        return () if node is None else (node,)
    nodes = nodes_in(value.source)
    for node in nodes:
        node.owner.reach(node)
    return nodes


# a fork copies everything


def _leave_by_fork() -> None:
    """Take note of what another process is going to have, and may compute and give back."""
    for recorder in list(RECORDERS):
        known = [v for v in recorder.alive if isinstance(v, (Tracked, TrackedScalar))]
        nodes = dict.fromkeys(n for value in known if home_of(value) for n in nodes_behind(value))
        if nodes:
            recorder.leak("fork", nodes, tell=False)


def _abandon() -> None:
    """Let a forked process compute with plain values: the store is its parent's."""
    for recorder in list(RECORDERS):
        recorder.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_leave_by_fork, after_in_child=_abandon)
