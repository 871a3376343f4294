"""Learn from a captured call: confirm, refine or drop what the signatures say.

``generalise`` goes from captured calls of one operation to forms, formulas that hold for all shapes
of a regime; the :class:`Learner` keeps the signatures of an operation up to date with them.
"""

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

from dslog.algebra.equal import same_lineages
from dslog.lineage.lineage import Lineage
from dslog.lineage.lineage_cost import LineageCost
from dslog.reuse.expression import Sizes
from dslog.reuse.form import Example, Form, Refused
from dslog.reuse.key import (
    Family,
    Variant,
    base_key,
    dim_key,
    family_of,
    gen_variants,
    names_shape,
    sizes_of,
    with_open_integers,
)
from dslog.reuse.reuse_cost import ReuseCost
from dslog.reuse.scope import places
from dslog.reuse.signature import (
    BASE,
    DIM,
    FIRST,
    GEN,
    NOT_REUSABLE,
    PERMANENT,
    TENTATIVE,
    Call,
    Exact,
    FirstCall,
    FirstCalls,
    General,
    examples,
    read_small,
    signature,
)
from dslog.reuse.skeleton import Lineages, Role, Skeleton, roles, skeleton_of
from dslog.reuse.solver import HIGHEST, Solver
from dslog.store.catalog import Catalog, Signature, Transaction
from dslog.store.files import Stored
from dslog.store.hooks import Observation

Taken = tuple[Example, Skeleton]


def generalise(examples: Sequence[Example]) -> list[Form]:
    """Return the forms behind some captured calls, the one that explains most first.

    Calls whose lineages have the same skeleton are solved together; where that fails, they belong
    to several regimes, and pairs and triples of them are tried as seeds. Each formula then takes in
    every other call that it explains, whatever its lineage was written like. A formula that
    contradicts a call inside its own range is wrong and goes.
    """
    examples = list({example.sizes: example for example in examples}.values())
    taken = [(example, flat) for example in examples if (flat := skeleton_of(example.lineages))]
    forms: list[Form] = []
    for group in _by_skeleton(taken):
        forms += _solve_group(group, examples)
    forms.sort(key=lambda form: (-len(form.seen), form.level))
    best: list[Form] = []
    for form in forms:
        if not any(set(form.seen) <= set(other.seen) for other in best):
            best.append(form)
    return best


def _by_skeleton(taken: Iterable[Taken]) -> list[list[Taken]]:
    """Group calls by skeleton, and by where their arguments lie on the axes."""
    groups: dict[object, list[Taken]] = {}
    for example, flat in taken:
        sizes = example.sizes
        key = (flat.skeleton, sizes.ranks, places(sizes))
        groups.setdefault(key, []).append((example, flat))
    return list(groups.values())


def _solve_group(group: Sequence[Taken], examples: Sequence[Example]) -> list[Form]:
    """Return forms that together explain the calls of a group."""
    left = list(group)
    forms: list[Form] = []
    while left:
        form = _best_form(left, examples)
        if form is None:
            break
        forms.append(form)
        left = [one for one in left if one[0].sizes not in form.seen]
    return forms


def _best_form(group: Sequence[Taken], examples: Sequence[Example]) -> Form | None:
    """Solve all calls of a group together, or else those that a small part of them agrees with."""
    form = _complete(_solve(group, HIGHEST), examples)
    if form is not None:
        return form
    found: list[Form] = []
    for size, highest in ((2, 1), (2, 2), (3, HIGHEST)):
        tries = itertools.islice(itertools.combinations(group, size), ReuseCost.current().tries)
        solved = (_complete(_solve(some, highest), examples) for some in tries)
        found += [replace(form, picked=True) for form in solved if form is not None]
        if any(len(form.seen) > size for form in found):
            break
    single = [_complete(_solve(group[:1], 1), examples)]
    found += [form for form in single if form is not None]
    return min(found, key=lambda form: (-len(form.seen), form.level), default=None)


def _solve(group: Sequence[Taken], highest: int) -> Form | None:
    """Solve every number for the calls of a group."""
    calls = [example.sizes for example, _ in group]
    solver = Solver(calls)
    skeleton = json.loads(group[0][1].skeleton)
    numbers: list[tuple[str, ...]] = []
    levels: list[int] = []
    rows = zip(*(flat.numbers for _, flat in group), strict=True)
    for part, values in zip(roles(skeleton, calls[0]), rows, strict=True):
        solved = solver.solve(part, values, highest)
        if solved is None:
            return None
        numbers.append(solved.expressions)
        levels.append(solved.level)
    return Form(skeleton, tuple(numbers), tuple(levels), _extents(calls), tuple(calls))


