"""Every way out of a tracked array: what is noted of it, and what answers say from then on."""

import array
import csv
import ctypes
import hashlib
import io
import json
import multiprocessing
import multiprocessing.pool
import os
import pickle
import struct
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numba
import numpy as np
import pytest
from scipy import signal

import dslog
from dslog.capture.numpy.memory import is_tracked

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ndimage = pytest.importorskip("scipy.ndimage")

A = np.arange(12.0).reshape(3, 4) + 1
PLAIN = np.zeros((3, 4))
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda value: value * 2)
CODES = [5, 6, 7, 8]


@numba.njit
def compiled_sum(x):
    return x.sum()


@numba.njit
def compiled_double(x, y):
    for i in range(len(x)):
        y[i] = 2 * x[i]


def saved(save):
    """Values that go through a file in memory."""

    def through(x):
        file = io.BytesIO()
        save(file, x)
        return file.getvalue()

    return through


def written(write):
    """A plain array that is written."""

    def run(x):
        target = PLAIN.copy()
        write(target, x)
        return target

    return run


def first_by_address(x):
    found = (ctypes.c_double * 4)()
    ctypes.memmove(found, x.ctypes.data, 32)
    return found[1]


def doubled(value):
    return float(value) * 2


def in_processes(x):
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.map(doubled, [x[0, 0]])


def add_in_place(target, x):
    target += x


