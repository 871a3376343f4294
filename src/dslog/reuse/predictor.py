"""Answering calls in place of captures, and learning from those that were captured.

The store asks for an answer before it captures, and tells what a capture gave (``store.hooks``).
The most specific signature goes first: the same inputs, the same shapes, the same operation.

A capture that was given in full, as an array, a table, a file or a Lineage, is compared with the
answer in full, and wins where they differ or where that can't be told. A function is asked about a
few cells. An answer that was compared on some cells only, or on none, is labelled predicted.

``reuse=None`` takes permanent mappings only. ``reuse=True`` is the user's word that the lineage
depends on nothing but the signature: a tentative mapping will do, and so will the library.

A function is asked about corners and cells beside edges first: that is where formulas go wrong.
One that fails, or that gives anything unexpected, disagrees; it is then asked about every cell, and
says why itself.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import prod
from typing import Any, cast

import numpy as np

from dslog.algebra.equal import some_cells, surely_same_lineage
from dslog.cells.cellset import CellSet
from dslog.errors import CaptureError
from dslog.lineage.factor import join_term
from dslog.lineage.large_lineage import LargeLineage
from dslog.lineage.lineage import Lineage
from dslog.reuse.expression import Sizes
from dslog.reuse.form import Form, Refused
from dslog.reuse.formula import statistics
from dslog.reuse.key import (
    Variant,
    base_key,
    dim_key,
    family_of,
    gen_variants,
    sizes_of,
    with_open_integers,
)
from dslog.reuse.learner import Learner, generalise
from dslog.reuse.library import library_key
from dslog.reuse.reuse_cost import ReuseCost
from dslog.reuse.signature import (
    BASE,
    DIM,
    FIRST,
    GEN,
    NOT_REUSABLE,
    PERMANENT,
    TENTATIVE,
    Exact,
    FirstCalls,
    General,
    examples,
)
from dslog.reuse.skeleton import Lineages
from dslog.store.catalog import Catalog, OperationReuse, Pair, Signature, Transaction
from dslog.store.files import Stored
from dslog.store.hooks import Answer, Observation, Request, Reuse
from dslog.types import I64, Shape

Function = Callable[[Any], Iterable[Any]]
"""A capture that gives the input cells of an output cell."""


@dataclass(frozen=True, slots=True)
class Probe:
    """How far a function was asked about an answer that it agrees with.

    ``cells`` are output cells; ``whole`` says that these are all, and all of what it gave was seen.
    """

    cells: int
    whole: bool


_WHOLE = Probe(0, whole=True)  # without a function


def probe(
    lineage: Lineage, capture: Function, pair: Pair, count: int, rng: np.random.Generator
) -> Probe | None:
    """Ask a function about a few output cells; None if it does not give the lineage's cells."""
    total = prod(pair.out.shape)
    if total <= count:
        cells = np.argwhere(np.ones(pair.out.shape, np.bool_))
    else:
        cells = some_cells(pair.out.shape, count, rng)
    if not len(cells):
        return Probe(0, whole=True) if lineage.most_pairs == 0 else None
    whole = len(cells) == total
    try:
        for boxes, (found, complete) in zip(
            _boxes(lineage, cells), _called(capture, pair, cells), strict=True
        ):
            if not _same_cells(boxes, found, pair.in_.shape, complete=complete):
                return None
            whole &= complete
    except Exception:  # noqa: BLE001 (whatever it is, the function is about to be asked in full)
        return None
    return Probe(len(cells), whole)


def _boxes(lineage: Lineage, cells: I64) -> list[I64]:
    """Return the input boxes of each of some output cells."""
    along = lineage.orientation == "backward"
    sides = (lineage.out_shape, lineage.in_shape)
    absolute, relative = sides if along else sides[::-1]
    queries = np.repeat(cells[:, :, None], 2, axis=2)
    found: list[list[I64]] = [[] for _ in cells]
    for term in lineage.terms:
        hits = join_term(term, absolute, relative, queries, backward=along)
        for query, box in zip(hits.query.tolist(), hits.boxes, strict=True):
            found[query].append(box)
    ndim = len(lineage.in_shape)
    return [np.array(boxes, np.int64).reshape(len(boxes), ndim, 2) for boxes in found]