def _extents(calls: Sequence[Sizes]) -> tuple[tuple[str, ...], ...]:
    """Solve the sizes of the output axes by those of the inputs and the arguments."""
    solver = Solver([Sizes(sizes.inputs, (), sizes.args) for sizes in calls])
    found = []
    for k, shape in enumerate(calls[0].outputs):
        for axis in range(len(shape)):
            own = [f"i{n}_{axis}" for n, s in enumerate(calls[0].inputs) if axis < len(s)]
            values = tuple(sizes.outputs[k][axis] for sizes in calls)
            solved = solver.solve(Role("count", tuple(own)), values)
            found.append(solved.expressions if solved else ())
    return tuple(found)


def _complete(form: Form | None, examples: Sequence[Example]) -> Form | None:
    """Let a form take in every call it explains; None if it contradicts one in its range."""
    if form is None:
        return None
    for example in examples:
        if example.sizes not in form.seen:
            dropped = form.explains(example)
            if dropped is not None:
                form = form.extended(example, dropped)
    return None if any(contradicts(form, example) for example in examples) else form


def taken_in(forms: Sequence[Form], example: Example) -> list[Form] | None:
    """Return the forms with one more call, if one of them explains it and none is wrong about it.

    That is all there is to learn from most calls, and costs far less than solving again.
    """
    if any(contradicts(form, example) for form in forms):
        return None
    explained = False
    taken: list[Form] = []
    for form in forms:
        dropped = None if example.sizes in form.seen else form.explains(example)
        explained |= dropped is not None or example.sizes in form.seen
        taken.append(form if dropped is None else form.extended(example, dropped).trimmed())
    return taken if explained else None


def contradicts(form: Form, example: Example) -> bool:
    """Whether a form would have answered a call, and wrongly."""
    answer = form.apply(example.sizes)
    return not isinstance(answer, Refused) and not same_lineages(answer, example.lineages)


