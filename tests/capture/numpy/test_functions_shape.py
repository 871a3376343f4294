"""Functions that move cells by a formula: axes, views, copies, joins."""

import numpy as np
import pytest
from numpy_oracles import Untracked, case, check, contains, floats

X, Y = floats(3, 4), floats(2, 3, 4)
windows = np.lib.stride_tricks.sliding_window_view

VIEWS = [
    case(np.transpose, Y),
    case(np.transpose, Y, (1, 0, 2)),
    case(np.permute_dims, Y, (2, 0, 1)),
    case(np.moveaxis, Y, 0, 2),
    case(np.moveaxis, Y, [0, 1], [-1, 0]),
    case(np.swapaxes, Y, 0, 2),
    case(np.rollaxis, Y, 2),
    case(np.matrix_transpose, Y),
    case(np.linalg.matrix_transpose, Y),
    case(np.expand_dims, X, 1),
    case(np.expand_dims, X, (0, 3)),
    case(np.squeeze, floats(1, 3, 1)),
    case(np.squeeze, floats(1, 1)),
    case(np.diagonal, Y, offset=1, axis1=1, axis2=2),
    case(np.diagonal, X, offset=-1),
    case(np.linalg.diagonal, Y),
    case(np.flip, Y),
    case(np.flip, Y, 1),
    case(np.fliplr, X),
    case(np.flipud, X),
    *(case(np.rot90, X, k) for k in range(4)),
    case(np.rot90, Y, axes=(1, 2)),
    case(np.split, floats(6), 3),
    case(np.array_split, floats(7, 2), 3),
    case(np.hsplit, X, 2),
    case(np.vsplit, X, [1]),
    case(np.dsplit, Y, 2),
    case(np.unstack, X),
    case(np.unstack, Y, axis=1),
    case(np.broadcast_to, floats(3, 1), (2, 3, 4)),
    case(np.broadcast_to, floats(), (2, 3)),
    case(windows, X, (2, 2)),
    case(windows, X, 2, axis=1),
    case(windows, floats(5), 3),
    case(np.lib.stride_tricks.as_strided, floats(6), (3, 2), (16, 8)).but(layouts=False),
    case(np.atleast_1d, floats(), X),
    case(np.atleast_1d, floats()),
    case(np.atleast_2d, floats(3)),
    case(np.atleast_3d, X, floats(2), floats()),
    case(np.transpose, floats()),
    case(np.flip, floats(0, 3)),
]


@pytest.mark.parametrize("one", VIEWS, ids=str)
def test_views(one):
    for per_input in check(one.but(kind="rule")):
        for lineage in per_input:
            assert lineage.num_rows <= 3


