"""Memory that others may read later, or write: what goes through it is never called exact."""

import array
import ctypes
import io
import pickle
import struct

import numpy as np
import pandas as pd
import pytest

import dslog
from dslog.capture.numpy.memory import is_tracked

A = np.arange(6.0) + 1


@pytest.fixture
def x(store):
    return store.track(A.copy(), "x")


def by_pointer(address):
    return (ctypes.c_double * 6).from_address(address)


def by_struct(memory):
    return lambda k: struct.unpack_from("d", memory, 8 * k)[0]


def of_struct(made):
    """An array of ``__array_struct__`` alone."""

    class Holder:
        __array_struct__ = made

    return np.asarray(Holder())


def of_interface(made):
    class Holder:
        __array_interface__ = made

    return np.asarray(Holder())


OLDER = {
    "memoryview": memoryview,
    "a part of a memoryview": lambda n: memoryview(n)[0:6],
    "data": lambda n: n.data,
    "ctypes": lambda n: by_pointer(n.ctypes.data),
    "data_as": lambda n: n.ctypes.data_as(ctypes.POINTER(ctypes.c_double)),
    "frombuffer": np.frombuffer,
    "from_dlpack": np.from_dlpack,
    "__dlpack__": lambda n: np.from_dlpack(n.__array__()),
    "__array__": lambda n: n.__array__(),
    "__array_interface__": lambda n: of_interface(n.__array_interface__),
    "an address": lambda n: by_pointer(n.__array_interface__["data"][0]),
    "__array_struct__": lambda n: of_struct(n.__array_struct__),
    "ndarray": lambda n: np.ndarray(6, buffer=n),
    "ndarray of data": lambda n: np.ndarray(6, buffer=n.data),
    "asarray of a memoryview": lambda n: np.asarray(memoryview(n)),
    "array of a memoryview": lambda n: np.array(memoryview(n), copy=False),
    "Series": lambda n: pd.Series(n, copy=False).to_numpy(),
    "struct": lambda n: Indexed(by_struct(memoryview(n))),
    "another class": lambda n: n.view(OwnArray),
    "a row": lambda n: memoryview(n[:]),
    "reshaped": lambda n: memoryview(n.reshape(2, 3).reshape(6)),
    "turned": lambda n: np.asarray(memoryview(n[::-1]))[::-1],
    "read only": lambda n: read_only(n[:]),
    "from_buffer": (ctypes.c_double * 6).from_buffer,
}


class OwnArray(np.ndarray):
    """A kind of arrays that a program made."""


class Indexed:
    """What gives items by a function."""

    def __init__(self, item):
        self.item = item

    def __getitem__(self, key):
        return self.item(key)


def read_only(view):
    view.setflags(write=False)
    return memoryview(view)


def write_item(n, x):
    n[2] = x[2]


def write_flat(n, x):
    n.flat[2] = x[2]


def add(n, x):
    n += x


def add_at(n, x):
    np.add.at(n, [2], x[2:3])


def by_view(n, x):
    view = n[1:5]
    view[:] = x[1:5]


def by_mask(n, x):
    n[np.arange(6) == 2] = x[2]


WRITES = {
    "n[:] = x": lambda n, x: n.__setitem__(slice(None), x),
    "n[2] = x[2]": write_item,
    "n.flat[2] = x[2]": write_flat,
    "n += x": add,
    "out=n": lambda n, x: np.add(x, 0, out=n),
    "out=(n,)": lambda n, x: np.negative(x, out=(n,)),
    "cumsum": lambda n, x: np.cumsum(x, out=n),
    "copyto": np.copyto,
    "put": lambda n, x: np.put(n, [2], x[2]),
    "add.at": add_at,
    "a view": by_view,
    "a mask": by_mask,
    "fill": lambda n, x: n.fill(x[2]),
    "putmask": lambda n, x: np.putmask(n, np.arange(6) == 2, x),
}
MADE = {
    "zeros": lambda x: np.zeros(6),
    "full": lambda x: np.full(6, 2.0),
    "array": lambda x: np.array([1.0, 2, 3, 4, 5, 6]),
    "zeros_like": np.zeros_like,
    "of the store": lambda x: x * 0,
    "part written": lambda x: started(np.zeros(6), x),
}


def started(n, x):
    n[0] = x[0]
    return n


def check(store, x, made, older, write):
    """Multiply by what an older buffer shows after a write: its cell may not be missing."""
    y = store.track(A * 2, "y")
    n, plain = MADE[made](x), dslog.plain(MADE[made](A))
    if not isinstance(plain, np.ndarray) or not plain.flags.owndata:
        plain = plain.copy()
    look, plain_look = OLDER[older](n), OLDER[older](plain)
    WRITES[write](n, x)
    WRITES[write](plain, A)
    number = look[2]
    assert number == plain_look[2]
    z = y * number
    assert dslog.plain(z).tolist() == (A * 2 * plain_look[2]).tolist()
    answer = store.backward(z.named("z").name, [(0,)], "x")
    assert not answer.exact
    assert not answer.complete
    assert store.backward("z", [(0,)], "y").exact
    assert dslog.plain(n).tolist() == plain.tolist()
    return n


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("older", OLDER)
def test_what_an_older_buffer_shows_may_be_missing(store, x, made, older):
    check(store, x, made, older, "n[:] = x")
    line = check.__code__.co_firstlineno
    lost = [leak for leak in store.leaks() if leak.way == "lent memory"]
    assert lost
    assert all(leak.file == __file__ and leak.loses for leak in lost), line


