"""Which recorder takes note of a call: the innermost open group, else the store's session."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from dslog.capture.numpy.call import Array
from dslog.capture.numpy.node import Recorder
from dslog.capture.numpy.session import Session

if TYPE_CHECKING:
    from dslog.capture.numpy.memory import Memory


class Scope(Recorder, Protocol):
    """A recorder that gathers the calls of one store until it is left."""

    @property
    def session(self) -> Session:
        """The session of the store it belongs to."""
        ...

    def made(self, array: Array) -> None:
        """Take note of an array that got a node inside."""
        ...

    def written(self, memory: Memory) -> None:
        """Take note of memory that was written inside."""
        ...


CURRENT: ContextVar[tuple[Scope, ...]] = ContextVar("CURRENT", default=())


def scope_of(session: Session) -> Scope | None:
    """Return the innermost open scope of a store, if there is one."""
    for scope in reversed(CURRENT.get()):
        if scope.session is session:
            return scope
    return None


def recorder_of(session: Session) -> Recorder:
    """Return what takes note of calls on a store's arrays now."""
    return scope_of(session) or session
