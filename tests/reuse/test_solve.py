"""Which expressions a number gets, and how many calls it takes to be believed."""

import itertools

import pytest

from dslog.reuse.expression import Sizes, evaluate
from dslog.reuse.skeleton import Role
from dslog.reuse.solver import Solver

VECTORS = [Sizes(((n,),), ((n,),)) for n in (6, 11, 19)]
MATRICES = [Sizes(((n, m),), ((n, m),)) for n, m in ((6, 9), (11, 20), (19, 4))]
PAIRS = [Sizes(((n,), (m,)), ((n + m,),)) for n, m in ((6, 9), (11, 20), (19, 4), (8, 13))]

ELSEWHERE = {
    (1, 1): Sizes(((31,),), ((31,),)),
    (1, 2): Sizes(((31, 17),), ((31, 17),)),
    (2, 1): Sizes(((31,), (17,)), ((48,),)),
}

OWN = Role("position", ("i0_0",))


def values(calls, text):
    return tuple(evaluate(text, sizes) for sizes in calls)


@pytest.mark.parametrize(
    ("part", "calls", "text", "level"),
    [
        (OWN, VECTORS, "0", 0),
        (OWN, VECTORS, "i0_0-1", 0),
        (Role("count", ("o0_0", "i0_0")), VECTORS, "i0_0", 0),
        (Role("step", ("i0_0",)), VECTORS, "-1", 0),
        (Role("offset", ("i0_0", "o0_0")), VECTORS, "0", 0),
        (OWN, VECTORS, "3", 1),
        (OWN, VECTORS, "i0_0-2", 1),
        (OWN, MATRICES, "i0_1", 2),
        (OWN, MATRICES, "i0_0*i0_1-1", 2),
        (Role("offset", ("i1_0", "o0_0")), PAIRS, "-i0_0", 2),
        (OWN, PAIRS, "i0_0+i1_0-1", 2),
        (OWN, VECTORS, "i0_0//2", 3),
        (OWN, PAIRS, "i1_0-(i0_0+1)//2", 3),
        (OWN, VECTORS, "3*i0_0+1", 3),
        (Role("position", ("o0_0",)), PAIRS, "i0_0*i1_0", 3),
    ],
)
def test_simplest_level_that_fits(part, calls, text, level):
    expected = values(calls, text)
    solved = Solver(calls).solve(part, expected)
    assert solved.level == level
    for expression in solved.expressions:
        assert values(calls, expression) == expected
    elsewhere = [ELSEWHERE[len(calls[0].inputs), len(calls[0].inputs[0])]]
    assert values(elsewhere, text) in {values(elsewhere, e) for e in solved.expressions}


def test_nothing_fits():
    assert Solver(VECTORS).solve(OWN, (5, 977, 31)) is None


def test_an_axis_that_never_varied_leaves_a_constant_open():
    calls = [Sizes(((n, 3),), ((n, 3),)) for n in (6, 11)]
    solved = Solver(calls).solve(Role("position", ("i0_1",)), (2, 2))
    assert set(solved.expressions) == {"i0_1-1", "2"}


def test_a_large_axis_that_is_read_whole_is_no_accident():
    calls = [Sizes(((n, 30),), ((n, 30),)) for n in (6, 11)]
    assert Solver(calls).solve(Role("position", ("i0_1",)), (29, 29)).expressions == ("i0_1-1",)


def test_candidates_agree_on_what_was_seen():
    for first, second in itertools.product(range(12), repeat=2):
        solved = Solver(MATRICES[:2]).solve(OWN, (first, second))
        for expression in solved.expressions if solved else ():
            assert values(MATRICES[:2], expression) == (first, second)
