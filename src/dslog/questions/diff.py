"""``diff``: which operations and lineages changed between two runs.

Calls are paired in order: first those with the same name and outputs, then, between those, calls
with the same outputs, then calls of the same name. So an operation put in between shifts nothing,
even where numbered names shift. An array of the first run stands for the one in its place in the
second; an array that is in no pair, such as a source, for the one of the same name.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from math import prod

import numpy as np

from dslog.cells.cellset import PLAIN, CellSet, Labelled, Labels
from dslog.cells.text import counted, shape_text
from dslog.compress.encoder import recompress
from dslog.lineage.lineage import Lineage
from dslog.query.plan import Edge
from dslog.questions.history import History, StoredCall
from dslog.questions.questions_cost import QuestionsCost
from dslog.questions.reach import Outcome, cells_text
from dslog.store.arguments import value_text
from dslog.store.catalog import ArrayInfo
from dslog.store.source_identity import SourceIdentity
from dslog.types import I64, Shape


@dataclass(frozen=True, slots=True)
class ArgumentChange:
    """An argument of an operation before and after; None where it was not given."""

    name: str
    before: object
    after: object

    def __str__(self) -> str:
        return f"{self.name}: {value_text(self.before)} -> {value_text(self.after)}"


@dataclass(frozen=True, slots=True)
class ShapeChange:
    """The shape of an array, by its name in the second run, before and after."""

    array: str
    before: Shape
    after: Shape

    def __str__(self) -> str:
        return f"shape of {self.array}: {shape_text(self.before)} -> {shape_text(self.after)}"


@dataclass(frozen=True, slots=True)
class ReadingChange:
    """A source, by its name in the second run, that was read of something else."""

    array: str
    before: SourceIdentity
    after: SourceIdentity

    def __str__(self) -> str:
        return f"source {self.array}: {self.before} -> {self.after}"


@dataclass(frozen=True, slots=True)
class ValueChange:
    """Kept values of an array, by its name in the second run, that are not the same."""

    array: str
    cells: CellSet

    def __str__(self) -> str:
        return f"values of {self.array}: {counted(self.cells.count, 'cell')} changed"


@dataclass(frozen=True, slots=True)
class LineageChange:
    """Lineage between two arrays, by their names in the second run, that is not the same.

    ``cells`` are the output cells that are made of other cells than before; None when that was not
    looked up, because shapes differ or there are too many pairs to compare. ``lost`` and ``gained``
    count pairs. ``relabelled`` is set when one is exact and the other is not; ``predicted`` when
    one was derived by reuse and not compared in full, so that it is the change that may be wrong.
    """

    out: str
    in_: str
    cells: CellSet | None
    lost: int = 0
    gained: int = 0
    relabelled: bool = False
    predicted: bool = False

    def __str__(self) -> str:
        text = f"lineage of {self.out} from {self.in_}: "
        if self.cells is None:
            return f"{text}too large to compare pair by pair, but stored in another form"
        parts: list[str] = []
        if self.cells:
            pairs = f"{counted(self.lost, 'pair')} lost, {self.gained:,} gained"
            parts.append(f"{cells_text(self.cells)} made of other cells ({pairs})")
        if self.relabelled:
            parts.append("exact in one run, but not in the other")
        if self.predicted:
            parts.append("predicted in one run or both")
        return text + ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Changed(Outcome):
    """A call of both runs that is not the same in both.

    ``inputs`` holds (before, after) where another array went in.
    """

    before: StoredCall
    after: StoredCall
    arguments: tuple[ArgumentChange, ...]
    inputs: tuple[tuple[str, str], ...]
    shapes: tuple[ShapeChange, ...]
    lineage: tuple[LineageChange, ...]
    values: tuple[ValueChange, ...] = ()

    @property
    def is_own(self) -> bool:
        """Whether the call itself is another one, not only what went into it."""
        return bool(self.arguments or self.inputs) or self.before.name != self.after.name

    def __bool__(self) -> bool:
        return self.is_own or bool(self.shapes or self.lineage or self.values)

    def __str__(self) -> str:
        lines = [f"{', '.join(self.after.outputs)} = {self.after}"]
        if self.before.name != self.after.name:
            lines.append(f"    operation: {self.before.name} -> {self.after.name}")
        lines += [f"    {change}" for change in self.arguments]
        lines += [f"    input: {before} -> {after}" for before, after in self.inputs]
        lines += [f"    {change}" for change in (*self.shapes, *self.lineage, *self.values)]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, object]:
        """Return plain dicts, lists, strings and numbers, ready for JSON."""
        return {
            "before": call_dict(self.before),
            "after": call_dict(self.after),
            "arguments": {one.name: [one.before, one.after] for one in self.arguments},
            "inputs": [list(pair) for pair in self.inputs],
            "shapes": {one.array: [list(one.before), list(one.after)] for one in self.shapes},
            "lineage": [
                {
                    "out": one.out,
                    "in": one.in_,
                    "boxes": None if one.cells is None else one.cells.boxes.tolist(),
                    "lost": one.lost,
                    "gained": one.gained,
                    "relabelled": one.relabelled,
                    "predicted": one.predicted,
                }
                for one in self.lineage
            ],
            "values": {one.array: one.cells.boxes.tolist() for one in self.values},
        }


@dataclass(frozen=True, slots=True)
class Diff(Outcome, Labelled):
    """Two runs compared: calls only one of them has, calls that changed, sources that changed.

    ``same`` counts the calls that are the same. It is true when there is any difference. ``labels``
    are those of all lineage that was compared; that labels alone changed to predicted is none.
    ``first`` is the first difference that no other one explains: a source that was read of
    something else, or the first call that is not the same by itself.
    """

    before: str
    after: str
    removed: tuple[StoredCall, ...]
    added: tuple[StoredCall, ...]
    changed: tuple[Changed, ...]
    sources: tuple[ShapeChange, ...]
    same: int
    labels: Labels
    readings: tuple[ReadingChange, ...] = ()
    first: str | None = None

    def __bool__(self) -> bool:
        calls = self.removed or self.added or self.changed
        return bool(calls or self.sources or self.readings)

    def to_dict(self) -> dict[str, object]:
        """Return plain dicts, lists, strings and numbers, ready for JSON."""
        return {
            "before": self.before,
            "after": self.after,
            "removed": [call_dict(call) for call in self.removed],
            "added": [call_dict(call) for call in self.added],
            "changed": [change.to_dict() for change in self.changed],
            "sources": {one.array: [list(one.before), list(one.after)] for one in self.sources},
            "readings": {one.array: [one.before.about, one.after.about] for one in self.readings},
            "first": self.first,
            "same": self.same,
            **self.labels.to_dict(),
        }

    def __str__(self) -> str:
        same = counted(self.same, "operation")
        if not self:
            text = f"{self.before} and {self.after} are the same: {same}"
            return f"{text}; some lineage compared is predicted" if self.predicted else text
        counts = (
            f"{len(self.changed)} changed, {len(self.removed)} removed, {len(self.added)} added"
        )
        lines = [f"{self.before} -> {self.after}: {same} the same, {counts}"]
        if self.first and len(lines) + len(self.changed) + len(self.readings) > 2:
            lines.append(f"  first: {self.first}")
        lines += [f"  ~ {source}" for source in (*self.readings, *self.sources)]
        lines += [f"  ~ {change}" for change in self.changed]
        lines += [f"  - {', '.join(call.outputs)} = {call}" for call in self.removed]
        lines += [f"  + {', '.join(call.outputs)} = {call}" for call in self.added]
        return "\n".join(lines)


def call_dict(call: StoredCall) -> Mapping[str, object]:
    """Return a call as JSON values."""
    return {
        "operation": None if call.operation is None else call.operation.id,
        "name": call.name,
        "inputs": list(call.inputs),
        "outputs": list(call.outputs),
        "args": dict(call.args),
    }


@dataclass(frozen=True)
class Run:
    """A store, or some of its calls, to be compared."""

    label: str
    history: History
    calls: tuple[StoredCall, ...]
    load: Callable[[Edge], Lineage]

    @cached_property
    def arrays(self) -> dict[str, ArrayInfo]:
        """The arrays of its calls, by what calls name them."""
        return self.history.catalog.found(list(self.names))

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """The shape of every array of its calls."""
        return {name: array.shape for name, array in self.arrays.items()}

    def base(self, name: str) -> str:
        """Return the name of an array without its run."""
        return self.arrays[name].base

    @cached_property
    def bases(self) -> frozenset[str]:
        """The names of its arrays, without runs."""
        return frozenset(array.base for array in self.arrays.values())

    def bare(self, call: StoredCall) -> StoredCall:
        """A call with the names of its arrays as the program has them."""
        names = [tuple(map(self.base, some)) for some in (call.inputs, call.outputs)]
        return replace(call, inputs=names[0], outputs=names[1])

    @cached_property
    def names(self) -> frozenset[str]:
        """The arrays of its calls."""
        return frozenset(name for call in self.calls for name in (*call.inputs, *call.outputs))

    @cached_property
    def sources(self) -> list[str]:
        """Arrays that go into calls and come out of none."""
        made = {name for call in self.calls if call.inputs for name in call.outputs}
        return [name for call in self.calls for name in call.inputs if name not in made]

    def lineage(self, call: StoredCall, out: str, in_: str) -> Lineage:
        """What a call says of a pair."""
        parts = [self.load(edge) for edge in call.edges_of(out, in_)]
        if not parts:
            return Lineage.empty(self.shapes[out], self.shapes[in_])
        return parts[0] if len(parts) == 1 else recompress(parts)


def diff(before: Run, after: Run) -> Diff:
    """Compare two runs."""
    partners: dict[str, str] = {}
    changed, same, labels = [], 0, PLAIN
    pairs = list(_paired(_Side.of(before), _Side.of(after)))
    for old, new in pairs:
        if old is None or new is None:
            continue
        labels = labels.joined(*(edge.labels for edge in (*old.edges, *new.edges)))
        partners.update(zip(old.outputs, new.outputs, strict=True))
        change = _compare(old, new, before, after, partners)
        same += not change
        if change:
            changed.append(change)
    readings = tuple(_readings(before, after, partners))
    return Diff(
        before.label,
        after.label,
        tuple(old for old, new in pairs if old is not None and new is None),
        tuple(new for old, new in pairs if old is None and new is not None),
        tuple(changed),
        tuple(_source_shapes(before, after, partners)),
        same,
        labels,
        readings,
        _first(pairs, changed, readings),
    )


def _first(
    pairs: "Sequence[_Pair]", changed: Sequence[Changed], readings: Sequence[ReadingChange]
) -> str | None:
    """The first difference that no other explains."""
    if readings:
        return str(readings[0])
    own = {id(change.after): change for change in changed if change.is_own}
    for old, new in pairs:
        if old is None or new is None:
            call, word = (new, "added") if new is not None else (old, "removed")
            return f"{', '.join(call.outputs)} = {call} {word}" if call is not None else None
        if id(new) in own:
            return " ".join(str(own[id(new)]).split())
    return " ".join(str(changed[0]).split()) if changed else None


_KEYS: tuple[Callable[[StoredCall], Hashable], ...] = (
    lambda call: (call.name, call.outputs, len(call.inputs)),
    lambda call: (call.outputs, len(call.inputs)),
    lambda call: (call.name, len(call.outputs), len(call.inputs)),
)


_Pair = tuple[StoredCall | None, StoredCall | None]


@dataclass(frozen=True, slots=True)
class _Side:
    """A call of one run, and as the program has it."""

    call: StoredCall
    bare: StoredCall

    @staticmethod
    def of(run: Run) -> "list[_Side]":
        return [_Side(call, run.bare(call)) for call in run.calls]


def _paired(
    old: Sequence[_Side],
    new: Sequence[_Side],
    keys: Sequence[Callable[[StoredCall], Hashable]] = _KEYS,
) -> Iterator[_Pair]:
    """Pair calls in order, by the first key where it can be; one without partner is with None."""
    if not keys or not old or not new:
        yield from ((side.call, None) for side in old)
        yield from ((None, side.call) for side in new)
        return
    left, right = ([keys[0](side.bare) for side in sides] for sides in (old, new))
    at_old = at_new = 0
    for block in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
        yield from _paired(old[at_old : block.a], new[at_new : block.b], keys[1:])
        at_old, at_new = block.a + block.size, block.b + block.size
        for one, other in zip(old[block.a : at_old], new[block.b : at_new], strict=True):
            yield one.call, other.call


def _compare(
    old: StoredCall, new: StoredCall, before: Run, after: Run, partners: dict[str, str]
) -> Changed:
    inputs = []
    for was, now in zip(old.inputs, new.inputs, strict=True):
        both_given = was in before.sources and now in after.sources
        alike = before.base(was) == after.base(now)
        if both_given and was not in partners and (alike or before.base(was) not in after.bases):
            partners[was] = now
        if partners.get(was, now if alike else was) != now:
            inputs.append((was, now))
    shapes = tuple(
        ShapeChange(name, before.shapes[was], after.shapes[name])
        for was, name in zip(old.outputs, new.outputs, strict=True)
        if before.shapes[was] != after.shapes[name]
    )
    arguments = tuple(_arguments(old, new))
    lineages = tuple(_lineages(old, new, before, after))
    values = tuple(_values(old, new, before, after))
    return Changed(old, new, arguments, tuple(inputs), shapes, lineages, values)


def _values(old: StoredCall, new: StoredCall, before: Run, after: Run) -> Iterator[ValueChange]:
    for was, now in zip(old.outputs, new.outputs, strict=True):
        left, right = before.history.kept.array(was), after.history.kept.array(now)
        if left is None or right is None or left.shape != right.shape:
            continue
        differ = np.asarray((left != right) & ((left == left) | (right == right)))  # noqa: PLR0124
        if differ.any():
            yield ValueChange(now, CellSet.from_mask(differ))


def _readings(before: Run, after: Run, partners: Mapping[str, str]) -> Iterator[ReadingChange]:
    for was in dict.fromkeys(before.sources):
        now = partners.get(was)
        if now is None:
            continue
        read = before.history.origins(was), after.history.origins(now)
        if all(read) and len({one[-1].source.identity for one in read}) > 1:
            yield ReadingChange(now, read[0][-1].source, read[1][-1].source)


def _arguments(old: StoredCall, new: StoredCall) -> Iterator[ArgumentChange]:
    for name in dict.fromkeys((*old.args, *new.args)):
        was, now = old.args.get(name), new.args.get(name)
        if was != now or (name in old.args) != (name in new.args):
            yield ArgumentChange(name, was, now)
    texts = [None if one.operation is None else one.operation.text for one in (old, new)]
    if texts[0] != texts[1]:
        yield ArgumentChange("expression", *texts)


def _lineages(old: StoredCall, new: StoredCall, before: Run, after: Run) -> Iterator[LineageChange]:
    for out_was, out in zip(old.outputs, new.outputs, strict=True):
        for in_was, in_ in zip(old.inputs, new.inputs, strict=True):
            shapes = before.shapes[out_was], before.shapes[in_was]
            if shapes != (after.shapes[out], after.shapes[in_]):
                continue  # another shape says it all
            was = before.lineage(old, out_was, in_was)
            change = _compare_lineage(out, in_, was, after.lineage(new, out, in_))
            if change is not None:
                edges = (*old.edges_of(out_was, in_was), *new.edges_of(out, in_))
                yield replace(change, predicted=any(edge.predicted for edge in edges))


def _compare_lineage(out: str, in_: str, was: Lineage, now: Lineage) -> LineageChange | None:
    if was == now:
        return None
    relabelled = was.exact != now.exact
    if was.with_exact(True) == now.with_exact(True):
        return LineageChange(out, in_, CellSet.empty(was.out_shape), relabelled=relabelled)
    if max(_most_pairs(was), _most_pairs(now)) > QuestionsCost.current().pairs:
        return LineageChange(out, in_, None, relabelled=relabelled)
    lost, gained = _only(was.to_relation(), now.to_relation())
    if not len(lost) and not len(gained) and not relabelled:
        return None
    axes = len(was.out_shape)
    cells = CellSet.from_indices(was.out_shape, np.concatenate([lost, gained])[:, :axes])
    return LineageChange(out, in_, cells, len(lost), len(gained), relabelled)


def _most_pairs(lineage: Lineage) -> float:
    terms = ([factor.table.most_pairs for factor in term] for term in lineage.terms)
    return sum(prod(counts) for counts in terms)


def _only(a: I64, b: I64) -> tuple[I64, I64]:
    """Return the rows that only ``a`` has, and those that only ``b`` has; neither repeats a row."""
    both = np.concatenate([a, b])
    _, first, counts = np.unique(both, axis=0, return_index=True, return_counts=True)
    alone = first[counts == 1]
    return both[alone[alone < len(a)]], both[alone[alone >= len(a)]]


def _source_shapes(before: Run, after: Run, partners: dict[str, str]) -> Iterator[ShapeChange]:
    for name in dict.fromkeys(before.sources):
        partner = partners.get(name, name)
        shape = after.shapes.get(partner)  # of what the second run calls so
        if shape is not None and shape != before.shapes[name]:
            yield ShapeChange(partner, before.shapes[name], shape)
