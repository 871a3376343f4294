"""Deriving the lineage of repeated operations: signatures, generalising, probing."""
