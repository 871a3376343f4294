"""A store as tables: for Spark's SQL and DataFrames, and for DuckDB."""
