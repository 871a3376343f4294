"""Memory in the hands of others: loans, whose end can be seen, and the buffer protocol.

``memoryview(x)``, Cython's typed arguments, hashing and writing to files take values as buffers.
Classes written in Python have them from Python 3.12 on; for older ones the type's own slot is
filled with a function that asks the object for the array. So is the name that C code knows it by.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from typing import Any

import numpy as np

from dslog.types import Array, Mask


class Loan:
    """Memory in the hands of somebody else: it lives as long as any array or buffer of it."""

    __slots__ = ("__weakref__", "_given", "_view")

    def __init__(self, view: Array) -> None:
        self._view = view
        self._given: weakref.ref[Array] | None = None

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self._view.__array_interface__

    def given(self) -> Array | None:
        """Return an array of the memory that keeps this alive; None where cells don't allow it."""
        if self._view.dtype.hasobject or not self._view.size:
            return None
        array = np.asarray(self)
        if array.dtype != self._view.dtype:
            return None
        self._given = weakref.ref(array)
        return array

    def again(self, view: Array) -> Array | None:
        """Return the array that was given for a view: code asks whether two arrays are one."""
        return self._given() if self._given is not None and self._view is view else None


Loans = list[weakref.ref[Loan] | None]
"""Who has a memory now; None where the end can't be seen, as of an address."""


def lend(loans: Loans, view: Array, *, ends: bool) -> Array:
    """Return a view of a memory for somebody else, whose end can be seen or not."""
    for each in loans if ends else ():
        loan = each() if each is not None else None
        if loan is not None and (given := loan.again(view)) is not None:
            return given
    loan = Loan(view)
    given = loan.given() if ends else None
    if given is not None:
        loans[:] = [*still_lent(loans), weakref.ref(loan)]
    elif None not in loans:
        loans.append(None)
    return view if given is None else given


def still_lent(loans: Loans) -> Loans:
    """Return the loans that have not ended."""
    return [loan for loan in loans if loan is None or loan() is not None]


def differing(old: Array, new: Array) -> Mask:
    """Say for each cell whether its bytes are others; of an object, whether it is another."""
    if new.dtype.hasobject:
        if new.dtype.names is not None:
            return np.ones(new.size, bool)
        pairs = zip(old.flat, new.flat, strict=True)
        return np.array([one is not other for one, other in pairs], bool)
    cells = [np.ascontiguousarray(each).reshape(-1).view(np.uint8) for each in (old, new)]
    size = max(new.dtype.itemsize, 1)
    return np.asarray((cells[0] != cells[1]).reshape(-1, size).any(axis=1))


_NAME, _SEQUENCE, _BUFFER = 3, 13, 20  # places in a type object, in pointers
_ITEM = 3  # of ``sq_item`` among the methods of sequences
_GET = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)
_KEPT: list[Any] = []  # what the interpreter points to must stay


def give_buffers(kind: type) -> None:
    """Let objects of a class give the buffer of what their ``buffer_values(flags)`` returns."""
    if sys.version_info >= (3, 12):

        def buffer(self: Any, flags: int) -> memoryview:
            return self.buffer_values(flags).__buffer__(flags)  # type: ignore[no-any-return]

        kind.__buffer__ = buffer  # type: ignore[attr-defined]
        return

    get = ctypes.pythonapi.PyObject_GetBuffer
    get.argtypes, get.restype = (ctypes.py_object, ctypes.c_void_p, ctypes.c_int), ctypes.c_int

    def get_buffer(self: Any, view: int, flags: int) -> int:
        try:
            return int(get(self.buffer_values(flags), view, flags))
        except Exception:  # noqa: BLE001 (the caller is told by -1, whatever it was)
            return -1

    slot = _GET(get_buffer)
    table = (ctypes.c_void_p * 2)(ctypes.cast(slot, ctypes.c_void_p).value, None)
    _KEPT.extend((slot, table))
    _field(kind, _BUFFER).value = ctypes.addressof(table)


def name_in_errors(kind: type, hint: str) -> None:
    """Let C code that refuses objects of a class say after its name what to do."""
    name = ctypes.create_string_buffer(f"{kind.__name__} {hint}".encode())
    _KEPT.append(name)
    _field(kind, _NAME).value = ctypes.addressof(name)


def be_no_sequence(kind: type) -> None:
    """Let a class that has ``x[...]`` be no sequence to C, as numpy's numbers are none.

    Python takes what has ``__getitem__`` for one, and iterates over it until an item is missing.
    """
    methods = _field(kind, _SEQUENCE).value or 0
    ctypes.c_void_p.from_address(methods + _ITEM * ctypes.sizeof(ctypes.c_void_p)).value = None


def _field(kind: type, place: int) -> ctypes.c_void_p:
    return ctypes.c_void_p.from_address(id(kind) + place * ctypes.sizeof(ctypes.c_void_p))
