"""From captured calls of one operation to forms: formulas that hold for all shapes of a regime."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dslog.reuse.expressions import Sizes
from dslog.reuse.form import Example, Form, Refused
from dslog.reuse.same import same_lineages
from dslog.reuse.scope import places
from dslog.reuse.skeleton import Flattened, Part, flatten, parts
from dslog.reuse.solve import HIGHEST, Solver

_MOST_TRIES = 64  # small groups of calls tried where no formula fits all of them

Taken = tuple[Example, Flattened]


def generalise(examples: Sequence[Example]) -> list[Form]:
    """Return the forms behind some captured calls, the one that explains most first.

    Calls whose lineages have the same skeleton are solved together; where that fails, they belong
    to several regimes, and pairs and triples of them are tried as seeds. Each formula then takes in
    every other call that it explains, whatever its lineage was written like. A formula that
    contradicts a call inside its own range is wrong and goes.
    """
    examples = list({example.sizes: example for example in examples}.values())
    taken = [(example, flat) for example in examples if (flat := flatten(example.lineages))]
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
        tries = itertools.islice(itertools.combinations(group, size), _MOST_TRIES)
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
    for part, values in zip(parts(skeleton, calls[0]), rows, strict=True):
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
            solved = solver.solve(Part("count", tuple(own)), values)
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
