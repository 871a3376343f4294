"""What capture weighs: see :mod:`dslog.cost`."""

from dataclasses import dataclass

from dslog.cost import CostModel


@dataclass(frozen=True, slots=True)
class CaptureCost(CostModel):
    """Thresholds of capture."""

    waiting_steps: int = 256  # steps that wait in memory before they are committed together
    waiting_seconds: float = 1.0  # for which a step may wait to be committed
    waiting_writes: int = 4096  # writes into an array after which it gets a version, unread
    alike_pairs: int = 1 << 16  # pairs of a loop's round that are remembered for its next one
    few_values: int = 16  # cells of an untracked argument that are written down with the call
    reuse_cells: int = 1 << 14  # cells of an array from which a call's lineage is remembered
    reuse_calls: int = 32  # calls on the same arrays whose lineage is remembered
    reuse_rows: int = 1 << 21  # compressed rows of a call that are worth remembering
    most_forms: int = 1 << 14  # forms of numpy calls whose lineage is remembered
    traced_cells: int = 1 << 14  # inputs and outputs of a call that is followed cell by cell
    piece_pairs: int = 1 << 16  # pairs of a capture function that are Python objects at a time
    patience: float = 1.0  # seconds of a capture function before its progress is shown
    look_every: int = 64  # cells between looks at the clock, which is slow beside a quick capture
    masks_at_once: int = 1 << 24  # numbers in the masks of one batch of an explanation
    uncut_cells: int = 256  # an input with fewer is not cut into segments: every cell is one
    most_contributions: int = 1 << 27  # numbers of an explanation that fit in memory
