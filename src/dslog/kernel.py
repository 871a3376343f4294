"""Loops over flat arrays that numpy can't express: compiled by numba, once there is much to do.

Loading numba takes as long as everything else that lists a store or asks it for a few cells. So
a kernel runs as the plain Python that it is while its arrays are small and calls are few, and is
compiled, or its machine code read from beside the module, when that pays.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, TypeVar, cast

from dslog.cost import CostModel

Function = TypeVar("Function", bound=Callable[..., Any])
LOG = logging.getLogger("dslog")


@dataclass(frozen=True, slots=True)
class KernelCost(CostModel):
    """When to compile. Loading takes as long as some hundred thousand numbers in plain Python."""

    small: int = 256  # numbers in the arrays of a call that plain Python may loop over
    patience: int = 8192  # numbers that a kernel may have looped over when it is compiled


class Kernel:
    """A function that is compiled when its arrays are large, or it was called often."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self._plain = function
        self._fast: Callable[..., Any] | None = None
        self._spent = 0

    def __call__(self, *args: Any) -> Any:
        """Run as plain Python or compiled."""
        fast = self._fast
        if fast is None:
            cost = KernelCost.current()
            size = sum(getattr(arg, "size", 1) for arg in args)
            self._spent += size
            if size <= cost.small and self._spent <= cost.patience:
                return self._plain(*args)
            fast = self.compiled()
        return fast(*args)

    def compiled(self) -> Callable[..., Any]:
        """Return the compiled function, and put it, and those that it calls, in their modules."""
        if self._fast is None:
            names = self._plain.__globals__
            for name in self._plain.__code__.co_names:
                other = names.get(name)
                if isinstance(other, Kernel):
                    names[name] = other.compiled()
            self._fast = _numba()(self._plain)
            if names.get(self._plain.__name__) is self:
                names[self._plain.__name__] = self._fast
        return self._fast


def kernel(function: Function) -> Function:
    """Make a kernel of a function of arrays and integers, given by position.

    With ``NUMBA_DISABLE_JIT=1`` the function stays what it is, for who steps through it.
    """
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return function
    return cast("Function", Kernel(function))


def _numba() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    from numba import njit  # noqa: PLC0415 (half a second)
    from numba.core import event  # noqa: PLC0415 (the same)

    if _News.told is None:
        _News.told = False
        event.Listener.register(_News)  # which is one, though numba was not there when it was made
        event.register("numba:compile", _News())  # type: ignore[no-untyped-call]
    found: Callable[[Callable[..., Any]], Callable[..., Any]] = njit(cache=True, nogil=True)
    return found


class _News:
    """Says once that kernels are being compiled, for after an installation that takes a while."""

    told: bool | None = None

    def notify(self, happening: Any) -> None:
        """Hear of a function that numba had not compiled before."""
        function = getattr(happening.data.get("dispatcher"), "py_func", None)
        if _News.told or not getattr(function, "__module__", "").startswith("dslog."):
            return
        _News.told = True
        LOG.info("compiling kernels")
        if sys.stderr.isatty():
            sys.stderr.write("DSLog compiles its kernels, once after it was installed ...\n")
