"""Lineages as values: made of formulas and parts, composed, compared."""
