"""Where calls of pandas are seen: each public method and function, the outermost call alone.

While a store tracks, the public names of pandas' classes have stand-ins that look for tracked
values among the arguments and otherwise do nothing. Inside of a call pandas runs as it is: what its
methods call of each other is not looked at. So one wrapper serves all of pandas, whatever its
version, and frames are pandas' own class: no subclass could be taken for one everywhere.
"""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.core.groupby.groupby import BaseGroupBy
from pandas.core.window.rolling import BaseWindow

from dslog.capture.numpy.array import TrackedArray
from dslog.capture.numpy.memory import (
    Memory,
    Tracked,
    TrackedScalar,
    wrap_root,
    wrap_scalar,
)
from dslog.capture.pandas import rules, table_write
from dslog.capture.pandas.assigned_name import assigned_name, program_frame
from dslog.capture.pandas.code_run import code_run
from dslog.capture.pandas.pandas_call import (
    RULES,
    CallInputs,
    PandasCall,
    Sources,
    TwoStoresError,
    from_all,
)
from dslog.capture.pandas.table_state import (
    ATTRIBUTE,
    HERE,
    Carrier,
    attach,
    carrier_of,
    label_names,
    record_version,
    shape_of,
    state_of,
    words,
)
from dslog.capture.place import find_place
from dslog.capture.recorder import Node, StoreRecorder
from dslog.store.arguments import canonical_args

INDEXERS = {"loc": "_LocIndexer", "iloc": "_iLocIndexer", "at": "_AtIndexer", "iat": "_iAtIndexer"}
_NAMED = frozenset({"str", "dt", "cat", "group", "window"})
_LOOKS = "__repr__ __str__ _repr_html_ to_string to_html to_markdown to_latex equals"
_TAKES = """to_csv to_parquet to_json to_excel to_sql to_feather to_hdf to_pickle to_stata to_orc
 to_xml to_gbq to_clipboard to_dict to_records to_xarray __array__ __getstate__ tolist to_list
 __dataframe__ __arrow_c_stream__ __float__ __int__"""
_LOSES = frozenset(words(_TAKES))
_WAYS = frozenset(words(_LOOKS)) | _LOSES
_KEEPS_FUNCTIONS = frozenset({"DataFrame", "Series", "insert", "fillna"})
"""What takes a function of the program for a value."""


def may_be_tracked(value: Any) -> bool:
    """Whether a value, or something inside of it, may be tracked."""
    kind = type(value)
    if kind is int or kind is str or kind is float or kind is bool or value is None:
        return False
    own = getattr(value, "__dict__", None)
    if type(own) is dict and ATTRIBUTE in own:
        return True
    if issubclass(kind, (Tracked, TrackedScalar)):
        return True
    if kind is list or kind is tuple:
        return any(map(may_be_tracked, value))
    return kind is dict and any(map(may_be_tracked, value.values()))


def _owner(kind: str, value: Any) -> Any:
    """Return the frame or series that an indexer or an accessor is of."""
    if kind in INDEXERS:
        return value.obj
    if kind == "str":
        return value._orig  # noqa: SLF001 (pandas has no other way to the series)
    if kind == "dt":
        return value._parent if value.orig is None else value.orig  # noqa: SLF001
    if kind == "cat":
        return vars(value).get("_dslog_parent", value)
    return value


