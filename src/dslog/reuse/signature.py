"""What a signature knows, as it is kept in the catalog: JSON with the lineages' body numbers.

States are those of the paper: a mapping is *tentative* after the first call, *permanent* once
enough further calls agreed, and *not reusable* when calls disagreed.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from dslog.lineage.lineage import Lineage
from dslog.reuse.expression import Sizes
from dslog.reuse.form import Example, Form, sizes_from_json, sizes_to_json
from dslog.reuse.reuse_cost import ReuseCost
from dslog.reuse.scope import pattern
from dslog.reuse.skeleton import Lineages
from dslog.store.catalog import Catalog, Signature
from dslog.types import Json

Bodies = tuple[int | None, ...]
Call = tuple[Sizes, Bodies]
State = Literal["tentative", "permanent", "not reusable"]

BASE, DIM, GEN = "base_sig", "dim_sig", "gen_sig"
FIRST = "first_calls"
TRACKED = "tracked"  # counts answers for calls on tracked arrays
TENTATIVE: State = "tentative"
PERMANENT: State = "permanent"
NOT_REUSABLE: State = "not reusable"


@dataclass(frozen=True, slots=True)
class Exact:
    """What a base_sig or dim_sig knows: the bodies, and how many further calls agreed."""

    bodies: Bodies
    agreeing: int = 0
    seconds: float = 0.0

    def to_json(self) -> str:
        """Return it as a signature's content."""
        return _compact([self.bodies, self.agreeing, round(self.seconds, 6)])

    @classmethod
    @lru_cache(maxsize=256)
    def from_json(cls, text: str) -> "Exact":
        """Undo ``to_json``."""
        bodies, agreeing, seconds = json.loads(text)
        return cls(tuple(bodies), agreeing, seconds)


@dataclass(frozen=True, slots=True)
class FirstCall:
    """A captured call: its shapes, its integer arguments, and the bodies of its lineages."""

    sizes: Sizes
    integers: tuple[int, ...]
    bodies: Bodies
    seconds: float

    def matches(self, integers: tuple[int, ...], opened: tuple[int, ...]) -> bool:
        """Whether the integers are the same but for those that are open."""
        return all(
            place in opened or one == other
            for place, (one, other) in enumerate(zip(self.integers, integers, strict=True))
        )


@dataclass(frozen=True, slots=True)
class FirstCalls:
    """The latest calls of a family, from which signatures start when a second call comes.

    ``values`` is set once calls of the same shapes and arguments had different lineage: it
    depends on values, and neither dim_sig nor gen_sig may answer.
    """

    calls: tuple[FirstCall, ...] = ()
    values: bool = False

    def with_call(self, call: FirstCall) -> "FirstCalls":
        """Add a call in place of an equal one; the oldest of many goes."""
        others = [
            one for one in self.calls if (one.sizes, one.integers) != (call.sizes, call.integers)
        ]
        return replace(self, calls=(*others, call)[-ReuseCost.current().first_calls :])

    def find(self, sizes: Sizes, integers: tuple[int, ...]) -> FirstCall | None:
        """Return the call with these shapes and integers."""
        found = (one for one in self.calls if (one.sizes, one.integers) == (sizes, integers))
        return next(found, None)

    def to_json(self) -> str:
        """Return it as a signature's content."""
        calls = [
            [c.sizes.inputs, c.sizes.outputs, c.integers, c.bodies, round(c.seconds, 6)]
            for c in self.calls
        ]
        return _compact({"calls": calls, "values": self.values})

    @classmethod
    @lru_cache(maxsize=256)
    def from_json(cls, text: str) -> "FirstCalls":
        """Undo ``to_json``."""
        item = json.loads(text)
        calls = tuple(
            FirstCall(sizes_from_json([inputs, outputs, []]), tuple(ints), tuple(bodies), seconds)
            for inputs, outputs, ints, bodies, seconds in item["calls"]
        )
        return cls(calls, item["values"])


