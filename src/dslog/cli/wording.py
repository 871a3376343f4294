"""Numbers, shapes and boxes in words."""

from collections.abc import Iterable, Sequence

_UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB")


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with the word it counts.

    >>> counted(1, "box", "boxes"), counted(1200, "cell")
    ('1 box', '1,200 cells')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size_text(nbytes: int) -> str:
    """Return a number of bytes with a unit that keeps it short.

    >>> size_text(1), size_text(999), size_text(1500), size_text(123456789)
    ('1 byte', '999 bytes', '1.5 KB', '123 MB')
    """
    if nbytes < 1000:
        return counted(nbytes, "byte")
    value = float(nbytes)
    for unit in _UNITS:
        if value < 1000 or unit == _UNITS[-1]:
            break
        value /= 1000
    return f"{value:.1f} {unit}" if value < 99.5 else f"{value:.0f} {unit}"


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape as people say it.

    >>> shape_text((3, 2000)), shape_text(())
    ('3 x 2,000', 'scalar')
    """
    return " x ".join(f"{length:,}" for length in shape) or "scalar"


def box_text(box: Iterable[tuple[int, int]], shape: Sequence[int]) -> str:
    """Return an inclusive box the way ``--cells`` takes it.

    >>> box_text([(0, 1), (3, 3), (0, 9)], (5, 5, 10)), box_text([], ())
    ('0:2, 3, :', '()')
    """
    return ", ".join(_span(lo, hi, size) for (lo, hi), size in zip(box, shape, strict=True)) or "()"


def _span(low: int, high: int, size: int) -> str:
    if low == high:
        return str(low)
    return ":" if (low, high) == (0, size - 1) else f"{low}:{high + 1}"


def more_text(shown: int, total: int, what: str) -> str:
    """Say what a limit left out; ``""`` when nothing.

    >>> more_text(20, 1024, "boxes")
    '20 of 1,024 boxes shown; --limit 0 shows all'
    """
    return "" if shown >= total else f"{shown:,} of {total:,} {what} shown; --limit 0 shows all"
