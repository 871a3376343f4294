"""Operations of the coverage experiment at random shapes, with sizes 0, 1 and 2 among them.

Every call is first tried without a capture, so that nothing is probed; what is answered is compared
with a full capture at that shape.
"""

import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import Phase, given, settings

import dslog
from benchmarks.experiments.coverage import OneCall, Tally, load_operations

OPERATIONS = [operation for operation in load_operations() if operation.paper_dim]
SIZES = (0, 1, 2, *range(3, 17), 24, 40)
SMALL = (0, 1, 2, 3, 4, 5)
TURNS = 12


def draw(operation, arguments, rng, sizes):
    """A call at a random shape; None where numpy does not take the shape."""
    try:
        return OneCall.draw(operation, arguments, rng, sizes)
    except (ValueError, IndexError, ZeroDivisionError, np.linalg.LinAlgError):
        return None


def blind_or_captured(one, store, row):
    try:
        return one.register(store, row, blind=True)
    except dslog.CaptureError:
        return one.register(store, row)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda op: op.name)
@given(st.integers(0, 2**32 - 1), st.sampled_from([SIZES, SMALL]))
@settings(max_examples=3, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_blind_answers_are_full_captures(operation, seed, sizes):
    rng = np.random.default_rng(seed)
    row = Tally(operation)
    arguments = operation.sets[int(rng.integers(len(operation.sets)))]
    with warnings.catch_warnings(), np.errstate(all="ignore"), dslog.open(":memory:") as store:
        warnings.simplefilter("ignore")
        for _ in range(TURNS):
            one = draw(operation, arguments, rng, sizes)
            if one is not None:
                blind_or_captured(one, store, row)
    assert row.errors == []
