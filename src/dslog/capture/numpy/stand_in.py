"""Stand-ins for functions that take values without asking whose they are.

What one of them does depends on who calls: for a program's own code, or for a library that is being
followed, it acts; for any other caller it is what it stands for.
"""

from __future__ import annotations

import pkgutil
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, update_wrapper
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

from dslog.capture.place import is_calling, origin_of

Act = Callable[[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]], Any]

_FOLLOWED: ContextVar[bool] = ContextVar("FOLLOWED", default=False)
_COMPUTES = ("/numpy/polynomial/",)
"""Libraries that are always followed: they only compute with what they are given."""


@contextmanager
def following(libraries: bool = True) -> Iterator[None]:  # noqa: FBT002 (yes or no)
    """Follow libraries as a program's own code is followed, or no longer."""
    token = _FOLLOWED.set(libraries)
    try:
        yield
    finally:
        _FOLLOWED.reset(token)


_NUMPY = str(Path(np.__file__).parent)  # as code says it, also where a link leads there
_HERE = str(Path(__file__).parents[2])


@lru_cache(maxsize=4096)
def _is_own(code: CodeType) -> bool:
    """Whether code is the program's own, or of a library that is always followed."""
    return origin_of(code) == "program" or any(part in code.co_filename for part in _COMPUTES)


@lru_cache(maxsize=4096)
def _is_of_library(code: CodeType) -> bool:
    """Whether code is of a library, other than numpy's, which runs on plain values."""
    return origin_of(code) == "installed" and not code.co_filename.startswith(_NUMPY)


def _is_followed(frame: FrameType, name: str) -> bool:
    code = frame.f_code
    if code.co_filename.startswith(_HERE) or code.co_name == "__array__":
        return False  # the latter is called by C, which takes what it gives for a real array
    if not (_is_own(code) or (_FOLLOWED.get() and _is_of_library(code))):
        return False
    return is_calling(frame, name)


class StandIn:
    """Something that is called instead of a function, and is equal to it for whoever compares.

    pandas looks up ``np.sum`` in a table, and numba what it compiles for ``np.zeros``. numba's
    table holds weak references to the functions that allow them, and the others themselves, so a
    stand-in allows them where what it stands for does.
    """

    __slots__ = ("__dict__",)

    def __new__(cls, original: Any, _act: Act) -> Any:
        """Make a stand-in that can be referred to weakly where the original can be."""
        kind: Any = cls
        try:
            weakref.ref(original)
        except TypeError:
            return object.__new__(kind)
        return object.__new__(_weakly(kind))

    def __init__(self, original: Any, act: Act) -> None:
        update_wrapper(self, original, updated=())
        self.stands_for = original
        self.act = act

    def __eq__(self, other: object) -> bool:
        return getattr(other, "stands_for", other) is self.stands_for

    def __hash__(self) -> int:
        return hash(self.stands_for)

    def __repr__(self) -> str:
        return repr(self.stands_for)

    def __subclasscheck__(self, kind: type) -> bool:
        return issubclass(kind, self.stands_for)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self.stands_for,)

    def __reduce__(self) -> Any:
        return pkgutil.resolve_name, (f"{self.stands_for.__module__}:{self.stands_for.__name__}",)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stands_for, name)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, self.stands_for)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Act, or be the original where the caller is not followed."""
        frame = sys._getframe(1)  # noqa: SLF001 (who calls decides)
        if _is_followed(frame, self.stands_for.__name__):
            return self.act(self.stands_for, args, kwargs)
        return self.stands_for(*args, **kwargs)


@lru_cache
def _weakly(kind: Any) -> Any:
    """A class of stand-ins, with weak references."""
    return type(kind.__name__, (kind,), {"__slots__": ("__weakref__",)})


class OfLists(StandIn):
    """A function that asks its arguments, but does not look into lists."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Act where the caller is followed and an argument is a list."""
        for arg in args:
            if type(arg) is list or type(arg) is tuple:
                frame = sys._getframe(1)  # noqa: SLF001
                if _is_followed(frame, self.stands_for.__name__):
                    return self.act(self.stands_for, args, kwargs)
                break
        return self.stands_for(*args, **kwargs)


class Anywhere(StandIn):
    """A function that is followed whoever calls it."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Act."""
        return self.act(self.stands_for, args, kwargs)
