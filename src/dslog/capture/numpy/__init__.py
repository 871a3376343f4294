"""Lineage of numpy operations."""
