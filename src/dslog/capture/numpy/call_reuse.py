"""Lineage of calls like earlier ones, where finding it took long.

Most rules are formulas and cost next to nothing. Some look at every cell: functions run again on
positions, lineage computed from values. What those found is remembered by a session:

- the same call on the same versions of the same arrays has the same lineage;
- a call of the same shapes has, where only shapes matter;
- a function that only moves cells follows a formula (``dslog.reuse``), which is compared with the
  values it moved.

Functions that were never slow are not looked up at all.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from dslog.algebra.equal import some_cells
from dslog.capture.numpy.call import Call, Lineages, short_name
from dslog.capture.numpy.node import Node
from dslog.capture.numpy.registry import REGISTRY
from dslog.capture.numpy.resolve import find_lineages
from dslog.lineage.lineage import Lineage
from dslog.reuse.expression import Sizes
from dslog.reuse.form import Example, Form, Refused
from dslog.reuse.key import Variant, read_key, variants
from dslog.reuse.learner import generalise
from dslog.reuse.signature import BASE, DIM, GEN, PERMANENT, TRACKED, General
from dslog.store.arguments import ArgumentError, canonical_args, fingerprint
from dslog.store.catalog import Signature
from dslog.store.commit import Hit
from dslog.types import Array

SLOW = 0.005  # seconds
MOST_CALLS = 32
MOST_ROWS = 1 << 21
EXAMPLES = 8
PROBES = 16
LAYOUT = " in memory "


@dataclass(frozen=True, slots=True)
class Found:
    """A call's lineage, and what answered in place of a capture."""

    lineages: Lineages
    hit: Hit | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """The lineage of a slow call, and the seconds that it took to capture."""

    lineages: Lineages
    seconds: float


class Recall:
    """What a session remembers of slow captures; ``agreeing`` is as in ``dslog.reuse``."""

    def __init__(self, agreeing: int = 1) -> None:
        self._agreeing = agreeing
        self._lock = threading.Lock()
        self._slow: set[Any] = set()
        self._calls: OrderedDict[tuple[Any, ...], Kept] = OrderedDict()
        self._examples: dict[str, list[Example]] = {}
        self._forms: dict[str, list[Form]] = {}
        self._seconds: dict[str, float] = {}
        self.hits = 0

    def find(self, call: Call, nodes: Sequence[Node], *, written: bool) -> Found:
        """Return a call's lineage, remembered or found."""
        variant = _variant(call) if call.func in self._slow and not written else None
        if variant is not None:
            with self._lock:
                known = self._look_up(call, variant, nodes)
            if known is not None:
                self.hits += 1
                return known
        started = perf_counter()
        found = find_lineages(call, written=written)
        seconds = perf_counter() - started
        if seconds >= SLOW and not written:
            variant = variant or _variant(call)
            with self._lock:
                self._slow.add(call.func)
                if variant is not None:
                    self._remember(call, variant, nodes, Kept(found, seconds))
        return Found(found)

    def _look_up(self, call: Call, variant: Variant, nodes: Sequence[Node]) -> Found | None:
        key, sizes = variant.key, variant.sizes
        for kind, place in ((BASE, (key, sizes, *nodes)), (DIM, (key, sizes))):
            kept = self._calls.get(place)
            if kept is not None:
                self._calls.move_to_end(place)
                return Found(kept.lineages, _hit(kind, variant, kept.seconds))
        for form in self._forms.get(key, ()):
            flat = form.apply(sizes, self._agreeing)
            if not isinstance(flat, Refused):
                lineages = _rows(flat, len(call.inputs))
                hit = _hit(GEN, variant, self._seconds[key], form)
                return Found(lineages, hit) if _moves_values(call, lineages) else None
        return None

    def _remember(self, call: Call, variant: Variant, nodes: Sequence[Node], kept: Kept) -> None:
        flat = tuple(lineage for row in kept.lineages for lineage in row)
        if sum(one.num_rows for one in flat if one is not None) > MOST_ROWS:
            return
        kinds = {entry.kind for entry in REGISTRY.find(call.func)}
        key, sizes = variant.key, variant.sizes
        self._keep((key, sizes, *nodes), kept)
        if kinds <= {"rule", "index-run"}:
            self._keep((key, sizes), kept)
        if kinds <= {"rule", "index-run"} and "index-run" in kinds:
            examples = self._examples.setdefault(key, [])
            examples[:] = [*(e for e in examples if e.sizes != sizes), Example(sizes, flat)]
            del examples[:-EXAMPLES]
            self._forms[key] = generalise(examples)
            self._seconds[key] = kept.seconds

    def _keep(self, place: tuple[Any, ...], kept: Kept) -> None:
        self._calls[place] = kept
        while len(self._calls) > MOST_CALLS:
            self._calls.popitem(last=False)


