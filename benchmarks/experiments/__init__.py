"""The experiments, each module one or two of them: rows, how to measure them, what is asked."""
