"""Sizes and limits in words."""

from dslog.cells.wording import counted

_UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB")


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


def more_text(shown: int, total: int, what: str) -> str:
    """Say what a limit left out; ``""`` when nothing.

    >>> more_text(20, 1024, "boxes")
    '20 of 1,024 boxes shown; --limit 0 shows all'
    """
    return "" if shown >= total else f"{shown:,} of {total:,} {what} shown; --limit 0 shows all"
