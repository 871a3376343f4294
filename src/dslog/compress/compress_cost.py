"""What compressing costs: the constants that its choices turn on."""

from __future__ import annotations

from dataclasses import dataclass

from dslog.cost import CostModel


@dataclass(frozen=True, slots=True)
class CompressCost(CostModel):
    """Sizes at which it is worth trying a smaller form, and how closely to look before."""

    # ProvRC
    few_rows: int = 64  # rows that are kept as readable text, whatever their columns look like
    many_rows: int = 1 << 15  # rows from which a sample is asked before a pass over all
    probe_pairs: int = 1 << 14  # pairs after which it is seen whether they make chains
    enough_cells: int = 1 << 10  # cells of which a share means something
    chain_bits: int = 4  # about what the length of a chain takes
    settle_rows: int = 64  # rows that tell what an input stays in step with
    merge_samples: int = 2048  # rows that tell whether a pass finds anything to merge
    looks: int = 64  # rows of the next cell that are compared with a sampled one
    rare: int = 32  # a merge in so many rows is not worth a pass over all of them

    # bits
    run_samples: int = 64  # rows of bits that tell how long their runs are
    strides: int = 4  # of runs that are looked for
    run_pairs: int = 4  # in a run, on average, from which runs beat pairs
    run_bytes: int = 1 << 22  # of bits, one to a byte, that are looked at together

    # the choice between forms
    enough_rows: int = 2  # rows that no other form would beat
    scatter_pairs: int = 1 << 16  # pairs from which it is asked whose axes should be absolute
    prefix_pairs: int = 1 << 10  # pairs on which the linear view, or an order, is tried first
    expand_pairs: int = 1 << 22  # pairs up to which a factor is expanded to try its linear view
    mixed_rows: int = 64  # plain rows that may stay in one table with folded ones

    # factors
    factor_rows: int = 4  # below so many rows there is nothing to gain
    short_rows: int = 64  # up to here any row less is a gain, beyond they must be half
    most_terms: int = 8  # products that a relation may be a union of
    pivots: int = 3  # rows that rule out groups of axes
    window_rows: int = 2048  # neighbouring rows that tell whether there may be a product
    slack: int = 5  # how many times the rows of a window its projections may multiply to

    # folds
    fold_rows: int = 3  # two rows are always in progression: folding them saves nothing
    fold_rows_of_many: int = 8  # in a long table short progressions are chance
    fold_many: int = 1 << 10  # rows of a long table
    fold_windows: int = 12  # stretches of a long table that are folded to see if any does
    fold_window: int = 256  # rows of such a stretch
    most_levels: int = 4  # folds of folds
    lags: int = 9  # progressions may interleave, up to so many at a time
    lag_rows: int = 4096  # rows that tell how many do
