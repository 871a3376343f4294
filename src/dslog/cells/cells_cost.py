"""What decides how cells are kept and combined; see :mod:`dslog.cost`."""

from dataclasses import dataclass

from dslog.cost import CostModel


@dataclass(frozen=True, slots=True)
class CellsCost(CostModel):
    """Thresholds of ``cells``: all ways give the same cells."""

    # Combining boxes
    dense: int = 128  # grid cells per box up to which the grid beats sorting the boxes even once
    grid_cells: int = 1 << 25  # cells a grid may have; painting takes four bytes of each
    good_sweep: int = 4  # candidate pairs per box at which looking for a better axis stops

    # Boxes to masks and back
    direct_paint: int = 4  # writes per cell up to which box by box beats a difference array
    difference_axes: int = 4  # a difference array is one longer on every axis: beyond, too large
    fewer_runs: int = 2  # runs go along another axis if the last one has this many times as many

    # Cells to Spark
    listed: int = 1 << 16  # indices that Spark lists at a time: it holds each list in memory
