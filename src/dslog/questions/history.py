"""What happened in a store, call by call, as questions look at it.

Values of arrays, which the store itself does not keep, are known where somebody keeps them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dslog.cells.cellset import PLAIN, CellSet, Labels, Leak, leaky
from dslog.cells.selection import number_columns, number_text, parse_cells, select
from dslog.query.execute import Load
from dslog.query.graph import Walk, plan_reach
from dslog.query.plan import Direction, Edge
from dslog.store.arguments import call_text
from dslog.store.catalog import Catalog, LineageInfo, Operation, find_array
from dslog.store.source_identity import Reading
from dslog.types import Shape

_GIVEN = "lineage"


@dataclass(frozen=True, slots=True)
class StoredCall:
    """One operation with its lineages; or lineage given without one, of one pair of arrays."""

    operation: Operation | None
    name: str
    args: Mapping[str, object]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    edges: tuple[Edge, ...]

    def edges_of(self, out: str, in_: str) -> list[Edge]:
        """Return its lineages from one array to another."""
        return [edge for edge in self.edges if (edge.out, edge.in_) == (out, in_)]

    def __str__(self) -> str:
        args = {
            name: value
            for name, value in self.args.items()
            if name != "columns" and value is not None
        }
        text = _GIVEN if self.operation is None else call_text(self.name, args)
        return f"{text} of {', '.join(self.inputs)}" if self.inputs else text


class KeptValues(Protocol):
    """Values of arrays, where somebody keeps them."""

    def at(self, array: str, cells: npt.NDArray[np.int64]) -> Sequence[object] | None:
        """Return the values of cells (n, ndim), or None when they are not kept."""

    def missing(self, array: str) -> CellSet | None:
        """Return the cells that are NaN or null, or None when values are not kept."""

    def array(self, name: str) -> npt.NDArray[Any] | None:
        """Return the values of an array that is no table, or None when they are not kept."""


@dataclass(frozen=True)
class History:
    """The calls of a store, in order of registration; its kept values, and its lineages."""

    catalog: Catalog
    kept: KeptValues
    load: Load

    @cached_property
    def calls(self) -> tuple[StoredCall, ...]:
        """Every call; those without any lineage stand where their numbers belong."""
        with self.catalog.snapshot():
            return _calls(self.catalog.operations(), self.catalog.lineages())

    @cached_property
    def _losses(self) -> "_Losses | None":
        """What values left tracking by, or None where none did."""
        with self.catalog.snapshot():
            marked = self.catalog.marked_leaks()
            if not marked:
                return None
            ahead: dict[str, int] = {}
            for place, (leak, _) in enumerate(marked):
                for name in self.catalog.behind(leak.array):
                    ahead[name] = ahead.get(name, 0) | 1 << place
            return _Losses(marked, self.catalog, ahead, self.catalog.last_number())

    def labelled(
        self, reached: Mapping[str, CellSet], asked: str, direction: Direction
    ) -> tuple[dict[str, CellSet], Labels]:
        """Return cells that ``asked`` led to with what may be missing from them, and from all.

        From all together also what is missing of arrays that no lineage leads to.
        """
        labels = PLAIN.joined(*(cells.labels for cells in reached.values()))
        losses, back = self._losses, direction is Direction.BACKWARD
        if losses is None:
            return dict(reached), labels
        found = {}
        for name, cells in reached.items():
            lost = losses.between(name, asked) if back else losses.between(asked, name)
            found[name] = cells.with_labels(cells.labels.joined(leaky(lost)))
        lost = losses.between(None, asked) if back else losses.between(asked, None)
        return found, labels.joined(leaky(lost))

    def walk(self, array: str, direction: Direction) -> Walk:
        """Plan every path that leaves an array, with what ``makers`` says of the arrays on them."""
        with self.catalog.snapshot():
            _ = self._losses
            walk = plan_reach(array, direction, self.catalog)
            self._look_up([name for members in walk.components for name in members])
        return walk

    def calls_of(self, run: int) -> tuple[StoredCall, ...]:
        """Return the calls of a run."""
        return _calls(*self.catalog.operations_of(run))

    def takers(self, arrays: Sequence[str]) -> tuple[StoredCall, ...]:
        """Return the calls that took any of some arrays, with their lineage from these."""
        return _calls(*self.catalog.used_by(arrays))

    def origins(self, array: str) -> list[Reading]:
        """Return what a source was read of, each time."""
        return self.catalog.readings(name=array)

    def _look_up(self, names: Sequence[str]) -> None:
        """Remember the calls that gave arrays, of which nothing is known yet."""
        wanted = [name for name in names if name not in self._given]
        if wanted:
            self._given.update({name: [] for name in wanted})
            for call in _calls(*self.catalog.made_by(wanted)):
                for name in call.outputs:
                    if name in self._given:
                        self._given[name].append(call)

    @cached_property
    def _given(self) -> dict[str, list[StoredCall]]:
        """For arrays that were looked up, every call that gave them."""
        return {}

    def makers(self, array: str) -> tuple[StoredCall, ...]:
        """Return the calls that made an array of others."""
        self._look_up([array])
        return tuple(call for call in self._given[array] if call.inputs)

    def place(self, array: str) -> int:
        """How late an array was made; sources come before everything."""
        made = [-1 if call.operation is None else call.operation.id for call in self.makers(array)]
        return max(made, default=-1)

    def columns_of(self, array: str, shape: Shape) -> tuple[str, ...]:
        """The names of an array's columns; none if it is no table."""
        self._look_up([array])
        columns: tuple[str, ...] = ()
        for call in self._given[array]:
            names = call.args.get("columns")
            columns = tuple(map(str, names)) if isinstance(names, list) else columns
        return columns if len(shape) == 2 and len(columns) == shape[1] else ()

    def cells(self, array: str, query: object) -> CellSet:
        """Read cells of an array, also as text; of a table, a column may be named: ``"3, price"``.

        As a tuple that is ``(3, "price")``.
        """
        info = find_array(array, self.catalog)
        columns = self.columns_of(info.name, info.shape)
        if isinstance(query, str):
            return parse_cells(number_text(query, columns), info.shape, info.name)
        return select(number_columns(query, info.name, columns), info.shape, info.name)

    def row(self, array: str, row: object) -> CellSet:
        """Read a whole row, by its number; or cells."""
        several = len(find_array(array, self.catalog).shape) > 1
        if several and isinstance(row, str) and row.strip().isdecimal():
            return self.cells(array, f"{row}, ...")
        if several and isinstance(row, int) and not isinstance(row, bool):
            return self.cells(array, (row, ...))
        return self.cells(array, row)


