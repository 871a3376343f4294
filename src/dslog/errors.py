"""The errors DSLog raises.

Every error is a :class:`DslogError`, and also the built-in type a caller would expect
(``KeyError`` for an unknown name, ``ValueError`` for a bad value), so either can be caught.
A message names the wrong value and the way out.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class DslogError(Exception):
    """Base of every error DSLog raises.

    >>> str(NotFoundError("no array 'B'"))  # a plain KeyError would add quotes
    "no array 'B'"
    """

    def __str__(self) -> str:
        return str(self.args[0]) if len(self.args) == 1 else super().__str__()


class NotFoundError(DslogError, KeyError):
    """No array, operation or lineage has this name."""


class ShapeError(DslogError, ValueError):
    """An array was defined again with another shape, or the number of axes is wrong."""


class SelectionError(DslogError, ValueError):
    """The cells of a query are not cells of the array: out of range, negative, not integers."""


class RelationError(DslogError, ValueError):
    """A relation has the wrong columns, or values that are no cells of its arrays."""


class CaptureError(DslogError, ValueError):
    """A capture raised, or gave something that is not lineage."""


class PathError(DslogError, ValueError):
    """A query path is empty, or two neighbours on it have no lineage between them."""


class StoreError(DslogError, OSError):
    """A store can't be opened, read or written."""


class CorruptError(StoreError):
    """A stored file is damaged: missing, cut short, or its checksum differs."""

    is_placed = False  # whether the message names the arrays


class VersionError(StoreError):
    """The store was written by a newer DSLog, in a format this one can't read."""


class EngineError(DslogError, RuntimeError):
    """Spark or Java can't start, or can't do what was asked."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint to append to a message, or ``""`` when nothing known is close to ``name``.

    >>> did_you_mean("b2", ["A", "B2", "image"])
    " Did you mean 'B2'?"
    >>> did_you_mean("mask", ["A", "B2"])
    ''
    """
    folded: dict[str, str] = {}
    for candidate in known:
        folded.setdefault(candidate.casefold(), candidate)
    close = get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""
