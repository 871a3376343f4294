"""Every path between two arrays, without listing the paths.

The number of paths may be exponential in the number of operations (a chain of n diamonds has 2^n),
so paths are never enumerated. The arrays that lie on some path are grouped into strongly connected
components, in topological order; walking them in that order, each array is left once, with the
union of all cells that reached it. Only inside a component with a cycle (an array updated in
place, or ``A -> B -> A``) does the walk repeat, until no new cell turns up.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dslog.cells.cellset import PLAIN, Labelled, Labels
from dslog.errors import PathError
from dslog.query.plan import Direction, Edges, Step, hops


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
    between = _reachable(target, _turned(ahead).__getitem__)
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
    return {
        name: tuple(Step(name, after, hops(name, after, direction, edges)) for after in afters)
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


def components(arcs: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the strongly connected components of a graph in topological order (Kosaraju).

    >>> components({"A": ["B"], "B": ["C"], "C": ["B", "D"], "D": []})
    [('A',), ('B', 'C'), ('D',)]
    """
    before = _turned(arcs)
    found: list[tuple[str, ...]] = []
    left = set(arcs)
    for root in reversed(_finished(arcs)):
        members: list[str] = []
        waiting = [root]
        while waiting:
            name = waiting.pop()
            if name in left:
                left.remove(name)
                members.append(name)
                waiting += before[name]
        if members:
            found.append(tuple(members))
    return found


def _turned(arcs: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the nodes that lead to each node."""
    before: dict[str, list[str]] = {name: [] for name in arcs}
    for name, afters in arcs.items():
        for after in afters:
            before[after].append(name)
    return before


def _finished(arcs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the nodes in the order in which a depth-first search is done with them.

    What it is about is kept on a list: graphs are deeper than the stack.
    """
    done: list[str] = []
    seen: set[str] = set()
    for root in arcs:
        frames = [] if root in seen else [(root, iter(arcs[root]))]
        seen.add(root)
        while frames:
            name, children = frames[-1]
            child = next((one for one in children if one not in seen), None)
            if child is None:
                done.append(name)
                frames.pop()
            else:
                seen.add(child)
                frames.append((child, iter(arcs[child])))
    return done


def _no_path(source: str, target: str, direction: Direction, ahead: Mapping[str, object]) -> str:
    names = [repr(name) for name in ahead if name != source]
    where = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "") if names else "nothing"
    other = Direction.FORWARD if direction is Direction.BACKWARD else Direction.BACKWARD
    return (
        f"no path {direction} from {source!r} to {target!r}; {direction} from {source!r} leads to "
        f"{where}. {target!r} lies the other way: use {other}"
    )
