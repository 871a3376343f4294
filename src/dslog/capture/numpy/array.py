"""TrackedArray: an array that knows where its cells came from.

To Python it is an ndarray, with ndarray's methods, operators and attributes; each is the numpy
function of its name, which runs on the plain values, once, and gives tracked results. To compiled
code it is none: such code has to ask for the values, by one of the ways out below, and each of them
is noted. A subclass of ndarray could not do that: C reads its memory without a word.

``store.track(values, "A")``: where tracking begins.
"""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Any, Self, SupportsIndex

import numpy as np

from dslog.algebra.product import identity
from dslog.capture.leaks import own_read
from dslog.capture.numpy.call import Call, Lineages
from dslog.capture.numpy.cell_iterator import TrackedFlat
from dslog.capture.numpy.dispatch import call_function, call_ufunc, execute
from dslog.capture.numpy.handlers import LIKE, NEW, SPECIAL, create, ufunc_at, without_lists
from dslog.capture.numpy.index_run import Codes
from dslog.capture.numpy.item import as_tracked, get_cell, get_item, set_cell, set_item
from dslog.capture.numpy.loan import give_buffers, name_in_errors
from dslog.capture.numpy.memory import (
    SUBCLASSES,
    Memory,
    Tracked,
    TrackedScalar,
    memory_of,
    node_of,
    plain_of,
    recorder_of,
    wrap,
    wrap_latent,
    wrap_root,
    wrap_view,
)
from dslog.capture.numpy.registry import rule
from dslog.capture.numpy.scalar import CLASSES, make, new, teach_json
from dslog.capture.numpy.view import can_be_root
from dslog.capture.numpy.way_out import Leaves, decide, lend, take
from dslog.capture.recorder import Step, StoreRecorder
from dslog.errors import CaptureError


