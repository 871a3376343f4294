"""The place of a pandas object in the lineage graph.

A tracked frame is a plain pandas frame that carries a state: nothing else is different about it, so
nothing can tell it from one that is not tracked. Its array has a row for each of its rows, and a
column for each of its columns, then for each level of its index if that carries data. The default
index carries none, nor does what is left of one when rows are dropped. A series without such an
index is an array of one axis.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from dslog.capture.numpy.memory import recorder_of
from dslog.capture.pandas.row_part import (
    SAME,
    Part,
    Straight,
    every_cell,
    is_right,
    lineage_of_parts,
)
from dslog.capture.recorder import Deferred, Node, Step, StoreRecorder, Use
from dslog.errors import DslogError
from dslog.lineage.lineage import Lineage
from dslog.types import Shape

ATTRIBUTE = "_dslog"


class _Here(threading.local):
    """Whether this thread is inside of a call, whose own calls are pandas' business.

    ``anonymous``: what is made is not yet what the program assigns. ``taken``: the tracked objects
    whose values numpy took, while somebody wants to know.
    """

    inside = False
    anonymous = False
    taken: list[Any] | None = None


HERE = _Here()


@contextmanager
def untracked() -> Iterator[None]:
    """Let pandas be plain for a while."""
    was, HERE.inside = HERE.inside, True
    try:
        yield
    finally:
        HERE.inside = was


@dataclass(eq=False, slots=True)
class TableState:
    """What is known of a tracked frame, series or index.

    ``labels`` are its columns, and its index, when the node was made: pandas replaces them without
    a word.
    """

    node: Node
    home: StoreRecorder
    indexed: bool
    labels: tuple[Any, Any]
    use: Use


@dataclass(eq=False, slots=True)
class Carrier:
    """What something that pandas made of tracked objects, such as a grouping, was made from."""

    values: tuple[Any, ...]
    calls: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = field(default=())


def words(text: str) -> list[str]:
    """Return names that are written as one text."""
    return text.split()


def state_of(value: Any) -> TableState | None:
    """Return the state of a tracked object, None if it is not tracked, or not any more."""
    own = getattr(value, "__dict__", None)
    found = own.get(ATTRIBUTE) if type(own) is dict else None
    if type(found) is not TableState:
        return None
    return None if found.home.closed else found


def carrier_of(value: Any) -> Carrier | None:
    """Return what a grouping or a window was made from."""
    own = getattr(value, "__dict__", None)
    found = own.get(ATTRIBUTE) if type(own) is dict else None
    return found if type(found) is Carrier else None


def default_index(index: pd.Index) -> bool:
    """Whether an index is the default one: 0, 1, 2 and so on."""
    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1


def shape_of(value: Any, *, indexed: bool) -> Shape:
    """Return the shape of an object's array."""
    if isinstance(value, pd.Index):
        return (len(value), value.nlevels) if value.nlevels > 1 else (len(value),)
    levels = value.index.nlevels if indexed else 0
    if isinstance(value, pd.Series):
        return (len(value), 1 + levels) if levels else (len(value),)
    return len(value), len(value.columns) + levels


def data_width(value: Any) -> int:
    """Return how many columns of data an object has."""
    return len(value.columns) if isinstance(value, pd.DataFrame) else 1


def label_text(label: Any) -> str:
    """Return a column's label as questions name it; of a tuple, its parts."""
    if isinstance(label, tuple):
        return "_".join(str(part) for part in label if part != "")
    return str(label)


def label_names(value: Any, *, indexed: bool) -> list[str]:
    """Return the names of the columns of an object's array."""
    if isinstance(value, pd.Index):
        return [label_text(name) for name in value.names]
    if isinstance(value, pd.DataFrame):
        names = [label_text(label) for label in value.columns]
    else:
        names = ["values" if value.name is None else label_text(value.name)]
    if indexed:
        many = value.index.nlevels > 1
        for k, name in enumerate(value.index.names):
            names.append(
                label_text(name) if name is not None else f"level_{k}" if many else "index"
            )
    return names


def labels_now(value: Any) -> tuple[Any, Any]:
    """Return what may be replaced without a word."""
    if isinstance(value, pd.DataFrame):
        return value.columns, value.index
    return None, value.index if isinstance(value, pd.Series) else None


def attach(value: Any, node: Node, home: StoreRecorder, *, indexed: bool) -> None:
    """Make an object a tracked one, whose node this is."""
    state = TableState(node, home, indexed, labels_now(value), home.use())
    object.__setattr__(value, ATTRIBUTE, state)
    home.see(value)


def detach(value: Any) -> None:
    """Let an object go on untracked."""
    vars(value).pop(ATTRIBUTE, None)