def _same_cells(boxes: I64, cells: I64, shape: Shape, *, complete: bool) -> bool:
    """Whether some cells, all or the first ones, are those of the boxes."""
    different = set(map(tuple, cells.tolist()))
    if len(boxes) == 1:  # nearly always, and then numpy would take longer
        ranges = boxes[0].tolist()
        inside = all(
            lo <= at <= hi for cell in different for at, (lo, hi) in zip(cell, ranges, strict=True)
        )
        total = prod(hi - lo + 1 for lo, hi in ranges)
    else:
        within = (cells[:, None] >= boxes[None, :, :, 0]) & (cells[:, None] <= boxes[None, :, :, 1])
        inside = bool(np.all(np.any(np.all(within, axis=2), axis=1)))
        total = CellSet.from_boxes(shape, boxes).count if complete else 0
    return inside and (not complete or len(different) == total)


def _called(capture: Function, pair: Pair, cells: I64) -> Iterator[tuple[I64, bool]]:
    """Give what a function says of each cell, and whether that is all of it."""
    ndim, most = len(pair.in_.shape), ReuseCost.current().items
    for cell in cells.tolist():
        remaining = iter(capture(tuple(cell)))
        items = list(islice(remaining, most))
        complete = len(items) < most or next(remaining, None) is None
        array = np.array(items).reshape(len(items), ndim)
        if array.size and array.dtype.kind not in "iu":
            raise TypeError(items)
        yield array.astype(np.int64), complete


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a signature does not answer a call."""

    reason: str
    signature: Signature | None = None

    def count(self, catalog: Catalog) -> None:
        """Take note of a call that is not going to be captured either."""
        if self.signature is not None:
            with catalog.transaction() as transaction:
                now = catalog.signature(self.signature.kind, self.signature.key) or self.signature
                transaction.put_signature(replace(now, refusals=now.refusals + 1))


@dataclass(frozen=True)
class Predictor(Reuse):
    """Reuse for a store; see :class:`dslog.store.hooks.Reuse`.

    ``agreeing`` is the paper's m: how many further calls must agree before a mapping is permanent.
    ``probes`` is the number of output cells that are compared. ``library`` has ready signatures;
    ``on_values`` says of which operations nothing but the same arrays may be reused.
    """

    agreeing: int = 1
    probes: int = 8
    library: Callable[[], Mapping[str, Signature]] = dict
    on_values: Callable[[str], bool] = lambda _: False
    rng: np.random.Generator = field(default_factory=np.random.default_rng)

    def answer(self, request: Request, catalog: Catalog) -> Answer | None:
        """Return lineage for this call, or None to have it captured."""
        if not request.pairs:
            return None
        refused: list[Refusal] = []
        for found in self._candidates(request, catalog, refused):
            return self._confirmed(found, request)
        if request.captures is None and refused:
            refused[0].count(catalog)
            raise CaptureError(
                f"operation {request.name!r} has no capture, and what is known of it does not "
                f"apply: {refused[0].reason}. Give capture=[...], one per (output, input) pair"
            )
        return None

    def learn(self, seen: Observation, catalog: Catalog, transaction: Transaction) -> None:
        """Take note of what a capture gave, in the transaction that stores it."""
        if seen.request.pairs:
            values = self.on_values(seen.request.name)
            Learner(self.agreeing, catalog, transaction, values=values).learn(seen)

    def stats(self, catalog: Catalog) -> Sequence[OperationReuse]:
        """Say per operation what was reused."""
        return statistics(catalog.signatures(), self.agreeing)

    def _candidates(
        self, request: Request, catalog: Catalog, refused: list[Refusal]
    ) -> Iterator[Answer]:
        """Give what can answer, most specific first; reasons of what can't go to ``refused``."""
        known = catalog.signature(BASE, base_key(request))
        if known is not None:
            exact = Exact.from_json(known.content)
            yield Answer(BASE, exact.bodies, key=known.key, saved=exact.seconds)
        stored = catalog.signature(FIRST, family_of(request).key)
        first = FirstCalls() if stored is None else FirstCalls.from_json(stored.content)
        if first.values or self.on_values(request.name):
            refused.append(Refusal("it depends on the values of its inputs, which are others"))
            return
        known = catalog.signature(DIM, dim_key(request))
        if known is not None and (known.state == PERMANENT or request.reuse):
            exact = Exact.from_json(known.content)
            yield Answer(DIM, exact.bodies, key=known.key, saved=exact.seconds)
        elif request.reuse:
            yield from self._from_first(request, first, catalog)
        for variant in gen_variants(request):
            general = catalog.signature(GEN, variant.key)
            new = None if general is not None else self._from_library(variant, request)
            signature = general or new
            if signature is not None and signature.state != NOT_REUSABLE:
                yield from self._general(signature, variant.sizes, request, refused, new)

    def _from_first(
        self, request: Request, first: FirstCalls, catalog: Catalog
    ) -> Iterator[Answer]:
        """Give what one earlier call shows, to users who said that this will do."""
        family = family_of(request)
        same = first.find(sizes_of(request), family.integers)
        if same is not None:
            key = dim_key(request)
            new = Signature(DIM, key, TENTATIVE, Exact(same.bodies, 0, same.seconds).to_json())
            yield Answer(DIM, same.bodies, key=key, saved=same.seconds, new=new)
            return
        variant = gen_variants(request)[0]
        alike = [one for one in first.calls if one.integers == family.integers]
        calls = tuple(
            (with_open_integers(one.sizes, one.integers, (), family.others), one.bodies)
            for one in alike
        )
        general = General(calls, tuple(generalise(examples(calls, catalog))))
        lineages = apply_forms(general, variant.sizes, self.agreeing, [], eager=True)
        if lineages is not None:
            new = Signature(GEN, variant.key, TENTATIVE, general.to_json())
            saved = max(one.seconds for one in alike)
            yield Answer(GEN, lineages, key=variant.key, saved=saved, new=new)

    def _general(
        self,
        signature: Signature,
        sizes: Sizes,
        request: Request,
        refused: list[Refusal],
        new: Signature | None,
    ) -> Iterator[Answer]:
        general = General.from_json(signature.content)
        reasons: list[str] = []
        lineages = apply_forms(general, sizes, self.agreeing, reasons, eager=bool(request.reuse))
        if lineages is None:
            refused += [Refusal(reason, signature) for reason in reasons]
        else:
            cells = sum(prod(shape) for shape in sizes.outputs)
            saved = general.saving(cells)
            yield Answer(GEN, lineages, key=signature.key, saved=saved, new=new)

    def _from_library(self, variant: Variant, request: Request) -> Signature | None:
        key = library_key(variant.key, trusted=bool(request.reuse))
        known = self.library().get(key) if key else None
        return known and Signature(GEN, variant.key, known.state, known.content)

    def _confirmed(self, answer: Answer, request: Request) -> Answer | None:
        """Return an answer with what it was compared on; None when a capture is to be stored."""
        if request.captures is None:
            return replace(answer, compared=0)
        probes: list[Probe] = []
        for stored, capture, pair in zip(
            answer.lineages, request.captures, request.pairs, strict=True
        ):
            known = request.read(stored) if request.read and isinstance(stored, int) else stored
            probed = self._compared(known, capture, pair)
            if probed is None:
                return None
            probes.append(probed)
        compared = min((one.cells for one in probes if not one.whole), default=None)
        saved = answer.saved if any(one.cells for one in probes) else 0.0
        return replace(answer, compared=compared, saved=saved)

    def _compared(self, known: Stored | None, capture: object, pair: Pair) -> Probe | None:
        """Compare an answer's lineage with a capture; None when they differ, or may.

        Lineage in part files is never compared: that takes as long as to store it, which keeps it
        once if the parts are alike.
        """
        if known is None or capture is None:
            return _WHOLE if known is None and capture is None else None
        if not isinstance(known, Lineage) or isinstance(capture, LargeLineage):
            return None
        if isinstance(capture, Lineage):
            return _WHOLE if surely_same_lineage(known, capture) else None
        return probe(known, cast("Function", capture), pair, self.probes, self.rng)


def apply_forms(
    general: General, sizes: Sizes, agreeing: int, reasons: list[str], *, eager: bool = False
) -> Lineages | None:
    """Return what the first form that applies gives; forms that apply must not differ.

    ``eager`` takes forms that nothing confirmed yet, if they are as simple as the paper's.
    """
    forms = general.permanent(agreeing)
    tries: list[tuple[Form, int | None]] = [(form, agreeing) for form in forms]
    if eager:
        tries += [(form, None) for form in general.forms if form.level == 0]
    for form, enough in tries:
        answer = form.apply(sizes, enough)
        if not isinstance(answer, Refused):
            return answer
        reasons.append(answer.reason)
    if general.forms and not forms:
        reasons.append("too few calls have confirmed its formula")
    return None
