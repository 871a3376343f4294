"""Array operations in notebooks, counted from their syntax trees (the paper's last table)."""
