"""What running something took, other processes included: Spark works in some of its own."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_PAUSE = 0.2  # seconds between two looks


@dataclass(frozen=True, slots=True)
class Watched:
    """Seconds of the clock and of the processors; memory in bytes, at its highest."""

    seconds: float
    cpu: float
    jvm: int
    workers: int
    result: object


def watch(run: Callable[[], object]) -> Watched:
    """Run something and look at this process's children meanwhile, where there is a /proc."""
    peak = [0, 0]
    done = threading.Event()

    def look() -> None:
        while not done.wait(_PAUSE):
            _, jvm, workers = _ours()
            peak[:] = [max(peak[0], jvm), max(peak[1], workers)]

    thread = threading.Thread(target=look, daemon=True)
    before, _, _ = _ours()
    thread.start()
    started = time.perf_counter()
    try:
        result = run()
    finally:
        seconds = time.perf_counter() - started
        done.set()
        thread.join()
    return Watched(seconds, _ours()[0] - before, peak[0], peak[1], result)


def _processes() -> dict[int, tuple[int, float, int, str]]:
    """Parent, CPU seconds, resident bytes and program of every process."""
    tick, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            stat = (path / "stat").read_text()
        except OSError:
            continue
        name = stat[stat.index("(") + 1 : stat.rindex(")")]
        rest = stat[stat.rindex(")") + 2 :].split()
        used = sum(map(int, rest[11:15])) / tick
        found[int(path.name)] = (int(rest[1]), used, int(rest[21]) * page, name)
    return found


def _ours() -> tuple[float, int, int]:
    """CPU seconds and resident bytes of what this process started: the JVM, and the workers."""
    table = _processes()
    cpu, jvm, workers = 0.0, 0, 0
    for pid, (_, used, resident, name) in table.items():
        at = pid
        while at and at != os.getpid():
            at = table[at][0] if at in table else 0
        if not at:
            continue
        cpu += used
        if name == "java":
            jvm += resident
        elif pid != os.getpid():
            workers += resident
    return cpu, jvm, workers
