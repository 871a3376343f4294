"""pandas frames and series that know where their cells came from."""
