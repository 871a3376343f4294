"""Every path between two arrays, without listing the paths.

The number of paths may be exponential in the number of operations (a chain of n diamonds has 2^n),
so paths are never enumerated. The arrays that lie on some path are grouped into strongly connected
components, in topological order; walking them in that order, each array is left once, with the
union of all cells that reached it. Only inside a component with a cycle (an array updated in
place, or ``A -> B -> A``) does the walk repeat, until no new cell turns up.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dslog.cells.cellset import PLAIN, Labelled, Labels
from dslog.errors import PathError
from dslog.query.plan import Direction, Edges, Step, backward_hops, forward_hops


@dataclass(frozen=True, slots=True)
class Walk(Labelled):
    """The part of the graph that lies between two arrays, or behind one.

    ``components`` are in topological order, the source's first and the target's last;
    ``steps[name]`` leave the array ``name``. Without a target all that can be reached is in it.
    """

    source: str
    target: str | None
    components: tuple[tuple[str, ...], ...]
    steps: Mapping[str, tuple[Step, ...]]

    @property
    def labels(self) -> Labels:
        """What is said of cells that came over every path."""
        return PLAIN.joined(*(step.labels for steps in self.steps.values() for step in steps))


def plan_walk(source: str, target: str, direction: Direction, edges: Edges) -> Walk | None:
    """Plan every path from ``source`` to ``target``; without any, return None.

    The path of length zero counts: from an array to itself the query's own cells are part of the
    result, as they are for a path that names one array.
    """
    back = direction is Direction.BACKWARD
    ahead = _reachable(source, edges.inputs_of if back else edges.outputs_of)
    if target not in ahead:
        return None
    before: dict[str, list[str]] = {name: [] for name in ahead}
    for name, afters in ahead.items():
        for after in afters:
            before[after].append(name)
    between = _reachable(target, before.__getitem__)
    arcs = {
        name: tuple(after for after in ahead[name] if after in between)
        for name in ahead
        if name in between
    }
    return Walk(source, target, tuple(components(arcs)), _steps(arcs, direction, edges))


def check_direction(source: str, target: str, direction: Direction, edges: Edges) -> None:
    """Raise a PathError if there are paths from ``source`` to ``target`` the other way."""
    back = direction is Direction.BACKWARD
    ahead, behind = edges.inputs_of, edges.outputs_of
    if not back:
        ahead, behind = behind, ahead
    if target in _reachable(source, behind):
        raise PathError(_no_path(source, target, direction, _reachable(source, ahead)))


def plan_reach(source: str, direction: Direction, edges: Edges) -> Walk:
    """Plan every path that leaves ``source``, to wherever it leads."""
    back = direction is Direction.BACKWARD
    arcs = _reachable(source, edges.inputs_of if back else edges.outputs_of)
    return Walk(source, None, tuple(components(arcs)), _steps(arcs, direction, edges))


def _steps(
    arcs: Mapping[str, Sequence[str]], direction: Direction, edges: Edges
) -> dict[str, tuple[Step, ...]]:
    hops = backward_hops if direction is Direction.BACKWARD else forward_hops
    return {
        name: tuple(Step(name, after, hops(name, after, edges)) for after in afters)
        for name, afters in arcs.items()
    }


def _reachable(
    start: str, successors: Callable[[str], Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    """Return every node reachable from ``start``, itself included, with its successors."""
    found: dict[str, tuple[str, ...]] = {}
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = tuple(dict.fromkeys(successors(name)))
        waiting.extend(after for after in found[name] if after not in found)
    return found


@dataclass(slots=True)
class _Visit:
    """One frame of the depth-first search, kept on a list: graphs are deeper than the stack."""

    name: str
    children: Iterator[str]


@dataclass(slots=True)
class _Search:
    """Tarjan's bookkeeping: visiting order, lowest node reachable, nodes not yet assigned."""

    order: dict[str, int] = field(default_factory=dict)
    low: dict[str, int] = field(default_factory=dict)
    open: dict[str, None] = field(default_factory=dict)

    def enter(self, name: str, arcs: Mapping[str, Sequence[str]]) -> _Visit:
        self.order[name] = self.low[name] = len(self.order)
        self.open[name] = None
        return _Visit(name, iter(arcs[name]))

    def close(self, root: str) -> tuple[str, ...]:
        members = []
        while True:
            name, _ = self.open.popitem()
            members.append(name)
            if name == root:
                return tuple(members)


def components(arcs: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the strongly connected components of a graph in topological order (Tarjan).

    >>> components({"A": ["B"], "B": ["C"], "C": ["B", "D"], "D": []})
    [('A',), ('C', 'B'), ('D',)]
    """
    search = _Search()
    found: list[tuple[str, ...]] = []
    for root in arcs:
        if root not in search.order:
            _visit(search, root, arcs, found)
    return found[::-1]


def _visit(
    search: _Search, root: str, arcs: Mapping[str, Sequence[str]], found: list[tuple[str, ...]]
) -> None:
    frames = [search.enter(root, arcs)]
    while frames:
        frame = frames[-1]
        child = next(frame.children, None)
        if child is None:
            frames.pop()
            if frames:
                parent = frames[-1].name
                search.low[parent] = min(search.low[parent], search.low[frame.name])
            if search.low[frame.name] == search.order[frame.name]:
                found.append(search.close(frame.name))
        elif child not in search.order:
            frames.append(search.enter(child, arcs))
        elif child in search.open:
            search.low[frame.name] = min(search.low[frame.name], search.order[child])


def _no_path(source: str, target: str, direction: Direction, ahead: Mapping[str, object]) -> str:
    names = [repr(name) for name in ahead if name != source]
    where = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "") if names else "nothing"
    other = Direction.FORWARD if direction is Direction.BACKWARD else Direction.BACKWARD
    return (
        f"no path {direction} from {source!r} to {target!r}; {direction} from {source!r} leads to "
        f"{where}. {target!r} lies the other way: use {other}"
    )
