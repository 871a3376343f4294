"""ndarray's methods and attributes on tracked arrays: each is the numpy function of its name.

Those that numpy has no function for (``astype``, ``flatten`` ...) have their rules here.

``x.flat`` of tracked arrays.

Names that a user gives to tracked arrays.

TrackedArray: an ndarray that knows where its cells came from.

It is an ndarray, so code written for arrays takes it. Every numpy function and operator on it runs
on the plain values, once, and its result is tracked; ``np.asarray(x)`` gives the plain values.

``store.track(values, "A")``: where tracking begins.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, Self, SupportsIndex

import numpy as np

from dslog.algebra.product import identity
from dslog.capture.numpy.call import Call, Lineages
from dslog.capture.numpy.dispatch import call_function, call_ufunc, execute
from dslog.capture.numpy.handlers import LIKE, NEW, SPECIAL, create, get_item, set_item, ufunc_at
from dslog.capture.numpy.index_run import Codes
from dslog.capture.numpy.memory import (
    Memory,
    Tracked,
    is_scalar,
    memory_of,
    node_of,
    plain_of,
    recorder_of,
    wrap_root,
    write_codes,
)
from dslog.capture.numpy.registry import rule
from dslog.capture.numpy.view import can_be_root
from dslog.capture.recorder import Step, StoreRecorder
from dslog.errors import CaptureError


def run_function(kind: type[Tracked], func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Run a numpy function on arguments with tracked arrays among them."""
    special = SPECIAL.get(func)
    if special is not None:
        return special(kind, args, kwargs)
    return call_function(kind, func, args, kwargs)


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
        return execute(type(self), f"numpy.ndarray.{name}", func, (self, *args), kwargs)

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
                args = ()
            else:
                return np.ndarray.view(plain_of(self), *args, **kwargs)
        return execute(type(self), "numpy.ndarray.view", np.ndarray.view, (self, *args), kwargs)

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
        swap = np.ndarray.byteswap
        swapped = execute(type(self), "numpy.ndarray.byteswap", swap, (self,), {})
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


class TrackedFlat:
    """The cells of an array in C order, to read and to write; what is read is a copy."""

    def __init__(self, array: Methods) -> None:
        self.base = array

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self.base.flatten())

    def __getitem__(self, key: Any) -> Any:
        return self.base.flatten()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        plain = plain_of(self.base)
        source = node_of(value) if isinstance(value, Tracked) else None
        content = plain_of(value) if isinstance(value, Tracked) else value
        memory = memory_of(self.base)
        codes = np.zeros(plain.shape, np.int64)
        codes.flat[key] = np.arange(1, np.size(content) + 1) if source is not None else 1
        plain.flat[key] = content
        if memory is not None:
            write_codes(memory, plain, codes, source)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return plain_of(self.base).flatten().astype(dtype or self.base.dtype)

    def copy(self) -> Any:
        """Return the cells as an array of one axis."""
        return self.base.flatten()


def name_array(array: Tracked, name: str) -> None:
    """Give an array a name; one that the store knows already gets a copy of that name."""
    node, memory, state = node_of(array), memory_of(array), array.tracking
    if node is None or memory is None or state is None:
        raise CaptureError(
            f"this array is not tracked, so it can't be named: use store.track(x, {name!r})"
        )
    recorder = recorder_of(memory.recorder)
    if not recorder.rename(node, name):
        old, node = node, recorder.node(node.shape, name, name)
        recorder.record(Step("named", [old], [node], ((identity(node.shape),),), {}))
        if state.plain is memory.root:
            memory.replace(node)
        else:
            state.node = node
    if state.plain is memory.root:
        memory.relabel()


def _in_place(operation: Callable[[Any, Any], Any], name: str) -> Any:
    """Make an in-place operator: a numpy scalar has none, so it is computed and bound anew."""
    change = getattr(np.ndarray, name)

    def method(self: TrackedArray, other: Any) -> Any:
        return operation(self, other) if is_scalar(self) else change(self, other)

    method.__name__ = name
    return method


