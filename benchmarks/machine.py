"""The machine of a run: what it is, and what processes on it take.

Spark works in processes of its own, so those that this one started are looked at too.
"""

from __future__ import annotations

import os
import platform
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Generic, TypeVar

from benchmarks.clock import timed

T = TypeVar("T")
PACKAGES = ("dslog", "numpy", "numba", "pyarrow", "duckdb", "pandas", "pyspark")
_PAUSE = 0.2  # seconds between two looks


def describe_machine() -> dict[str, str]:
    """Return what a reader needs to judge the numbers."""
    facts = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _commit(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "load": _load(),
        "Python": platform.python_version(),
    }
    return facts | {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    root = Path(__file__).parent
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],  # noqa: S607
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip() or "unknown"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return "unknown"
    return f"{size / 2**30:.0f} GiB"


def _load() -> str:
    """Processes that wanted a core when the run began: on a busy machine only ratios count."""
    try:
        return f"{os.getloadavg()[0]:.1f} when the run began"
    except OSError:
        return "unknown"


@dataclass(frozen=True, slots=True)
class Watched(Generic[T]):
    """Seconds of the clock and of the processors; memory in bytes, at its highest."""

    seconds: float
    cpu: float
    jvm: int
    workers: int
    result: T


def watch(run: Callable[[], T]) -> Watched[T]:
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
    try:
        seconds, result = timed(run)
    finally:
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


def memory(field: str) -> int:
    """Bytes of this process: "VmRSS" those it has, "VmHWM" the most it had so far."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) << 10
    raise LookupError(field)
