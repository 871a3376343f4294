"""Calls that wait are committed however a process ends, and files of others are left alone."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import dslog

PRELUDE = """
import os, signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup has ignored in what it starts
import numpy as np
import dslog
store = dslog.open(sys.argv[1])
x = store.track(np.arange(5.0), "x")
store.flush()
"""


def start(code, *args):
    program = PRELUDE + textwrap.dedent(code)
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, args)],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def end(process):
    process.communicate()
    return process.returncode


def count(path):
    with dslog.open(path, "r") as store:
        assert store.verify().ok
        return len(store.operations())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_loses_nothing(tmp_path, number):
    """Also while the main thread computes, and the exit status is the signal's."""
    code = """
    for _ in range(30):
        x = x + 1
    print("there", flush=True)
    while True:
        sum(range(1000))
    """
    process = start(code, tmp_path)
    process.stdout.readline()
    process.send_signal(number)
    assert end(process) == -number
    assert count(tmp_path) == 30


def test_what_a_program_does_with_a_signal_stays(tmp_path):
    code = """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
    x = store.track(np.arange(5.0), "y") + 1
    print("there", flush=True)
    time.sleep(60)
    """
    process = start(code, tmp_path)
    process.stdout.readline()
    process.terminate()
    assert end(process) == 7
    assert count(tmp_path) == 1


def test_an_exception_loses_nothing(tmp_path):
    assert end(start("x = x + 1\nraise ValueError", tmp_path)) == 1
    assert count(tmp_path) == 1


def test_a_killed_process_loses_a_second_at_most(tmp_path):
    """What is older is there, by itself: nothing is asked, and few calls wait."""
    process = start("for _ in range(3): x = x + 1\nprint(1, flush=True)\ntime.sleep(60)", tmp_path)
    process.stdout.readline()
    deadline = time.monotonic() + 60
    while count(tmp_path) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    end(process)
    assert count(tmp_path) == 3


def test_calls_are_committed_by_the_clock_in_order(tmp_path):
    """Those that waited at the last look go, with their arrays and leaks; later ones stay."""
    with dslog.open(tmp_path, leaks="ignore") as store:
        x = store.track(np.arange(5.0), "x")
        y = (x + 1).named("y")
        float(y[0])
        assert store.recorder.flush_aged()
        z = (y * 2).named("z")
        float(z[1])
        late = (z - 1).named("late")
        assert store.recorder.flush_aged()
        with dslog.open(tmp_path, "r") as other:
            assert [op.outputs for op in other.operations()] == [("y",)]
            assert {array.name for array in other.arrays()} == {"x", "y"}
        assert not store.recorder.flush_aged()
        with dslog.open(tmp_path, "r") as other:
            assert [op.outputs[0] for op in other.operations()] == ["y", "z", "late"]
            assert {leak.array for leak in other.leaks()} == {"y", "z"}
            assert other.backward("y", 0, "x").complete
            assert not other.backward("late", 0, "y").complete
        assert late.name == "late"


HELD = {}


def begin(path):
    HELD["store"] = dslog.open(path)


def job(number):
    x = HELD["store"].track(np.arange(5.0), f"x{number}")
    for _ in range(30):
        x = x + 1
    HELD["array"] = x
    return number


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_pool_workers_lose_nothing(tmp_path, method):
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, context, begin, (tmp_path,)) as pool:
        assert sorted(pool.map(job, range(6))) == list(range(6))
    assert count(tmp_path) == 180


def inherit(number):
    y = HELD["parent"].track(np.arange(5.0), f"y{number}") + 1
    HELD["array"] = y


def test_workers_that_inherit_a_store(tmp_path):
    """Each has its own connection and recorder; the parent goes on meanwhile."""
    with dslog.open(tmp_path) as store:
        HELD["parent"] = store
        x = store.track(np.arange(5.0), "x") + 1
        workers = [
            multiprocessing.get_context("fork").Process(target=inherit, args=(k,)) for k in range(3)
        ]
        for worker in workers:
            worker.start()
            x = x + 1
        for worker in workers:
            worker.join()
        assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert count(tmp_path) == 7


def test_a_child_leaves_files_of_a_store_in_memory_alone():
    order = np.random.default_rng(1).permutation(5000)
    rows = np.stack([np.arange(5000), order], axis=1)
    with dslog.open(":memory:") as store:
        for name in "ABC":
            store.array(name, (5000,))
        store.lineage("B", "A", rows)
        child = os.fork()
        if child == 0:
            store.lineage("C", "B", rows[::-1].copy() % 4999)
            same = store.prov_query(["B", "A"], 7).indices().tolist() == [[order[7]]]
            store.close()
            os._exit(0 if same else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert store.prov_query(["B", "A"], 7).indices().tolist() == [[order[7]]]
        assert len(store.lineages()) == 1


def test_each_call_is_on_disk_with_durability_call(tmp_path):
    code = """
    store.close()
    store = dslog.open(sys.argv[1], durability="call")
    assert store._catalog.rows("PRAGMA synchronous") == [(2,)]
    x = store.track(np.arange(5.0), "y")
    for _ in range(3):
        x = x + 1
    os.kill(os.getpid(), signal.SIGKILL)
    """
    assert end(start(code, tmp_path)) == -signal.SIGKILL
    assert count(tmp_path) == 3
    with pytest.raises(dslog.DslogError, match="durability"):
        dslog.open(tmp_path, durability="often")