class TrackedArray(Methods):
    """A numpy array whose lineage is recorded; ``store.track`` makes one.

    Everything done with it gives arrays of this class, and scalars stay tracked as arrays of no
    axes. Views share memory as in numpy: a write through one is seen by all, in the values and in
    the lineage. What is done to ``np.asarray(x)``, or by libraries that take the values, is not
    seen.
    """

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "at":
            ufunc_at(ufunc, inputs)
            return None
        return call_ufunc(type(self), ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in LIKE or func in NEW:
            return create(self, func, args, kwargs)
        return run_function(type(self), func, args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        return get_item(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        set_item(self, key, value)

    # names

    @property
    def name(self) -> str | None:
        """The name of this array, as it is now, in the store; None when it is not tracked.

        Asking makes the name final, so what was captured so far is committed; inside a
        ``dslog.operation`` it is final when that ends.
        """
        node = node_of(self)
        return node.owner.final_name(node) if node else None

    def named(self, name: str) -> Self:
        """Give this array a name in the store and return it."""
        name_array(self, name)
        return self

    # shape and type in place

    @property
    def shape(self) -> Any:
        """See ``numpy.ndarray.shape``."""
        return np.ndarray.shape.__get__(self)

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._show(plain_of(self).view(), "shape", shape)

    @property
    def dtype(self) -> Any:
        """See ``numpy.ndarray.dtype``."""
        return np.ndarray.dtype.__get__(self)

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        self._show(plain_of(self).view(), "dtype", dtype)

    def _show(self, plain: Any, attribute: str, value: Any) -> None:
        """Look at the same memory in another way from now on."""
        setattr(plain, attribute, value)
        getattr(np.ndarray, attribute).__set__(self, value)
        if self.tracking is not None:
            self.tracking.plain, self.tracking.node, self.tracking.seen = plain, None, -1

    @property
    def flat(self) -> Any:
        """The cells in C order; see ``numpy.ndarray.flat``."""
        return TrackedFlat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat[:] = value

    # where numpy gives a scalar

    __iadd__ = _in_place(operator.add, "__iadd__")
    __isub__ = _in_place(operator.sub, "__isub__")
    __imul__ = _in_place(operator.mul, "__imul__")
    __itruediv__ = _in_place(operator.truediv, "__itruediv__")
    __ifloordiv__ = _in_place(operator.floordiv, "__ifloordiv__")
    __imod__ = _in_place(operator.mod, "__imod__")
    __ipow__ = _in_place(operator.pow, "__ipow__")
    __imatmul__ = _in_place(operator.matmul, "__imatmul__")
    __ilshift__ = _in_place(operator.lshift, "__ilshift__")
    __irshift__ = _in_place(operator.rshift, "__irshift__")
    __iand__ = _in_place(operator.and_, "__iand__")
    __ior__ = _in_place(operator.or_, "__ior__")
    __ixor__ = _in_place(operator.xor, "__ixor__")

    def __hash__(self) -> int:  # type: ignore[override]
        if is_scalar(self):
            return hash(plain_of(self)[()])
        raise TypeError(f"unhashable type: '{type(self).__name__}'")

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None:
            return round(plain_of(self).item())
        return np.round(self, digits)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not is_scalar(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(plain_of(self)[()], name)

    # as an array would

    def __contains__(self, value: Any) -> bool:
        return value in plain_of(self)

    def __repr__(self) -> str:
        return repr(self._shown())

    def __str__(self) -> str:
        return str(self._shown())

    def __format__(self, spec: str) -> str:
        return format(self._shown(), spec)

    def _shown(self) -> Any:
        return plain_of(self)[()] if is_scalar(self) else plain_of(self)

    def __reduce__(self) -> Any:
        return plain_of(self).__reduce__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return plain_of(self).__reduce_ex__(protocol)


def track(
    recorder: StoreRecorder, values: Any, name: str | None = None, *, keep_values: bool = False
) -> TrackedArray:
    """Return values as a tracked array, without a copy: writes to it change the values.

    Arrays whose cells share memory (from ``broadcast_to``, ``as_strided``) are copied.
    """
    plain = plain_of(values) if isinstance(values, Tracked) else np.asarray(values)
    plain = plain.view() if can_be_root(plain) else plain.copy()
    node = recorder.source(plain.shape, name)
    return wrap_root(TrackedArray, plain, Memory(plain, node, recorder, keep=keep_values))
