"""Numbers, shapes, boxes and tables as text."""

from collections.abc import Iterable, Sequence


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with the word it counts.

    >>> counted(1, "box", "boxes"), counted(1200, "cell")
    ('1 box', '1,200 cells')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape as people say it.

    >>> shape_text((3, 2000)), shape_text(())
    ('3 x 2,000', 'scalar')
    """
    return " x ".join(f"{length:,}" for length in shape) or "scalar"


def box_text(
    box: Iterable[tuple[int, int]], shape: Sequence[int], columns: Sequence[str] = ()
) -> str:
    """Return an inclusive box as a numpy index; ``columns`` are names for the last axis.

    >>> box_text([(0, 1), (3, 3), (0, 9)], (5, 5, 10)), box_text([], ())
    ('0:2, 3, :', '()')
    >>> box_text([(7, 7), (1, 1)], (9, 2), ["id", "price"])
    '7, price'
    """
    parts = [(lo, hi, _span(lo, hi, size)) for (lo, hi), size in zip(box, shape, strict=True)]
    texts = [text for _, _, text in parts]
    if columns and parts and parts[-1][0] == parts[-1][1]:
        texts[-1] = columns[parts[-1][0]]
    return ", ".join(texts) or "()"


def _span(low: int, high: int, size: int) -> str:
    if low == high:
        return str(low)
    return ":" if (low, high) == (0, size - 1) else f"{low}:{high + 1}"


def aligned(rows: Sequence[Sequence[str]], words: int | None = None) -> list[str]:
    """Return rows as lines with their columns aligned; those after the first ``words`` flush right.

    >>> aligned([["step", "rows"], ["A -> B", "7"]], words=1)
    ['step    rows', 'A -> B     7']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    left = len(widths) if words is None else words
    return [
        "  ".join(
            text.ljust(width) if at < left else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