def intercepted(kind: str, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """Make what takes the place of a method or a function of pandas."""
    bare = kind in ("", "DataFrame", "Series", "group", "window", "Index")

    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        if HERE.inside:
            return original(*args, **kwargs)
        if bare:
            if not (
                any(map(may_be_tracked, args))
                or (kwargs and any(map(may_be_tracked, kwargs.values())))
            ):
                return original(*args, **kwargs)
        elif not may_be_tracked(_owner(kind, args[0])) and not any(map(may_be_tracked, args)):
            return original(*args, **kwargs)
        return run(kind, name, original, args, kwargs)

    found: Callable[..., Any] = as_pandas(method)
    return found


def as_pandas(function: Any) -> Any:
    """Let a function pass for one of pandas' own: its warnings name the first caller outside."""
    function.__code__ = function.__code__.replace(co_filename=_FILE)
    return function


_FILE = str(Path(pd.__file__).parent / "core" / "tracked.py")


@as_pandas
def run(
    kind: str,
    name: str,
    original: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Run a call with tracked values among its arguments, and record it."""
    HERE.inside = True
    ran = False
    result: Any = None
    inputs = CallInputs()
    given, options = args, kwargs
    call: PandasCall | None = None
    try:
        try:
            if name not in _KEEPS_FUNCTIONS:
                inputs.callback = functools.partial(_callback, inputs)
            owner = _owner(kind, args[0]) if args and kind else None
            if owner is not None and owner is not args[0]:
                inputs.add(owner)
            most = 2 if name == "__setitem__" and args[2:] and callable(args[2]) else len(args)
            given = tuple([inputs.add(arg) for arg in args[:most]]) + args[most:]
            options = {key: inputs.add(value) for key, value in kwargs.items()}
            call = PandasCall(kind, name, original, given, options, owner, inputs.found)
            call.home, call.has_functions = inputs.home, inputs.has_functions
            if inputs.home is not None:
                table_write.prepare(call)
        except TwoStoresError:
            given = tuple([_plain(arg) for arg in args])
            options = {key: _plain(value) for key, value in kwargs.items()}
            call = None
            leak_all(name, args, kwargs)
        result = original(*given, **options)
        ran = True
        if call is None or inputs.home is None:
            return result
        call.result = result
        return _finish(call, inputs)
    except Exception as error:
        if not ran:
            raise
        return give_up(name, args, kwargs, result, error)
    finally:
        HERE.inside = False


def _plain(value: Any) -> Any:
    return CallInputs().add(value) if isinstance(value, (Tracked, TrackedScalar)) else value


def leak_all(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Note that the values of a call's arguments leave."""
    for value in (*args, *kwargs.values()):
        state = state_of(value)
        if state is not None:
            state.home.leak(name, [state.node], tell=False)


def give_up(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, error: Exception
) -> Any:
    """Go on untracked after an error of ours, and say so once for each place."""
    found = CallInputs()
    for value in (*args, *kwargs.values()):
        found.add(value)
    for one in found.found:
        one.node.owner.leak(name, [one.node], tell=False)  # type: ignore[attr-defined]
    frame = program_frame(sys._getframe(1))  # noqa: SLF001
    place = find_place(frame)
    warnings.warn_explicit(
        f"the lineage of {name}() is not recorded, for reading it failed: "
        f"{type(error).__name__}: {error}",
        RuntimeWarning,
        place.file,
        place.line or 1,
    )
    return result


def _callback(inputs: CallInputs, function: Any) -> Any:
    """Let a function of the program be tracked while pandas calls it."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        was, HERE.inside = HERE.inside, False
        try:
            result = function(*args, **kwargs)
        finally:
            HERE.inside = was
        if may_be_tracked(result):
            more = CallInputs()
            result = more.add(result)
            inputs.returned += more.found
        return result

    return called


# results


def _finish(call: PandasCall, inputs: CallInputs) -> Any:
    """Record a call that was run, and give its result a place in the graph."""
    result, home = call.result, inputs.home
    assert home is not None  # noqa: S101
    for one in inputs.returned:
        if all(one.node is not known.node for known in call.inputs):
            call.inputs.append(one)
    if table_write.is_write(call):
        table_write.record_write(call, home, _describe(call))
        return result
    if call.name == "__array__" and HERE.taken is not None:
        HERE.taken.append(call.owner)
        return result
    if call.name in _WAYS:
        nodes = [one.node for one in call.inputs]
        home.leak(call.name, nodes, loses=call.name in _LOSES)
        return result
    return _adopt(call, result, home, inputs)


def _adopt(call: PandasCall, result: Any, home: StoreRecorder, inputs: CallInputs) -> Any:
    if isinstance(result, (pd.DataFrame, pd.Series)):
        if state_of(result) is not None and (
            call.input_of(result) is not None or call.name in ("__getitem__", "get")
        ):
            return result
        found = _find(call, result, several=False)
        if inputs.returned:
            found = _with_returned(call, found, result, inputs)
        node = _node(call, found, result, home)
        attach(result, node, home, indexed=found.indexed)
        return result
    if result is None or result is NotImplemented or isinstance(result, (bool, type)):
        return result
    if _carries(result):
        values = tuple(one.value for one in call.inputs)
        before = carrier_of(call.owner)
        calls = (*(before.calls if before else ()), (call.name, call.args[1:], dict(call.kwargs)))
        object.__setattr__(result, ATTRIBUTE, Carrier(values, calls))
        return result
    if isinstance(result, np.ndarray):
        if result.dtype.hasobject and call.name not in ("to_numpy", "values"):
            home.leak(call.name, [one.node for one in call.inputs])
            return result
        found = _find(call, result, several=False)
        node = _node(call, found, result, home)
        return wrap_root(TrackedArray, result, Memory(result, node, home))
    if isinstance(result, (np.generic, int, float, complex)):
        return _number(call, result, home)
    if (
        isinstance(result, (tuple, list))
        and result
        and all(isinstance(one, (pd.DataFrame, pd.Series, np.ndarray, pd.Index)) for one in result)
    ):
        made = [_one_of(call, one, place, home) for place, one in enumerate(result)]
        return type(result)(made) if type(result) in (tuple, list) else result
    if _is_iterator(result):
        if call.kind == "group":
            return rules.group_rules.iterate_groups(call, result)
        return table_write.iterate_cells(call, result, home)
    if not isinstance(result, pd.Index) or any(one.indexed for one in call.inputs):
        home.leak(call.name, [one.node for one in call.inputs])
    return result


def _is_iterator(value: Any) -> bool:
    return isinstance(value, Iterator) or type(value).__name__ in ("zip", "map", "generator")


def _carries(value: Any) -> bool:
    return isinstance(value, (BaseGroupBy, BaseWindow))


def _one_of(call: PandasCall, value: Any, place: int, home: StoreRecorder) -> Any:
    """Give one of several results its place."""
    if isinstance(value, (pd.DataFrame, pd.Series)):
        found = _find(call, value, several=True)
        attach(value, _node(call, found, value, home, place), home, indexed=found.indexed)
        return value
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        found = _find(call, value, several=True)
        node = _node(call, found, value, home, place)
        return wrap_root(TrackedArray, value, Memory(value, node, home))
    home.leak(call.name, [one.node for one in call.inputs])
    return value


def _find(call: PandasCall, result: Any, *, several: bool) -> Sources:
    """Find the lineage of a result: by a rule, by numbers of cells, or everything."""
    function = RULES.get(f"{call.kind}.{call.name}")
    single = PandasCall(
        call.kind, call.name, call.func, call.args, call.kwargs, call.owner, call.inputs, result,
        call.before, call.home, call.has_functions,
    )  # fmt: skip
    if function is not None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = function(single)
        except Exception:
            if DEBUG:
                raise
            found = None
        if found is not None:
            return found
    if not several:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = code_run(single)
        except Exception:  # noqa: BLE001 (it was a trial)
            found = None
        if found is not None:
            return found
    return from_all(single, result)


DEBUG: list[int] = []


def _with_returned(call: PandasCall, found: Sources, result: Any, inputs: CallInputs) -> Sources:
    """Add what functions of the program gave back that was made of other tracked values."""
    known = from_all(call, result)
    nodes = {one.node for one in inputs.returned}
    more = [(one, parts) for one, parts in known.parts if one.node in nodes]
    if found.indexed != known.indexed:
        return known
    return Sources([*found.parts, *more], found.indexed, exact=False)


def _node(
    call: PandasCall, found: Sources, result: Any, home: StoreRecorder, place: int = 0
) -> Node:
    is_table = isinstance(result, (pd.DataFrame, pd.Series))
    shape = shape_of(result, indexed=found.indexed) if is_table else np.shape(result)
    base = call.inputs[0].node.base
    frame = program_frame(sys._getframe(1))  # noqa: SLF001
    name = None if HERE.anonymous else assigned_name(frame, place)
    wanted = name or f"{base}.{_suffix(call, frame)}"
    args = _describe(call)
    if is_table:
        args["columns"] = label_names(result, indexed=found.indexed)
    return record_version(
        home,
        _op(call),
        args,
        [(one.node, parts) for one, parts in found.parts],
        shape,
        wanted,
        base,
        exact=found.exact,
        influences=[(one.node, parts) for one, parts in found.decided],
    )


def _op(call: PandasCall) -> str:
    return (
        call.name.strip("_") if call.kind not in _NAMED else f"{call.kind}.{call.name.strip('_')}"
    )


def _suffix(call: PandasCall, frame: Any) -> str:
    return call.name.strip("_") + (f":{frame.f_lineno}" if frame is not None else "")


def _describe(call: PandasCall) -> dict[str, object]:
    """Return a call's plain arguments, as JSON values."""
    shown: dict[str, object] = {}
    rest = call.args[1:] if call.kind else call.args
    names = list(inspect.signature(call.func).parameters) if call.args else []
    offset = 1 if call.kind else 0
    for at, value in enumerate(rest):
        shown[names[at + offset] if at + offset < len(names) else str(at)] = value
    shown |= call.kwargs
    found: dict[str, object] = {}
    for name, value in shown.items():
        text = _shown(value)
        if text is not None:
            found[name] = text
    return dict(canonical_args(found))


def _shown(value: Any, deep: int = 0) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value if not isinstance(value, str) else value[:200]
    if isinstance(value, (list, tuple)) and deep < 2 and len(value) <= 16:
        return [_shown(item, deep + 1) for item in value]
    if isinstance(value, dict) and deep < 2 and len(value) <= 16:
        return {str(key): _shown(item, deep + 1) for key, item in value.items()}
    if callable(value):
        return getattr(value, "__qualname__", type(value).__name__)
    return None if deep == 0 else type(value).__name__


def _number(call: PandasCall, result: Any, home: StoreRecorder) -> Any:
    """Return a number as a tracked one."""
    if type(result) not in (int, float, complex) and not isinstance(result, np.generic):
        home.leak(call.name, [one.node for one in call.inputs])
        return result
    if isinstance(result, (np.str_, np.bytes_)):
        home.leak(call.name, [one.node for one in call.inputs])
        return result
    found = _find(call, result, several=False)
    cell = call.before.get("cell")
    if cell is not None:
        return TrackedArray.scalar(result, cell, home)
    return wrap_scalar(TrackedArray, result, _node(call, found, result, home), home)
