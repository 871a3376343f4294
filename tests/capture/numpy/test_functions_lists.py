"""Lists of arrays where numpy takes an array."""

import numpy as np
import pytest
from numpy_oracles import apart, case, check, contains, floats, make_call

from dslog.algebra.product import matched
from dslog.capture.numpy.call import arrange

X = floats(3, 4)
CASES = [
    case(np.sum, [X, floats(3, 4)], axis=0),
    case(np.mean, [[floats(3), floats(3)], [floats(3), floats(3)]], axis=(0, 2)),
    case(np.var, (floats(4), X[0], floats(4))),
    contains(np.max, [X, floats(3, 4)], axis=0),
    case(np.median, [apart(4), apart(4) + 0.5, apart(4) + 0.1], axis=0),
    case(np.cumsum, [floats(2), floats(2)], axis=0),
    case(np.sort, [apart(3), apart(3)], axis=1),
    case(np.transpose, [floats(2), floats(2)]),
    case(np.dot, [floats(3), floats(3)], floats(3)),
    case(np.flip, [floats(2), floats(2)], 0),
    case(np.diff, [floats(2), floats(2)], axis=0),
    case(np.pad, [floats(2), floats(2)], 1, mode="edge"),
    case(np.tile, [floats(), floats()], 2),
    case(np.tril, [floats(2), floats(2)]),
    case(np.cov, [floats(4), floats(4)]),
    case(np.linalg.inv, [floats(2), floats(2)]),
    case(np.concatenate, [[floats(2), floats(2)], floats(1, 2)]),
    case(np.where, [True, False], [floats(), 1.0], 0.0),
    case(np.sum, [floats(), 2.0, floats()]),
    case(np.fft.fft, [floats(2), floats(2)]).but(oracle="contains"),
]


@pytest.mark.parametrize("one", CASES, ids=str)
def test_lists_are_taken_apart(one):
    check(one)


def test_lists_of_large_arrays_stay_formulas():
    x, y = np.zeros((200, 300)), np.zeros((200, 300))
    call = make_call(np.sum, ([x, y],), {"axis": (0, 2)})
    (row,) = arrange(call, [([x, y], matched((200,), (2, 200, 300), {1: 0}))])
    assert [one.describe() for one in row] == ["a0 = b0, a1 in [0, 299], for b0 in [0, 199]"] * 2