def run_function(kind: type[Tracked], func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Run a numpy function on arguments with tracked arrays among them."""
    special = SPECIAL.get(func)
    if special is not None:
        return special(kind, args, kwargs)
    if any(type(value) in (list, tuple) for value in (*args, *kwargs.values())):
        args, kwargs = without_lists(kind, func, args, kwargs)
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


def _taken(name: str) -> Any:
    """Make a method that gives values to somebody who goes on without lineage."""

    def method(self: Tracked, *args: Any, **kwargs: Any) -> Any:
        return getattr(take(self, name), name)(*args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"See ``numpy.ndarray.{name}``; what it gives is not tracked."
    return method


def _told(name: str, doc: str) -> Any:
    """Make an attribute that says nothing of the values."""
    return property(lambda self: getattr(plain_of(self), name), doc=doc)


class Methods(Tracked):
    """The methods of ndarray."""

    __slots__ = ()

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

    astype: Any = _own("astype")
    copy: Any = _own("copy")
    flatten: Any = _own("flatten")
    getfield: Any = _own("getfield")

    dump = _taken("dump")
    dumps = _taken("dumps")
    item = _taken("item")
    tobytes = _taken("tobytes")
    tofile = _taken("tofile")
    tolist = _taken("tolist")

    flags = _told("flags", "See ``numpy.ndarray.flags``.")
    itemsize = _told("itemsize", "See ``numpy.ndarray.itemsize``.")
    nbytes = _told("nbytes", "See ``numpy.ndarray.nbytes``.")
    ndim = _told("ndim", "See ``numpy.ndarray.ndim``.")
    size = _told("size", "See ``numpy.ndarray.size``.")
    strides = _told("strides", "See ``numpy.ndarray.strides``.")
    device = _told("device", "See ``numpy.ndarray.device``.")

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
        """See ``numpy.ndarray.view``; as another class of arrays it is not tracked any more."""
        kinds = [v for v in (*args, *kwargs.values()) if isinstance(v, type)]
        if type(self) in kinds or np.ndarray in kinds:
            args = tuple(arg for arg in args if arg not in (type(self), np.ndarray))
            kwargs = {key: kwargs[key] for key in kwargs if key != "type"}
        elif kinds and set(kinds) <= SUBCLASSES.keys() and len(args) + len(kwargs) == 1:
            return SUBCLASSES[kinds[0]](wrap(TrackedArray, replace(self.tracking)))
        elif any(issubclass(kind, np.ndarray) for kind in kinds):
            return lend(self, "view").view(*args, **kwargs)
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

    def resize(self, *shape: Any, refcheck: bool = True) -> None:  # noqa: ARG002 (numpy's)
        """Change shape and size in place; see ``numpy.ndarray.resize``."""
        new = shape[0] if len(shape) == 1 else shape
        memory = memory_of(self)
        if memory is not None and plain_of(self) is not memory.root:
            raise ValueError("cannot resize this array: it does not own its data")
        whole = create(type(self), self, np.zeros, (new,), {"dtype": self.dtype})
        common = slice(0, min(whole.size, self.size))
        set_item(whole.reshape(-1), common, self.ravel()[common])
        self.tracking = whole.tracking

    def __copy__(self) -> Any:
        return self.copy(order="K")

    def __deepcopy__(self, memo: dict[int, Any] | None, /) -> Any:
        return self.copy(order="K")


@rule("numpy.ndarray.astype", "numpy.ndarray.copy", "numpy.ndarray.byteswap")
def _cell_by_cell(call: Call) -> Lineages:
    return ((identity(call.outputs[0].shape),),)


@rule("numpy.ndarray.flatten", kind="index-run")
def _flatten(call: Call) -> Lineages:
    codes = Codes(call.inputs)
    return (codes.read(np.ndarray.flatten(codes.of(0), *call.args[1:], **call.kwargs)),)


def name_array(array: Tracked, name: str) -> None:
    """Give an array a name; one that the store knows already gets a copy of that name."""
    node, memory, state = node_of(array), memory_of(array), array.tracking
    if node is None or memory is None:
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


def _gives_way(other: Any) -> bool:
    """Whether an operator is left to its right side, as an ndarray would leave it."""
    if type(other) is np.ndarray or isinstance(other, (Tracked, TrackedScalar)):
        return False
    ufunc = getattr(type(other), "__array_ufunc__", _MISSING)
    if ufunc is _MISSING:
        priority = getattr(other, "__array_priority__", 0.0)
        return not isinstance(other, np.generic) and priority > 0
    return ufunc is None


_MISSING = object()


def _speaks(value: Any) -> bool:
    """Whether something has its own word on ufuncs, and is neither numpy's nor ours."""
    kind = type(value)
    return (
        not issubclass(kind, (np.ndarray, np.generic, Tracked, TrackedScalar))
        and getattr(kind, "__array_ufunc__", None) is not None
    )


def _operator(name: str, ufunc: np.ufunc, *, swap: bool = False) -> Any:
    """Make an operator: Python's, on the plain values, with the lineage of a ufunc."""
    run = getattr(operator, f"__{name}__") if name != "divmod" else divmod

    def method(self: TrackedArray, other: Any) -> Any:
        if _gives_way(other):
            return NotImplemented
        if _speaks(other):
            return ufunc(other, self) if swap else ufunc(self, other)
        if type(other) in (list, tuple):
            other = as_tracked(other, type(self))
        args = (other, self) if swap else (self, other)
        return execute(type(self), f"numpy.{ufunc.__name__}", ufunc, args, {}, run=run)

    return method


def _unary(name: str, ufunc: np.ufunc) -> Any:
    run = getattr(operator, f"__{name}__")

    def method(self: TrackedArray) -> Any:
        return execute(type(self), f"numpy.{ufunc.__name__}", ufunc, (self,), {}, run=run)

    return method


def _in_place(name: str, ufunc: np.ufunc) -> Any:
    """Make an in-place operator: the array is written, in the values and in the lineage."""
    run = getattr(operator, f"__i{name}__")

    def method(self: TrackedArray, other: Any) -> Any:
        if _gives_way(other):
            return NotImplemented
        what = f"numpy.{ufunc.__name__}"
        if type(other) in (list, tuple):
            other = as_tracked(other, type(self))
        return execute(type(self), what, ufunc, (self, other), {}, out=(self,), run=run)

    return method


def _asks_pandas(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("pandas.")


_CALLS = frozenset(code for name, code in dis.opmap.items() if name.startswith("CALL"))


def _in_shuffle(frame: FrameType) -> bool:
    """Whether compiled code that shuffles takes an item, to put it in the place of another.

    numpy's generators swap the rows of an ndarray through a buffer, and the items of anything else
    as those of a list, where rows that look at the array would change under their hands.
    """
    code = frame.f_code
    return "shuffle" in code.co_names and code.co_code[frame.f_lasti] in _CALLS


class TrackedArray(Leaves, Methods):
    """A numpy array whose lineage is recorded; ``store.track`` makes one.

    Everything done with it gives tracked arrays and scalars. Views share memory as in numpy: a
    write through one is seen by all, in the values and in the lineage. Where values leave, as by
    ``float(x)`` or in compiled code, that is noted: see ``store.leaks()``.
    """

    __slots__ = ()
    __array_priority__ = 0.0
    scalar = staticmethod(make)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """An ndarray, but for pandas, whose compiled code wants real ones: it takes the values."""
        return type(self) if _asks_pandas(sys._getframe(1)) else np.ndarray  # noqa: SLF001

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(map(_speaks, inputs)):
            return NotImplemented
        if method == "at":
            ufunc_at(ufunc, inputs)
            return None
        inputs = tuple([as_tracked(value, TrackedArray) for value in inputs])
        return call_ufunc(TrackedArray, ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        func = getattr(func, "stands_for", func)
        if func in LIKE or func in NEW:
            return create(TrackedArray, self, func, args, kwargs)
        return run_function(TrackedArray, func, args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return numpy: what it does with a tracked array is tracked."""
        return np

    def __getitem__(self, key: Any) -> Any:
        kind = type(key)
        if kind is tuple and len(key) == 2:  # a loop over a matrix: what follows is worth it
            state = self.tracking
            steps, memory, (i, j) = state.steps, state.memory, key
            if type(i) is type(j) is int and steps and len(steps) == 3 and memory is not None:
                item = state.plain[key]
                numbers = CLASSES.get(type(item))
                if i >= 0 and j >= 0 and memory.still and numbers and not state.picked:
                    if memory.recorder.closed:
                        return item
                    scalar = new(numbers)
                    scalar.plain = item
                    scalar.source = (memory.node, steps[0] + i * steps[1] + j * steps[2])
                    scalar.home = memory.recorder
                    scalar.made = ""
                    scalar.use = memory.use
                    return scalar
        found = get_cell(self, key) if kind in (tuple, int) else get_item(self, key)
        if kind is int and isinstance(found, Tracked) and _in_shuffle(sys._getframe(1)):  # noqa: SLF001
            return found.copy()
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(key) not in (tuple, int) or not set_cell(self, key, value):
            set_item(self, key, value)

    if TYPE_CHECKING:  # numpy's would give arrays without a name
        __add__: Any
        __radd__: Any
        __sub__: Any
        __rsub__: Any
        __mul__: Any
        __rmul__: Any
        __truediv__: Any
        __rtruediv__: Any
        __floordiv__: Any
        __rfloordiv__: Any
        __mod__: Any
        __rmod__: Any
        __pow__: Any
        __rpow__: Any
        __matmul__: Any
        __rmatmul__: Any
        __and__: Any
        __rand__: Any
        __or__: Any
        __ror__: Any
        __xor__: Any
        __rxor__: Any
        __lshift__: Any
        __rlshift__: Any
        __rshift__: Any
        __rrshift__: Any
    else:  # what no array has is to be found

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")

    def __len__(self) -> int:
        return len(plain_of(self))

    def __iter__(self) -> Iterator[Any]:
        plain = plain_of(self)
        if not plain.ndim:
            raise TypeError("iteration over a 0-d array")
        return (get_cell(self, place) for place in range(len(plain)))

    # names

    @property
    def name(self) -> str | None:
        """The name of this array, as it is now, in the store; None when it is not tracked.

        Asking makes the name final, so what was captured so far is committed; inside a
        ``dslog.operation`` it is final when that ends. pandas, which takes what has a name for a
        column, finds none.
        """
        if _asks_pandas(sys._getframe(1)):  # noqa: SLF001
            raise AttributeError("name")
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
        return self.tracking.plain.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._show("shape", shape)

    @property
    def dtype(self) -> Any:
        """See ``numpy.ndarray.dtype``."""
        return self.tracking.plain.dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        self._show("dtype", dtype)

    def _show(self, attribute: str, value: Any) -> None:
        """Look at the same memory in another way from now on."""
        plain = plain_of(self).view()
        setattr(plain, attribute, value)
        self.tracking = replace(self.tracking, plain=plain, node=None, seen=-1, steps=None)

    @property
    def base(self) -> Any:
        """The array whose memory a view looks at; see ``numpy.ndarray.base``."""
        memory, latent = memory_of(self), self.tracking.latent
        if memory is not None and plain_of(self) is not memory.root:
            return wrap_view(type(self), memory.root, memory, memory.node)
        if memory is None and latent is not None and plain_of(self) is not latent.root:
            return wrap_latent(type(self), latent.root, latent)
        return None

    @property
    def flat(self) -> Any:
        """The cells in C order; see ``numpy.ndarray.flat``."""
        return TrackedFlat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat[:] = value

    __hash__ = None  # type: ignore[assignment]

    # what leaves

    def __contains__(self, value: Any) -> bool:
        if isinstance(value, (Tracked, TrackedScalar)):
            value = decide(value, "in")
        return value in decide(self, "in")

    def __index__(self) -> int:
        return operator.index(take(self, "index"))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        plain = lend(self, "__array__")
        if copy:
            return np.array(plain, dtype)
        return np.asarray(plain, dtype, copy=copy)

    @property
    def __array_interface__(self) -> Any:
        return lend(self, "__array_interface__", ends=False).__array_interface__

    @property
    def __array_struct__(self) -> Any:
        return lend(self, "__array_struct__", ends=False).__array_struct__

    def buffer_values(self, flags: int) -> Any:
        """Return the values for the buffer protocol.

        ``np.frombuffer`` (1) and ``np.ndarray(buffer=)`` (0x99) want bytes to write to, give the
        buffer back at once, and go on with the memory; so may others that want such.
        """
        asked = flags | plain_of(self).flags.writeable ^ 1
        return lend(self, "buffer", ends=asked not in (1, 0x99))

    def __dlpack__(self, **options: Any) -> Any:
        return lend(self, "__dlpack__").__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return plain_of(self).__dlpack_device__()

    @property
    def data(self) -> Any:
        """See ``numpy.ndarray.data``; the values leave tracking."""
        return lend(self, "data").data

    @property
    def ctypes(self) -> Any:
        """See ``numpy.ndarray.ctypes``; the values leave tracking."""
        return lend(self, "ctypes", ends=False).ctypes


UFUNCS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "matmul": np.matmul,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}
for _name, _ufunc in UFUNCS.items():
    setattr(TrackedArray, f"__{_name}__", _operator(_name, _ufunc))
    setattr(TrackedArray, f"__r{_name}__", _operator(_name, _ufunc, swap=True))
    setattr(TrackedArray, f"__i{_name}__", _in_place(_name, _ufunc))
for _name, _ufunc in {
    "divmod": np.divmod,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}.items():
    setattr(TrackedArray, f"__{_name}__", _operator(_name, _ufunc))
setattr(TrackedArray, "__rdivmod__", _operator("divmod", np.divmod, swap=True))  # noqa: B010
for _name, _ufunc in {
    "neg": np.negative,
    "pos": np.positive,
    "abs": np.absolute,
    "invert": np.invert,
}.items():
    setattr(TrackedArray, f"__{_name}__", _unary(_name, _ufunc))
give_buffers(TrackedArray)
name_in_errors(TrackedArray, "(dslog.watch its library, or give it dslog.plain(x))")


def track(
    recorder: StoreRecorder, values: Any, name: str | None = None, *, keep_values: bool = False
) -> TrackedArray:
    """Return values as a tracked array, without a copy: writes to it change the values.

    Arrays whose cells share memory (from ``broadcast_to``, ``as_strided``) are copied.
    """
    teach_json()
    plain = plain_values(values)
    plain = plain.view() if can_be_root(plain) else plain.copy()
    node = recorder.source(plain.shape, name)
    return wrap_root(TrackedArray, plain, Memory(plain, node, recorder, keep=keep_values))


@own_read
def plain_values(values: Any) -> Any:
    """Return values without their lineage, on purpose: this is no leak.

    A tracked array gives its ndarray, not a copy; anything else what ``np.asarray`` makes of it.
    """
    if isinstance(values, TrackedScalar):
        return values.plain
    if isinstance(values, Tracked):
        return plain_of(values)[()] if isinstance(values, np.void) else plain_of(values)
    return np.asarray(values)
