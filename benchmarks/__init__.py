"""Benchmarks: the paper's evaluation and what else is measured, beside baselines, in one system.

``python -m benchmarks`` runs all experiments, ``python -m benchmarks storage --quick`` one of them.
"""
