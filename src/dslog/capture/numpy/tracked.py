"""TrackedArray: an ndarray that knows where its cells came from.

It is an ndarray, so code written for arrays takes it. Every numpy function and operator on it runs
on the plain values, once, and its result is tracked; ``np.asarray(x)`` gives the plain values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from dslog.capture.numpy.creation import LIKE, NEW, create
from dslog.capture.numpy.dispatch import execute, job_of_ufunc
from dslog.capture.numpy.flat import TrackedFlat
from dslog.capture.numpy.items import get_item, set_item
from dslog.capture.numpy.methods import Methods, run_function
from dslog.capture.numpy.naming import name_array
from dslog.capture.numpy.special import ufunc_at
from dslog.capture.numpy.state import is_scalar, node_of, plain_of


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
        return execute(job_of_ufunc(ufunc, method, inputs, kwargs), type(self))

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
