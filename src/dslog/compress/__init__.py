"""From a raw relation to a Lineage: ProvRC, factors, folds."""
