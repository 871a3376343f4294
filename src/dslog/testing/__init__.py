"""Slow, obvious references and hypothesis strategies for tests."""
