"""ndarray's methods and attributes on tracked arrays: each is the numpy function of its name.

Those that numpy has no function for (``astype``, ``flatten`` ...) have their rules here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy as np

from dslog.capture.numpy.call import Call, Lineages
from dslog.capture.numpy.dispatch import Job, execute, job_of
from dslog.capture.numpy.indexrun import Codes
from dslog.capture.numpy.items import set_item
from dslog.capture.numpy.registry import rule
from dslog.capture.numpy.special import SPECIAL
from dslog.capture.numpy.state import Tracked, plain_of
from dslog.capture.numpy.structured import identity


def run_function(kind: type[Tracked], func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Run a numpy function on arguments with tracked arrays among them."""
    special = SPECIAL.get(func)
    if special is not None:
        return special(kind, args, kwargs)
    return execute(job_of(func, args, kwargs), kind)


def _function(func: Callable[..., Any], *, at: int = 0) -> Any:
    """Make a method that is a numpy function with the array as its argument number ``at``."""

    def method(self: Tracked, *args: Any, **kwargs: Any) -> Any:
        everything = (*args[:at], self, *args[at:])
        return run_function(type(self), func, everything, kwargs)

    method.__name__ = func.__name__
    method.__doc__ = f"See ``numpy.{func.__name__}``."
    return method


def _own(name: str) -> Any:
    """Make a method that only ndarray has."""
    func = getattr(np.ndarray, name)

    def method(self: Tracked, *args: Any, **kwargs: Any) -> Any:
        return execute(Job(f"numpy.ndarray.{name}", func, (self, *args), kwargs), type(self))

    method.__name__ = name
    method.__doc__ = f"See ``numpy.ndarray.{name}``."
    return method


def _plainly(name: str) -> Any:
    """Make a method whose result has no cells."""

    def method(self: Tracked, *args: Any, **kwargs: Any) -> Any:
        return getattr(plain_of(self), name)(*args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"See ``numpy.ndarray.{name}``."
    return method


class Methods(Tracked):
    """The methods of ndarray."""

    all = _function(np.all)
    any = _function(np.any)
    argmax = _function(np.argmax)
    argmin = _function(np.argmin)
    argpartition = _function(np.argpartition)
    argsort = _function(np.argsort)
    choose = _function(np.choose)
    clip = _function(np.clip)
    compress = _function(np.compress, at=1)
    cumprod = _function(np.cumprod)
    cumsum = _function(np.cumsum)
    diagonal = _function(np.diagonal)
    dot = _function(np.dot)
    max = _function(np.max)
    mean = _function(np.mean)
    min = _function(np.min)
    nonzero = _function(np.nonzero)
    prod = _function(np.prod)
    put = _function(np.put)
    ravel = _function(np.ravel)
    repeat = _function(np.repeat)
    round = _function(np.round)
    searchsorted = _function(np.searchsorted)
    squeeze = _function(np.squeeze)
    std = _function(np.std)
    sum = _function(np.sum)
    swapaxes = _function(np.swapaxes)
    take = _function(np.take)
    trace = _function(np.trace)
    var = _function(np.var)

    astype = _own("astype")
    copy = _own("copy")
    flatten = _own("flatten")
    getfield = _own("getfield")

    dump = _plainly("dump")
    dumps = _plainly("dumps")
    item = _plainly("item")
    tobytes = _plainly("tobytes")
    tofile = _plainly("tofile")
    tolist = _plainly("tolist")

    def conj(self) -> Any:
        """See ``numpy.conjugate``."""
        return np.conjugate(self)

    conjugate = conj

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """See ``numpy.reshape``; the shape may come as one tuple or as several integers."""
        new = shape[0] if len(shape) == 1 else shape
        return run_function(type(self), np.reshape, (self, new), kwargs)

    def transpose(self, *axes: Any) -> Any:
        """See ``numpy.transpose``; the axes may come as one tuple or as several integers."""
        order = axes[0] if len(axes) == 1 else axes or None
        return run_function(type(self), np.transpose, (self, order), {})

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """See ``numpy.ndarray.view``; as a class of its own it is not tracked any more."""
        kinds = [v for v in (*args, *kwargs.values()) if isinstance(v, type)]
        if any(issubclass(kind, np.ndarray) for kind in kinds):
            kept = [arg for arg in args if arg is not type(self)]
            if len(kept) < len(args) and not kept and not kwargs:
                return execute(Job("numpy.ndarray.view", np.ndarray.view, (self,)), type(self))
            return np.ndarray.view(plain_of(self), *args, **kwargs)
        job = Job("numpy.ndarray.view", np.ndarray.view, (self, *args), kwargs)
        return execute(job, type(self))

    def fill(self, value: Any) -> None:
        """See ``numpy.ndarray.fill``."""
        set_item(self, ..., value)

    def sort(self, *args: Any, **kwargs: Any) -> None:
        """Sort in place; see ``numpy.ndarray.sort``."""
        set_item(self, ..., run_function(type(self), np.sort, (self, *args), kwargs))

    def partition(self, *args: Any, **kwargs: Any) -> None:
        """Partition in place; see ``numpy.ndarray.partition``."""
        set_item(self, ..., run_function(type(self), np.partition, (self, *args), kwargs))

    def byteswap(self, inplace: bool = False) -> Any:  # noqa: FBT002 (numpy's)
        """See ``numpy.ndarray.byteswap``."""
        swapped = execute(Job("numpy.ndarray.byteswap", np.ndarray.byteswap, (self,)), type(self))
        if inplace:
            set_item(self, ..., swapped)
            return self
        return swapped

    def setfield(self, value: Any, dtype: Any, offset: SupportsIndex = 0) -> None:
        """See ``numpy.ndarray.setfield``."""
        self.getfield(dtype, offset)[...] = value

    def setflags(self, *args: Any, **kwargs: Any) -> None:
        """See ``numpy.ndarray.setflags``."""
        plain_of(self).setflags(*args, **kwargs)

    @property
    def flags(self) -> Any:
        """See ``numpy.ndarray.flags``."""
        return plain_of(self).flags

    @property
    def T(self) -> Any:  # noqa: N802 (numpy's)
        """See ``numpy.ndarray.T``."""
        return self.transpose()

    @property
    def mT(self) -> Any:  # noqa: N802 (numpy's)
        """See ``numpy.ndarray.mT``."""
        return run_function(type(self), np.matrix_transpose, (self,), {})

    @property
    def real(self) -> Any:
        """See ``numpy.ndarray.real``."""
        return run_function(type(self), np.real, (self,), {})

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        """See ``numpy.ndarray.imag``."""
        return run_function(type(self), np.imag, (self,), {})

    @imag.setter
    def imag(self, value: Any) -> None:
        if plain_of(self).dtype.kind == "c":
            self.imag[...] = value
        else:
            plain_of(self).imag = value

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any] | None, /) -> Any:
        return self.copy()


@rule("numpy.ndarray.astype", "numpy.ndarray.copy", "numpy.ndarray.byteswap")
def _cell_by_cell(call: Call) -> Lineages:
    return ((identity(call.outputs[0].shape),),)


@rule("numpy.ndarray.flatten", kind="index-run")
def _flatten(call: Call) -> Lineages:
    codes = Codes(call.inputs)
    return (codes.read(np.ndarray.flatten(codes.of(0), *call.args[1:], **call.kwargs)),)
