"""What becomes of a text that is being made: it is only looked at, or it can be read again.

A text with a value in it goes nowhere if the code that makes it hands it, through other texts at
most, to something that shows it on the program's own terminal: ``print``, a logger, a warning. What
is called is looked at, not its name; where that can't be told the text is taken for kept.
"""

from __future__ import annotations

import dis
import logging
import pprint
import sys
import warnings
from collections.abc import Mapping
from functools import lru_cache
from inspect import getattr_static
from types import CodeType, FrameType
from typing import Any, Literal

from dslog.capture.place import caller, origin_of, span_of

_MADE_BY = ("CALL", "FORMAT_", "BINARY_OP", "CONVERT_VALUE")
_PASSING = (
    "FORMAT_ CONVERT_VALUE BUILD_STRING BUILD_TUPLE BUILD_LIST BUILD_MAP BUILD_CONST_KEY_MAP "
    "LIST_EXTEND LIST_TO_TUPLE COMPARE_OP PRECALL KW_NAMES PUSH_NULL LOAD_METHOD LOAD_ATTR "
    "LOAD_CONST MAKE_FUNCTION GET_ITER JUMP_FORWARD NOP"
)
_PASSED_BY = tuple(_PASSING.split())
_ENDS = ("POP_TOP", "PRINT_EXPR", "RETURN_VALUE", "YIELD_VALUE", "LIST_APPEND")
_INNER = frozenset(
    {"<listcomp>", "<genexpr>", "<lambda>", "__str__", "__repr__", "__format__", "__iter__"}
)
_PRINT = print
_TEXTS = (str, repr, format, ascii, list, tuple, reversed, len)
_METHODS = frozenset({"__str__", "__repr__", "__format__"})
_ASKS = frozenset({"translate", "format", "format_map"})  # methods that give a text to objects
_LOGGERS = tuple(
    vars(place)[name]
    for place in (logging, logging.Logger)
    for name in ("debug", "info", "warning", "error", "exception", "critical", "log")
)
_CONSOLES = ("ipykernel.", "idlelib.", "doctest")
_WARN = warnings.warn

Use = Literal["shown", "drawn", ""]


def use_of_text() -> Use:
    """Return whether a text that is being made is only looked at, or becomes part of a picture.

    Neither if a program keeps the text, or gives it to anything else: it can be read again.
    """
    frame = inner = caller()
    made: CodeType | None = None
    while frame is not None:
        verdict = _verdict(frame, made)
        if verdict is not None or (frame.f_code.co_name not in _INNER):
            if verdict or inner is None or origin_of(inner.f_code) != "installed":
                return verdict or ""
            return _shown_by(inner)
        is_body = frame.f_code.co_name[0] == "<"
        made, frame = frame.f_code if is_body else None, frame.f_back
    return ""


def is_dropped(frame: FrameType) -> bool:
    """Whether nobody gets what a frame's call gives."""
    return _uses(frame.f_code, frame.f_lasti, None)[1:] == ("POP_TOP",)


def _verdict(frame: FrameType, made: CodeType | None) -> Use | None:
    """Return the use of what is made at a frame's instruction; None if it is given back."""
    for use in _uses(frame.f_code, frame.f_lasti, made):
        if not isinstance(use, tuple):
            if use not in ("POP_TOP", "PRINT_EXPR"):
                return None
            shown = use == "POP_TOP" or sys.displayhook is sys.__displayhook__
            return "shown" if shown else ""
        names, count, arguments = use
        if not names:
            continue
        owner, function = _found(frame, names)
        if not _is_text(function, names[-1]):
            if _draws(function):
                return "drawn"
            is_shown = count >= 0 and _shows(frame, owner, function, count, dict(arguments))
            return "shown" if is_shown else ""
    return ""


