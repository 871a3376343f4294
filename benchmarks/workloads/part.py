"""Relations to be measured, made only when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from dslog.lineage.lineage import Lineage
from dslog.types import I64, Shape


@dataclass(frozen=True)
class Part:
    """The relation between one output and one input array.

    A relation too large to be made is given as ``whole``, compressed without its pairs; then
    ``make`` gives one of ``times`` equal slabs, from which baselines are estimated.
    """

    out_shape: Shape
    in_shape: Shape
    make: Callable[[], I64]
    times: int = 1
    whole: Callable[[], Lineage] | None = None

    @cached_property
    def relation(self) -> I64:
        """The pairs, int64 (n, l + m), sorted; kept until ``forget``."""
        return self.make()

    def forget(self) -> None:
        """Let the pairs go."""
        self.__dict__.pop("relation", None)

    @property
    def pairs(self) -> int:
        """The number of pairs of the whole relation."""
        return len(self.relation) * self.times


@dataclass(frozen=True)
class Operation:
    """An operation of the storage table: one part per input array."""

    name: str
    parts: tuple[Part, ...]
    structured: bool = False
    note: str = ""


@dataclass(frozen=True)
class Workflow:
    """Operations in a row: the output of each step is the input of the next."""

    name: str
    steps: tuple[Part, ...]
    labels: tuple[str, ...]

    @property
    def shapes(self) -> list[Shape]:
        """The shape of each array along the way, the first input first."""
        return [self.steps[0].in_shape, *(step.out_shape for step in self.steps)]
