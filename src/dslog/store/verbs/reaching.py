"""``why`` and ``impact``: everything behind cells, and everything in front of them."""

from dataclasses import dataclass

from dslog.cells.cellset import CellSet
from dslog.cells.wording import counted
from dslog.query.edges import Direction
from dslog.query.execute import reach
from dslog.query.follow import Load
from dslog.query.graph import Walk
from dslog.store.verbs.history import History
from dslog.store.verbs.kept import KeptValues
from dslog.store.verbs.touched import Reached, Touched, describe, table_text


@dataclass(frozen=True, slots=True)
class Why(Reached):
    """Where cells come from: the cells of every array that made them, the nearest first."""

    @property
    def sources(self) -> tuple[Touched, ...]:
        """The cells where it begins: of arrays that nothing in the store made."""
        return tuple(touched for touched in self.arrays if not touched.made_by)

    def to_dict(self) -> dict[str, object]:
        """Return plain dicts, lists, strings and numbers, ready for JSON."""
        return {
            "asked": self.asked.to_dict(),
            "arrays": [touched.to_dict() for touched in self.arrays],
            "sources": [touched.array for touched in self.sources],
            "exact": self.exact,
        }

    def __str__(self) -> str:
        if not self.arrays:
            made = "; ".join(self.asked.made_by)
            reason = f"{made} read nothing for it" if made else "it was given"
            return f"why {self.asked}? No cell made it: {reason}"
        lines = table_text([self.asked, *self.arrays])
        return "\n".join([f"why {self.asked}?", *lines])


@dataclass(frozen=True, slots=True)
class Impact(Reached):
    """What cells touched: the cells of every array made with them, the nearest first."""

    ends: tuple[str, ...]
    """The arrays touched of which nothing more was made."""

    def to_dict(self) -> dict[str, object]:
        """Return plain dicts, lists, strings and numbers, ready for JSON."""
        return {
            "asked": self.asked.to_dict(),
            "arrays": [touched.to_dict() for touched in self.arrays],
            "ends": list(self.ends),
            "exact": self.exact,
        }

    def __str__(self) -> str:
        head = f"impact of {self.asked}: "
        if not self.arrays:
            return head + "none, no cell was made with it"
        total = sum(touched.cells.count for touched in self.arrays)
        arrays = counted(len(self.arrays), "array")
        lines = table_text(self.arrays)
        return "\n".join([f"{head}{counted(total, 'cell')} of {arrays}", *lines])


def why(array: str, cells: CellSet, history: History, kept: KeptValues, load: Load) -> Why:
    """Follow cells backward to the sources."""
    asked = describe(array, cells, history, kept)
    walk = history.walk(array, Direction.BACKWARD)
    return Why(asked, _follow(walk, cells, history, kept, load))


def impact(array: str, cells: CellSet, history: History, kept: KeptValues, load: Load) -> Impact:
    """Follow cells forward to everything they touched."""
    asked = describe(array, cells, history, kept)
    walk = history.walk(array, Direction.FORWARD)
    touched = _follow(walk, cells, history, kept, load)
    ends = tuple(one.array for one in touched if not walk.steps[one.array])
    return Impact(asked, touched, ends)


def _follow(
    walk: Walk, cells: CellSet, history: History, kept: KeptValues, load: Load
) -> tuple[Touched, ...]:
    reached = reach(walk, cells, load)
    again = reached.pop(walk.source) - cells  # of an array made of itself, by a cycle
    if again:
        reached[walk.source] = again
    return tuple(describe(name, found, history, kept) for name, found in reached.items() if found)
