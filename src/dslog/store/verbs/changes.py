"""What differs between two runs, as values that print themselves."""

from collections.abc import Mapping
from dataclasses import dataclass

from dslog.cells.cellset import CellSet
from dslog.cells.wording import counted, shape_text
from dslog.store.calls import value_text
from dslog.store.records import Shape
from dslog.store.verbs.history import Call
from dslog.store.verbs.touched import cells_text


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
class LineageChange:
    """Lineage between two arrays, by their names in the second run, that is not the same.

    ``cells`` are the output cells that are made of other cells than before; None when that was not
    looked up, because shapes differ or there are too many pairs to compare. ``lost`` and ``gained``
    count pairs. ``relabelled`` is set when one is exact and the other is not.
    """

    out: str
    in_: str
    cells: CellSet | None
    lost: int = 0
    gained: int = 0
    relabelled: bool = False

    def __str__(self) -> str:
        text = f"lineage of {self.out} from {self.in_}: "
        if self.cells is None:
            return f"{text}too large to compare pair by pair, but stored in another form"
        parts = []
        if self.cells:
            pairs = f"{counted(self.lost, 'pair')} lost, {self.gained:,} gained"
            parts.append(f"{cells_text(self.cells)} made of other cells ({pairs})")
        if self.relabelled:
            parts.append("exact in one run, but not in the other")
        return text + ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Changed:
    """A call of both runs that is not the same in both.

    ``inputs`` holds (before, after) where another array went in.
    """

    before: Call
    after: Call
    arguments: tuple[ArgumentChange, ...]
    inputs: tuple[tuple[str, str], ...]
    shapes: tuple[ShapeChange, ...]
    lineage: tuple[LineageChange, ...]

    def __bool__(self) -> bool:
        changes = self.arguments or self.inputs or self.shapes or self.lineage
        return bool(changes) or self.before.name != self.after.name

    def __str__(self) -> str:
        lines = [f"{', '.join(self.after.outputs)} = {self.after}"]
        if self.before.name != self.after.name:
            lines.append(f"    operation: {self.before.name} -> {self.after.name}")
        lines += [f"    {change}" for change in self.arguments]
        lines += [f"    input: {before} -> {after}" for before, after in self.inputs]
        lines += [f"    {change}" for change in (*self.shapes, *self.lineage)]
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
                }
                for one in self.lineage
            ],
        }


@dataclass(frozen=True, slots=True)
class Diff:
    """Two runs compared: calls only one of them has, calls that changed, sources that changed.

    ``same`` counts the calls that are the same. It is true when there is any difference.
    """

    before: str
    after: str
    removed: tuple[Call, ...]
    added: tuple[Call, ...]
    changed: tuple[Changed, ...]
    sources: tuple[ShapeChange, ...]
    same: int

    def __bool__(self) -> bool:
        return bool(self.removed or self.added or self.changed or self.sources)

    def to_dict(self) -> dict[str, object]:
        """Return plain dicts, lists, strings and numbers, ready for JSON."""
        return {
            "before": self.before,
            "after": self.after,
            "removed": [call_dict(call) for call in self.removed],
            "added": [call_dict(call) for call in self.added],
            "changed": [change.to_dict() for change in self.changed],
            "sources": {one.array: [list(one.before), list(one.after)] for one in self.sources},
            "same": self.same,
        }

    def __str__(self) -> str:
        same = counted(self.same, "operation")
        if not self:
            return f"{self.before} and {self.after} are the same: {same}"
        counts = (
            f"{len(self.changed)} changed, {len(self.removed)} removed, {len(self.added)} added"
        )
        lines = [f"{self.before} -> {self.after}: {same} the same, {counts}"]
        lines += [f"  ~ {source}" for source in self.sources]
        lines += [f"  ~ {change}" for change in self.changed]
        lines += [f"  - {', '.join(call.outputs)} = {call}" for call in self.removed]
        lines += [f"  + {', '.join(call.outputs)} = {call}" for call in self.added]
        return "\n".join(lines)


def call_dict(call: Call) -> Mapping[str, object]:
    """Return a call as JSON values."""
    return {
        "operation": None if call.operation is None else call.operation.id,
        "name": call.name,
        "inputs": list(call.inputs),
        "outputs": list(call.outputs),
        "args": dict(call.args),
    }
