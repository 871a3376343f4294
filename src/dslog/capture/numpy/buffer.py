"""The buffer protocol for classes written in Python, which have it from Python 3.12 on.

``memoryview(x)``, Cython's typed arguments, hashing and writing to files take values this way. For
older Pythons the type's own slot is filled with a function that asks the object for the array.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from dslog.capture.numpy.memory import way_out

_SLOTS_BEFORE = 20  # pointer-sized fields of a type object before ``tp_as_buffer``
_GET = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)
_KEPT: list[Any] = []  # what the interpreter points to must stay


def give_buffers(kind: type) -> None:
    """Let objects of a class give the buffer of what their ``buffer_values()`` returns."""
    if sys.version_info >= (3, 12):

        @way_out
        def buffer(self: Any, flags: int) -> memoryview:
            return self.buffer_values().__buffer__(flags)  # type: ignore[no-any-return]

        kind.__buffer__ = buffer  # type: ignore[attr-defined]
        return

    get = ctypes.pythonapi.PyObject_GetBuffer
    get.argtypes, get.restype = (ctypes.py_object, ctypes.c_void_p, ctypes.c_int), ctypes.c_int

    @way_out
    def get_buffer(self: Any, view: int, flags: int) -> int:
        try:
            return int(get(self.buffer_values(), view, flags))
        except Exception:  # noqa: BLE001 (the caller is told by -1, whatever it was)
            return -1

    slot = _GET(get_buffer)
    table = (ctypes.c_void_p * 2)(ctypes.cast(slot, ctypes.c_void_p).value, None)
    _KEPT.extend((slot, table))
    place = ctypes.c_void_p.from_address(id(kind) + _SLOTS_BEFORE * ctypes.sizeof(ctypes.c_void_p))
    place.value = ctypes.addressof(table)
