"""Where parts above the store plug in.

The store keeps lineage; reading captures and answering in place of one are the work of ``capture``
and ``reuse``, which build on the store and so can't be imported by it. ``dslog.open`` puts them
together.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dslog.lineage.large_lineage import LargeLineage
from dslog.lineage.lineage import Lineage
from dslog.store.catalog import (
    ArrayInfo,
    Catalog,
    OperationReuse,
    Pair,
    Signature,
    Transaction,
)
from dslog.store.files import Files, Stored


class ReadCapture(Protocol):
    """Turns what a user gave as capture into lineage."""

    def __call__(
        self, capture: object, pair: Pair, files: Files, engine: str
    ) -> Lineage | LargeLineage:
        """Return the lineage; its part files, if it has any, are in ``files`` already."""


@dataclass(frozen=True, slots=True)
class Request:
    """A call of ``register_operation``, before anything is captured.

    ``captures`` holds one entry per pair, or is None when the call gave none. What was given in
    full has been read when reuse is asked: a Lineage or a LargeLineage; anything else is a function
    to be asked about cells, or None for a pair without lineage. ``args`` are JSON values.
    ``contents`` has a fingerprint of each input's values, where they are known; ``read`` gives a
    stored lineage by the number of its body.
    """

    name: str
    inputs: tuple[ArrayInfo, ...]
    outputs: tuple[ArrayInfo, ...]
    args: Mapping[str, object]
    captures: tuple[object, ...] | None
    reuse: bool | None
    contents: tuple[str | None, ...] = ()
    read: Callable[[int], Lineage] | None = None

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Every (output, input) pair, outputs outermost."""
        return tuple(Pair(out, in_) for out in self.outputs for in_ in self.inputs)


@dataclass(frozen=True, slots=True)
class Answer:
    """Lineage that stands in for a capture: one entry per pair, and the signature behind it.

    ``key`` is the signature's, whose hit is counted with the seconds it ``saved``; ``new`` is a
    signature to be stored with the operation. ``compared`` is the number of output cells that a
    capture confirmed; None when that was all of them, or none had to be: then nothing is predicted.
    """

    reused: str
    lineages: tuple[Stored | None, ...]
    compared: int | None = None
    key: str | None = None
    saved: float = 0.0
    new: Signature | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """What a captured call gave, one entry per pair: the lineage, and the body that stores it.

    ``seconds`` is what the capture took.
    """

    request: Request
    lineages: tuple[Stored | None, ...]
    bodies: tuple[int | None, ...]
    seconds: float = 0.0


class Reuse:
    """Answers calls from what earlier ones showed, and learns from those it could not answer.

    This one never answers and learns nothing.
    """

    def answer(self, request: Request, catalog: Catalog) -> Answer | None:  # noqa: ARG002
        """Return lineage for this call, or None to have it captured."""
        return None

    def learn(self, seen: Observation, catalog: Catalog, transaction: Transaction) -> None:
        """Take note of what a capture gave, in the transaction that stores it."""

    def stats(self, catalog: Catalog) -> Sequence[OperationReuse]:  # noqa: ARG002
        """Say per operation what was reused."""
        return ()
