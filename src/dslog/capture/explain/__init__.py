"""Lineage from model explanations: what a model looked at, estimated by changing its input."""
