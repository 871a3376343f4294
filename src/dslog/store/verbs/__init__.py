"""Questions people debug with: why, impact, dropped, first_nan, diff."""