def _hit(kind: str, variant: Variant, seconds: float, form: Form | None = None) -> Hit:
    """Say what answered, for the statistics of the store."""
    name, args, ranks = read_key(variant.key.partition(LAYOUT)[0])
    plain = {key: value for key, value in args.items() if not _is_input(value)}
    key = json.dumps([short_name(name), plain, ranks], separators=(",", ":"), sort_keys=True)
    content = General(forms=(form,)).to_json() if form else ""
    return Hit(kind, Signature(TRACKED, key, PERMANENT, content, saved=seconds))


def _sizes(call: Call) -> Sizes:
    return Sizes(
        tuple(array.shape for array in call.inputs), tuple(array.shape for array in call.outputs)
    )


def _rows(flat: Sequence[Lineage | None], inputs: int) -> Lineages:
    return tuple(tuple(flat[k : k + inputs]) for k in range(0, len(flat), inputs))


def _variant(call: Call) -> Variant | None:
    """Return a call without its tracked values, but with their memory layout.

    None if there is something in it that can't be written down.
    """
    try:
        arguments = {name: _plain(value, call) for name, value in call.arguments.items()}
        variant = variants(call.name, canonical_args(arguments), _sizes(call))[0]
    except (ArgumentError, TypeError):
        return None
    layouts = [(array.dtype.kind, *_layout(array)) for array in call.inputs]
    return replace(variant, key=f"{variant.key}{LAYOUT}{layouts}")


def _layout(array: Array) -> list[int]:
    """The axes in the order of memory: some functions follow it."""
    steps = [abs(step) for step in array.strides]
    return [int(axis) for axis in np.argsort(steps, kind="stable")] + [
        int(array.flags.c_contiguous),
        int(array.flags.f_contiguous),
    ]


def _plain(value: Any, call: Call) -> Any:
    place = call.which(value)
    if place is not None:
        return {"input": place}
    if isinstance(value, np.ndarray):
        return {"content": fingerprint(value)}
    if isinstance(value, list | tuple):
        return [_plain(item, call) for item in value]
    return value


def _is_input(value: Any) -> bool:
    """Whether an argument, as ``_plain`` gives it, consists of inputs."""
    if isinstance(value, list):
        return bool(value) and all(map(_is_input, value))
    return isinstance(value, dict) and set(value) == {"input"}


def _moves_values(call: Call, lineages: Lineages) -> bool:
    """Whether the values of some output cells are those of the cells they are said to be from."""
    rng = np.random.default_rng(PROBES)
    for output, row in zip(call.outputs, lineages, strict=True):
        for cell in some_cells(output.shape, PROBES, rng):
            box = np.repeat(cell[:, None], 2, axis=1)[None]
            for array, lineage in zip(call.inputs, row, strict=True):
                for found in () if lineage is None else lineage.backward_boxes(box).boxes:
                    here, there = output[tuple(cell)], array[tuple(found[:, 0])]
                    if (found[:, 0] != found[:, 1]).any() or not _equal(here, there):
                        return False
    return True


def _equal(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))  # noqa: PLR0124