@pytest.mark.parametrize("made", ["zeros", "of the store"])
@pytest.mark.parametrize("write", WRITES)
def test_every_write_is_seen_by_an_older_buffer(store, x, made, write):
    check(store, x, made, "memoryview", write)


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("older", [o for o in OLDER if o not in {"struct", "turned", "read only"}])
def test_what_is_written_through_an_older_buffer(store, x, made, older):
    """A number of another array that is written there, through a plain one, is not missed."""
    y = store.track(A * 2, "y")
    n = MADE[made](x)
    held = OLDER[older](n)
    n[:] = x
    held[2] = float(y[2])
    z = (n + 1).named("z")
    assert dslog.plain(z)[2] == A[2] * 2 + 1
    for name in ("x", "y"):
        for k in range(6):
            answer = store.backward("z", [(k,)], name)
            true = {k} - {2} if name == "x" else {k} & {2}
            assert true <= {cell for (cell,) in answer.indices().tolist()} or not answer.complete
            assert not answer.exact or name == "y"


@pytest.mark.parametrize("made", ["zeros", "of the store"])
def test_a_loan_that_is_over_loses_nothing(store, x, made):
    n = MADE[made](x)
    for hand_out in (memoryview, lambda n: n.data, bytes, np.from_dlpack):
        del_me = hand_out(n)
        del del_me
    n[:] = x
    assert "lent memory" not in {leak.way for leak in store.leaks()}
    if made == "zeros":
        assert store.backward((n * 2).named("twice").name, [(1,)], "x").exact


def test_copies_are_no_loans(store, x):
    n = np.zeros(6)
    kept = [n.tobytes(), n.tolist(), pickle.dumps(n), array.array("d", n), bytes(n)]
    kept.append(n.__array__(copy=True))
    file = io.BytesIO()
    np.save(file, n)
    n[:] = x
    (n * 2).named("z")
    assert len(kept) == 6
    assert store.leaks() == []
    answer = store.backward("z", [(1,)], "x")
    assert answer.exact
    assert answer.indices().tolist() == [[1]]


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("write", WRITES)
def test_an_error_comes_before_the_write(made, write):
    with dslog.open(":memory:", leaks="ignore") as store:
        x = store.track(A.copy(), "x")
        n = MADE[made](x)
        held = memoryview(n)
        before = dslog.plain(n).tolist()
        store.recorder.leaks.policy = "error"
        with pytest.raises(dslog.LeakError, match="lent memory"):
            WRITES[write](n, x)
        assert held.tolist() == before
        assert dslog.plain(n).tolist() == before


VIEWS = {
    "T": lambda n: n.T,
    "reshape": lambda n: n.reshape(6),
    "broadcast_to": lambda n: np.broadcast_to(n, (2, 2, 3)),
    "split": lambda n: np.split(n, 2)[0],
    "diagonal": np.diagonal,
    "real": lambda n: n.real,
    "windows": lambda n: np.lib.stride_tricks.sliding_window_view(n, 2, axis=1),
    "strided": lambda n: np.lib.stride_tricks.as_strided(n, (2,), (8,)),
    "squeeze": lambda n: np.squeeze(n[None]),
    "atleast_3d": np.atleast_3d,
    "bits": lambda n: n.view(np.int64).view(np.float64),
    "field": lambda n: n.getfield(np.float64),
    "array": lambda n: np.array(n, copy=False),
    "asarray": np.asarray,
    "require": lambda n: np.require(n, requirements="C"),
    "expand": lambda n: np.expand_dims(n, 0),
    "unstack": lambda n: next(iter(n)),
    "flip": np.flip,
    "rot90": np.rot90,
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_what_a_program_made_are_no_way_around(store, name):
    """Numbers in a view that was taken before have the lineage of what was written since."""
    x = store.track(A.reshape(2, 3).copy(), "x")
    n, plain = np.zeros((2, 3)), np.zeros(6).reshape(2, 3)
    view, expected = VIEWS[name](n), VIEWS[name](dslog.plain(plain))
    n[:] = x
    dslog.plain(plain)[:] = A.reshape(2, 3)
    assert dslog.plain(view).tolist() == expected.tolist()
    for place in np.ndindex(expected.shape):
        z = x[1, 2] * view[place]
        assert is_tracked(z)
        cells = store.backward(z.name, [()], "x")
        own = tuple(map(int, np.argwhere(A.reshape(2, 3) == expected[place])[0]))
        found = {tuple(cell) for cell in cells.indices().tolist()}
        assert found == {(1, 2), own} or not cells.complete
