"""The variable that a program is about to assign a call's result to, read off its instructions.

``totals = clean(orders).groupby("city").sum()`` names the array ``totals``. What a function of
the program returns is named where its caller assigns it. Else a call and its line give the name.
"""

from __future__ import annotations

import dis
from functools import lru_cache
from types import CodeType, FrameType

from dslog.capture.place import origin_of

_STORES = {"STORE_NAME", "STORE_FAST", "STORE_GLOBAL", "STORE_DEREF"}
_BETWEEN = {"COPY", "PUSH_NULL", "NOP", "EXTENDED_ARG", "CACHE", "RESUME", "SWAP"}
_DEEP = 20


def program_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of the program's own code."""
    while frame is not None and origin_of(frame.f_code) != "program":
        frame = frame.f_back
    return frame


def assigned_name(frame: FrameType | None, place: int = 0) -> str | None:
    """Return the variable that takes what the instruction of a frame gives, or one part of it."""
    for _ in range(_DEEP):
        if frame is None or origin_of(frame.f_code) != "program":
            return None
        name = _targets(frame.f_code).get(frame.f_lasti)
        if name is None or isinstance(name, tuple):
            found = name[place] if name is not None and place < len(name) else None
            return found if found and found.isidentifier() and found[0] != "_" else None
        frame = frame.f_back
    return None


RETURN = ""


@lru_cache(maxsize=4096)
def _targets(code: CodeType) -> dict[int, tuple[str, ...] | str]:
    """Return what each instruction's result is assigned to; ``RETURN`` if the caller gets it.

    >>> code = compile("a = f(x); b, c = g(a)", "<doctest>", "exec")
    >>> sorted(set(_targets(code).values()))
    [('a',), ('b', 'c')]
    """
    found: dict[int, tuple[str, ...] | str] = {}
    steps = list(dis.get_instructions(code))
    for at, step in enumerate(steps):
        if not step.opname.startswith(
            ("CALL", "BINARY", "UNARY", "COMPARE", "LOAD_ATTR", "PRECALL")
        ):
            continue
        rest = iter(steps[at + 1 :])
        after = next((one for one in rest if one.opname not in _BETWEEN), None)
        if step.opname == "PRECALL" and after is not None and after.opname == "CALL":
            after = next((one for one in rest if one.opname not in _BETWEEN), None)
        if after is None:
            continue
        until = steps[at + 1].offset  # a frame may be at what an instruction keeps behind it
        if after.opname in _STORES:
            taken: tuple[str, ...] | str = (str(after.argval),)
        elif after.opname == "UNPACK_SEQUENCE":
            names = [next(rest, None) for _ in range(int(after.arg or 0))]
            if any(one is None or one.opname not in _STORES for one in names):
                continue
            taken = tuple(str(one.argval) for one in names if one is not None)
        elif after.opname == "RETURN_VALUE":
            taken = RETURN
        else:
            continue
        found |= dict.fromkeys(range(step.offset, until, 2), taken)
    return found
