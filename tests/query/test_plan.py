"""Planning a path: pure, so a dictionary stands in for a store."""

import pytest

from dslog.cells.cellset import Labels
from dslog.errors import PathError
from dslog.query.plan import NOTHING, Direction, Edge, plan_path


class DictEdges:
    """Pairs (out, in_) as a graph; each pair once, or as often as it is listed.

    ``taken`` are pairs of an operation that have no lineage.
    """

    def __init__(self, *pairs, superset=(), taken=()):
        self.taken = taken
        self.edges = [
            Edge(out, in_, key, 10 * (key + 1), Labels(exact=(out, in_) not in superset))
            for key, (out, in_) in enumerate(pairs)
        ]

    def between(self, out, in_):
        return [edge for edge in self.edges if (edge.out, edge.in_) == (out, in_)]

    def without_lineage(self, out, in_):
        return [Edge(out, in_, NOTHING, 0)] if (out, in_) in self.taken else []

    def inputs_of(self, name):
        return [edge.in_ for edge in self.edges if edge.out == name]

    def outputs_of(self, name):
        return [edge.out for edge in self.edges if edge.in_ == name]


def directions(plan):
    return [step.direction for step in plan.steps]


def test_direction_comes_from_what_is_stored():
    edges = DictEdges(("B", "A"), ("C", "B"))
    assert directions(plan_path(["C", "B", "A"], edges)) == ["backward", "backward"]
    assert directions(plan_path(["A", "B", "C"], edges)) == ["forward", "forward"]
    assert directions(plan_path(["A", "B", "A"], edges)) == ["forward", "backward"]


def test_several_lineages_of_a_pair_are_one_step():
    step = plan_path(["B", "A"], DictEdges(("B", "A"), ("B", "A"))).steps[0]
    assert [hop.edge.key for hop in step.hops] == [0, 1]
    assert step.num_rows == 30
    assert step.exact


def test_lineage_both_ways_is_followed_both_ways():
    step = plan_path(["B", "A"], DictEdges(("B", "A"), ("A", "B"))).steps[0]
    assert step.direction == "both"
    assert [hop.direction for hop in step.hops] == [Direction.BACKWARD, Direction.FORWARD]


def test_a_step_from_an_array_to_itself_is_backward():
    step = plan_path(["A", "A"], DictEdges(("A", "A"))).steps[0]
    assert [hop.direction for hop in step.hops] == [Direction.BACKWARD]


def test_a_superset_on_the_way_shows():
    edges = DictEdges(("B", "A"), ("C", "B"), superset=[("B", "A")])
    assert [step.exact for step in plan_path(["C", "B", "A"], edges).steps] == [True, False]


def test_one_array_is_a_path_without_steps():
    assert plan_path(["A"], DictEdges()).steps == ()


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ([], "empty"),
        ("BA", "list of array names"),
        (["B", 3], "holds 3"),
        (["C", "A"], "no lineage between 'C' and 'A' (step 1 of C -> A); 'C' has lineage with 'B'"),
        (["A", "B", "D"], "(step 2 of A -> B -> D)"),
        (["D", "A"], "'D' has lineage with no array at all"),
    ],
)
def test_no_path(path, words):
    with pytest.raises(PathError) as caught:
        plan_path(path, DictEdges(("B", "A"), ("C", "B")))
    assert words in str(caught.value)


def test_what_an_operation_took_and_did_not_use_leads_to_nothing():
    edges = DictEdges(("B", "A"), taken=[("B", "M")])
    (step,) = plan_path(["B", "M"], edges).steps
    assert [hop.edge.key for hop in step.hops] == [NOTHING]
    assert step.direction == "backward"
    with pytest.raises(PathError):
        plan_path(["A", "M"], edges)
