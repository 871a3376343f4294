"""Lineage from model explanations."""
