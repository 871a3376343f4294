"""Group-by and inner join of pandas frames, with lineage: small tables without Spark.

A table is an array of rows by columns, and row i of a frame is row i of its array, whatever the
frame's index says. pandas computes the values; which rows made which comes from it too, as group
numbers and as row numbers that go through the join.

    orders = pd.DataFrame({"k": ["a", "b", "a"], "x": [1, 2, 3]})
    totals = tables.group_by(store, "orders", orders, by="k", agg={"x": "sum"}, to="totals")
    store.backward("totals", [(0, 1)], to="orders")     # x of rows 0 and 2
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd

from dslog.capture.pandas.row_part import Part, Straight, into, lineage_of_parts, taken
from dslog.capture.table_product import Pairs
from dslog.errors import CaptureError, did_you_mean
from dslog.lineage.lineage import Lineage
from dslog.store.lineage_store import LineageStore

Function: TypeAlias = str | Callable[[pd.Series], object]
Aggregates = Mapping[str, Function | tuple[str, Function]]
"""Functions by column; or columns and functions by the name of what they make."""


def group_by(
    store: LineageStore,
    name: str,
    frame: pd.DataFrame,
    *,
    by: str | Sequence[str],
    agg: Aggregates,
    to: str,
) -> pd.DataFrame:
    """Aggregate the rows of each group; every result reads its column in all rows of the group.

    ``agg`` is ``{"x": "sum"}``, or ``{"total": ("x", "sum")}`` to name what is made. Groups are in
    the order of their first rows, and a missing key is a key like any other. ``name`` is the array
    of the frame, which is defined if it is new; ``to`` that of the result.
    """
    keys = [by] if isinstance(by, str) else list(by)
    made = {new: item if isinstance(item, tuple) else (new, item) for new, item in agg.items()}
    read = [*keys, *(column for column, _ in made.values())]
    places = [_place(frame, column, name) for column in read]
    if not made or set(made) & set(keys):
        raise CaptureError(
            f"agg has to name a result, none like a key {keys}: give it as "
            f"{{'total': ('x', 'sum')}}, not {dict(agg)!r}"
        )
    groups = frame.groupby(keys, sort=False, dropna=False)
    result = groups.agg(**{f"_{n}": item for n, item in enumerate(made.values())}).reset_index()
    result.columns = pd.Index([*keys, *made])
    numbers = groups.ngroup().to_numpy(np.int64)
    columns = frozenset(enumerate(places))
    lineage = lineage_of_parts(result.shape, frame.shape, [Straight(into(numbers), columns)])
    args = {"by": keys, "agg": {new: _text(item) for new, item in made.items()}}
    _register(store, "group_by", to, result, [(name, frame, lineage)], args)
    return result


def inner_join(
    store: LineageStore,
    left: str,
    left_frame: pd.DataFrame,
    right: str,
    right_frame: pd.DataFrame,
    *,
    on: str | Sequence[str],
    to: str,
) -> pd.DataFrame:
    """Join rows that agree in the columns ``on``, as ``left_frame.merge(right_frame, on=on)`` does.

    These columns come from both sides, the others from the side they are of. Rows are in the order
    of the left frame, then of the right one. In pandas missing keys are equal to each other.
    """
    keys = [on] if isinstance(on, str) else list(on)
    for name, frame in ((left, left_frame), (right, right_frame)):
        for key in keys:
            _place(frame, key, name)
    rows = ["_left_row", "_right_row"]
    while set(rows) & {*left_frame.columns, *right_frame.columns}:
        rows = [f"_{row}" for row in rows]
    numbered = [
        frame.assign(**{row: np.arange(len(frame))})
        for frame, row in zip((left_frame, right_frame), rows, strict=True)
    ]
    merged = numbered[0].merge(numbered[1], on=keys).sort_values(rows, ignore_index=True)
    from_left, from_right = (merged.pop(row).to_numpy(np.int64) for row in rows)
    ways = _ways(list(left_frame.columns), list(right_frame.columns), keys)
    parts: dict[str, list[Part]] = {}
    for name, source, columns in ((left, from_left, ways[0]), (right, from_right, ways[1])):
        parts.setdefault(name, []).append(Straight(taken(source), columns))
    frames = {right: right_frame, left: left_frame}
    inputs = [
        (name, frames[name], lineage_of_parts(merged.shape, frames[name].shape, some))
        for name, some in parts.items()
    ]
    _register(store, "inner_join", to, merged, inputs, {"on": keys})
    return merged


def _place(frame: pd.DataFrame, column: str, name: str) -> int:
    found = np.flatnonzero(frame.columns == column)
    if len(found) != 1:
        known = [str(c) for c in frame.columns]
        what = "several columns" if len(found) else "no column"
        raise CaptureError(f"{name!r} has {what} {column!r}.{did_you_mean(str(column), known)}")
    return int(found[0])


def _ways(left: list[str], right: list[str], keys: list[str]) -> tuple[Pairs, Pairs]:
    """Which columns of each side the columns of a join come from: the left ones come first."""
    rest = [place for place, column in enumerate(right) if column not in keys]
    from_left = frozenset((place, place) for place in range(len(left)))
    from_right = {(left.index(key), right.index(key)) for key in keys}
    from_right |= {(len(left) + number, place) for number, place in enumerate(rest)}
    return from_left, frozenset(from_right)


def _register(
    store: LineageStore,
    op: str,
    to: str,
    result: pd.DataFrame,
    inputs: list[tuple[str, pd.DataFrame, Lineage]],
    args: Mapping[str, object],
) -> None:
    for name, frame, _ in inputs:
        store.array(name, frame.shape)
    store.array(to, result.shape)
    names, captures = [name for name, _, _ in inputs], [lineage for _, _, lineage in inputs]
    args = {**args, "columns": [str(column) for column in result.columns]}
    store.register_operation(op, names, [to], capture=captures, op_args=args, reuse=False)


def _text(item: tuple[str, Function]) -> list[str]:
    column, function = item
    return [column, function if isinstance(function, str) else getattr(function, "__name__", "?")]
