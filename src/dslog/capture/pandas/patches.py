"""What of pandas has stand-ins while a store tracks: public classes, functions, accessors."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from dslog.capture.foreign.watch import is_program
from dslog.capture.numpy.memory import Tracked
from dslog.capture.pandas.assigned_name import assigned_name, program_frame
from dslog.capture.pandas.interception import (
    INDEXERS,
    as_pandas,
    intercepted,
    leak_all,
    may_be_tracked,
    run,
)
from dslog.capture.pandas.table_state import ATTRIBUTE, HERE, state_of, untracked, words
from dslog.capture.recorder import Node, StoreRecorder

_OPERATORS = """__add__ __radd__ __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __imul__
 __truediv__ __rtruediv__ __itruediv__ __floordiv__ __rfloordiv__ __ifloordiv__ __mod__ __rmod__
 __imod__ __pow__ __rpow__ __ipow__ __and__ __rand__ __iand__ __or__ __ror__ __ior__ __xor__
 __rxor__ __ixor__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __neg__ __pos__ __abs__ __invert__
 __matmul__ __rmatmul__ __divmod__ __rdivmod__ __round__ __getitem__ __setitem__ __delitem__
 __array__ __array_ufunc__ __iter__ __float__ __int__ __repr__ __str__ __copy__ __deepcopy__
 __getstate__ __dataframe__ __arrow_c_stream__"""
_UNTOUCHED = frozenset(words("keys info memory_usage pipe assign hist boxplot set_flags bool"))
_PROPERTIES = {"DataFrame": ("values", "T"), "Series": ("values", "T", "array")}
_NAMES = """merge merge_asof merge_ordered concat pivot pivot_table crosstab melt get_dummies
 from_dummies lreshape wide_to_long cut qcut factorize unique isna isnull notna notnull
 to_datetime to_numeric to_timedelta eval value_counts"""
_DUNDERS = words(_OPERATORS)
_Change = tuple[Any, str, bool, Any, Any]
_PATCHED: list[_Change] = []  # place and name, whether and what was there, what is
_KNOWN: list[_Change] = []  # those of pandas' classes, found once
_FUNCTIONS: dict[str, tuple[Any, Any]] = {}
_USERS: list[StoreRecorder] = []


def begin(home: StoreRecorder) -> None:
    """Have calls of pandas seen for as long as a store tracks."""
    if any(user is home for user in _USERS):
        return
    _USERS.append(home)
    home.at_close(functools.partial(end, home))
    if len(_USERS) == 1:
        known = list(_KNOWN)
        if not known:
            _replace_all()
            _KNOWN.extend(_PATCHED)
        for place, name, _, _, new in known:
            patch(place, name, new)
        patch_everywhere(_FUNCTIONS)


def end(home: StoreRecorder) -> None:
    """Let pandas be as it was once no store tracks."""
    _USERS[:] = [user for user in _USERS if user is not home]
    if not _USERS:
        while _PATCHED:
            place, name, there, old, _ = _PATCHED.pop()
            if there:
                setattr(place, name, old)
            else:
                delattr(place, name)


def _public(kind: type) -> Iterator[str]:
    for name in dir(kind):
        if name in _UNTOUCHED or (name.startswith("_") and name != "_repr_html_"):
            continue
        if inspect.isfunction(inspect.getattr_static(kind, name)):
            yield name
    for name in _DUNDERS:
        if inspect.isfunction(inspect.getattr_static(kind, name, None)):
            yield name


def patch(place: Any, name: str, new: Any) -> None:
    """Put something in the place of a name of pandas, until no store tracks."""
    there = name in vars(place)
    old = vars(place).get(name)
    setattr(place, name, new)
    _PATCHED.append((place, name, there, old, new))


def _replace_all() -> None:
    from pandas.core import indexing, resample, window
    from pandas.core.arrays.categorical import CategoricalAccessor
    from pandas.core.groupby.generic import DataFrameGroupBy, SeriesGroupBy
    from pandas.core.indexes import accessors
    from pandas.core.strings.accessor import StringMethods

    windows = [
        one
        for name in ("Rolling", "RollingGroupby", "Expanding", "ExpandingGroupby",
                     "ExponentialMovingWindow", "ExponentialMovingWindowGroupby", "Window")
        if (one := getattr(window, name, None)) is not None
    ]  # fmt: skip
    window_class = sys.modules["pandas.core.window.rolling"].Window
    windows = [*windows, window_class] if window_class not in windows else windows
    samplers = [
        one
        for one in vars(resample).values()
        if inspect.isclass(one) and issubclass(one, resample.Resampler)
    ]
    classes: list[tuple[str, type]] = [("DataFrame", pd.DataFrame), ("Series", pd.Series)]
    classes += [("group", one) for one in (DataFrameGroupBy, SeriesGroupBy)]
    classes += [("window", one) for one in dict.fromkeys(windows)]
    classes += [("resample", one) for one in samplers]
    classes += [("str", StringMethods), ("cat", CategoricalAccessor)]
    dates = (
        accessors.DatetimeProperties,
        accessors.TimedeltaProperties,
        accessors.PeriodProperties,
    )
    classes += [("dt", one) for one in dates]
    for kind, each in classes:
        for name in list(_public(each)):
            if name == "__iter__" and each is pd.DataFrame:
                continue
            patch(each, name, intercepted(kind, name, getattr(each, name)))
        if kind in ("dt", "cat"):
            _replace_properties(kind, each)
    for kind, names in _PROPERTIES.items():
        for name in names:
            _replace_property(kind, getattr(pd, kind), name)
    for kind, name in INDEXERS.items():
        each = getattr(indexing, name)
        for method in ("__getitem__", "__setitem__"):
            patch(each, method, intercepted(kind, method, getattr(each, method)))
    _replace_cat_parent(CategoricalAccessor)
    patch(pd.DataFrame, "assign", _by_steps(pd.DataFrame.assign))
    for each in (pd.DataFrame, pd.Series):
        patch(each, "__array_function__", _array_function)
    for kind in ("DataFrame", "Series"):
        _replace_constructor(kind, getattr(pd, kind))
        _replace_index(getattr(pd, kind))
    for name in words(_NAMES):
        original = getattr(pd, name)
        _FUNCTIONS[name] = original, intercepted("", name, original)


def _replace_properties(kind: str, each: type) -> None:
    for name in dir(each):
        if not name.startswith("_") and isinstance(inspect.getattr_static(each, name), property):
            _replace_property(kind, each, name)


def _replace_property(kind: str, each: type, name: str) -> None:
    old = inspect.getattr_static(each, name, None)
    if not isinstance(old, property) or old.fget is None:
        return
    get = intercepted(kind, name, old.fget)
    patch(each, name, property(get, old.fset, old.fdel, old.__doc__))


def _replace_index(each: type) -> None:
    """Note that labels which carry data leave, where a program takes the index itself."""
    old = inspect.getattr_static(each, "index")
    get = old.__get__

    def index(self: Any) -> Any:
        found = get(self, type(self))
        if not HERE.inside and ATTRIBUTE in vars(self):
            state = state_of(self)
            asks = str(sys._getframe(1).f_globals.get("__name__"))  # noqa: SLF001
            if state is not None and state.indexed and not asks.startswith("pandas."):
                state.home.leak("index", [state.node])
        return found

    patch(each, "index", property(as_pandas(index), old.__set__, doc=old.__doc__))


def _replace_cat_parent(each: type) -> None:
    """Let ``series.cat`` remember its series: pandas' accessor knows the values alone."""
    original = each.__init__  # type: ignore[misc]

    @functools.wraps(original)
    def init(self: Any, data: Any) -> None:
        with untracked():
            original(self, data)
        object.__setattr__(self, "_dslog_parent", data)

    patch(each, "__init__", init)


