"""Where in a program something happens: the line of its own code, and the library called there.

Frames are looked at from the inside out. Those of DSLog do not count; the first one of the
program's own code is the place; what was called there, if it is of an installed package, is the
library function that the program was inside of.
"""

from __future__ import annotations

import dis
import sys
import sysconfig
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any, Literal

Origin = Literal["dslog", "installed", "program"]

_HERE = str(Path(__file__).parents[1])
_INSTALLED = tuple(
    sorted({sysconfig.get_path(key) for key in ("stdlib", "platstdlib", "purelib", "platlib")})
)
_ORIGINS: dict[str, Origin] = {}


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a program; ``inside`` is the library function that the program called there."""

    file: str
    line: int
    function: str
    inside: str = ""

    def __str__(self) -> str:
        inside = f", inside {self.inside}" if self.inside else ""
        return f"{self.file}:{self.line} in {self.function}{inside}"


def origin_of(code: CodeType) -> Origin:
    """Return whose code this is: DSLog's, an installed package's, or the program's own.

    >>> import json
    >>> origin_of(json.dumps.__code__), origin_of(origin_of.__code__)
    ('installed', 'dslog')
    """
    return origin_of_file(code.co_filename)


def origin_of_file(file: str) -> Origin:
    """Return whose file this is."""
    known = _ORIGINS.get(file)
    if known is None:
        known = _ORIGINS[file] = _read_origin(file)
    return known


def _read_origin(file: str) -> Origin:
    if file.startswith(_HERE):
        return "dslog"
    if file.startswith((*_INSTALLED, "<frozen", "<__array_function__")) or (
        "/site-packages/" in file or "/dist-packages/" in file
    ):
        return "installed"
    return "program"


def caller() -> FrameType | None:
    """Return the innermost frame that is not DSLog's: who called us."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 (there is no other way)
    while frame is not None and origin_of(frame.f_code) == "dslog":
        frame = frame.f_back
    return frame


def is_calling(frame: FrameType, name: str) -> bool:
    """Whether it is a frame's own code that has a function called by its name now.

    If not, it is C code that was called there, and it may not be able to do with anything but what
    the function always gives: Cython reads the memory of what ``np.ascontiguousarray`` returns.
    Code that does not call the function but hands it on, as to ``map``, has it called anywhere.
    """
    code = frame.f_code
    if name not in code.co_names and name not in (*code.co_varnames, *code.co_freevars):
        return False
    return _calls(code).get(frame.f_lasti) == name or name in _handed_on(code)


def called_in(frame: FrameType) -> Any:
    """Return the function that a frame's own code is calling, if it is of a module or has a name.

    None where that can't be told without running anything.
    """
    names = _paths(frame.f_code).get(frame.f_lasti)
    if names is None:
        return None
    first, *rest = names
    found: Any = frame.f_locals.get(first, frame.f_globals.get(first))
    for name in rest:
        found = vars(found).get(name) if isinstance(found, ModuleType) else None
    return found


@lru_cache(maxsize=4096)
def _paths(code: CodeType) -> dict[int, tuple[str, ...]]:
    """Return the names, one of the other, by which each call finds its function.

    >>> code = compile("np.linalg.norm(f(x).g(y))", "<doctest>", "eval")
    >>> sorted(set(_paths(code).values()))
    [('f',), ('f', 'g'), ('np', 'linalg', 'norm')]
    """
    loads = [each for each in dis.get_instructions(code) if _is_load(each) and each.positions]
    found = {}
    for at, last in _loads_called(code).items():
        begin, end = span_of(last)
        ends = {span_of(each)[1]: each.argval for each in loads if span_of(each)[0] == begin}
        found[at] = tuple(ends[one] for one in sorted(ends) if one <= end)
    return found


def span_of(each: dis.Instruction) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where in the text an instruction's expression begins and ends."""
    line, last_line, column, last_column = each.positions or (0, 0, 0, 0)
    return (line or 0, column or 0), (last_line or 0, last_column or 0)


@lru_cache(maxsize=4096)
def _calls(code: CodeType) -> dict[int, str]:
    """Return what is called by each instruction that calls something with a name.

    >>> code = compile("np.linalg.norm(x) + f(y)", "<doctest>", "eval")
    >>> list(dict.fromkeys(_calls(code).values()))
    ['norm', 'f']
    """
    return {at: load.argval for at, load in _loads_called(code).items()}


@lru_cache(maxsize=4096)
def _handed_on(code: CodeType) -> frozenset[str]:
    """Return the names that code reads where it does not call them.

    Where Python was told to keep no positions of code, that is all names.

    >>> sorted(_handed_on(compile("list(map(np.asarray, f(rows)))", "<doctest>", "eval")))
    ['asarray', 'np', 'rows']
    """
    called = {load.offset for load in _loads_called(code).values()}
    return frozenset(
        each.argval
        for each in dis.get_instructions(code)
        if _is_load(each) and each.offset not in called
    )


@lru_cache(maxsize=4096)
def _loads_called(code: CodeType) -> dict[int, dis.Instruction]:
    """Return what loads the function for each call: both begin at the same place in the text.

    Python 3.11 calls functions of C that it has come to know one instruction before.
    """
    instructions = list(dis.get_instructions(code))
    found = {}
    for call in instructions:
        if not call.opname.startswith(("CALL", "PRECALL")) or not call.positions:
            continue
        line, last_line, column, last_column = call.positions
        best = (0, 0)
        for each in instructions:
            if not _is_load(each) or not each.positions:
                continue
            begin, end, left, right = each.positions
            ends = (end or 0, right or 0)
            if (begin, left) == (line, column) and best < ends < (last_line or 0, last_column or 0):
                best = ends
                found[call.offset] = each
    return found


def _is_load(instruction: dis.Instruction) -> bool:
    name, value = instruction.opname, instruction.argval
    return name.startswith("LOAD_") and name != "LOAD_CONST" and isinstance(value, str)


def find_place(frame: FrameType | None) -> Place:
    """Return the program's line that a frame was called from, or the frame's own."""
    innermost, library = frame, None
    while frame is not None:
        origin = origin_of(frame.f_code)
        if origin == "program":
            return _place(frame, "" if library is None else _name_of(library))
        if origin == "installed":
            library = frame
        frame = frame.f_back
    return Place("?", 0, "?") if innermost is None else _place(innermost, _name_of(innermost))


def _place(frame: FrameType, inside: str) -> Place:
    return Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname, inside)


def _name_of(frame: FrameType) -> str:
    """The dotted name of a library's function, without the private modules it lies in."""
    modules = str(frame.f_globals.get("__name__", "?")).split(".")
    public = [part for part in modules if not part.startswith("_")] or modules[:1]
    return ".".join([*public, frame.f_code.co_qualname])
