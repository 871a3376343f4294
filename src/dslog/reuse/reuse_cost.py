"""What decides how much reuse tries, and how much it wants to see; see :mod:`dslog.cost`.

An answer that is given is as exact whatever these numbers are: they say when there is one.
"""

from dataclasses import dataclass

from dslog.cost import CostModel


@dataclass(frozen=True, slots=True)
class ReuseCost(CostModel):
    """Thresholds of ``reuse``."""

    # Solving formulas
    rows: int = 64  # a lineage of more rows has no formula worth keeping
    candidates: int = 12  # expressions kept for one number
    multiple: int = 64  # largest factor of a size that is tried
    tries: int = 64  # small groups of calls tried where no formula fits all of them
    solved: int = 12  # times that an operation's formulas are solved before it is done less often

    # What is kept
    calls: int = 16  # captured calls that a gen_sig keeps to solve its formulas from
    first_calls: int = 12  # calls of a family that are kept until a second one has the same key
    seen: int = 16  # calls that a form remembers, unless more say where it holds
    forms: int = 8  # regimes of an operation

    # When a formula is believed (``scope`` says why)
    extra_calls: tuple[int, ...] = (0, 0, 1, 2)  # further calls that a number takes, by its level
    certain: int = 8  # an axis of this size that is read whole is no accident
    several: int = 3  # different sizes of an axis that are enough, however close
    apart: int = 4  # sizes closer than this can't tell a constant from a half or a third
    open_argument: int = 4  # values of an argument after which it may lie beyond those seen
    ignored_argument: int = 12  # values after which an argument seems to be without influence

    # When an operation is given up
    misses: int = 3  # answers that a capture proved wrong
    large: int = 3  # calls with too many rows for a formula
    hopeless: int = 14  # calls without a formula

    # Looking at captures
    items: int = 1000  # of what a callable gives for one cell, when it is probed
    telling: float = 0.05  # seconds; shorter captures are mostly overhead