def record_version(  # noqa: PLR0913 (an operation has that many sides)
    home: StoreRecorder,
    op: str,
    args: dict[str, object],
    inputs: Iterable[tuple[Node, list[Part]]],
    shape: Shape,
    wanted: str | tuple[Node, int],
    base: str,
    *,
    exact: bool = True,
    influences: Iterable[tuple[Node, list[Part]]] = (),
) -> Node:
    """Record what made a new node; its lineage is built when it is stored."""
    recorder = recorder_of(home)
    node = recorder.node(shape, wanted, base)
    if isinstance(wanted, str) and wanted != base and ":" not in wanted and "." not in wanted:
        node.base = wanted
    groups: dict[Node, tuple[list[Part], list[Part]]] = {}
    for place, some in enumerate((inputs, influences)):
        for source, parts in some:
            groups.setdefault(source, ([], []))[place].extend(parts)
    rows: list[list[Deferred | None]] = [[], []]
    for source, found in groups.items():
        for place, parts in enumerate(found):
            rows[place].append(
                Deferred(_builder(shape, source.shape, parts, exact=exact)) if parts else None
            )
    decided = any(one is not None for one in rows[1])
    for source in groups:
        source.owner.reach(source)
    if recorder is not home:  # a group composes what is in it at once
        built = [[one.build() if one else None for one in row] for row in rows]
        recorder.record(Step(op, list(groups), [node], (built[0],), args))
        return node
    step = Step(op, list(groups), [node], (rows[0],), args, None, (rows[1],) if decided else ())
    recorder.record(step)
    return node


def _builder(out: Shape, in_: Shape, parts: list[Part], *, exact: bool) -> Callable[[], Any]:
    """Return what builds the lineage of parts; what can't be right is everything, labelled."""

    def made() -> Lineage:
        try:
            found = lineage_of_parts(out, in_, parts, exact=exact)
            if is_right(found):
                return found
        except (IndexError, ValueError, AssertionError, DslogError):
            if STRICT:
                raise
        if STRICT:
            raise AssertionError(f"parts {parts} do not fit {out} and {in_}")
        return lineage_of_parts(out, in_, every_cell(out, in_), exact=False)

    return made


STRICT: list[int] = []
"""Not empty in tests: what can't be right is an error."""


def same_cells(value: Any, *, indexed: bool, was_indexed: bool) -> list[Part]:
    """Return the lineage of a new version of an object that has the same columns."""
    width = data_width(value)
    columns = {(c, c) for c in range(width)}
    if indexed and was_indexed:
        columns |= {(width + k, width + k) for k in range(value.index.nlevels)}
    return [Straight(SAME, frozenset(columns))]


def settled_state(value: Any) -> TableState | None:
    """Return the state of an object as it is now: with labels that were replaced since."""
    state = state_of(value)
    if state is None or isinstance(value, pd.Index):
        return state
    columns, index = labels_now(value)
    if columns is state.labels[0] and index is state.labels[1]:
        return state
    indexed, renamed = state.indexed, columns is not state.labels[0]
    moved = index is not state.labels[1]
    if shape_of(value, indexed=indexed) != state.node.shape:
        _lost(value, state)
        return None
    if renamed or (moved and (indexed or not _derived(index))):
        now = not _derived(index) if moved else indexed
        parts = same_cells(value, indexed=now, was_indexed=indexed and not moved)
        base = state.node.base
        shape = shape_of(value, indexed=now)
        args: dict[str, object] = {"columns": label_names(value, indexed=now)}
        node = record_version(
            state.home, "labels", args, [(state.node, parts)], shape, f"{base}.labels", base
        )
        state.node, state.indexed = node, now
    state.labels = columns, index
    return state


def _derived(index: pd.Index) -> bool:
    return isinstance(index, pd.RangeIndex)


def _lost(value: Any, state: TableState) -> None:
    """Note that an object was changed in a way that was not seen."""
    state.home.leak("unseen change", [state.node])
    detach(value)


def alive_tables(home: StoreRecorder) -> Iterator[Any]:
    """Give the tracked frames and series that the program holds."""
    for value in home.alive:
        if isinstance(value, (pd.DataFrame, pd.Series)) and state_of(value) is not None:
            yield value


def table_values(value: Any, state: TableState) -> np.ndarray[Any, Any]:
    """Return what an object holds as its array is laid out."""
    with untracked():
        if not state.indexed:
            found: np.ndarray[Any, Any] = value.to_numpy()
            return found
        levels = [value.index.get_level_values(k) for k in range(value.index.nlevels)]
        data = value.to_numpy(dtype=object).reshape(len(value), -1)
        return np.concatenate([data, np.array([list(x) for x in levels], object).T], axis=1)


def held_table(value: Any) -> tuple[Node | None, np.ndarray[Any, Any]]:
    """Return the node and the values of an object that a program holds."""
    state = state_of(value)
    labels = None if state is None else labels_now(value)
    if (
        state is None
        or labels is None
        or any(a is not b for a, b in zip(labels, state.labels, strict=True))
    ):
        return None, np.zeros(0)
    return state.node, table_values(value, state)


def columns_memory(value: Any) -> list[np.ndarray[Any, Any] | None]:
    """Return the memory of each column of data, where it is an ndarray."""
    found: list[np.ndarray[Any, Any] | None] = [None] * data_width(value)
    for block in value._mgr.blocks:  # noqa: SLF001 (there is no public way to the memory)
        values = block.values
        values = getattr(values, "_ndarray", values)
        if not isinstance(values, np.ndarray):
            values = getattr(values, "_data", None)
        if not isinstance(values, np.ndarray):
            continue
        for k, place in enumerate(block.mgr_locs.as_array if values.ndim > 1 else [0]):
            found[place if isinstance(value, pd.DataFrame) else 0] = (
                values[k] if values.ndim > 1 else values
            )
    return found
