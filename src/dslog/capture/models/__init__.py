"""What a model looked at, as lineage: LIME and D-RISE."""