@dataclass(frozen=True, slots=True)
class _Losses:
    """Leaks that make answers incomplete, and for each array those ahead of it, as bits."""

    marked: Sequence[tuple[Leak, int]]
    catalog: Catalog
    ahead: Mapping[str, int]
    last: int

    def between(self, source: str | None, target: str | None) -> Iterator[Leak]:
        """The leaks from an earlier array to a later one; None is any."""
        if source == target:
            return
        bits = -1 if source is None else self.ahead.get(source, 0)
        if not bits:
            return
        number = self.last if target is None else self.catalog.array_numbers([target])[target]
        for place, (leak, mark) in enumerate(self.marked):
            if bits >> place & 1 and mark < number:
                yield leak


def _calls(
    operations: Sequence[Operation], lineages: Sequence[LineageInfo]
) -> tuple[StoredCall, ...]:
    """Put lineages to their operations, in order; operations without stand where they belong."""
    waiting = list(reversed(operations))
    grouped: dict[object, list[LineageInfo]] = {}
    for info in lineages:
        key = (info.out, info.in_) if info.op is None else info.op
        grouped.setdefault(key, []).append(info)
    found = []
    for infos in grouped.values():
        op = infos[0].op
        while op is not None and waiting and waiting[-1].id <= op:
            operation = waiting.pop()
            found.append(_call(operation, grouped.get(operation.id, [])))
        if op is None:
            found.append(_call(None, infos))
    found += [_call(operation, []) for operation in reversed(waiting)]
    return tuple(found)


def _call(operation: Operation | None, infos: Sequence[LineageInfo]) -> StoredCall:
    edges = {info.body: info for info in infos} if operation is None else dict(enumerate(infos))
    known = tuple(Edge(i.out, i.in_, i.body, i.num_rows, i.labels) for i in edges.values())
    if operation is None:
        return StoredCall(None, _GIVEN, {}, (infos[0].in_,), (infos[0].out,), known)
    op = operation
    return StoredCall(op, op.name, op.args, op.inputs, op.outputs, known)
