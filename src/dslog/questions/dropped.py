"""``dropped``: the step where the lineage of a row ends.

An operation drops cells of an array when it takes cells of that array, but none of these: nothing
of its outputs was made with them. One that takes none at all (``zeros_like``) drops nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dslog.cells.cellset import LABEL_NAMES, CellSet, Labelled, Labels
from dslog.query.execute import Load, follow_lineage, gather_cells, reach
from dslog.query.plan import Direction, Edge
from dslog.questions.history import History, StoredCall
from dslog.questions.reach import Outcome, Touched, table_text
from dslog.store.catalog import Operation


@dataclass(frozen=True, slots=True)
class Ending(Outcome):
    """A step after which nothing comes of the cells that went into it.

    ``operation`` is None for lineage that was given without one.
    """

    _told = ("operation", "text", "cells", "outputs")

    operation: Operation | None
    text: str
    cells: Touched
    outputs: tuple[str, ...]

    def __str__(self) -> str:
        number = "" if self.operation is None else f" (operation {self.operation.id})"
        return f"{self.text}{number} takes nothing of {self.cells} into {', '.join(self.outputs)}"


@dataclass(frozen=True, slots=True)
class Dropped(Outcome, Labelled):
    """Where the lineage of a row ends.

    ``endings`` are the steps that dropped what they got of it, in order; ``reached`` the arrays it
    got into; ``left`` those of them of which nothing more was made: what is left of the row.
    ``labels`` are those of all lineage on the way: a superset may hide a step that dropped it, and
    a prediction that is wrong may name one that did not.
    """

    _told = ("asked", "endings", "reached", "left", *LABEL_NAMES)

    asked: Touched
    endings: tuple[Ending, ...]
    reached: tuple[Touched, ...]
    left: tuple[str, ...]
    labels: Labels

    @property
    def operation(self) -> Operation | None:
        """The first operation that dropped it, if any."""
        return self.endings[0].operation if self.endings else None

    def __bool__(self) -> bool:
        return bool(self.endings)

    def __str__(self) -> str:
        if not self.endings and not self.reached:
            return f"{self.asked} was not used: no operation takes it"
        lines = [f"{self.asked} is dropped by" if self.endings else f"{self.asked} is not dropped"]
        lines += [f"  {ending}" for ending in self.endings]
        if self.reached:
            lines += ["it got into", *table_text(self.reached, self.labels)]
        else:
            lines += self.labels.notes.values()
        if self.left:
            lines.append(f"and is still in {', '.join(self.left)}")
        return "\n".join(lines)


def dropped(array: str, cells: CellSet, history: History) -> Dropped:
    """Follow cells forward and find the steps that nothing comes out of."""
    walk = history.walk(array, Direction.FORWARD)
    everywhere, labels = history.labelled(
        reach(walk, cells, history.load), array, Direction.FORWARD
    )
    reached = {name: found for name, found in everywhere.items() if found}
    endings = [
        Ending(call.operation, str(call), Touched.of(name, reached[name], history), outputs)
        for call in history.takers(list(reached))
        for name in dict.fromkeys(call.inputs)
        if name in reached and (outputs := _outputs_without(call, name, reached, history.load))
    ]
    touched = tuple(
        Touched.of(name, found, history) for name, found in reached.items() if name != array
    )
    left = tuple(one.array for one in touched if not walk.steps[one.array])
    return Dropped(Touched.of(array, cells, history), tuple(endings), touched, left, labels)


def _outputs_without(
    call: StoredCall, name: str, reached: Mapping[str, CellSet], load: Load
) -> tuple[str, ...]:
    """The outputs of a call that takes cells of an array, if none were made with those reached."""
    edges = [edge for edge in call.edges if edge.in_ == name and edge.out != name]
    if any(_comes_out(edge, reached[name], load) for edge in edges):
        return ()
    taking = [edge for edge in edges if _comes_out(edge, CellSet.full(reached[name].shape), load)]
    return tuple(dict.fromkeys(edge.out for edge in taking))


def _comes_out(edge: Edge, cells: CellSet, load: Load) -> bool:
    return bool(gather_cells(follow_lineage(load(edge), cells, Direction.FORWARD)))
