"""What capture weighs: see :mod:`dslog.cost`."""

from dataclasses import dataclass

from dslog.cost import CostModel


@dataclass(frozen=True, slots=True)
class CaptureCost(CostModel):
    """Thresholds of capture."""

    waiting_steps: int = 256  # steps that wait in memory before they are committed together
    waiting_writes: int = 4096  # writes into an array after which it gets a version, unread
    few_values: int = 16  # cells of an untracked argument that are written down with the call
    reuse_cells: int = 1 << 14  # cells of an array from which a call's lineage is remembered
    reuse_calls: int = 32  # calls on the same arrays whose lineage is remembered
    reuse_rows: int = 1 << 21  # compressed rows of a call that are worth remembering
