"""The lineage of a finished call: the first kind of rule that knows it.

1. a result that is a view of an input: its memory says which cells it shows;
2. the registered rules, in the order of ``registry.KINDS``;
3. following each cell through the function, for small arrays (``tracer``);
4. every output cell from every input cell, labelled as not exact.

A rule that fails must not stop the user's program, so it costs a warning and exactness, no more.
"""

from __future__ import annotations

import warnings

from dslog.algebra.affine import all_to_all
from dslog.capture.numpy import rules
from dslog.capture.numpy.call import Call, Lineages, Rule
from dslog.capture.numpy.registry import REGISTRY
from dslog.capture.numpy.trace import trace
from dslog.capture.numpy.view import is_view, lineage_of_view
from dslog.lineage.lineage import Lineage

__all__ = ["CaptureWarning", "find_lineages", "rules"]


class CaptureWarning(UserWarning):
    """The lineage of a call is a superset because a rule failed: a bug worth a report."""


def find_lineages(call: Call, *, written: bool = False) -> Lineages:
    """Return the lineage of every output from every input.

    ``written`` says that the outputs were given with ``out``: they may be inputs, but no views.
    """
    views = None if written else _views(call)
    if views is not None:
        return views
    for entry in REGISTRY.find(call.func):
        found = _try(entry.rule, call)
        if found is not None:
            return found
    return _try(trace, call) or superset(call)


def superset(call: Call) -> Lineages:
    """Say that every output cell may come from every input cell."""
    return tuple(
        tuple(all_to_all(output.shape, array.shape, exact=False) for array in call.inputs)
        for output in call.outputs
    )


def _views(call: Call) -> Lineages | None:
    """The lineage of a call all of whose outputs look at inputs."""
    rows = []
    for output in call.outputs:
        row: list[Lineage | None] = [None] * len(call.inputs)
        for place, array in enumerate(call.inputs):
            if is_view(output, array):
                row[place] = lineage_of_view(output, array)
                break
        if not any(lineage is not None for lineage in row):
            return None
        rows.append(tuple(row))
    return tuple(rows)


def _try(rule: Rule, call: Call) -> Lineages | None:
    try:
        found = rule(call)
        return found if found is None or _fits(found, call) else None
    except Exception as error:  # noqa: BLE001 (whatever it is, the user's program goes on)
        _warn(call, f"{type(error).__name__}: {error}")
        return None


def _fits(found: Lineages, call: Call) -> bool:
    """Whether lineage is between arrays of the call's shapes."""
    good = len(found) == len(call.outputs) and all(
        len(row) == len(call.inputs)
        and all(
            lineage is None
            or (lineage.out_shape == output.shape and lineage.in_shape == array.shape)
            for lineage, array in zip(row, call.inputs, strict=True)
        )
        for row, output in zip(found, call.outputs, strict=True)
    )
    if not good:
        _warn(call, "its shapes are wrong")
    return good


def _warn(call: Call, why: str) -> None:
    warnings.warn(f"a rule for {call.name} failed ({why})", CaptureWarning, stacklevel=2)
