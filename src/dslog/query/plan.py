"""Turn a path of array names into steps; pure, nothing is loaded.

A store shows a planner its operation graph: arrays, and the lineages stored between them.

For neighbours ``X, Y`` on a path, lineage with ``X`` as output and ``Y`` as input is followed
backward, lineage with ``X`` as input and ``Y`` as output forward. Where both are stored (``B`` was
made from ``A`` and later ``A`` from ``B``) the step gives the union of both. A step from an array
to itself, which has both readings for the same lineage, is a backward step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import Protocol

from dslog.cells.cellset import PLAIN, Labelled, Labels, Leak, leaky
from dslog.errors import PathError


class Direction(StrEnum):
    """Which way a step follows a lineage."""

    BACKWARD = "backward"
    """From output cells to the input cells that made them."""
    FORWARD = "forward"
    """From input cells to the output cells they touched."""


@dataclass(frozen=True, slots=True)
class Edge(Labelled):
    """One stored lineage: a handle to load it by, and what a planner asks before loading it."""

    out: str
    in_: str
    key: int
    num_rows: int
    labels: Labels = PLAIN


NOTHING = 0
"""The key of an edge without lineage; stored ones have other keys."""


class Edges(Protocol):
    """The operation graph: arrays are its nodes, stored lineages its edges."""

    def between(self, out: str, in_: str) -> Sequence[Edge]:
        """Return every lineage stored for this (output, input) pair."""

    def without_lineage(self, out: str, in_: str) -> Sequence[Edge]:
        """Return an edge without lineage if ``out`` was made with ``in_``, or with nothing.

        Without lineage beside it, it says that nothing of ``in_`` got into ``out`` there.
        """

    def inputs_of(self, name: str) -> Sequence[str]:
        """Return the arrays that ``name`` was made from."""

    def outputs_of(self, name: str) -> Sequence[str]:
        """Return the arrays made from ``name``."""


class Neighbours(Protocol):
    """Gives the arrays on one side of an array."""

    def __call__(self, name: str, *, influence: bool = False) -> Sequence[str]:
        """Return those that were read, or those that decided."""


class Deciding(Protocol):
    """The operation graph, which also says what decided that a cell is there."""

    def between(self, out: str, in_: str, *, influence: bool = False) -> Sequence[Edge]:
        """Return every lineage stored for this (output, input) pair."""

    def inputs_of(self, name: str, *, influence: bool = False) -> Sequence[str]:
        """Return the arrays that ``name`` was made from."""

    def outputs_of(self, name: str, *, influence: bool = False) -> Sequence[str]:
        """Return the arrays made from ``name``."""


_DECIDED = "\0decided"


@dataclass(frozen=True, slots=True)
class Hop:
    """One lineage, followed one way."""

    edge: Edge
    direction: Direction


Hops = tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class Step(Labelled):
    """From the cells of one array to the cells of its neighbour: the union over its hops.

    ``lost`` are the leaks that may have taken values past the lineage on the way to ``target``.
    """

    source: str
    target: str
    hops: Hops
    lost: tuple[Leak, ...] = ()

    @property
    def num_rows(self) -> int:
        """Compressed rows of all lineages of this step."""
        return sum(hop.edge.num_rows for hop in self.hops)

    @property
    def labels(self) -> Labels:
        """What is said of cells that came through this step."""
        return leaky(self.lost).joined(*(hop.edge.labels for hop in self.hops))

    @property
    def direction(self) -> str:
        """``"backward"``, ``"forward"``, or ``"both"``."""
        ways = {hop.direction for hop in self.hops}
        return next(iter(ways)).value if len(ways) == 1 else "both"


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of one path, in order."""

    path: tuple[str, ...]
    steps: tuple[Step, ...]


def plan_path(path: Sequence[str], edges: Edges) -> Plan:
    """Plan the steps along ``path``; a pair of neighbours without lineage is a PathError.

    Where an operation took the one and gave the other, the step leads to no cell.
    """
    names = check_path(path)
    steps = tuple(_step(names, at, pair, edges) for at, pair in enumerate(pairwise(names)))
    return Plan(names, steps)


def check_path(path: Sequence[str]) -> tuple[str, ...]:
    """Return ``path`` as a tuple of names, or say why it is no path."""
    if isinstance(path, str):
        raise PathError(f"a path is a list of array names, not {path!r}: write [{path!r}, ...]")
    names = tuple(path)
    if not names:
        raise PathError("the path is empty: name at least one array, such as ['B', 'A']")
    for name in names:
        if not isinstance(name, str):
            raise PathError(f"a path is a list of array names, but it holds {name!r}")
    return names


