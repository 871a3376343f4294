"""Sets of cells of one array: box algebra, CellSet, reading a query selection."""
