"""Rules for functions that make each output cell from the input cells at its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dslog.algebra.positions import lineage_of_positions
from dslog.algebra.product import elementwise, flat, matched, numpy_names, shift_all
from dslog.capture.numpy.argument_rule import by_argument, cellwise, no_cell
from dslog.capture.numpy.call import Argument, Call, Lineages, arrange
from dslog.capture.numpy.registry import rule
from dslog.lineage.lineage import Lineage
from dslog.types import Array

_OF_TEXTS = (
    "add capitalize center count decode encode endswith equal expandtabs find greater "
    "greater_equal index isalnum isalpha isdecimal isdigit islower isnumeric isspace istitle "
    "isupper less less_equal ljust lower lstrip mod multiply not_equal partition replace rfind "
    "rindex rjust rpartition rstrip startswith str_len strip swapcase title translate upper zfill"
)


@rule("numpy.ufunc.__call__", note="each cell from the cells it is broadcast with")
def ufunc_call(call: Call) -> Lineages | None:
    """Any ufunc without core axes, also those of other packages and of ``frompyfunc``."""
    if call.ufunc is None or call.ufunc.signature is not None:
        return None
    return broadcast_together(call)


@rule(
    *numpy_names(
        "",
        "around round fix sinc i0 angle real imag real_if_close nan_to_num isreal iscomplex "
        "isposinf isneginf isclose clip copy astype asarray_chkfinite require array asarray "
        "asanyarray ascontiguousarray asfortranarray asmatrix is_busday busday_offset busday_count "
        "datetime_as_string unravel_index bitwise_count fromfunction",
    ),
    *numpy_names("emath.", "sqrt log log2 logn log10 power arccos arcsin arctanh"),
    *numpy_names("strings.", f"{_OF_TEXTS} slice"),
    *numpy_names("char.", f"{_OF_TEXTS} join"),
    note="each cell from the cells it is broadcast with",
)
def broadcast_together(call: Call) -> Lineages | None:
    """All arguments that are arrays, broadcast to the output."""
    values = list(_arguments(call))
    outputs = []
    for output in call.outputs:
        pairs = []
        for value in values:
            if not fits(np.shape(value), output.shape):
                return None
            pairs.append((value, elementwise(output.shape, np.shape(value))))
        outputs.append(pairs)
    return arrange(call, *outputs)


def fits(shape: tuple[int, ...], out_shape: tuple[int, ...]) -> bool:
    """Whether an array broadcasts to the output's shape."""
    tail = out_shape[len(out_shape) - len(shape) :]
    return len(shape) <= len(out_shape) and all(
        n in (1, m) for n, m in zip(shape, tail, strict=True)
    )


def _arguments(call: Call) -> Iterator[Any]:
    """The tracked arrays that are arguments themselves, not items of one."""
    for value in (*call.args, *call.kwargs.values()):
        if call.which(value) is not None:
            yield value


by_argument(
    "numpy.full_like", "numpy.full", fill_value=cellwise, a=no_cell,
    note="each cell from the fill value; not the prototype",
)  # fmt: skip


@rule(
    "numpy.zeros_like", "numpy.ones_like", "numpy.empty_like", "numpy.diag_indices_from",
    "numpy.tril_indices_from", "numpy.triu_indices_from",
    note="nothing: only the prototype's shape is read",
)  # fmt: skip
def from_nothing(call: Call) -> Lineages | None:
    """No value is read."""
    return tuple((None,) * len(call.inputs) for _ in call.outputs)


@rule("numpy.ravel_multi_index", note="each cell from the indices at its place")
def ravel_multi_index(call: Call) -> Lineages | None:
    """A tuple of index arrays, or an array whose first axis is that tuple."""
    indices = call.argument("multi_index")
    (output,) = call.outputs
    if isinstance(indices, np.ndarray):
        follows = {i: i - 1 for i in range(1, indices.ndim)}
        return arrange(call, [(indices, matched(output.shape, indices.shape, follows))])
    return arrange(call, [(one, elementwise(output.shape, np.shape(one))) for one in indices])


def _spaced(call: Call, data: Array, out: Array) -> Lineage:
    """Start, stop and base, broadcast, with a new axis of steps; and the step itself."""
    given = (call.argument(name) for name in ("start", "stop", "base"))
    step = np.broadcast_shapes(*(np.shape(v) for v in given if v is not None))
    new = call.argument("axis", 0) % out.ndim if out.ndim > len(step) else None
    kept = [j for j in range(out.ndim) if j != new]
    lead = len(kept) - data.ndim
    follows = {i: kept[lead + i] for i, n in enumerate(data.shape) if n != 1}
    return matched(out.shape, data.shape, follows)


by_argument(
    "numpy.linspace", "numpy.logspace", "numpy.geomspace", start=_spaced, stop=_spaced,
    base=_spaced, note="each cell from the start and the stop of its line",
)  # fmt: skip


@rule("numpy.meshgrid", note="each output from one input, along its axis")
def meshgrid(call: Call) -> Lineages | None:
    """Output k repeats input k along all axes but one."""
    arrays = call.argument("xi", ())
    order = list(range(len(arrays)))
    if call.argument("indexing", "xy") == "xy" and len(order) > 1:
        order[:2] = [1, 0]

    def along(k: int, one: Array, out: Array) -> Lineage:
        line = flat([order[k]], range(one.ndim), shift_all(out.shape[order[k]]))
        return matched(out.shape, one.shape, {}, line)

    return one_each(call, arrays, along)


def one_each(
    call: Call, arrays: Sequence[Any], made: Callable[[int, Array, Array], Lineage]
) -> Lineages | None:
    """Output k is from input k alone."""
    rows = []
    for k, (one, out) in enumerate(zip(arrays, call.outputs, strict=True)):
        others: list[Argument] = [(other, None) for other in arrays]
        rows.append([*others, (one, made(k, np.asarray(one), out))])
    return arrange(call, *rows)


@rule("numpy.broadcast_arrays", note="each output from its input, broadcast")
def broadcast_arrays(call: Call) -> Lineages | None:
    """Output k is input k broadcast to the common shape."""
    arrays = call.argument("args", ())
    return one_each(call, arrays, lambda _, one, out: elementwise(out.shape, one.shape))


@rule("numpy.ix_", kind="value", note="each output from its input, on an axis of its own")
def open_mesh(call: Call) -> Lineages | None:
    """Output k is input k on axis k; a mask gives the places where it is set."""

    def on_axis(k: int, one: Array, out: Array) -> Lineage:
        if one.dtype == bool:
            return lineage_of_positions(np.flatnonzero(one).reshape(out.shape), one.shape)
        return matched(out.shape, (out.size,), {0: k})

    return one_each(call, call.argument("args", ()), on_axis)
