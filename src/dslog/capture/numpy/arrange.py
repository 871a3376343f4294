"""From the lineage of arguments to the lineage of a call's inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dslog.algebra.compose import as_lineage, compose
from dslog.algebra.product import part, product, row
from dslog.algebra.union import union
from dslog.capture.numpy.call import Call, Lineages
from dslog.lineage.lineage import Lineage
from dslog.types import Array

Argument = tuple[Any, Lineage | None]
Path = tuple[int, ...]


def arrange(call: Call, *per_output: Iterable[Argument]) -> Lineages | None:
    """Arrange lineage by argument: for each output, pairs of an argument and its lineage.

    An argument that is not tracked is passed over; one that is named twice gets the union; one that
    is a list of tracked arrays is taken apart. When a tracked input is not named at all the rule
    did not know of it, and the call is left to others. Where there are no cells, lineage is empty
    but there: an empty array is tracked, too.
    """
    if len(per_output) != len(call.outputs):
        return None
    known: set[int | None] = set()
    rows: list[dict[int | None, Lineage | None]] = []
    for output, pairs in zip(call.outputs, per_output, strict=True):
        found: dict[int | None, Lineage | None] = {}
        for value, given in _apart(call, pairs):
            place = call.which(value)
            known.add(place)
            if place is None:
                continue
            lineage, array = given, call.inputs[place]
            if given is None and not (output.size and array.size):
                lineage = Lineage.empty(output.shape, array.shape)
            before = found.get(place)
            if lineage is not None:
                found[place] = lineage if before is None else union(before, lineage)
        rows.append(found)
    if not known.issuperset(range(len(call.inputs))):
        return None
    return call.lineages(*rows)


def is_tracked(call: Call, value: Any) -> bool:
    """Whether a value is a tracked array, or has one in it."""
    return next(_items(call, value, ()), None) is not None


def _apart(call: Call, pairs: Iterable[Argument]) -> Iterator[Argument]:
    """Give lists of tracked arrays item by item; an item that can't be is left out."""
    for value, lineage in pairs:
        if not isinstance(value, (list, tuple)):
            yield value, lineage
            continue
        for array, path in _items(call, value, ()):
            if lineage is None:
                yield array, None
            elif (own := _of_item(lineage, array, path)) is not None:
                yield array, own


def _items(call: Call, value: Any, path: Path) -> Iterator[tuple[Array, Path]]:
    """Give the tracked arrays inside lists, each with where it is."""
    if isinstance(value, (list, tuple)):
        for k, item in enumerate(value):
            yield from _items(call, item, (*path, k))
    elif call.which(value) is not None:
        yield value, path


def _of_item(lineage: Lineage, array: Array, path: Path) -> Lineage | None:
    """Return what a lineage from stacked arrays says of one of them."""
    if lineage.in_shape != (*lineage.in_shape[: len(path)], *array.shape):
        return None
    lead, shape = len(path), array.shape
    outs = [(k, k) for k in path] + [(0, n - 1) for n in shape]
    table = row(outs, [(0, 0)] * len(shape), [lead + i for i in range(len(shape))])
    layer = part(range(len(outs)), range(len(shape)), table)
    both = compose(lineage, product(lineage.in_shape, shape, layer))
    return None if both is None else as_lineage(both)
