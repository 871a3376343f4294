"""``dslog.operation``: the numpy calls of a function, or of a block, as one operation."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from contextvars import Token
from types import TracebackType
from typing import Any, Protocol, TypeVar, overload

from dslog.capture.numpy.arguments import describe
from dslog.capture.numpy.call import Call
from dslog.capture.numpy.group import Group
from dslog.capture.numpy.inputs import Inputs, first_tracked
from dslog.capture.numpy.scope import CURRENT, Scope, recorder_of
from dslog.capture.numpy.session import Session
from dslog.capture.numpy.state import memory_of
from dslog.errors import CaptureError

F = TypeVar("F", bound=Callable[..., Any])


class HasSession(Protocol):
    """A store that tracks."""

    @property
    def session(self) -> Session:
        """Where calls on its arrays are recorded."""
        ...


class NamedOperation:
    """Groups numpy calls under a name, as a decorator or in a ``with`` block."""

    def __init__(self, name: str, store: HasSession | None = None) -> None:
        self._name = name
        self._store = store
        self._open: list[tuple[Group, Token[tuple[Scope, ...]]]] = []

    def __call__(self, function: F) -> F:
        """Make every call of a function one operation."""
        return _decorate(function, self._name)

    def __enter__(self) -> Group:
        if self._store is None:
            raise CaptureError(
                f"a block needs the store: with dslog.operation({self._name!r}, store): ..."
            )
        group = _begin(self._name, self._store.session)
        self._open.append((group, _push(group)))
        return group

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        group, token = self._open.pop()
        _end(group, token, {}, failed=kind is not None)


@overload
def operation(target: F) -> F: ...
@overload
def operation(target: str, store: HasSession | None = None) -> NamedOperation: ...
def operation(target: Any, store: HasSession | None = None) -> Any:
    """Group the numpy calls of a function, or of a block, into one registered operation.

    As a decorator, bare or with a name; the operation's inputs are the tracked arrays that the
    function uses, its outputs those that outlive it::

        @dslog.operation
        def normalise(x): ...

    As a block, with the store; ``op.keep(y)`` says which arrays are results, else it is all that
    are alive at the end::

        with dslog.operation("normalise", store) as op: ...
    """
    if callable(target):
        return _decorate(target, getattr(target, "__name__", "operation"))
    return NamedOperation(target, store)


def _decorate(function: F, name: str) -> F:
    @functools.wraps(function)
    def grouped(*args: Any, **kwargs: Any) -> Any:
        tracked = first_tracked((args, tuple(kwargs.values())))
        memory = None if tracked is None else memory_of(tracked)
        if memory is None:
            return function(*args, **kwargs)
        described = _describe(function, name, args, kwargs)
        group = _begin(name, memory.session)
        token = _push(group)
        failed = True
        try:
            result = function(*args, **kwargs)
            failed = False
        finally:
            _end(group, token, described, failed=failed)
        return result

    return grouped  # type: ignore[return-value]


def _describe(
    function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, object]:
    """The arguments that are not tracked."""
    inputs = Inputs()
    plain = tuple(inputs.unwrap(arg) for arg in args)
    named = {key: inputs.unwrap(value) for key, value in kwargs.items()}
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return {}  # the call is about to fail with a better message
    return describe(Call(name, function, plain, named, tuple(inputs.plains)))


def _begin(name: str, session: Session) -> Group:
    return Group(name, session, recorder_of(session))


def _push(group: Group) -> Token[tuple[Scope, ...]]:
    return CURRENT.set((*CURRENT.get(), group))


def _end(
    group: Group, token: Token[tuple[Scope, ...]], args: Mapping[str, object], *, failed: bool
) -> None:
    try:
        group.close(args, failed=failed)
    finally:
        CURRENT.reset(token)
