"""What putting lineages together costs: the constants that its choices turn on."""

from __future__ import annotations

from dataclasses import dataclass

from dslog.cost import CostModel


@dataclass(frozen=True, slots=True)
class AlgebraCost(CostModel):
    """Sizes up to which one way to an exact result is taken."""

    fused_rows: int = 16  # rows up to which one table is better than two
    most_terms: int = 8  # terms above which a union is compressed again
    few_pairs: int = 1 << 12  # pairs that are quicker to join than to reason about
    bit_pairs: int = 1 << 16  # pairs of a join from which rows of bits are thought of
    bit_bytes: int = 1 << 26  # of a relation as bits, and of its rows that are united at a time
    bytes_a_pair: int = 64  # of bits that are united in the time that a pair is joined and sorted
    most_pairs: int = 1 << 24  # pairs that fit in memory with some room
    most_rows: int = 4096  # combinations of rows that are worth trying
    most_cut: int = 64  # cells at the edge of a cut interval that get rows of their own
    equal_pairs: int = 1 << 20  # up to here two lineages are written out and compared
    equal_cells: int = 32  # beyond, so many cells of each array are compared
    corner_axes: int = 4  # axes whose corners are among them
