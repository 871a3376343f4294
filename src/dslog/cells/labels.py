"""What an answer says of itself besides its cells: its labels.

Everything that has labels, lineage and cells alike, carries them as one value. Another label is a
field of ``Labels``, a word in some of its methods, and a property of ``Labelled``.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Protocol

from dslog.cells.text import counted


@dataclass(frozen=True, slots=True)
class Leak:
    """A place where values of an array left tracking.

    They left by ``way`` ("float", "__array__", "bool" ...) at a ``line`` of a ``function`` of the
    program, ``inside`` a function of a library, or "" for the program itself; ``count`` times.
    ``loses`` is False where nothing can be made of them: a decision such as ``if x > 0``, a
    picture. Other leaks make answers incomplete.

    >>> print(Leak("x", "float", "prog.py", 12, "main", "scipy.ndimage.gaussian_filter", 3))
    x left by float() at prog.py:12 in main, inside scipy.ndimage.gaussian_filter, 3 times
    """

    array: str
    way: str
    file: str
    line: int
    function: str
    inside: str = ""
    count: int = 1
    loses: bool = True

    @property
    def place(self) -> str:
        """The file and the line."""
        return f"{self.file}:{self.line}"

    def __str__(self) -> str:
        text = f"{self.array} left by {self.way}() at {self.place} in {self.function}"
        text += f", inside {self.inside}" if self.inside else ""
        return f"{text}, {counted(self.count, 'time')}" if self.count != 1 else text


@dataclass(frozen=True, slots=True)
class Labels:
    """What is said of cells, or of lineage.

    ``exact``: no superset is behind it, and nothing is missing. ``predicted``: something behind it
    was derived from earlier calls, instead of captured, and not compared with a capture in full; it
    may be wrong in cells that nobody looked at. ``leaks``: where values left tracking on the way,
    so that cells may be missing. ``loose``: a superset, or an estimate, is behind it.

    >>> print(Labels(), Labels(exact=False).joined(Labels(predicted=True)), sep="; ")
    exact; superset, predicted
    >>> print(Labels(leaks=(Leak("x", "float", "prog.py", 12, "main"),)))
    incomplete
    """

    exact: bool = True
    predicted: bool = False
    leaks: tuple[Leak, ...] = ()
    loose: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "loose", not self.exact)
        if self.leaks:
            object.__setattr__(self, "exact", False)

    @property
    def complete(self) -> bool:
        """Whether no cell can be missing: no value left tracking on the way."""
        return not self.leaks

    def with_exact(self, exact: bool) -> "Labels":
        """The same labels, of a superset or not; what has leaks is not exact either way."""
        return Labels(exact, self.predicted, self.leaks)

    def joined(self, *others: "Labels") -> "Labels":
        """The labels of what was made of all of these."""
        labels = self
        for other in others:
            if labels is PLAIN:
                labels = other
            elif other is not PLAIN and other is not labels:
                exact = not (labels.loose or other.loose)
                leaks = _united(labels.leaks, other.leaks)
                labels = Labels(exact, labels.predicted or other.predicted, leaks)
        return labels

    def to_dict(self) -> dict[str, object]:
        """Return the labels by name, ready for JSON."""
        found = {name: getattr(self, name) for name in LABEL_NAMES}
        return {**found, "leaks": [asdict(leak) for leak in self.leaks]}

    def __str__(self) -> str:
        return self.text("superset")

    def text(self, loose: str) -> str:
        """Return the labels in words; ``loose`` is the one for a superset."""
        words = {
            "exact": self.exact,
            loose: self.loose,
            "predicted": self.predicted,
            "incomplete": not self.complete,
        }
        return ", ".join(word for word, holds in words.items() if holds)

    @property
    def notes(self) -> dict[str, str]:
        """What a person should know, each after a mark that may stand in a table."""
        found = {}
        if self.loose:
            found["*"] = "not exact: some lineage on the way is a superset, or an estimate"
        if self.predicted:
            found["~"] = (
                "predicted: some lineage on the way was derived from earlier calls, "
                "and not compared in full"
            )
        if self.leaks:
            places = list(dict.fromkeys(leak.place for leak in self.leaks))
            more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
            found["!"] = (
                f"incomplete: values left tracking at {places[0]}{more}; cells may be missing"
            )
        return found


PLAIN = Labels()
"""Exact and not predicted; most are."""
SUPERSET = Labels(exact=False)
LABEL_NAMES = ("exact", "predicted", "complete", "leaks")


def leaky(leaks: Iterable[Leak]) -> Labels:
    """The labels of what these leaks make incomplete."""
    found = tuple(leaks)
    return Labels(leaks=found) if found else PLAIN


def _united(some: tuple[Leak, ...], more: tuple[Leak, ...]) -> tuple[Leak, ...]:
    """The leaks of both, in order, each once."""
    if not more or some == more:
        return some
    return tuple(dict.fromkeys((*some, *more)))


class _HasLabels(Protocol):
    @property
    def labels(self) -> Labels: ...


class Labelled:
    """Something with ``labels``, each of which can be asked for by its name."""

    __slots__ = ()

    @property
    def exact(self: _HasLabels) -> bool:
        """Whether this is exactly what was asked for, not a superset, and nothing is missing."""
        return self.labels.exact

    @property
    def predicted(self: _HasLabels) -> bool:
        """Whether lineage behind this was derived by reuse and not compared in full."""
        return self.labels.predicted

    @property
    def complete(self: _HasLabels) -> bool:
        """Whether no cell can be missing: no value left tracking on the way."""
        return self.labels.complete

    @property
    def leaks(self: _HasLabels) -> tuple[Leak, ...]:
        """Where values left tracking on the way."""
        return self.labels.leaks
