"""A run: what one process, or one ``with store.run(...)`` block, did in a store.

A run that is running names the process that runs it. It is interrupted when that process is gone:
on this machine that can be looked up; one that runs elsewhere is believed.
"""

import getpass
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import metadata
from pathlib import Path

from dslog.types import Json

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run as it is stored.

    ``state`` is ``"running"``, ``"done"``, ``"failed"`` with its ``error``, or ``"interrupted"``
    where the process that ran it is gone. ``about`` says who and what it was: ``user``,
    ``program`` (a script, or a notebook's kernel), ``commit``, ``dirty``, and ``versions``.
    """

    number: int
    name: str
    params: Mapping[str, Json]
    began: datetime
    ended: datetime | None
    state: str
    error: str | None
    about: Mapping[str, Json]
    process: Mapping[str, Json] = field(repr=False, compare=False)

    @classmethod
    def new(cls, name: str, params: Mapping[str, Json]) -> "RunInfo":
        """Return a run that begins now, in this process."""
        return cls(0, name, params, _now(), None, "running", None, about_program(), _this_process())

    def over(self, error: BaseException | str | None) -> "RunInfo":
        """Return it as it ends now: done, or failed with an error."""
        if isinstance(error, BaseException):
            error = f"{type(error).__name__}: {error}"
        state = "done" if error is None else "failed"
        rest = self.about, self.process
        return RunInfo(self.number, self.name, self.params, self.began, _now(), state, error, *rest)

    def __hash__(self) -> int:
        return hash(self.number)

    def going_on(self) -> "RunInfo":
        """Return it as this process writes to it again."""
        rest = self.about, _this_process()
        return RunInfo(
            self.number, self.name, self.params, self.began, None, "running", None, *rest
        )

    @property
    def is_ours(self) -> bool:
        """Whether this process runs it, and not one that it was forked from."""
        return self.process.get("pid") == os.getpid()

    def row(self) -> tuple[object, ...]:
        """Return it as a row of the catalog."""
        texts = [json.dumps(dict(some), sort_keys=True) for some in (self.params, self.about)]
        began, ended = (
            None if moment is None else (moment - _EPOCH) // _MILLISECOND
            for moment in (self.began, self.ended)
        )
        process = json.dumps(dict(self.process), sort_keys=True)
        ends = texts[1], ended, self.state, self.error
        return self.number, self.name, texts[0], began, process, *ends

    @classmethod
    def read(cls, row: "tuple[Json, ...] | Json", parsed: Callable[..., Json]) -> "RunInfo":
        """Read a row, and look whether somebody still runs it."""
        number, name, params, began, process, about, ended, state, error = row
        who = parsed(process, json.loads)
        if state == "running" and not _is_alive(who):
            state = "interrupted"
        return cls(
            number,
            name,
            parsed(params, json.loads),
            _EPOCH + began * _MILLISECOND,
            None if ended is None else _EPOCH + ended * _MILLISECOND,
            state,
            error,
            parsed(about, json.loads),
            who,
        )

    def to_dict(self) -> dict[str, object]:
        """Return plain dicts, strings and numbers, ready for JSON."""
        return {
            "number": self.number,
            "name": self.name,
            "params": dict(self.params),
            "began": self.began.isoformat(),
            "ended": None if self.ended is None else self.ended.isoformat(),
            "state": self.state,
            "error": self.error,
            **self.about,
        }


@dataclass(frozen=True, slots=True)
class OwnRuns:
    """The runs of this process in one store: its own, and one that was begun by hand.

    ``recent`` are the two that were written to last, the latest first.
    """

    process: RunInfo | None = None
    explicit: RunInfo | None = None
    recent: tuple[int, ...] = ()
    running: bool = False


NO_RUNS = OwnRuns()
OWN_RUNS: dict[object, OwnRuns] = {}
"""The runs of this process, by what stores are on disk: several may have one open."""


def failure() -> str | None:
    """Return the error that ends this program, if one does."""
    error = getattr(sys, "last_value", None)
    if error is None or hasattr(sys, "ps1") or "ipykernel" in sys.modules:
        return None
    return f"{type(error).__name__}: {error}"


def _now() -> datetime:
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def _this_process() -> dict[str, Json]:
    return {"host": platform.node(), "pid": os.getpid(), "start": _start_of(os.getpid())}


def _is_alive(who: Mapping[str, Json]) -> bool:
    """Whether a process may still be there; another one may have got its number."""
    if who.get("host") != platform.node():
        return bool(who)
    pid = who.get("pid")
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return _start_of(pid) == who.get("start")


def _start_of(pid: int) -> str:
    """When a process began, as the system counts; nothing where it does not say."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
    state, *rest = text.rpartition(")")[2].split()
    return "" if state == "Z" else f"{boot} {rest[18]}"


def program_name() -> str:
    """Return what this process runs: a notebook, a script, or a module."""
    for name in ("JPY_SESSION_NAME", "VSCODE_NOTEBOOK"):
        if os.environ.get(name):
            return Path(os.environ[name]).name
    if "ipykernel" in sys.modules:
        return "notebook"
    return Path(sys.argv[0]).name or "python"


@cache
def _commit_of(directory: str) -> tuple[str, bool] | None:
    """The commit of the code in a directory, and whether files of it were changed."""
    with suppress(OSError, subprocess.SubprocessError):
        told = [
            subprocess.run(
                ["git", "-C", directory, *command],  # noqa: S607
                capture_output=True,
                text=True,
                timeout=2,
                check=True,
            ).stdout.strip()
            for command in (("rev-parse", "HEAD"), ("status", "--porcelain", "-uno"))
        ]
        return told[0], bool(told[1])
    return None


@cache
def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("numpy", "pandas", "pyspark", "dslog"):
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def about_program() -> dict[str, Json]:
    """Return who runs what: user, program, its commit, versions."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid()) if hasattr(os, "getuid") else ""
    script = Path(sys.argv[0]) if sys.argv and sys.argv[0] else Path()
    place = script.parent if script.is_file() else Path.cwd()
    commit = _commit_of(str(place.absolute()))
    code = {} if commit is None else {"commit": commit[0], "dirty": commit[1]}
    program = str(script.absolute()) if script.is_file() else program_name()
    return {"user": user, "program": program, **code, "versions": _versions()}
