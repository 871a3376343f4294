"""Lineage of Spark DataFrame operations."""
