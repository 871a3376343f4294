"""Whatever is reused equals a full capture, at random shapes with sizes 0, 1 and 2 among them.

Every call is first tried without a capture, so that nothing is probed; the caller compares what
was stored with the relation of the operation's definition, cell by cell.
"""

import hypothesis.strategies as st
import pytest
from callers import Caller
from hypothesis import given, settings
from zoo import ZOO

import dslog

SMALL = st.lists(st.lists(st.integers(0, 7), min_size=3, max_size=3), min_size=3, max_size=9)
MIXED = st.lists(
    st.lists(st.one_of(st.integers(0, 2), st.integers(3, 16)), min_size=3, max_size=3),
    min_size=3,
    max_size=9,
)


@pytest.mark.parametrize("operation", ZOO, ids=lambda op: f"{op.name}{op.args or ''}")
@given(st.one_of(SMALL, MIXED))
@settings(max_examples=12, deadline=None)
def test_blind_answers_are_right(operation, draws):
    with dslog.open(":memory:") as store:
        call = Caller(store)
        for sizes in draws:
            call.blind(operation, *sizes[: operation.sizes])


@given(st.permutations(range(len(ZOO))), st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
def test_operations_do_not_disturb_each_other(order, seed):
    """All operations under one name and without arguments: what differs must be told apart."""
    from dataclasses import replace
    from random import Random

    random = Random(seed)
    with dslog.open(":memory:") as store:
        call = Caller(store)
        for place in order[:12]:
            operation = replace(ZOO[place], name="anything", args=None)
            for _ in range(2):
                call(operation, *(random.randrange(7) for _ in range(operation.sizes)))


# the rows of a convolution grow with the kernel, so that no two calls look alike
ALIKE = [operation for operation in ZOO if operation.name != "convolve"]


@pytest.mark.parametrize("operation", ALIKE, ids=lambda op: f"{op.name}{op.args or ''}")
def test_every_operation_is_reused_in_the_end(operation):
    """Different sizes, none of them special: at last no capture is needed any more."""
    with dslog.open(":memory:") as store:
        call = Caller(store)
        sizes = [(9, 14, 11), (12, 8, 17), (16, 21, 9), (10, 13, 19), (23, 9, 12), (8, 25, 10)]
        sizes += [(18, 11, 15), (11, 18, 8), (20, 10, 22), (14, 22, 13)]
        found = [call(operation, *one[: operation.sizes]).reused for one in sizes]
        assert found.count("gen_sig") >= 2