@dataclass(slots=True)
class Learner:
    """Writes what one captured call shows, in the transaction that stores it.

    A miss or a refusal is counted once per call, with the signature that would have answered.
    """

    agreeing: int
    catalog: Catalog
    transaction: Transaction
    values: bool = False  # it is known that the lineage depends on values
    judged: bool = False

    def learn(self, seen: Observation) -> None:
        """Update every signature of the call."""
        self._learn_base(seen)
        family = family_of(seen.request)
        stored = self.catalog.signature(FIRST, family.key)
        first = FirstCalls.from_json(stored.content) if stored else FirstCalls(values=self.values)
        if not first.values and not self._learn_dim(seen, family, first):
            for variant in gen_variants(seen.request):
                self._learn_general(variant, seen, family, first)
            sizes = sizes_of(seen.request)
            call = FirstCall(sizes, family.integers, seen.bodies, seen.seconds)
            first = first.with_call(call)
        elif not first.values:
            first = FirstCalls(values=True)
            self._give_up(seen)
        self._put(signature(FIRST, family.key, TENTATIVE, first.to_json(), stored))

    def _missed(self) -> int:
        """Return 1 for the first signature that was wrong, 0 for others."""
        first, self.judged = not self.judged, True
        return int(first)

    def _learn_base(self, seen: Observation) -> None:
        key = base_key(seen.request)
        before = self.catalog.signature(BASE, key)
        if before is not None and not self._same(
            Exact.from_json(before.content).bodies, seen.bodies
        ):  # it would have answered, had a capture not shown it to be wrong
            before = replace(before, misses=before.misses + self._missed())
        content = Exact(seen.bodies, 0, seen.seconds).to_json()
        self._put(signature(BASE, key, PERMANENT, content, before))

    def _learn_dim(self, seen: Observation, family: Family, first: FirstCalls) -> bool:
        """Compare with the last call of these shapes; True if the lineage depends on values.

        A first call gets a row of its own only where that is worth it: its lineage is in files.
        """
        key = dim_key(seen.request)
        before = self.catalog.signature(DIM, key)
        call = first.find(sizes_of(seen.request), family.integers)
        if before is None and call is None:
            if _lineages(seen.lineages) is None or _is_large(seen.lineages):
                content = Exact(seen.bodies, 0, seen.seconds).to_json()
                self._put(Signature(DIM, key, TENTATIVE, content))
            return False
        known = Exact.from_json(before.content) if before else Exact(call.bodies if call else ())
        if not self._same(known.bodies, seen.bodies):
            self._reject(before or Signature(DIM, key, TENTATIVE, known.to_json()))
            return True
        known = Exact(known.bodies, known.agreeing + 1, seen.seconds)
        state = PERMANENT if known.agreeing >= self.agreeing else TENTATIVE
        self._put(signature(DIM, key, state, known.to_json(), before))
        return False

    def _same(self, mine: Sequence[int | None], theirs: Sequence[int | None]) -> bool:
        if tuple(mine) == tuple(theirs):
            return True
        one, other = read_small(mine, self.catalog), read_small(theirs, self.catalog)
        return one is not None and other is not None and same_lineages(one, other)

    def _learn_general(
        self, variant: Variant, seen: Observation, family: Family, first: FirstCalls
    ) -> None:
        before = self.catalog.signature(GEN, variant.key)
        if before is not None and before.state == NOT_REUSABLE:
            return
        if before is None:
            earlier = [
                (sizes, one.bodies)
                for one in first.calls
                if one.matches(family.integers, variant.opened)
                and (sizes := _opened(one, variant, family)) != variant.sizes
            ]
            if not earlier:
                return
            general = General(tuple(earlier))
            before = Signature(GEN, variant.key, TENTATIVE, "")
        else:
            general = General.from_json(before.content)
        lineages = _lineages(seen.lineages)
        if lineages is not None:
            before = self._judge(before, general, Example(variant.sizes, lineages))
        general = self._refined(general, variant, lineages, seen)
        state = self._state(general, before)
        if state == NOT_REUSABLE:
            general = replace(general, calls=(), forms=())
        self._put(replace(before, state=state, content=general.to_json()))

    def _refined(
        self, general: General, variant: Variant, lineages: Lineages | None, seen: Observation
    ) -> General:
        """Solve the forms again, with one more call.

        Where the output's shape follows neither from the inputs' nor from the arguments, it
        depends on values, and so may the lineage: such forms are left out.
        """
        sizes = variant.sizes
        cells = sum(prod(shape) for shape in sizes.outputs)
        general = general.timed(seen.seconds, cells)
        if lineages is None or skeleton_of(lineages) is None:
            return replace(general, large=general.large + 1)
        example = Example(sizes, lineages)
        known = [call for call in general.calls if call[0] != sizes]
        general = general.with_call(sizes, seen.bodies)
        forms = taken_in(general.forms, example)
        if forms is None or self._overreach(forms, general.forms, known):
            general = replace(general, solved=general.solved + 1)
            if general.solved > ReuseCost.current().solved and general.solved.bit_count() > 1:
                return general  # solving takes longer than many a capture: less and less often
            forms = generalise([*examples(known, self.catalog), example])
            forms = [form for form in forms if all(form.extents) or names_shape(variant.key)]
            trusted = [form for form in general.forms if form.trusted]
            forms = [form for form in forms if len(form.seen) > 1][: ReuseCost.current().forms]
            forms += [form for form in trusted if not contradicts(form, example)]
        return replace(general, forms=tuple(forms))

    def _overreach(
        self, forms: Sequence[Form], before: Sequence[Form], known: Sequence[Call]
    ) -> bool:
        """Whether a form that took in a call now speaks of earlier ones too, and wrongly."""
        for form, old in zip(forms, before, strict=True):
            if form.scope != old.scope:
                others = [call for call in known if call[0] not in form.seen]
                if any(contradicts(form, one) for one in examples(others, self.catalog)):
                    return True
        return False

    def _judge(self, before: Signature, general: General, example: Example) -> Signature:
        """Count a miss or a refusal by what the permanent forms would have said of this call."""
        forms = general.permanent(self.agreeing)
        answers = [form.apply(example.sizes, self.agreeing) for form in forms]
        given = [answer for answer in answers if not isinstance(answer, Refused)]
        if any(not same_lineages(answer, example.lineages) for answer in given):
            return replace(before, misses=before.misses + self._missed())
        if answers and not given:
            return replace(before, refusals=before.refusals + self._missed())
        return before

    def _state(self, general: General, before: Signature) -> str:
        cost = ReuseCost.current()
        if before.misses >= cost.misses:
            return NOT_REUSABLE
        if general.permanent(self.agreeing):
            return PERMANENT
        hopeless = len(general.calls) >= cost.hopeless or general.large >= cost.large
        return NOT_REUSABLE if hopeless else TENTATIVE

    def _give_up(self, seen: Observation) -> None:
        """Take back what was general: lineage depends on values."""
        for variant in gen_variants(seen.request):
            before = self.catalog.signature(GEN, variant.key)
            if before is not None:
                self._reject(replace(before, content=General().to_json()))

    def _reject(self, before: Signature) -> None:
        missed = self._missed() if before.state == PERMANENT else 0
        self._put(replace(before, state=NOT_REUSABLE, misses=before.misses + missed))

    def _put(self, signature: Signature) -> None:
        self.transaction.put_signature(signature)


def _opened(call: FirstCall, variant: Variant, family: Family) -> Sizes:
    return with_open_integers(call.sizes, call.integers, variant.opened, family.others)


def _is_large(stored: Sequence[Stored | None]) -> bool:
    """Whether a lineage will be in files."""
    inline = LineageCost.current().inline_rows
    return any(isinstance(one, Lineage) and one.num_rows > inline for one in stored)


def _lineages(stored: Sequence[Stored | None]) -> Lineages | None:
    """Return captured lineages as such; None when one is in files."""
    found: list[Lineage | None] = []
    for one in stored:
        if not (one is None or isinstance(one, Lineage)):
            return None
        found.append(one)
    return tuple(found)