@pytest.mark.parametrize("one", [v for v in VIEWS if v.func.__name__ != "as_strided"], ids=str)
def test_views_of_arrays_whose_memory_does_not_tell_cells_apart(one):
    """An array broadcast in memory: the index run answers instead."""
    args = [np.broadcast_to(a[..., :1], a.shape) if np.ndim(a) and a.size else a for a in one.args
            if isinstance(a, np.ndarray)]  # fmt: skip
    rest = [a for a in one.args if not isinstance(a, np.ndarray)]
    plain = case(one.func, *args, *rest, **one.kwargs).but(nudge="", layouts=False)
    found = check(plain.but(oracle="contains"))
    wanted = check(one)
    for mine, theirs in zip(found, wanted, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            assert np.array_equal(a.to_relation(), b.to_relation())


RESHAPED = [
    case(np.reshape, Y, (6, 4)),
    case(np.reshape, Y, (2, 12)),
    case(np.reshape, Y, (4, 3, 2)),
    case(np.reshape, Y, -1),
    case(np.reshape, X, (3, 1, 4)),
    case(np.reshape, floats(), (1, 1)),
    case(np.reshape, floats(1, 1), ()),
    case(np.reshape, floats(0, 3), (3, 0)),
    case(np.reshape, Y, (4, 6), order="F").but(kind="index-run"),
    case(np.ravel, Y),
    case(np.ravel, Y, order="F").but(kind="index-run"),
    case(np.ravel, X.T, order="K").but(kind="index-run", layouts=False),
    case(np.ravel, X, order="K").but(layouts=False),
    case(np.reshape, X.T, (2, 6), order="A").but(kind="index-run", layouts=False),
    case(np.resize, X, (5, 4)),
    case(np.resize, X, (4, 3)),
    case(np.resize, X, (2, 2)),
    case(np.resize, X, 30),
    case(np.resize, X, ()).but(kind="index-run"),
    case(np.roll, X, 2),
    case(np.roll, X, 1, axis=0),
    case(np.roll, Y, (1, -2, 3), axis=(0, 1, 0)),
    case(np.roll, X, 10, axis=1),
    case(np.roll, X, 0, axis=1),
    case(np.roll, floats(0), 1),
    case(np.fft.fftshift, floats(5)),
    case(np.fft.ifftshift, floats(5, 4)),
    case(np.fft.fftshift, floats(5, 4), axes=1),
    case(np.tile, X, 2),
    case(np.tile, X, (2, 1, 3)),
    case(np.tile, floats(), 3),
    case(np.tile, X, 1),
    case(np.tile, X, (0, 2)),
    case(np.repeat, X, 2),
    case(np.repeat, X, 2, axis=1),
    case(np.repeat, X, [1, 0, 3], axis=0),
    case(np.repeat, floats(), 3),
    case(np.repeat, floats(), 3, axis=0),
    case(np.repeat, X, Untracked(np.arange(12) % 3)),
    contains(np.repeat, X, np.array([1, 2, 1]), axis=0),
]
TAKEN = [
    case(np.take, X, [2, 0, 2], axis=1).but(kind="value"),
    case(np.take, Y, [[0, 1], [2, 1]], axis=1).but(kind="value"),
    case(np.take, X, [5, -1]).but(kind="value"),
    case(np.take, X, 3).but(kind="value"),
    case(np.take, X, 1, axis=0).but(kind="value"),
    case(np.take, X, [5, 9, -7], axis=1, mode="wrap").but(kind="value"),
    case(np.take, X, [5, 9, -7], axis=1, mode="clip").but(kind="value"),
    case(np.take, floats(), [0, 0]).but(kind="value"),
    case(np.take, floats(), [0], axis=0).but(kind="value"),
    contains(np.take, floats(4), np.array([[2, 0], [1, 1]])).but(
        kind="value",
        expect=[[lambda b, a: a[0] == [[2, 0], [1, 1]][b[0]][b[1]], lambda b, a: a == b]],
    ),
    contains(np.take, X, np.array([2, 0]), axis=0).but(
        kind="value",
        expect=[[lambda b, a: a == ((2, 0)[b[0]], b[1]), lambda b, a: a[0] == b[0]]],
    ),
    case(np.delete, X, 1, axis=0),
    case(np.delete, X, [0, 3], axis=1),
    case(np.delete, X, 5),
    case(np.delete, X, slice(0, 2), axis=1),
    case(np.delete, floats(3), [0, 1, 2]),
    case(np.delete, X, np.array([True, False, True]), axis=0),
    case(np.insert, X, 1, 0.0, axis=0),
    case(np.insert, X, [0, 3], 0.0, axis=1),
    case(np.insert, X, 5, 1.0),
    case(np.insert, X, -1, 1.0, axis=1),
    case(np.insert, floats(5), [1, 1, 4], [1.0, 2, 3]),
    case(np.insert, floats(5), slice(0, 4, 2), 9.0),
    case(np.insert, floats(5), [2], [7.0, 8, 9]),
    case(np.insert, floats(0), 0, 1.0),
    case(np.insert, X, 1, floats(4), axis=0).but(kind="index-run"),
    case(np.insert, floats(5), 2, floats(3)).but(kind="index-run"),
]
TRIANGLES = [
    *(case(f, floats(*shape), k) for shape in [(4, 3), (3, 5)] for k in range(-4, 6)
      for f in (np.tril, np.triu)),
    case(np.tril, Y),
    case(np.triu, Y, 1),
    case(np.tril, floats(3)).but(kind="index-run"),
    case(np.diag, floats(3)),
    case(np.diag, floats(3), 1),
    case(np.diag, X, -1),
    case(np.diag, X, 2),
    case(np.diag, X, 7),
    case(np.diagflat, X, -2),
    case(np.diagflat, floats()),
    case(np.trace, X),
    case(np.trace, Y, 1, axis1=1, axis2=2),
    case(np.trace, X, -2),
    case(np.trace, X, 9),
    case(np.linalg.trace, Y),
]  # fmt: skip
JOINED = [
    case(np.concatenate, [X, floats(2, 4)]),
    case(np.concatenate, (X, floats(3, 1)), axis=-1),
    case(np.concatenate, [X, floats(3), floats(2, 2), floats()], axis=None),
    case(np.concatenate, [X, X], axis=0),
    case(np.concatenate, [floats(0, 4), X]),
    case(np.concat, [Y, floats(2, 1, 4)], axis=1),
    case(np.append, X, floats(3)),
    case(np.append, X, floats(3, 2), axis=1),
    case(np.append, X, 1.0),
    case(np.stack, [X, floats(3, 4)]),
    case(np.stack, [X, floats(3, 4)], axis=-1),
    case(np.stack, [floats(), floats()]),
    case(np.vstack, [floats(3), floats(2, 3)]),
    case(np.vstack, [floats(), floats()]),
    case(np.hstack, [floats(3), floats(2)]),
    case(np.hstack, [floats(), floats(2)]),
    case(np.hstack, [X, floats(3, 2)]),
    case(np.dstack, [floats(3), floats(3)]),
    case(np.dstack, [X, floats(3, 4, 2)]),
    case(np.column_stack, [floats(3), floats(3, 2)]),
    case(np.block, [X, floats(3, 2)]),
    case(np.block, [[X, floats(3, 2)], [floats(1, 6)]]),
    case(np.block, [[floats(2), floats(3)], [floats(5)]]),
    case(np.block, [[[Y]], [[floats(1, 3, 4)]]]),
    case(np.block, [1.0, floats(2)]),
    case(np.block, X),
]


@pytest.mark.parametrize("one", [*RESHAPED, *TAKEN, *TRIANGLES, *JOINED], ids=str)
def test_copies(one):
    check(one.but(kind=one.kind or "rule"))
