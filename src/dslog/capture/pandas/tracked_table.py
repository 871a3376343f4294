"""Frames and series of pandas that a program tracks, and their names in the store."""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd

from dslog.capture.numpy.memory import recorder_of
from dslog.capture.pandas.assigned_name import assigned_name, program_frame
from dslog.capture.pandas.patches import begin
from dslog.capture.pandas.table_state import (
    attach,
    label_names,
    record_version,
    same_cells,
    settled_state,
    shape_of,
    untracked,
)
from dslog.capture.recorder import StoreRecorder
from dslog.errors import CaptureError


def track_table(home: StoreRecorder, value: Any, name: str | None, *, keep_values: bool) -> Any:
    """Return a frame or a series as a tracked one: it is the same rows, in an object of its own."""
    begin(home)
    with untracked():
        made = value.copy(deep=False)
    home.catalog.require_writable()
    wanted = name or assigned_name(program_frame(sys._getframe(1))) or "table"  # noqa: SLF001
    make_source(home, made, wanted, "track", {}, given=name)
    del keep_values
    return made


def make_source(
    home: StoreRecorder,
    value: Any,
    wanted: str,
    op: str,
    args: dict[str, object],
    given: str | None = None,
) -> None:
    """Let a frame or a series begin its lineage here."""
    indexed = isinstance(value, (pd.DataFrame, pd.Series)) and not isinstance(
        value.index, pd.RangeIndex
    )
    shape = shape_of(value, indexed=indexed)
    if given is not None:
        with home.catalog.still():
            if home.is_taken(given):
                node = home.source(shape, given)
                attach(value, node, home, indexed=indexed)
                return
    args = {**args, "columns": label_names(value, indexed=indexed)}
    node = record_version(home, op, args, [], shape, wanted, wanted)
    node.base = node.name
    attach(value, node, home, indexed=indexed)


def name_of(home: StoreRecorder, value: Any) -> str | None:
    """Return the name of a tracked table's array, None if it is not tracked in this store."""
    with untracked():
        state = settled_state(value)
    if state is None or state.home is not home:
        return None
    return state.node.owner.final_name(state.node)


def name_table(home: StoreRecorder, value: Any, name: str) -> Any:
    """Give a tracked table's array a name; one that is stored goes on as one of that name."""
    with untracked():
        state = settled_state(value)
        if state is None:
            raise CaptureError(
                f"this {type(value).__name__} is not tracked, so it can't be named: use "
                f"store.track(x, {name!r})"
            )
        if not recorder_of(home).rename(state.node, name):
            args: dict[str, object] = {"columns": label_names(value, indexed=state.indexed)}
            parts = same_cells(value, indexed=state.indexed, was_indexed=state.indexed)
            old = state.node
            node = record_version(home, "named", args, [(old, parts)], old.shape, name, name)
            node.owner.rename(node, name)
            state.node = node
    return value
