"""Catalog, files, transactions, verify, gc."""
