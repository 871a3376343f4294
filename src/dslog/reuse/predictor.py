"""Answering calls in place of captures, and learning from those that were captured.

The store asks for an answer before it captures, and tells what a capture gave (``store.seams``).
The most specific signature goes first: the same inputs, the same shapes, the same operation. With
a capture at hand an answer is compared on a few cells; without one it is labelled predicted.

``reuse=None`` takes permanent mappings only. ``reuse=True`` is the user's word that the lineage
depends on nothing but the signature: a tentative mapping will do, and so will the library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dslog.errors import CaptureError
from dslog.lineage.lineage import Lineage
from dslog.reuse.expressions import Sizes
from dslog.reuse.form import Form, Refused
from dslog.reuse.generalise import generalise
from dslog.reuse.keys import (
    Variant,
    base_key,
    dim_key,
    family_of,
    gen_variants,
    opening,
    sizes_of,
)
from dslog.reuse.knowledge import (
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
from dslog.reuse.learning import Learner
from dslog.reuse.library import library_key
from dslog.reuse.probe import agrees
from dslog.reuse.skeleton import Lineages
from dslog.reuse.stats import statistics
from dslog.store.catalog import Catalog, Transaction
from dslog.store.records import OperationReuse, Signature
from dslog.store.seams import Answer, Observation, Request


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible answer: bodies by number (base_sig, dim_sig) or lineages (gen_sig)."""

    kind: str
    key: str
    found: tuple[Lineage | int | None, ...]
    saved: float
    new: Signature | None = None


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
class Predictor:
    """Reuse for a store; see :class:`dslog.store.seams.Reuse`.

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
        for candidate in self._candidates(request, catalog, refused):
            if request.captures is not None and not self._is_confirmed(candidate, request):
                return None
            return Answer(
                candidate.kind,
                candidate.found,
                predicted=request.captures is None and candidate.kind != BASE,
                key=candidate.key,
                saved=candidate.saved,
                new=candidate.new,
            )
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
    ) -> Iterator[Candidate]:
        """Give what can answer, most specific first; reasons of what can't go to ``refused``."""
        known = catalog.signature(BASE, base_key(request))
        if known is not None:
            exact = Exact.from_json(known.content)
            yield Candidate(BASE, known.key, exact.bodies, exact.seconds)
        stored = catalog.signature(FIRST, family_of(request).key)
        first = FirstCalls() if stored is None else FirstCalls.from_json(stored.content)
        if first.values or self.on_values(request.name):
            refused.append(Refusal("it depends on the values of its inputs, which are others"))
            return
        known = catalog.signature(DIM, dim_key(request))
        if known is not None and (known.state == PERMANENT or request.reuse):
            exact = Exact.from_json(known.content)
            yield Candidate(DIM, known.key, exact.bodies, exact.seconds)
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
    ) -> Iterator[Candidate]:
        """Give what one earlier call shows, to users who said that this will do."""
        family = family_of(request)
        same = first.find(sizes_of(request), family.integers)
        if same is not None:
            key = dim_key(request)
            new = Signature(DIM, key, TENTATIVE, Exact(same.bodies, 0, same.seconds).to_json())
            yield Candidate(DIM, key, same.bodies, same.seconds, new)
            return
        variant = gen_variants(request)[0]
        alike = [one for one in first.calls if one.integers == family.integers]
        calls = tuple(
            (opening(one.sizes, one.integers, (), family.others), one.bodies) for one in alike
        )
        general = General(calls, tuple(generalise(examples(calls, catalog))))
        lineages = apply_forms(general, variant.sizes, self.agreeing, [], eager=True)
        if lineages is not None:
            new = Signature(GEN, variant.key, TENTATIVE, general.to_json())
            saved = max(one.seconds for one in alike)
            yield Candidate(GEN, variant.key, lineages, saved, new)

    def _general(
        self,
        signature: Signature,
        sizes: Sizes,
        request: Request,
        refused: list[Refusal],
        new: Signature | None,
    ) -> Iterator[Candidate]:
        general = General.from_json(signature.content)
        reasons: list[str] = []
        lineages = apply_forms(general, sizes, self.agreeing, reasons, eager=bool(request.reuse))
        if lineages is None:
            refused += [Refusal(reason, signature) for reason in reasons]
        else:
            cells = sum(math.prod(shape) for shape in sizes.outputs)
            yield Candidate(GEN, signature.key, lineages, general.saving(cells), new)

    def _from_library(self, variant: Variant, request: Request) -> Signature | None:
        key = library_key(variant.key, trusted=bool(request.reuse))
        known = self.library().get(key) if key else None
        return known and Signature(GEN, variant.key, known.state, known.content)

    def _is_confirmed(self, candidate: Candidate, request: Request) -> bool:
        if request.captures is None or request.read is None:
            return False
        for found, capture, pair in zip(
            candidate.found, request.captures, request.pairs, strict=True
        ):
            lineage = request.read(found) if isinstance(found, int) else found
            if not agrees(lineage, capture, pair, self.probes, self.rng):
                return False
        return True


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
