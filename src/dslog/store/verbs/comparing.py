"""``diff``: which operations and lineages changed between two runs.

Calls are paired in order: first those with the same name and outputs, then, between those, calls
with the same outputs, then calls of the same name. So an operation put in between shifts nothing,
even where numbered names shift. An array of the first run stands for the one in its place in the
second; an array that is in no pair, such as a source, for the one of the same name.
"""

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dslog.cells.cellset import CellSet
from dslog.compress.encoder import recompress
from dslog.lineage.lineage import Lineage
from dslog.query.edges import Edge
from dslog.store.records import Shape
from dslog.store.verbs.changes import ArgumentChange, Changed, Diff, LineageChange, ShapeChange
from dslog.store.verbs.history import Call, History

MOST_PAIRS = 20_000_000
"""Pairs of a relation that are compared one by one at most."""

Pairs = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Run:
    """A store, or some of its calls, to be compared."""

    label: str
    history: History
    calls: tuple[Call, ...]
    load: Callable[[Edge], Lineage]

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """The shape of every array."""
        return {array.name: array.shape for array in self.history.catalog.arrays()}

    @cached_property
    def names(self) -> frozenset[str]:
        """The arrays of its calls."""
        return frozenset(name for call in self.calls for name in (*call.inputs, *call.outputs))

    @cached_property
    def sources(self) -> list[str]:
        """Arrays that go into calls and come out of none."""
        made = {name for call in self.calls if call.inputs for name in call.outputs}
        return [name for call in self.calls for name in call.inputs if name not in made]

    def lineage(self, call: Call, out: str, in_: str) -> Lineage:
        """What a call says of a pair."""
        parts = [self.load(edge) for edge in call.edges if (edge.out, edge.in_) == (out, in_)]
        if not parts:
            return Lineage.empty(self.shapes[out], self.shapes[in_])
        return parts[0] if len(parts) == 1 else recompress(parts)


def diff(before: Run, after: Run) -> Diff:
    """Compare two runs."""
    partners: dict[str, str] = {}
    changed, same = [], 0
    pairs = list(_paired(before.calls, after.calls))
    for old, new in pairs:
        if old is None or new is None:
            continue
        partners.update(zip(old.outputs, new.outputs, strict=True))
        change = _compare(old, new, before, after, partners)
        same += not change
        if change:
            changed.append(change)
    return Diff(
        before.label,
        after.label,
        tuple(old for old, new in pairs if old is not None and new is None),
        tuple(new for old, new in pairs if old is None and new is not None),
        tuple(changed),
        tuple(_source_shapes(before, after, partners)),
        same,
    )


_KEYS: tuple[Callable[[Call], Hashable], ...] = (
    lambda call: (call.name, call.outputs, len(call.inputs)),
    lambda call: (call.outputs, len(call.inputs)),
    lambda call: (call.name, len(call.outputs), len(call.inputs)),
)


def _paired(
    old: Sequence[Call], new: Sequence[Call], keys: Sequence[Callable[[Call], Hashable]] = _KEYS
) -> Iterator[tuple[Call | None, Call | None]]:
    """Pair calls in order, by the first key where it can be; one without partner is with None."""
    if not keys or not old or not new:
        yield from ((call, None) for call in old)
        yield from ((None, call) for call in new)
        return
    left, right = ([keys[0](call) for call in calls] for calls in (old, new))
    at_old = at_new = 0
    for block in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
        yield from _paired(old[at_old : block.a], new[at_new : block.b], keys[1:])
        at_old, at_new = block.a + block.size, block.b + block.size
        yield from zip(old[block.a : at_old], new[block.b : at_new], strict=True)


def _compare(old: Call, new: Call, before: Run, after: Run, partners: dict[str, str]) -> Changed:
    inputs = []
    for was, now in zip(old.inputs, new.inputs, strict=True):
        both_given = was in before.sources and now in after.sources
        if both_given and was not in partners and was not in after.names:
            partners[was] = now
        if partners.get(was, was) != now:
            inputs.append((was, now))
    shapes = tuple(
        ShapeChange(name, before.shapes[was], after.shapes[name])
        for was, name in zip(old.outputs, new.outputs, strict=True)
        if before.shapes[was] != after.shapes[name]
    )
    arguments = tuple(_arguments(old, new))
    lineages = tuple(_lineages(old, new, before, after))
    return Changed(old, new, arguments, tuple(inputs), shapes, lineages)


def _arguments(old: Call, new: Call) -> Iterator[ArgumentChange]:
    for name in dict.fromkeys((*old.args, *new.args)):
        was, now = old.args.get(name), new.args.get(name)
        if was != now or (name in old.args) != (name in new.args):
            yield ArgumentChange(name, was, now)


def _lineages(old: Call, new: Call, before: Run, after: Run) -> Iterator[LineageChange]:
    for out_was, out in zip(old.outputs, new.outputs, strict=True):
        for in_was, in_ in zip(old.inputs, new.inputs, strict=True):
            shapes = before.shapes[out_was], before.shapes[in_was]
            if shapes != (after.shapes[out], after.shapes[in_]):
                continue  # another shape says it all
            was = before.lineage(old, out_was, in_was)
            change = _compare_lineage(out, in_, was, after.lineage(new, out, in_))
            if change is not None:
                yield change


def _compare_lineage(out: str, in_: str, was: Lineage, now: Lineage) -> LineageChange | None:
    if was == now:
        return None
    relabelled = was.exact != now.exact
    if was.with_exact(True) == now.with_exact(True):
        return LineageChange(out, in_, CellSet.empty(was.out_shape), relabelled=relabelled)
    if max(_most_pairs(was), _most_pairs(now)) > MOST_PAIRS:
        return LineageChange(out, in_, None, relabelled=relabelled)
    lost, gained = _only(was.to_relation(), now.to_relation())
    if not len(lost) and not len(gained) and not relabelled:
        return None
    axes = len(was.out_shape)
    cells = CellSet.from_indices(was.out_shape, np.concatenate([lost, gained])[:, :axes])
    return LineageChange(out, in_, cells, len(lost), len(gained), relabelled)


def _most_pairs(lineage: Lineage) -> float:
    terms = ([factor.table.most_pairs for factor in term] for term in lineage.terms)
    return sum(math.prod(counts) for counts in terms)


def _only(a: Pairs, b: Pairs) -> tuple[Pairs, Pairs]:
    """Return the rows that only ``a`` has, and those that only ``b`` has; neither repeats a row."""
    both = np.concatenate([a, b])
    _, first, counts = np.unique(both, axis=0, return_index=True, return_counts=True)
    alone = first[counts == 1]
    return both[alone[alone < len(a)]], both[alone[alone >= len(a)]]


def _source_shapes(before: Run, after: Run, partners: dict[str, str]) -> Iterator[ShapeChange]:
    for name in dict.fromkeys(before.sources):
        partner = partners.get(name, name)
        shape = after.shapes.get(partner)
        if shape is not None and shape != before.shapes[name]:
            yield ShapeChange(partner, before.shapes[name], shape)