def _step(path: tuple[str, ...], at: int, pair: tuple[str, str], edges: Edges) -> Step:
    source, target = pair
    hops = _hops(source, target, edges.between) or _hops(source, target, edges.without_lineage)
    if not hops:
        raise PathError(_no_lineage(path, at, source, target, edges))
    return Step(source, target, hops)


def _hops(source: str, target: str, between: Callable[[str, str], Sequence[Edge]]) -> Hops:
    hops = tuple(Hop(edge, Direction.BACKWARD) for edge in between(source, target))
    if source != target:
        hops += tuple(Hop(edge, Direction.FORWARD) for edge in between(target, source))
    return hops


class Both:
    """A graph with what decided beside what was read, or with paths through what decided alone.

    In the second, an array stands for itself until something that decided was passed, and then for
    its ``decided`` name: only paths that end there have one.
    """

    def __init__(self, edges: Deciding, direction: Direction, *, only: bool) -> None:
        self._edges = edges
        self._back = direction is Direction.BACKWARD
        self._only = only

    @staticmethod
    def decided(name: str) -> str:
        """Return the name of an array behind something that decided."""
        return name + _DECIDED

    def between(self, out: str, in_: str) -> Sequence[Edge]:
        """Return every lineage for this pair that a path may take."""
        names = out.removesuffix(_DECIDED), in_.removesuffix(_DECIDED)
        passed = [name.endswith(_DECIDED) for name in ((out, in_) if self._back else (in_, out))]
        read = [] if passed[0] != passed[1] else [*self._edges.between(*names)]
        if self._only and not passed[1]:
            return read
        return [*read, *self._edges.between(*names, influence=True)]

    def without_lineage(self, _out: str, _in: str) -> Sequence[Edge]:
        """Return nothing: what is no path is not walked."""
        return []

    def inputs_of(self, name: str) -> Sequence[str]:
        """Return the arrays that a path may come from, or go on to."""
        return self._next(name, self._edges.inputs_of, onward=self._back)

    def outputs_of(self, name: str) -> Sequence[str]:
        """Return the arrays that a path may go on to, or come from."""
        return self._next(name, self._edges.outputs_of, onward=not self._back)

    def _next(self, name: str, step: Neighbours, *, onward: bool) -> list[str]:
        plain = name.removesuffix(_DECIDED)
        read, decided = step(plain), step(plain, influence=True)
        if not self._only:
            return list(dict.fromkeys([*read, *decided]))
        passed = [other + _DECIDED for other in dict.fromkeys([*read, *decided])]
        if onward:
            behind = [other + _DECIDED for other in decided]
            return passed if name.endswith(_DECIDED) else [*read, *behind]
        return [*passed, *decided] if name.endswith(_DECIDED) else list(read)


def with_leaks(plan: Plan, between: Callable[[str, str], Sequence[Leak]]) -> Plan:
    """Return a plan whose steps know what may be missing from the cells they lead to.

    ``between`` gives the leaks from an earlier array to a later one. Steps in one direction make a
    run, and values may have got past the lineage of one step, or of all steps of the run so far.
    """
    steps = []
    starts: dict[Direction, str] = {}  # where the runs that end here began
    for step in plan.steps:
        ways = {hop.direction for hop in step.hops}
        starts = {way: starts.get(way, step.source) for way in Direction if way in ways}
        lost: dict[Leak, None] = {}
        for way, start in starts.items():
            for name in dict.fromkeys((step.source, start)):
                back = way is Direction.BACKWARD
                pair = (step.target, name) if back else (name, step.target)
                lost |= dict.fromkeys(between(*pair))
        steps.append(replace(step, lost=tuple(lost)))
    return Plan(plan.path, tuple(steps))


def _no_lineage(path: tuple[str, ...], at: int, source: str, target: str, edges: Edges) -> str:
    known = [f"{name!r} (made from)" for name in edges.inputs_of(source)]
    known += [f"{name!r} (made into)" for name in edges.outputs_of(source)]
    neighbours = ", ".join(known) if known else "no array at all"
    whole = " -> ".join(path)
    return (
        f"no lineage between {source!r} and {target!r} (step {at + 1} of {whole}); "
        f"{source!r} has lineage with {neighbours}. Name every array on the way, "
        f"or use backward / forward, which find the way themselves"
    )


def hops(source: str, target: str, direction: Direction, edges: Edges) -> Hops:
    """Every lineage that leads from an array to another this way."""
    back = direction is Direction.BACKWARD
    found = edges.between(source, target) if back else edges.between(target, source)
    return tuple(Hop(edge, direction) for edge in found)
