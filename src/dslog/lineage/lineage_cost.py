"""What work on Lineages costs: the constants that its choices turn on."""

from __future__ import annotations

from dataclasses import dataclass

from dslog.cost import CostModel


@dataclass(frozen=True, slots=True)
class LineageCost(CostModel):
    """Sizes at which one way of storing or following rows is better than another."""

    group_rows: int = 1 << 17  # rows in a row group of a part file
