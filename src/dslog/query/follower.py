"""Following one lineage, wherever it and the cells are.

Most lineage is loaded and most cells are a :class:`CellSet` in this process. An engine may keep
either elsewhere: lineage too large to load is a :class:`Follower`, cells too many to hold are
:class:`Spread`. This module is all a query needs to know of that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

from dslog.cells.cellset import CellSet
from dslog.lineage.lineage import Lineage
from dslog.query.edges import Direction, Edge


class Spread(Protocol):
    """Cells of one array that an engine keeps, because this process should not."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        ...

    @property
    def exact(self) -> bool:
        """Whether these are exactly the cells asked for, not a superset."""
        ...

    @property
    def num_boxes(self) -> int:
        """The number of boxes the cells are kept in."""
        ...

    @property
    def count(self) -> int:
        """The number of cells."""
        ...

    def with_exact(self, exact: bool) -> Self:
        """The same cells, labelled exact or superset."""
        ...

    def unite(self, other: "Cells") -> "Cells":
        """The cells in either."""
        ...

    def follow(self, lineage: Lineage, direction: Direction) -> "Followed":
        """Follow lineage that is loaded, without bringing the cells here."""
        ...

    def gather(self) -> CellSet:
        """Bring the cells here; an error says so when they are too many."""
        ...


Cells = CellSet | Spread


@dataclass(frozen=True, slots=True)
class Followed:
    """Where following one lineage led, and the work it took.

    ``scanned`` rows were looked at, ``matched`` met a query box, ``joined`` boxes came out before
    they were merged; ``engine`` is where it ran.
    """

    cells: Cells
    scanned: int
    matched: int
    joined: int
    engine: str


class Follower(Protocol):
    """Lineage that is not loaded and follows cells by itself."""

    def follow(self, cells: Cells, direction: Direction) -> Followed:
        """Follow cells of one array to cells of the other."""
        ...


Load = Callable[[Edge], Lineage | Follower]
"""Gives the lineage an edge stands for."""


def follow(lineage: Lineage | Follower, cells: Cells, direction: Direction) -> Cells:
    """Return where the cells lead."""
    if not isinstance(lineage, Lineage):
        return lineage.follow(cells, direction).cells
    if not isinstance(cells, CellSet):
        return cells.follow(lineage, direction).cells
    if direction is Direction.BACKWARD:
        return lineage.backward(cells)
    return lineage.forward(cells)


def trace(lineage: Lineage | Follower, cells: Cells, direction: Direction) -> Followed:
    """Return where the cells lead, with the work it took."""
    if not isinstance(lineage, Lineage):
        return lineage.follow(cells, direction)
    if not isinstance(cells, CellSet):
        return cells.follow(lineage, direction)
    back = direction is Direction.BACKWARD
    joined = lineage.backward_boxes(cells.boxes) if back else lineage.forward_boxes(cells.boxes)
    shape = lineage.in_shape if back else lineage.out_shape
    found = CellSet.from_boxes(shape, joined.boxes, exact=cells.exact and lineage.exact)
    return Followed(found, joined.scanned, joined.matched, len(joined.boxes), "local")


def unite(a: Cells, b: Cells) -> Cells:
    """Return the cells in either."""
    if isinstance(a, CellSet):
        return a | b if isinstance(b, CellSet) else b.unite(a)
    return a.unite(b)


def gather(cells: Cells) -> CellSet:
    """Return the cells as a set in this process."""
    return cells if isinstance(cells, CellSet) else cells.gather()
