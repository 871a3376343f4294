"""Planning every path between two arrays, against obvious versions of the same."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dslog.errors import PathError
from dslog.query.graph import check_direction, components, plan_walk
from dslog.query.plan import Direction, Edge

NAMES = "ABCDEF"
graphs = st.sets(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=14)


class PairEdges:
    """Pairs (out, in_) as a graph."""

    def __init__(self, pairs):
        self.pairs = sorted(pairs)

    def between(self, out, in_):
        return [Edge(out, in_, self.pairs.index((out, in_)), 1)]

    def inputs_of(self, name):
        return [in_ for out, in_ in self.pairs if out == name]

    def outputs_of(self, name):
        return [out for out, in_ in self.pairs if in_ == name]


def reachable(pairs):
    """Which pairs of nodes have a path between them, by Warshall's closure."""
    reach = set(pairs) | {(name, name) for name in NAMES}
    for middle, start, end in itertools.product(NAMES, repeat=3):
        if (start, middle) in reach and (middle, end) in reach:
            reach.add((start, end))
    return reach


@given(graphs)
def test_components_are_the_classes_of_mutual_reachability_in_order(pairs):
    arcs = {name: [end for start, end in pairs if start == name] for name in NAMES}
    found = components(arcs)
    reach = reachable(pairs)
    place = {name: at for at, members in enumerate(found) for name in members}
    assert sorted(place) == list(NAMES)
    for a, b in itertools.product(NAMES, repeat=2):
        assert (place[a] == place[b]) == ((a, b) in reach and (b, a) in reach)
    assert all(place[a] <= place[b] for a, b in pairs)


@given(graphs, st.sampled_from(list(Direction)))
def test_a_walk_holds_what_lies_on_a_path_and_nothing_else(pairs, direction):
    arcs = pairs if direction is Direction.BACKWARD else {(b, a) for a, b in pairs}
    reach = reachable(arcs)
    if ("A", "F") not in reach:
        assert plan_walk("A", "F", direction, PairEdges(pairs)) is None
        return
    walk = plan_walk("A", "F", direction, PairEdges(pairs))
    on_the_way = {n for n in NAMES if ("A", n) in reach and (n, "F") in reach}
    assert set(walk.steps) == set(itertools.chain(*walk.components)) == on_the_way
    steps = {(step.source, step.target) for steps in walk.steps.values() for step in steps}
    assert steps == {(a, b) for a, b in arcs if a in on_the_way and b in on_the_way}
    assert "A" in walk.components[0]
    assert "F" in walk.components[-1]


def test_a_chain_longer_than_the_stack():
    pairs = [(f"n{i + 1}", f"n{i}") for i in range(5000)]
    following = {str(out): [str(in_)] for out, in_ in pairs} | {"n0": []}
    assert len(components(following)) == 5001


def test_a_path_that_leads_the_other_way_is_an_error():
    edges = PairEdges({("B", "A"), ("C", "B"), ("E", "D")})
    with pytest.raises(PathError) as caught:
        check_direction("B", "C", Direction.BACKWARD, edges)
    assert "no path backward from 'B' to 'C'" in str(caught.value)
    assert "leads to 'A'" in str(caught.value)
    assert "use forward" in str(caught.value)
    check_direction("C", "D", Direction.BACKWARD, edges)  # no path either way: there is nothing


def test_an_array_reaches_itself_without_any_lineage():
    walk = plan_walk("A", "A", Direction.FORWARD, PairEdges(set()))
    assert walk.components == (("A",),)
    assert walk.exact
