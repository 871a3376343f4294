"""Where values leave tracked arrays: noted by array, way and place, and told once per place.

Every way out is a hook that Python or numpy calls: ``__float__``, ``__array__``, a buffer.
What comes back as a plain value has no lineage, so answers about what is made after a leak may miss
cells, and say so. A *decision*, such as ``if x > 0``, moves no value: it is noted, and no more. Nor
do values come back from a test that compares them, or from a picture until it is asked for them.
"""

from __future__ import annotations

import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from dslog.capture.place import Place, find_place, origin_of
from dslog.errors import DslogError
from dslog.store.arguments import ArgumentError
from dslog.store.commit import DraftLeak

if TYPE_CHECKING:
    from dslog.capture.recorder import Node

Policy = Literal["warn", "error", "ignore"]
_NO_WAY_BACK = re.compile(
    r"(matplotlib(?!\.(bezier|category|cbook|cm|colors|dates|mlab|path|ticker|transforms|tri|units)\b)|seaborn|IPython|ipykernel|numpy\.testing|unittest|doctest)(\.|$)"
)
"""What draws, shows or compares: nothing comes back from there unless it is asked for."""


def gives_nothing_back(place: Place) -> bool:
    """Whether what was called at a place only draws, shows or compares."""
    return _NO_WAY_BACK.match(place.inside) is not None


class LeakWarning(UserWarning):
    """Values left a tracked array: what is made of them has no lineage."""


class LeakError(DslogError, RuntimeError):
    """Values were about to leave a tracked array of a store opened with ``leaks="error"``."""


@dataclass(slots=True)
class LeakCount:
    """One way at one place, since the last commit: how often values of which nodes left.

    With a node goes how many arrays were new to the store when its values left first.
    """

    way: str
    place: Place
    loses: bool
    counts: dict[Node, int] = field(default_factory=dict)
    before: dict[Node, int] = field(default_factory=dict)


class LeakLog:
    """What one store knows of leaks that are not committed yet."""

    def __init__(self, policy: Policy = "warn") -> None:
        if policy not in get_args(Policy):
            names = ", ".join(map(repr, get_args(Policy)))
            raise ArgumentError(f"leaks is one of {names}, not {policy!r}")
        self.policy = policy
        self._lock = threading.Lock()
        self._entries: dict[tuple[str, Place, bool], LeakCount] = {}
        self._told: set[tuple[str, Place]] = set()
        self.drawn: dict[Node, None] = {}

    def note(
        self,
        way: str,
        nodes: Iterable[Node],
        new: int,
        *,
        loses: bool = True,
        tell: bool = True,
        drawn: bool = False,
    ) -> None:
        """Take note that values of nodes leave by some way, called from outside of DSLog.

        ``new`` is how many arrays are new to the store. What DSLog itself reads stays here.
        ``tell`` is False where nobody could stop it. What is ``drawn`` leaves if it is read back.
        """
        frame = sys._getframe(1)  # noqa: SLF001 (there is no other way to know who called)
        while frame.f_back is not None and origin_of(frame.f_code) == "dslog":
            if frame.f_code in READS:
                return
            frame = frame.f_back
        place = find_place(frame)
        if gives_nothing_back(place):
            loses, drawn = False, place.inside.startswith(("matplotlib", "seaborn"))
        if loses and tell:
            self._tell(way, place)
        with self._lock:
            entry = self._entries.setdefault((way, place, loses), LeakCount(way, place, loses))
            self.drawn.update(dict.fromkeys(nodes) if drawn else ())
            for node in nodes:
                entry.counts[node] = entry.counts.get(node, 0) + 1
                entry.before.setdefault(node, new)

    def _tell(self, way: str, place: Place) -> None:
        if self.policy == "ignore" or (way, place) in self._told:
            return
        message = (
            f"values leave a tracked array by {way}"
            + (f" inside {place.inside}" if place.inside else "")
            + ": what is made of them has no lineage"
        )
        if self.policy == "error":
            where = f"{Path(place.file).name}:{place.line} in {place.function}"
            raise LeakError(f"{message} ({where}); dslog.plain(x) gives the values on purpose")
        self._told.add((way, place))
        warnings.warn_explicit(message, LeakWarning, place.file, place.line)

    def replace(self, outside: Mapping[Node, Iterable[Node]]) -> None:
        """Say of leaks of nodes that the store never gets which nodes they come from."""
        with self._lock:
            for node in self.drawn.keys() & outside:
                del self.drawn[node]
                self.drawn.update(dict.fromkeys(outside[node]))
            for entry in self._entries.values():
                for node in [node for node in entry.counts if node in outside]:
                    count, before = entry.counts.pop(node), entry.before.pop(node)
                    for source in outside[node]:
                        entry.counts[source] = entry.counts.get(source, 0) + count
                        entry.before[source] = min(before, entry.before.get(source, before))

    @property
    def waits(self) -> bool:
        """Whether there are leaks that are not committed."""
        return bool(self._entries)

    def drain(self, stored: object) -> list[DraftLeak]:
        """Give what can be committed: leaks of nodes that the recorder ``stored`` owns."""
        drafts: list[DraftLeak] = []
        with self._lock:
            for key, entry in list(self._entries.items()):
                place = entry.place
                for node in [node for node in entry.counts if node.owner is stored]:
                    count, before = entry.counts.pop(node), entry.before.pop(node)
                    where = (place.file, place.line, place.function, place.inside)
                    drafts += [DraftLeak(node, entry.way, *where, count, entry.loses, before)]
                entry.before = dict.fromkeys(entry.before, 0)
                if not entry.counts:
                    del self._entries[key]
        return drafts


READS: set[object] = set()
"""The code of functions in which DSLog reads values for itself: they do not leave."""
F = TypeVar("F", bound=Callable[..., Any])


def own_read(function: F) -> F:
    """Mark a function in which DSLog reads values for itself."""
    READS.add(function.__code__)
    return function
