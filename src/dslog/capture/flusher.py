"""Has what waits in recorders committed: before long, and when the process ends, however it ends.

A program that ends by itself runs what ``atexit`` and ``weakref.finalize`` know. A worker of
``multiprocessing`` leaves by ``os._exit``, after what ``multiprocessing.util`` knows; SIGTERM and
SIGHUP end a process at once unless somebody handles them. Nobody sees SIGKILL coming: for that a
thread looks at the clock.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import weakref
from contextlib import suppress
from multiprocessing import util
from typing import Protocol

SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""What asks a process to end."""


class Waiting(Protocol):
    """Something in which calls wait to be committed."""

    def flush(self) -> None:
        """Commit what waits."""

    def flush_all(self) -> None:
        """Compute what is computed late, and commit everything."""

    def flush_aged(self) -> bool:
        """Commit what waited at the last call already, and say whether anything waits."""


class Flusher:
    """The end of this process, and its clock; ``awake`` says whether the clock is looked at."""

    def __init__(self) -> None:
        self._waiting: weakref.WeakSet[Waiting] = weakref.WeakSet()
        self._begin()
        util.register_after_fork(self, Flusher._watch_worker)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """Know nothing of the process that this one was forked from."""
        self.awake = self._watched = False
        self._bell = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def add(self, waiting: Waiting) -> None:
        """Look after something as long as it lives."""
        if not self._watched:
            self._watch_worker()
        self._waiting.add(waiting)
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, self._end)

    def _watch_worker(self) -> None:
        """Flush at the end of a worker: it forgot what was to be done at its parent's end."""
        util.Finalize(self, self.flush_all, exitpriority=0)
        self._watched = True

    def flush_all(self) -> None:
        """Commit everything; an error is told, for nobody is left to catch it."""
        for waiting in list(self._waiting):
            try:
                waiting.flush_all()
            except Exception:  # noqa: BLE001 (the others go on)
                sys.excepthook(*sys.exc_info())

    def _end(self, number: int, _: object) -> None:
        """Commit what waits and end by the signal after all; a second one ends at once.

        The thread that was interrupted may be about to commit, so another one waits for it.
        """
        signal.signal(number, signal.SIG_DFL)
        leaver = threading.Thread(target=self._leave, args=(number,), name="dslog-leaver")
        try:
            leaver.start()
        except RuntimeError:  # the process is ending already
            os.kill(os.getpid(), number)

    def _leave(self, number: int) -> None:
        try:
            for waiting in list(self._waiting):
                waiting.flush()
        finally:
            os.kill(os.getpid(), number)

    # the clock

    def wake(self, seconds: float) -> None:
        """Have everything flushed that waits for ``seconds``, until nothing waits any more."""
        with self._lock:
            self.awake = True
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._watch, args=(seconds / 2,), name="dslog-flusher", daemon=True
                )
                self._thread.start()
            self._bell.set()

    def _watch(self, period: float) -> None:
        pause = threading.Event()
        while self._bell.wait():
            pause.wait(period)
            self._bell.clear()
            self.awake = False  # first: what comes from here on rings again
            if self._flush_aged():
                self.awake = True
                self._bell.set()

    def _flush_aged(self) -> bool:
        """Whether anything waits; what can't be committed is tried again, and told at the end."""
        some = False
        for waiting in list(self._waiting):
            with suppress(Exception):
                some |= waiting.flush_aged()
        return some


FLUSHER = Flusher()
"""The flusher of this process."""
