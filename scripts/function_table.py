"""Which of numpy's public functions are captured, and how: what the table in the docs says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dslog.capture.numpy import rules
from dslog.capture.numpy.registry import KINDS, REGISTRY, Entry, public_functions

__all__ = ["UNCAPTURED", "WRITES", "Row", "public_functions", "rules", "table"]

WRITES = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})
"""Functions that write into an argument; they are treated like ``x[...] = y``."""

FOLLOWED = frozenset({"apply_along_axis", "apply_over_axes", "piecewise"})
"""Functions that call functions, which are followed; rules are for what can't be."""

_WITHOUT_ARRAYS = {
    "make arrays from nothing": (
        "arange bartlett blackman diag_indices empty eye fftfreq hamming hanning identity indices "
        "kaiser mask_indices ones rfftfreq tri tril_indices triu_indices zeros"
    ),
    "read arrays from elsewhere": (
        "from_dlpack frombuffer fromfile fromiter fromregex fromstring genfromtxt load loadtxt"
    ),
    "write text or files": (
        "array2string array_repr array_str base_repr binary_repr format_float_positional "
        "format_float_scientific save savetxt savez savez_compressed"
    ),
    "tell of shapes, types and memory": (
        "broadcast_shapes can_cast common_type datetime_data einsum_path iscomplexobj isdtype "
        "isfortran isrealobj isscalar issubdtype iterable may_share_memory min_scalar_type "
        "mintypecode ndim promote_types result_type shape shares_memory size typename"
    ),
    "are about numpy itself": (
        "get_include get_printoptions getbufsize geterr geterrcall info printoptions "
        "set_printoptions setbufsize seterr seterrcall show_config show_runtime test"
    ),
    "make functions, iterators and matrix objects": "bmat frompyfunc nested_iters",
}
UNCAPTURED: Mapping[str, str] = {
    name: what for what, names in _WITHOUT_ARRAYS.items() for name in names.split()
}
"""Functions without lineage, and what they do instead of taking and giving arrays."""


@dataclass(frozen=True, slots=True)
class Row:
    """One function of the table: its kinds in the order they are tried, and a note."""

    name: str
    kinds: tuple[str, ...]
    note: str


def table() -> list[Row]:
    """Return the captured public functions, and the methods of ufuncs."""
    rows = []
    for name, function in public_functions():
        if name.rpartition(".")[2] in WRITES:
            rows.append(Row(name, ("write",), "written cells from the values, others stay"))
        elif name.rpartition(".")[2] not in UNCAPTURED:
            rows.append(_row(name, REGISTRY.find(function)))
    rows += [
        _row(f"numpy.ufunc.{method}", REGISTRY.find(getattr(np.add, method)))
        for method in ("reduce", "accumulate", "reduceat", "outer")
    ]
    rows.append(Row("numpy.ufunc.at", ("write",), "each cell from itself and what is put on it"))
    return rows


def _row(name: str, entries: Iterator[Entry]) -> Row:
    found = list(entries)
    kinds: tuple[str, ...] = tuple(
        kind for kind in KINDS if any(entry.kind == kind for entry in found)
    )
    note = next((entry.note for entry in found if entry.note), "")
    if name.rpartition(".")[2] in FOLLOWED:
        kinds, note = ("followed", *kinds), "what the function that it calls makes of its cells"
    return Row(name, kinds, note)
