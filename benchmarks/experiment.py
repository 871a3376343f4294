"""What an experiment is: rows, the ratios and targets they are judged by, how they are shown.

Every baseline is measured in the same run: on a shared machine only ratios mean something.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from benchmarks.size import Size

R = TypeVar("R")
Kind = Literal["bytes", "seconds"]


@dataclass(frozen=True, slots=True)
class Setting:
    """What an experiment is run with.

    ``shared`` may hold the paper's example files, ``scratch`` is for what is thrown away, ``tick``
    tells a waiting person what is being done.
    """

    size: Size
    scratch: Path
    shared: Path | None = None
    tick: Callable[[str], None] = lambda _text: None

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Make an empty folder; remove it, with all that is in it, at the end."""
        path = Path(tempfile.mkdtemp(dir=self.scratch))
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Ratio:
    """Ours divided by the best of the others, below 1 where we are ahead."""

    name: str
    kind: Kind
    ours: float
    best: float
    rival: str

    @property
    def value(self) -> float:
        """Ours divided by theirs."""
        return self.ours / self.best if self.best else float("inf")


@dataclass(frozen=True, slots=True)
class Target:
    """One target: what the paper has, what we ask for, what a run gave; met without misses."""

    name: str
    paper: str
    ours: str
    found: str
    misses: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        """Whether the run gave what we ask for."""
        return not self.misses

    @classmethod
    def of_ratios(
        cls, name: str, paper: str, ours: str, ratios: Sequence[Ratio], limit: float = 1.0
    ) -> Iterator[Target]:
        """Judge ratios that may not exceed a limit; nothing where nothing was measured."""
        if not ratios:
            return
        misses = tuple(f"{r.name}: {r.value:.2f}x {r.rival}" for r in ratios if r.value > limit)
        values = [r.value for r in ratios]
        found = (
            f"{len(ratios) - len(misses)} of {len(ratios)}; "
            f"{1 / max(values):.3g}x to {1 / min(values):,.3g}x better than the best other"
        )
        yield cls(name, paper, ours, found, misses)


@dataclass(frozen=True, slots=True)
class Experiment(Generic[R]):
    """A name, a title and a sentence or two; how to measure; what a row is and how it is shown.

    ``columns`` gives the text of a row's cell by heading, ``read`` a row from what JSON keeps.
    """

    name: str
    title: str
    about: str
    measure: Callable[[Setting], Iterable[R]]
    read: Callable[..., R]
    ratios: Callable[[Sequence[R]], Iterable[Ratio]] = lambda _rows: ()
    targets: Callable[[Sequence[R]], Iterable[Target]] = lambda _rows: ()
    columns: Mapping[str, Callable[[R], Any]] = field(default_factory=dict)
