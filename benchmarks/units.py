"""Numbers as people read them, with their units."""

from __future__ import annotations


def nbytes(value: float) -> str:
    """Write a size in bytes.

    >>> nbytes(168), nbytes(2_125_504), nbytes(6.4e10)
    ('168 B', '2.13 MB', '64 GB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} B"


def seconds(value: float) -> str:
    """Write a time.

    >>> seconds(0.0021), seconds(12.3), seconds(0.00004)
    ('2.1 ms', '12.3 s', '40 µs')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value * 1e9:.0f} ns"


def times(value: float) -> str:
    """Write how many times better something is, from ours divided by theirs.

    >>> times(0.01), times(2.0)
    ('100x', '0.5x')
    """
    if value <= 0:
        return "-"
    better = 1 / value
    return f"{better:,.0f}x" if better >= 100 else f"{better:.2g}x"


def share(selectivity: float) -> str:
    """Write a selectivity.

    >>> share(0), share(0.001), share(1.0)
    ('1 cell', '0.1%', '100%')
    """
    return "1 cell" if selectivity <= 0 else f"{selectivity * 100:g}%"


def power(cells: int) -> str:
    """Write a power of ten as one.

    >>> power(1000), power(10**9), power(2000)
    ('10^3', '10^9', '2,000')
    """
    digits = len(str(cells)) - 1
    return f"10^{digits}" if cells == 10**digits else f"{cells:,}"


def more(extra: float) -> str:
    """Write seconds on top of others.

    >>> more(0.0002), more(-0.0001)
    ('+0.200 ms', '-0.100 ms')
    """
    return f"{extra * 1e3:+.3f} ms"
