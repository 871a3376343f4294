"""Compressed lineage: Table, Lineage, and how they are written."""