def _replace_constructor(kind: str, each: type) -> None:
    original = each.__init__  # type: ignore[misc]

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if HERE.inside:
            original(self, *args, **kwargs)
        elif any(map(may_be_tracked, args)) or any(map(may_be_tracked, kwargs.values())):
            _construct(self, original, kind, args, kwargs)
        else:
            original(self, *args, **kwargs)
            if ON_SOURCE:
                ON_SOURCE[-1](kind, self, args, kwargs)

    patch(each, "__init__", init)


ON_SOURCE: list[Callable[..., None]] = []
"""What is told of a frame that a program makes of values that are not tracked."""


def _construct(
    self: Any, original: Any, kind: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Make a frame or a series of tracked values."""
    first = [self]

    @as_pandas
    def make(data: Any = None, *given: Any, **options: Any) -> Any:
        made = first.pop() if first else object.__new__(type(self))  # others are code runs
        original(made, data, *given, **options)
        return made

    run("", kind, make, args, kwargs)


def _by_steps(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method that is a few others in a row be followed through them."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if HERE.inside or state_of(self) is None:
            return original(self, *args, **kwargs)
        was, HERE.anonymous = HERE.anonymous, True
        try:
            result = original(self, *args, **kwargs)
        finally:
            HERE.anonymous = was
        state = state_of(result)
        if state is not None and not was:
            _name_late(state.node, program_frame(sys._getframe(1)))  # noqa: SLF001
        return result

    return method


def _name_late(node: Node, frame: Any) -> None:
    """Name a node after the variable that is about to be assigned, unless it has a name."""
    name = assigned_name(frame)
    if name is not None and not node.is_named:
        node.wanted = node.base = name


def _array_function(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Run a function of numpy as on any frame; where it takes values, on tracked arrays."""
    del self, types
    plain = getattr(func, "_implementation", func)
    if HERE.inside:
        return plain(*args, **kwargs)
    if any(issubclass(type(value), Tracked) for value in (*args, *kwargs.values())):
        return _on_arrays(func, args, kwargs)
    was, HERE.taken = HERE.taken, []
    try:
        result = plain(*args, **kwargs)
        taken = HERE.taken
    finally:
        HERE.taken = was
    if not taken or not isinstance(result, (np.ndarray, np.generic, tuple, list)):
        for value in taken or ():
            leak_all(func.__name__, (value,), {})
        return result
    return _on_arrays(func, args, kwargs)


def _on_arrays(func: Any, args: Any, kwargs: Any) -> Any:
    given = [array_of_table(arg) for arg in args]
    return func(*given, **{key: array_of_table(value) for key, value in kwargs.items()})


def array_of_table(value: Any) -> Any:
    """Return a tracked frame or series as a tracked array, also inside lists."""
    if isinstance(value, (pd.DataFrame, pd.Series)) and not HERE.inside:
        return value.to_numpy() if state_of(value) is not None else np.asarray(value)
    if type(value) in (list, tuple):
        return type(value)(array_of_table(item) for item in value)
    return value


def patch_everywhere(functions: Mapping[str, tuple[Any, Any]]) -> None:
    """Replace functions of pandas, by name, also where a program has imported them."""
    changes = {id(old): (old, new) for old, new in functions.values()}
    for name, (_, new) in functions.items():
        patch(pd, name, new)
    for module in list(sys.modules.values()):
        if _is_program(module, getattr(module, "__file__", None)):
            for known, value in list(vars(module).items()):
                if id(value) in changes and changes[id(value)][0] is value:
                    patch(module, known, changes[id(value)][1])


@functools.lru_cache(maxsize=4096)
def _is_program(module: Any, _file: str | None) -> bool:
    return bool(is_program(module))