@dataclass(frozen=True, slots=True)
class General:
    """What a gen_sig knows: captured calls, and the forms that were solved from them.

    ``large`` counts calls whose lineage had too many rows for a formula, ``solved`` how often the
    forms were solved; ``seconds`` and ``cells`` are the time of the largest capture and its output
    cells; ``source`` says where forms come from that were confirmed elsewhere.
    """

    calls: tuple[Call, ...] = ()
    forms: tuple[Form, ...] = ()
    large: int = 0
    solved: int = 0
    seconds: float = 0.0
    cells: int = 0
    source: str = ""

    def permanent(self, agreeing: int) -> list[Form]:
        """Return the forms that enough calls agreed with."""
        return [form for form in self.forms if form.agreeing >= agreeing]

    def saving(self, cells: int) -> float:
        """Return the seconds that a capture would have taken, at least.

        Where the largest capture took long enough to tell, the time grows with the cells.
        """
        scales = self.seconds >= ReuseCost.current().telling and self.cells
        return self.seconds * max(1.0, cells / self.cells) if scales else self.seconds

    def timed(self, seconds: float, cells: int) -> "General":
        """Take note of the time of a capture."""
        return replace(self, seconds=seconds, cells=cells) if cells >= self.cells else self

    def with_call(self, sizes: Sizes, bodies: Bodies) -> "General":
        """Add a captured call; when there are many, one of the most frequent kind goes.

        Calls that no form explains stay as long as others can go: they show where forms end.
        """
        calls = [call for call in self.calls if call[0] != sizes]
        if len(calls) >= ReuseCost.current().calls:
            explained = {one for form in self.forms for one in form.seen}
            able = [one for one, _ in calls if one in explained] or [one for one, _ in calls]
            usual = Counter(map(pattern, able)).most_common(1)[0][0]
            oldest = next(one for one in able if pattern(one) == usual)
            calls = [call for call in calls if call[0] != oldest]
        return replace(self, calls=(*calls, (sizes, bodies)))

    def to_json(self) -> str:
        """Return it as a signature's content."""
        item: dict[str, Json] = {
            "calls": [[sizes_to_json(sizes), bodies] for sizes, bodies in self.calls],
            "forms": [form.to_json() for form in self.forms],
            "large": self.large,
            "solved": self.solved,
            "seconds": round(self.seconds, 6),
            "cells": self.cells,
        }
        if self.source:
            item["source"] = self.source
        return _compact(item)

    @classmethod
    @lru_cache(maxsize=256)
    def from_json(cls, text: str) -> "General":
        """Undo ``to_json``."""
        item = json.loads(text)
        return cls(
            tuple((sizes_from_json(sizes), tuple(bodies)) for sizes, bodies in item["calls"]),
            tuple(map(Form.from_json, item["forms"])),
            item["large"],
            item["solved"],
            item["seconds"],
            item["cells"],
            item.get("source", ""),
        )


def read_small(bodies: Iterable[int | None], catalog: Catalog) -> Lineages | None:
    """Read lineages that live in the catalog; None when one has files."""
    found: list[Lineage | None] = []
    for number in bodies:
        body = None if number is None else catalog.body(number)
        if body is not None and body.files:
            return None
        found.append(None if body is None else Lineage.decode(body.header))
    return tuple(found)


def examples(calls: Iterable[Call], catalog: Catalog) -> list[Example]:
    """Read captured calls; those whose lineage is not in the catalog itself are passed over."""
    read = ((sizes, read_small(bodies, catalog)) for sizes, bodies in calls)
    return [Example(sizes, lineages) for sizes, lineages in read if lineages is not None]


def signature(
    kind: str, key: str, state: State, content: str, before: Signature | None
) -> Signature:
    """Make a signature that goes on counting where the one before it was."""
    if before is None:
        return Signature(kind, key, state, content)
    return replace(before, state=state, content=content)


def _compact(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"))