WAYS = {
    "float": ("float", lambda x: float(x[0, 0])),
    "float of an array": ("float", lambda x: float(x[:1, 1].reshape(()))),
    "int": ("int", lambda x: int(x[0, 1])),
    "complex": ("complex", lambda x: complex(x[0, 1])),
    "index of a list": ("index", lambda x: CODES[x.astype(int)[0, 0]]),
    "range": ("index", lambda x: list(range(x.astype(int)[0, 1]))),
    "item": ("item", lambda x: x.item(3)),
    "item of a number": ("item", lambda x: x[0, 0].item()),
    "tolist": ("tolist", lambda x: x.tolist()),
    "tolist of a number": ("tolist", lambda x: x[0, 0].tolist()),
    "tobytes": ("tobytes", lambda x: x.tobytes()),
    "dumps": ("dumps", lambda x: x.dumps()),
    "dump": ("dump", saved(lambda file, x: x.dump(file))),
    **{
        f"pickle {protocol}": ("pickle", lambda x, protocol=protocol: pickle.dumps(x, protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
    **{
        f"pickle {protocol} of a number": (
            "pickle",
            lambda x, protocol=protocol: pickle.dumps(x[0, 0], protocol),
        )
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
    "save": ("save", saved(np.save)),
    "savez": ("savez", lambda x: np.savez(io.BytesIO(), x, a=x)),
    "savez_compressed": ("savez_compressed", lambda x: np.savez_compressed(io.BytesIO(), x)),
    "savetxt": ("savetxt", saved(np.savetxt)),
    "nditer with buffers": ("buffer", lambda x: [float(t) for t in np.nditer(x, ["buffered"])]),
    "memoryview": ("buffer", lambda x: memoryview(x)[0, 1]),
    "bytes": ("buffer", bytes),
    "write to a file": ("buffer", saved(lambda file, x: file.write(x))),
    "hash": ("hash", lambda x: hash(x[0, 1])),
    "sha": ("buffer", lambda x: hashlib.sha256(x).hexdigest()),
    "hex": ("hex", lambda x: float.fromhex(x[0, 1].hex())),
    "str of a number": ("text", lambda x: float(str(x[0, 1]))),
    "repr of numbers": ("text", lambda x: repr([x[0, 1]])),
    "join": ("text", lambda x: np.fromstring(" ".join(map(str, x[0])), sep=" ")),
    "csv": ("text", lambda x: csv.writer(io.StringIO()).writerow(x[0])),
    "percent": ("float", lambda x: "%.2f" % x[0, 1]),  # noqa: UP031 (on purpose)
    "json": ("json", lambda x: json.dumps([x[0, 0]])),
    "struct": ("float", lambda x: struct.pack("d", x[0, 0])),
    "array.array": ("float", lambda x: array.array("d", x[0])),
    "c_double": ("float", lambda x: ctypes.c_double(x[0, 1]).value),
    "ctypes": ("ctypes", first_by_address),
    "callback": ("float", lambda x: CALLBACK(x[0, 1])),
    "data": ("data", lambda x: bytes(x.data)),
    "interface": ("__array_interface__", lambda x: x.__array_interface__["shape"]),
    "dlpack": ("__dlpack__", np.from_dlpack),
    "frombuffer": ("buffer", np.frombuffer),
    "another type": ("buffer", lambda x: np.float32(x[0, 1])),
    "plain[i] = number": ("float", written(lambda p, x: p.__setitem__((0, 0), x[0, 0]))),
    "plain[i] = row": ("buffer", written(lambda p, x: p.__setitem__(0, x[0]))),
    "plain += x": ("out=", written(add_in_place)),
    "out=plain": ("out=", written(lambda p, x: np.add(x, 1, out=p))),
    "sum(out=plain)": ("out=", written(lambda p, x: x.sum(axis=0, out=p[0]))),
    "copyto": ("copyto", written(np.copyto)),
    "put": ("put", written(lambda p, x: np.put(p, [0], x[0, 0]))),
    "add.at": ("add.at", written(lambda p, x: np.add.at(p, (0, 0), x[0, 0]))),
    "fill": ("float", written(lambda p, x: p.fill(x[0, 0]))),
    "another class": ("view", lambda x: x.view(OwnArray)),
    "str": ("text", lambda x: str(x)),  # noqa: PLW0108 (who calls is what matters)
    "format": ("text", lambda x: f"{x[0, 0]:.2f}"),
    "format by a method": ("text", lambda x: "{:.2f}".format(x[0, 0])),  # noqa: UP032
    "a text in a text": ("text", lambda x: " ".join([repr(x[0, 0]), f"{x}"])),
    "another process": ("fork", in_processes),
    "scipy": ("buffer", lambda x: ndimage.gaussian_filter(x, 1.0)),
    "numba": ("numba", compiled_sum),
    "random": ("buffer", lambda x: np.random.default_rng(1).normal(x)),
}


class OwnArray(np.ndarray):
    """A kind of arrays that a program made."""


HIDDEN = {"struct", "callback", "c_double", "plain[i] = number", "fill"}
HIDDEN |= {name for name, (way, _) in WAYS.items() if way == "buffer"}
"""Where C code that asks for values has an error of its own for everything that goes wrong."""
ERRORS = (dslog.LeakError, SystemError, struct.error, ctypes.ArgumentError, ValueError, TypeError)
DECISIONS = {
    "bool": ("bool", lambda x: bool(x[0, 0] > 1)),
    "if": ("bool", lambda x: 1 if x[0, 0] > 1 else 2),
    "in": ("in", lambda x: 3.0 in x),
    "sorted": ("bool", lambda x: [t > 1 for t in sorted(x[0])]),
    "shape": ("shape", lambda x: len(np.zeros(x.astype(int)[0, 0]))),
    "slice": ("slice", lambda x: len(PLAIN[0]) - len(x[: x.astype(int)[0, 0]])),
    "sleep": ("sleep", lambda x: time.sleep(x[0, 0] * 0)),
}


def values_of(result):
    if is_tracked(result):
        return np.asarray(dslog.plain(result)).tolist()
    return result.tolist() if isinstance(result, np.ndarray) else result


@pytest.mark.parametrize("name", WAYS)
def test_values_that_leave_are_noted(store, name):
    way, run = WAYS[name]
    x = store.track(A.copy(), "x")
    before = x + 1
    assert before.name == "x.add"
    other = store.track(A.copy(), "other")
    expected = values_of(run(A.copy()))
    assert repr(values_of(run(x))) == repr(expected)
    after = (x * 2).named("after")
    assert other.name == "other"

    leak = next(leak for leak in store.leaks() if leak.way == way)
    assert leak.array == "x" or leak.array.startswith("x.")
    assert leak.file == __file__
    assert leak.loses
    assert leak.line > 0
    assert leak.count >= 1

    answer = store.backward(after.name, [(0, 0)], "x")
    assert not answer.complete
    assert not answer.exact
    assert store.backward("x.add", [(0, 0)], "x").exact
    apart = store.backward((other + 1).named("apart").name, [(0, 0)], "other")
    assert apart.exact == (way != "fork")  # which takes everything along


@pytest.mark.parametrize("name", DECISIONS)
def test_decisions_are_noted_and_lose_nothing(store, name):
    way, run = DECISIONS[name]
    x = store.track(A.copy(), "x")
    assert values_of(run(x)) == values_of(run(A.copy()))
    leaks = store.leaks()
    assert way in {leak.way for leak in leaks}
    assert not any(leak.loses for leak in leaks)
    assert {leak.file for leak in leaks} == {__file__}
    assert store.backward((x + 1).name, [(0, 0)], "x").exact


def test_one_warning_for_each_place():
    with dslog.open(":memory:") as store, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        x = store.track(A.copy(), "x")
        for number in range(3):
            float(x[0, number])
        int(x[0, 0])
        assert [str(each.message).split(" by ")[1].split(":")[0] for each in told] == [
            "float",
            "int",
        ]
        assert {each.filename for each in told} == {__file__}
        assert [leak.count for leak in store.leaks()] == [3, 1]


@pytest.mark.parametrize("name", [name for name in WAYS if name != "another process"])
def test_errors_come_before_the_values(name):
    with dslog.open(":memory:", leaks="error") as store:
        x = store.track(A.copy(), "x")
        with pytest.raises(ERRORS) as caught:
            WAYS[name][1](x)
        if type(caught.value) is dslog.LeakError:
            assert "leave a tracked array" in str(caught.value)
            assert Path(__file__).name in str(caught.value)
        else:
            assert name in HIDDEN
        assert not any(leak.loses for leak in store.leaks())
        assert store.backward((x + 1).name, [(0, 0)], "x").exact
        assert dslog.plain(x).tolist() == A.tolist()


def test_a_store_ignores_leaks_in_silence(store):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        float(store.track(A.copy(), "x")[0, 0])
    [leak] = store.leaks()
    assert leak.function == "test_a_store_ignores_leaks_in_silence"


def test_inside_a_library(store):
    x = store.track(A.copy(), "x")
    ndimage.gaussian_filter(x, 1.0)
    [leak] = store.leaks()
    assert leak.inside == "scipy.ndimage.gaussian_filter"
    assert leak.function == "test_inside_a_library"


def test_threads_leak_too(store):
    x = store.track(A.copy(), "x")
    with multiprocessing.pool.ThreadPool(2) as pool:
        assert pool.map(doubled, [x[0, 0], x[0, 1]]) == [2.0, 4.0]
    [leak] = store.leaks()
    assert (leak.file, leak.function, leak.count) == (__file__, "doubled", 2)


def test_a_fork_takes_everything_along(store):
    x = store.track(A.copy(), "x")
    before = (x + 1).named("before")
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        message = b"?"
        try:
            for _ in range(3000):
                y = x * 2 + before
            message = repr((type(y).__name__, y[0, 1].item())).encode()
        except BaseException as error:  # noqa: BLE001 (told to the parent)
            message = repr(error).encode()
        finally:
            os.write(write, message)
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 1000) == b"('ndarray', 7.0)"
    assert {leak.way for leak in store.leaks()} == {"fork"}
    assert not store.backward((x - 1).named("after").name, [(0, 0)], "x").complete
    assert store.backward("before", [(0, 0)], "x").exact


def test_leaks_are_kept_for_other_processes(tmp_path):
    with dslog.open(tmp_path / "s", leaks="ignore") as store:
        x = store.track(A.copy(), "x")
        m = float(x[0, 0])
        (x - m).named("y")
    code = (
        "import sys, dslog\n"
        "with dslog.open(sys.argv[1], 'r') as s:\n"
        "    [leak] = s.leaks(); a = s.backward('y', [(0, 1)], 'x')\n"
        "    print(leak.array, leak.way, leak.count, leak.function, a.complete, a.exact, a.count)\n"
    )
    run = [sys.executable, "-c", code, str(tmp_path / "s")]
    told = subprocess.run(run, check=True, capture_output=True, text=True)
    name = "test_leaks_are_kept_for_other_processes"
    assert told.stdout.split() == ["x", "float", "1", name, "False", "False", "1"]


def test_every_answer_says_so(store):
    x = store.track(A.copy(), "x", keep_values=True)
    whole = (x + 1).named("whole")
    m = float(x[0, 0])
    y = (whole * m).named("y")
    z = (y - x / 0 if m < 0 else y + np.array([[np.nan, 0, 0, 0]])).named("z")
    assert z.name == "z"
    answers = [
        store.backward("y", [(1, 1)], "x"),
        store.forward("x", [(0, 0)], "y"),
        store.prov_query(["y", "whole", "x"], [(1, 1)]),
        store.why("y", (1, 1)),
        store.impact("x", (0, 0)),
        store.dropped("x", 0),
        store.first_nan("z"),
    ]
    for answer in answers:
        assert not answer.labels.complete, answer
        assert not answer.labels.exact, answer
        assert [leak.way for leak in answer.labels.leaks] == ["float"], answer
    assert "incomplete" in repr(answers[0])
    assert __file__ in str(answers[3])
    assert store.backward("whole", [(1, 1)], "x").exact


def test_what_was_made_before_and_what_is_apart_stays_exact(store):
    x, other = store.track(A.copy(), "x"), store.track(A.copy(), "other")
    before = (x + other).named("before")
    float(x[0, 0])
    assert store.backward("before", [(0, 0)], "x").exact
    assert store.backward((other * 2).named("twice").name, [(0, 0)], "other").exact
    assert store.backward((before * 2).named("late").name, [(0, 0)], "other").exact
    assert not store.backward("late", [(0, 0)], "x").complete


def by_address(x, target):
    ctypes.memmove(target.ctypes.data, x.ctypes.data, 32)


def by_buffer(x, target):
    memoryview(target)[:] = memoryview(x)


WRITERS = {
    "scipy": lambda x, target: ndimage.gaussian_filter(x, 1, output=target),
    "numba": compiled_double,
    "ctypes": by_address,
    "memoryview": by_buffer,
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("make", [np.zeros_like, lambda x: x * 0, lambda x: np.zeros((2, 4))[1]])
def test_memory_that_others_wrote_is_not_from_nothing(store, name, make):
    """Compiled code that writes into an array: nobody knows of what, and answers say so."""
    x = store.track(np.arange(4.0) + 1, "x")
    expected = np.zeros(4)
    WRITERS[name](np.arange(4.0) + 1, expected)
    target = make(x)
    WRITERS[name](x, target)
    y = (target + x[0]).named("y")
    assert dslog.plain(target).tolist() == expected.tolist()
    assert dslog.plain(y).tolist() == (expected + 1).tolist()
    for value in (target, y):
        if (known := store.name_of(value)) is not None:
            answer = store.backward(known, [(2,)], "x")
            assert not answer.exact
            assert not answer.complete


def test_memory_on_loan_is_looked_at_when_it_is_used(store):
    x = store.track(np.arange(4.0) + 1, "x")
    y = (x * 2).named("y")
    held = memoryview(y)
    held[1] = 7.0
    z = (y + 1).named("z")
    assert dslog.plain(z)[1] == 8
    assert store.backward("z", [(0,)], "x").count == 1
    assert not store.backward("z", [(1,)], "x").complete


def test_a_loop_that_python_made_fast(store):
    x = store.track(np.ones(200), "x")
    assert len([str(value) for value in x]) == 200
    assert [(leak.way, leak.count) for leak in store.leaks() if leak.loses] == [("text", 200)]


@pytest.mark.parametrize("call", ["lapack.dgesv(m, x[0])", "solve(m, x[0])"])
def test_fortran_writes_into_a_copy(store, call):
    """f2py takes what is no ndarray for its own, once it made one of it."""
    lapack = pytest.importorskip("scipy.linalg").lapack
    x = store.track(A.copy(), "x")
    names = {"lapack": lapack, "solve": lapack.dgesv, "x": x, "m": np.eye(4)[::-1] * 2}
    eval(call, names)
    assert values_of(x) == A.tolist()
    assert [leak.way for leak in store.leaks()] == ["buffer"]


def test_what_left_twice_is_one_array():
    """``coherence`` computes in another way where ``y is x`` does not hold."""
    values = np.random.default_rng(0).random(64)
    with dslog.open(":memory:", leaks="ignore") as store:
        x = store.track(values.copy(), "x")
        for found, expected in zip(
            signal.coherence(x, x, nperseg=16),
            signal.coherence(values, values, nperseg=16),
            strict=True,
        ):
            np.testing.assert_array_equal(found, expected, strict=True)