@lru_cache(maxsize=4096)
def _uses(code: CodeType, at: int, made: CodeType | None) -> tuple[Any, ...]:
    """Return what happens to a text that an instruction makes, up to where that can't be told.

    A call is the names that find what is called, none for a method of the text itself or of one
    that is written down; how many arguments it has, -1 if unknown; and those that are named.

    >>> code = compile("print(f'{x}', file=sys.stderr); y = f'{x}'", "<doctest>", "exec")
    >>> made = [each.offset for each in dis.get_instructions(code) if "FORMAT" in each.opname]
    >>> [_uses(code, offset, None) for offset in made]
    [((('print',), 2, (('file', ('sys', 'stderr')),)), 'POP_TOP'), ()]
    """
    instructions = [each for each in dis.get_instructions(code) if each.positions]
    here = _start(instructions, at, made)
    if here is None:
        return ()
    begin, end = span_of(instructions[here])
    uses: list[Any] = []
    for k in range(here, len(instructions)):
        each = instructions[k]
        first, last = span_of(each)
        if not (first <= begin and end <= last):
            continue
        if each.opname.startswith(_ENDS):
            return (*uses, each.opname)
        if each.opname in ("CALL", "CALL_KW", "CALL_FUNCTION_EX"):
            if made is None or (first, last) != (begin, end):  # not the call of what is made here
                uses.append(_call(code, instructions[:k], each, k > here and begin))
        elif not (each.opname.startswith(_PASSED_BY) or _joins(instructions[:k], each)):
            break
        elif k > here and _is_laid_out(each) and not _is_written(instructions[k - 1]):
            break  # the text may say how something is laid out, which gets it
    return tuple(uses)


def _start(instructions: list[dis.Instruction], at: int, made: CodeType | None) -> int | None:
    """Return the number of the instruction that makes a text, or whose code ``made`` it."""
    if made is not None:
        return next((k for k, each in enumerate(instructions) if each.argval is made), None)
    here = max((k for k, each in enumerate(instructions) if each.offset <= at), default=None)
    while here is not None and instructions[here].opname in ("PRECALL", "KW_NAMES"):
        here += 1
    if here is None or not instructions[here].opname.startswith(_MADE_BY):
        return None
    return None if instructions[here].positions.col_offset is None else here  # type: ignore[union-attr]


def _call(code: CodeType, before: list[dis.Instruction], call: dis.Instruction, text: Any) -> Any:
    """Return what a call says of what it calls; ``before`` are the instructions before it."""
    begin, end = span_of(call)
    loads = [each for each in before if span_of(each)[0] == begin and span_of(each)[1] < end]
    own = text is False and loads and loads[-1].argval in _METHODS
    asks = begin == text and loads and loads[-1].argval in _ASKS
    if loads and not asks and (own or begin == text or _is_written(loads[0])):
        return (), 0, ()  # a method of a text, or one that makes it
    compound = not loads or any(
        not each.opname.startswith(("LOAD_", "PUSH_", "KW_")) for each in loads
    )
    names = tuple(each.argval for each in loads if each.opname.startswith("LOAD_"))
    inside = [each for each in before if begin <= span_of(each)[0] and span_of(each)[1] <= end]
    hidden = any(e.opname.startswith("DICT_") or e.argval == "file" for e in inside)
    spread = call.opname == "CALL_FUNCTION_EX"
    count = (-1 if hidden else 0) if spread else call.arg or 0
    return ("?",) if compound else names, count, _arguments(code, before, call)


def _is_laid_out(each: dis.Instruction) -> bool:
    return each.opname == "FORMAT_WITH_SPEC" or "with format" in each.argrepr


def _is_written(load: dis.Instruction) -> bool:
    return load.opname == "LOAD_CONST" and isinstance(load.argval, str)


def _arguments(code: CodeType, before: list[dis.Instruction], call: dis.Instruction) -> Any:
    """Return the arguments that have names; the last one's with the names that find it."""
    place = next((k for k in (-1, -2) if before[k].opname == "KW_NAMES"), None)
    if call.opname == "CALL_KW":
        place = -1
    if place is None:
        return ()
    keys = (
        before[place].argval if call.opname == "CALL_KW" else code.co_consts[before[place].arg or 0]
    )
    found: list[str] = []
    for each in reversed(before[:place]):
        if not each.opname.startswith("LOAD_") or not isinstance(each.argval, str):
            break
        found.insert(0, each.argval)
        if not each.opname.startswith(("LOAD_ATTR", "LOAD_METHOD")):
            break
    return (*((key, ("?",)) for key in keys[:-1]), (keys[-1], tuple(found) or ("?",)))


