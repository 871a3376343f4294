"""Following lineage along a path: index, plan, explain."""
