"""What work on Lineages costs: the constants that its choices turn on."""

from __future__ import annotations

from dataclasses import dataclass

from dslog.cost import CostModel


@dataclass(frozen=True, slots=True)
class LineageCost(CostModel):
    """Sizes at which one way of storing or following rows is better than another."""

    # how rows are written
    inline_rows: int = 64  # a table of at most so many lives in the header
    readable_rows: int = 16  # so few are always written as rows that a person can read
    inline_bytes: int = 1 << 11  # packed columns that live in the header; as a file they take more
    sample_rows: int = 1 << 14  # rows of a column that choose its code
    group_rows: int = 1 << 17  # rows in a row group of a part file
    described_rows: int = 8  # rows of a table that are put into words

    # how boxes are joined
    few_pairs: int = 64  # boxes times rows that are joined without an index
    interleaved: int = 4  # folded rows that likely lie between each other
    few_scans: int = 1 << 16  # boxes times rows above which an index over inputs is not free
    most_scans: int = 1 << 24  # and up to which looking at all is quicker, once
    few_boxes: int = 64  # boxes below which an index over them is not worth its sort
    index_sample: int = 4096  # boxes that tell along which axis to sort

    # when bits are moved instead
    bitmap_cells: int = 1 << 28  # a larger array is never painted
    quick_cells: int = 1 << 20  # a bitmap so small is moved sooner than boxes are read off it
    spreads: int = 4  # times as many cells are a lot to paint for what may be a few boxes
    few_rows: int = 256  # rows that are applied one by one
    many_rows: int = 1 << 10  # rows that a few cells are not looked up among by bitmap
    cells_per_row: int = 4  # rows of more cells are better joined with boxes
    cells_per_box: int = 256  # what joining a box costs, in cells of a bitmap
    cells_per_join: int = 128  # the same for a cell, while the bitmap fits a processor's cache
    cells_per_join_large: int = 16  # and when it doesn't
    scans: int = 4  # queries that a table as it was read answers before it is worth an index
    most_shifts: int = 64  # shifted copies that one row may need
    most_pairs: int = 1 << 23  # pairs that are looked up one by one
    pairs_per_row: int = 1 << 11  # what moving a slice costs, in cells looked up
