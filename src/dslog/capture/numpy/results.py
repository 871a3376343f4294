"""The results of a call: arrays inside tuples and lists, taken out and put back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dslog.capture.numpy.assign import write_view
from dslog.capture.numpy.call import Array, Lineages
from dslog.capture.numpy.inputs import Inputs
from dslog.capture.numpy.memory import Memory
from dslog.capture.numpy.node import Node
from dslog.capture.numpy.scope import recorder_of
from dslog.capture.numpy.session import Session
from dslog.capture.numpy.state import Tracked, memory_of, plain_of, wrap_root, wrap_view
from dslog.capture.numpy.strided import is_view
from dslog.lineage.lineage import Lineage
from dslog.store.batch import Hit

Row = tuple[Lineage | None, ...]


def results_of(result: Any) -> list[Array]:
    """Return the arrays and scalars in a result, in order, all of them as plain arrays.

    Subclasses of ndarray, and anything else, are not results we could track.
    """
    if type(result) is np.ndarray:
        return [result]
    if isinstance(result, np.generic):
        return [np.asarray(result)]
    if isinstance(result, tuple | list):
        return [array for item in result for array in results_of(item)]
    return []


def rebuild(result: Any, arrays: Iterator[Any]) -> Any:
    """Return a result with its arrays and scalars replaced, in the order of ``results_of``."""
    if type(result) is np.ndarray or isinstance(result, np.generic):
        return next(arrays)
    if isinstance(result, tuple | list):
        items = [rebuild(item, arrays) for item in result]
        if isinstance(result, tuple) and hasattr(result, "_fields"):
            return type(result)(*items)
        return type(result)(items)
    return result


def scalars_of(result: Any) -> list[bool]:
    """Say for each of ``results_of`` whether it is a scalar."""
    if type(result) is np.ndarray:
        return [False]
    if isinstance(result, np.generic):
        return [True]
    if isinstance(result, tuple | list):
        return [scalar for item in result for scalar in scalars_of(item)]
    return []


@dataclass(slots=True)
class Placing:
    """Gives results their nodes and memory, around the moment when the call is recorded."""

    name: str
    session: Session
    kind: type[Tracked]
    base: str
    inputs: Inputs
    hit: Hit | None = None
    made: list[Node] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def prepare(self, output: Array, row: Row, *, scalar: bool) -> Callable[[], Any]:
        """Make the node of a new array; what is returned makes the array, once recorded."""
        for array, plain in zip(self.inputs.arrays, self.inputs.plains, strict=True):
            if output is plain:
                return partial(_same, array)
        node = recorder_of(self.session).node(output.shape, f"{self.base}.{self.name}", self.base)
        self._add(node, row)
        for array, plain in zip(self.inputs.arrays, self.inputs.plains, strict=True):
            memory = memory_of(array)
            if memory is not None and not scalar and is_view(output, plain):
                return partial(wrap_view, self.kind, output, memory, node)
        memory = Memory(output, node, self.session, keep=self._keeps())
        return partial(wrap_root, self.kind, output, memory, scalar=scalar)

    def prepare_out(self, out: Tracked, row: Row) -> Callable[[], Any]:
        """Make the node of an array that the call has written."""
        memory = memory_of(out)
        if memory is None:
            return partial(_same, out)
        plain = plain_of(out)
        if not any(lineage is not None for lineage in row):
            return partial(_after, out, write_view, memory, plain, None)
        if plain is memory.root:
            node = memory.next_version()
            self._add(node, row)
            return partial(_after, out, memory.replace, node)
        node = recorder_of(self.session).node(out.shape, f"{self.base}.{self.name}", self.base)
        self._add(node, row)
        return partial(_after, out, write_view, memory, plain, node)

    def record(self, op: str, nodes: Sequence[Node], args: dict[str, object]) -> None:
        """Record the call, with the inputs that contributed to something."""
        if not self.made:
            return
        places = range(len(nodes))
        used = [k for k in places if any(row[k] is not None for row in self.rows)] or places
        lineages: Lineages = tuple(tuple(row[k] for k in used) for row in self.rows)
        recorder = recorder_of(self.session)
        recorder.record(op, [nodes[k] for k in used], self.made, lineages, args, self.hit)

    def _keeps(self) -> bool:
        """Whether the values of some input are kept, and so those of its results."""
        return any(memory.keep for array in self.inputs.arrays if (memory := memory_of(array)))

    def _add(self, node: Node, row: Row) -> None:
        self.made.append(node)
        self.rows.append(row)


def _same(result: Any) -> Any:
    return result


def _after(out: Tracked, action: Callable[..., None], *args: Any) -> Tracked:
    action(*args)
    return out
