"""Reading the two forms of ``np.einsum``'s arguments as labels per axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

Labels = list[Hashable]
Parsed = tuple[list[Any], list[Labels], Labels]


def read_subscripts(arguments: Sequence[Any]) -> Parsed | None:
    """Return operands, labels of each, labels of the output; None when they can't be read.

    >>> read_subscripts(("ij,jk", np.zeros((2, 3)), np.zeros((3, 4))))[1:]
    ([['i', 'j'], ['j', 'k']], ['i', 'k'])
    """
    if not arguments:
        return None
    if isinstance(arguments[0], (str, bytes)):
        text = arguments[0] if isinstance(arguments[0], str) else arguments[0].decode()
        operands = list(arguments[1:])
        left, arrow, right = text.replace(" ", "").partition("->")
        terms = [_split(one) for one in left.split(",")]
        out = _split(right) if arrow else None
    else:
        count = len(arguments) // 2
        operands = [arguments[2 * k] for k in range(count)]
        terms = [list(arguments[2 * k + 1]) for k in range(count)]
        out = list(arguments[-1]) if len(arguments) % 2 else None
    if len(terms) != len(operands):
        return None
    return _with_ellipsis(operands, terms, out)


def _split(text: str) -> Labels:
    labels: Labels = list(text.replace("...", "."))
    return [Ellipsis if label == "." else label for label in labels]


def _with_ellipsis(operands: list[Any], terms: list[Labels], out: Labels | None) -> Parsed:
    """Number the axes under each ellipsis from the last, and find an implicit output."""
    widest = 0
    labels = []
    for operand, term in zip(operands, terms, strict=True):
        covered = np.ndim(operand) - (len(term) - term.count(Ellipsis))
        widest = max(widest, covered if Ellipsis in term else 0)
        labels.append(_expand(term, covered))
    if out is None:
        seen = Counter(label for term in terms for label in term if label is not Ellipsis)
        once = sorted((label for label, n in seen.items() if n == 1), key=_order)
        out = [Ellipsis, *once] if widest else list(once)
    return operands, labels, _expand(out, widest)


def _expand(term: Labels, covered: int) -> Labels:
    hidden: Labels = [("...", k) for k in range(covered, 0, -1)]
    result: Labels = []
    for label in term:
        result += hidden if label is Ellipsis else [label]
    return result


def _order(label: Any) -> tuple[str, int]:
    """Implicit outputs are in alphabetical order: upper case before lower, numbers by size."""
    return (label, 0) if isinstance(label, str) else ("", label)
