"""Rules for functions that call a function: its cells are followed, or all of a line are taken.

``np.vectorize`` and ``np.frompyfunc`` make ufuncs, which the rule for ufuncs knows.
"""

from __future__ import annotations

import numpy as np

from dslog.capture.numpy.arrange import arrange
from dslog.capture.numpy.call import Call, Lineages
from dslog.capture.numpy.patterns import matched
from dslog.capture.numpy.registry import REGISTRY, rule
from dslog.capture.numpy.rules.reduce import axes_of, reduced
from dslog.capture.numpy.structured import all_to_all
from dslog.capture.numpy.tracer import trace
from dslog.lineage.lineage import Lineage

_WHOLE_LINE = {
    getattr(np, name)
    for name in (
        "sum",
        "prod",
        "mean",
        "std",
        "var",
        "max",
        "min",
        "amax",
        "amin",
        "ptp",
        "any",
        "all",
    )
} | {getattr(np, name) for name in ("argmax", "argmin", "count_nonzero", "average")}


@rule(
    "numpy.apply_along_axis",
    note="a reduction: each cell from all cells of its line",
)
def reduce_lines(call: Call) -> Lineages | None:
    """Numpy's own reductions read whole lines."""
    if call.argument("func1d") not in _WHOLE_LINE or call.arguments.get("args"):
        return None
    return arrange(call, [(call.argument("arr"), _per_line(call))])


@rule(
    "numpy.apply_along_axis", kind="superset",
    note="a function that can't be traced: each cell from all cells of its line",
)  # fmt: skip
def any_line(call: Call) -> Lineages | None:
    """Lines do not mix."""
    return arrange(call, [(call.argument("arr"), _per_line(call).with_exact(False))])


def _per_line(call: Call) -> Lineage:
    """The axes before the line come first in the output, those after it last."""
    values, axis = call.argument("arr"), call.argument("axis")
    (output,) = call.outputs
    shape = np.shape(values)
    axis %= len(shape)
    later = len(shape) - axis - 1
    follows = {i: i for i in range(axis)}
    follows |= {axis + 1 + k: output.ndim - later + k for k in range(later)}
    return matched(output.shape, shape, follows)


@rule(
    "numpy.apply_over_axes",
    note="a reduction: each cell from all cells on the axes",
)
def reduce_axes(call: Call) -> Lineages | None:
    """One reduction after the other; the axes stay with size 1."""
    if call.argument("func") not in _WHOLE_LINE:
        return None
    values = call.argument("a")
    (output,) = call.outputs
    axes = axes_of(np.atleast_1d(call.argument("axes")).tolist(), np.ndim(values))
    return arrange(call, [(values, reduced(np.shape(values), axes, output.shape))])


for _name in ("apply_along_axis", "apply_over_axes", "pad", "polyint", "vecdot"):
    REGISTRY.add(f"numpy.{_name}", "trace", trace, "functions of one's own: each cell is followed")


@rule(
    "numpy.piecewise", "numpy.apply_over_axes", kind="superset",
    note="what can't be traced: each cell from all cells",
)  # fmt: skip
def everything(call: Call) -> Lineages | None:
    """The last resort, labelled as a superset."""
    return tuple(
        tuple(all_to_all(out.shape, array.shape, exact=False) for array in call.inputs)
        for out in call.outputs
    )