def _joins(before: list[dis.Instruction], operator: dis.Instruction) -> bool:
    """Whether an operator joins texts only: those of objects may do anything with a text."""
    if operator.opname != "BINARY_OP":
        return False
    begin, end = span_of(operator)
    inside = [each for each in before if begin <= span_of(each)[0] and span_of(each)[1] <= end]
    made = [span_of(each) for each in inside if each.opname.startswith(("CALL", "FORMAT_"))]
    loads = [each for each in inside if each.opname.startswith("LOAD_") and not _is_written(each)]
    if operator.argrepr == "%":
        return bool(inside) and _is_written(inside[0])
    spans = [span_of(each) for each in loads]
    return operator.argrepr == "+" and all(
        any(start <= first and last <= stop for start, stop in made) for first, last in spans
    )


def _found(frame: FrameType, names: tuple[str, ...]) -> tuple[Any, Any]:
    """Return what the last of some names is taken from in a frame, and what it means there."""
    owner = found = None
    for space in (frame.f_builtins, frame.f_globals, frame.f_locals):
        found = space.get(names[0], found)
    for name in names[1:]:
        owner, found = found, getattr_static(found, name, None)
    return owner, found


def _is_text(function: Any, name: str) -> bool:
    """Whether a call gives the text again, or more with it, and keeps none."""
    if name in _METHODS:
        code = getattr(function, "__code__", None)
        return code is None or origin_of(code) == "dslog"
    return any(function is each for each in _TEXTS)


def _draws(function: Any) -> bool:
    """Whether a function is one of matplotlib's, which tell when they are asked again."""
    code = getattr(function, "__code__", None)
    is_ours = code is not None and origin_of(code) == "dslog"
    return is_ours and function.__module__.startswith("matplotlib.")


def _shows(
    frame: FrameType, owner: Any, function: Any, count: int, named: Mapping[str, Any]
) -> bool:
    """Whether what is called only shows what it is given."""
    alone = count - len(named) == 1
    if function is _PRINT:
        names = named.get("file", ("sys", "stdout"))
        return _is_terminal(_found(frame, names)[1] if "file" in named else sys.stdout)
    if function is pprint.pprint or function is pprint.pp:
        return alone and "stream" not in named and _is_terminal(sys.stdout)
    if function is _WARN:
        known = origin_of(frame.f_code) == "installed" or (alone and "category" not in named)
        return known and _warns_only()
    if any(function is each for each in _LOGGERS):
        return _logs_only(owner if isinstance(owner, logging.Logger) else logging.root)
    return getattr(function, "__name__", "") == "write" and _is_terminal(owner)


def _is_terminal(stream: Any) -> bool:
    """Whether a stream is the program's own, or a notebook's."""
    own = stream is not None and (stream is sys.__stdout__ or stream is sys.__stderr__)
    return own or type(stream).__module__.startswith(_CONSOLES)


def _warns_only() -> bool:
    """Whether warnings go to the terminal: nobody collects them or has them raised."""
    inner = vars(warnings)
    if warnings.showwarning is not inner.get("_showwarning_orig"):
        return False
    written = getattr(inner.get("_showwarnmsg_impl"), "__name__", "") == "_showwarnmsg_impl"
    raised = any(action[0] == "error" for action in warnings.filters)
    return written and not raised and _is_terminal(sys.stderr)


def _logs_only(logger: logging.Logger | None) -> bool:
    """Whether what is logged goes to terminals alone."""
    if logging.getLogRecordFactory() is not logging.LogRecord:
        return False
    handlers: list[logging.Handler] = []
    while logger is not None:
        if logger.filters or type(logger) not in (logging.Logger, logging.RootLogger):
            return False
        handlers += logger.handlers
        logger = logger.parent if logger.propagate else None
    if not handlers and logging.lastResort is not None:
        return _is_terminal(sys.stderr)
    return all(map(_is_plain, handlers))


def _is_plain(handler: logging.Handler) -> bool:
    if type(handler) is logging.NullHandler:
        return True
    return (
        type(handler) is logging.StreamHandler
        and not handler.filters
        and type(handler.formatter) in (logging.Formatter, type(None))
        and _is_terminal(handler.stream)
    )


def _shown_by(frame: FrameType | None) -> Use:
    """Return the use of a text that a library makes."""
    while frame is not None and origin_of(frame.f_code) != "program":
        if frame.f_code is logging.Logger.callHandlers.__code__:
            return "shown" if _logs_only(frame.f_locals["self"]) else ""
        frame = frame.f_back
    return (frame is not None and _verdict(frame, None)) or ""
