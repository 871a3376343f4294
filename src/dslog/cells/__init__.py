"""Sets of array cells: box algebra, `CellSet`, and reading a query selection."""
