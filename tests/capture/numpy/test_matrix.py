"""``np.matrix`` of tracked arrays: numpy's values, kinds and shapes, judged by perturbation."""

import operator
import pickle

import numpy as np
import pytest
from test_tracked_parts import check

import dslog

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
Q = np.array([[2.0, 0.5], [1.0, 3.0]])
ROW = np.array([1.5, -2.0, 0.25])


def written(q):
    made = np.matrix(q)
    made[0] = 1
    made[1, 1] = made[1, 0] * 3
    made += 1
    new = np.matrix(np.zeros((2, 2)))
    new[0, 0] = q[1, 1]
    new[:, 1] = made[:, 0]
    made *= 2
    return [made, new]


def through_a_row(q):
    made = np.asmatrix(q)
    row = made[1]
    row[0, 0] = made[0, 1] * 2
    return [made, row, q]


EQUAL = {
    "parts": lambda q: [m := np.matrix(q), m[0], m[:, 1], m[1, 0], m.A, m.A1, m.T, m.H, [*m]],
    "cell by cell": lambda q: [m := np.asmatrix(q), m + 1, 2 * m, m / 4, -m, m - 1.0, abs(m)],
    "sums": lambda q: [m := np.matrix(q), m.sum(0), m.sum(axis=1), m.mean(), m.sum()],
    "moved": lambda q: [m := np.matrix(q), m.ravel(), m.flatten(), m.reshape(1, 4), m.diagonal()],
    "functions": lambda q: [m := np.matrix(q), np.exp(m), np.vstack([m, m]), np.sum(m, axis=0)],
    "conversions": lambda q: [
        m := np.matrix(q), np.asarray(m), np.array(m), np.asanyarray(m), m.view(np.ndarray)
    ],
    "written": written,
    "through a row": through_a_row,
}  # fmt: skip
READ = {
    "product": lambda q: [m := np.matrix(q), m * m, m @ m, m**2, m * [[1.0], [2.0]], m.dot(m)],
    "from both sides": lambda q: [np.eye(2) * np.matrix(q), np.matrix("1 2; 3 4") * np.matrix(q)],
    "a list": lambda q: [np.matrix([[q[0, 0], 1], [2, q[1, 1]]]), np.bmat([[np.matrix(q)] * 2])],
    "inverse": lambda q: [np.matrix(q).I, np.linalg.inv(np.matrix(q))],
    "extremes": lambda q: [np.matrix(q).max(axis=0), np.matrix(q).ptp(1), np.matrix(q).argmax()],
    "comparison": lambda q: [np.matrix(q) > 1, (np.matrix(q) > 1).all()],
}


@pytest.mark.parametrize("name", [*EQUAL, *READ])
def test_a_matrix_is_numpys_and_followed(name):
    program = EQUAL.get(name) or READ[name]
    found = check(program, Q, equal=name in EQUAL)
    for mine, theirs in zip(found, _flat(program(Q.copy())), strict=True):
        assert isinstance(mine, np.matrix) == isinstance(theirs, np.matrix)


def _flat(values):
    return [each for value in values for each in (value if type(value) is list else [value])]


def test_a_row_a_text_and_an_error():
    with dslog.open(":memory:", leaks="ignore") as store:
        row, plain = np.matrix(store.track(ROW.copy(), "A")), np.matrix(ROW)
        assert row.shape == plain.shape == (1, 3)
        assert store.backward((row * row.T).name, [(0, 0)], "A").count == 3
        assert str(row) == str(plain)
        assert repr(row) == repr(plain)
        assert row.tolist() == plain.tolist()
        for one in (row, plain):
            with pytest.raises(ValueError, match="not aligned"):
                operator.mul(one, one)
            again = pickle.loads(pickle.dumps(one))
            assert type(again) is np.matrix
            assert again.tolist() == plain.tolist()
