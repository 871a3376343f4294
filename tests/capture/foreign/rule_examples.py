"""Calls of foreign functions, and how the lineage that rules give is judged by perturbation.

A case says how its lineage is labelled, and whether it is all that changes ("equal") or only
contains it: where a cell is read without a change to show for it, as in most comparisons.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from perturbation import Pairs, changed, stepped

import dslog
from dslog.capture.foreign.foreign_call import call_foreign
from dslog.capture.numpy.call import Call
from dslog.capture.numpy.registry import REGISTRY

KINDS = ("rule", "index-run", "value", "superset")


@dataclass(frozen=True)
class Plain:
    """Marks an array argument that is not tracked."""

    array: Any


@dataclass(frozen=True)
class Example:
    """A call, and how its lineage is judged.

    ``steps`` are added to each cell in turn; a change is a difference larger than ``noise``.
    """

    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    exact: bool = True
    equal: bool = True
    steps: tuple[float, ...] = (0.1,)
    noise: float = 1e-15

    def __str__(self) -> str:
        words = [*map(_shown, self.args), *(f"{k}={_shown(v)}" for k, v in self.kwargs.items())]
        return f"{self.func.__module__}.{self.func.__name__}({', '.join(words)})"

    def but(self, **changes: Any) -> Example:
        return replace(self, **changes)


def _shown(value: Any) -> str:
    value = value.array if isinstance(value, Plain) else value
    if isinstance(value, np.ndarray):
        return f"{value.dtype.char}{list(value.shape)}"
    return getattr(value, "__name__", str(value))


def equal(func, *args, **kwargs) -> Example:
    """Lineage is exact, and is what changes."""
    return Example(func, args, kwargs)


def extreme(func, *args, **kwargs) -> Example:
    """Lineage is exact, and is what changes when cells become very large or small."""
    return Example(func, args, kwargs, steps=(1e3, -1e3))


def within(func, *args, **kwargs) -> Example:
    """Lineage is exact in the sense that its cells are read; what changes is in it."""
    return Example(func, args, kwargs, equal=False, steps=(1e-3, 10.0, -10.0))


def loose(func, *args, **kwargs) -> Example:
    """Lineage is labelled as not exact; what changes is in it."""
    return Example(func, args, kwargs, exact=False, equal=False, steps=(1e-3, 10.0, -10.0))


def image(*shape: int) -> np.ndarray:
    """Values between 0.5 and 1.5 in no order."""
    return np.random.default_rng([7, *shape]).random(shape) + 0.5


def whole(*shape: int) -> np.ndarray:
    """Whole numbers as floats, all different: running sums of them have no rounding."""
    return np.random.default_rng([8, *shape]).permutation(int(np.prod(shape))).reshape(shape) * 1.0


def bits(*shape: int) -> np.ndarray:
    return np.random.default_rng([9, *shape]).random(shape) < 0.6


def words(text: str) -> list[str]:
    return text.split()


def arrays_in(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from arrays_in(one)


def unmarked(value: Any) -> Any:
    if isinstance(value, Plain):
        return value.array
    if type(value) in (list, tuple):
        return type(value)(map(unmarked, value))
    return value


def results_of(result: Any) -> Iterator[np.ndarray]:
    if isinstance(result, (tuple, list)):
        for one in result:
            yield from results_of(one)
    elif isinstance(result, (np.ndarray, np.generic)):
        yield np.asarray(result)


def make_call(example: Example) -> Call:
    inputs: list[np.ndarray] = []
    for array in arrays_in([*example.args, *example.kwargs.values()]):
        if not any(array is one for one in inputs):
            inputs.append(array)
    args = tuple(map(unmarked, example.args))
    kwargs = {key: unmarked(value) for key, value in example.kwargs.items()}
    call = Call(example.func.__name__, example.func, args, kwargs, tuple(inputs))
    return replace(call, outputs=run(call))


def run(call: Call) -> tuple[np.ndarray, ...]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return tuple(np.array(one) for one in results_of(call.func(*call.args, **call.kwargs)))


def found_by(call: Call):
    """What the first rule that knows a call says, and its kind; the tracer has its own tests.

    What no rule knows is followed.
    """
    for entry in REGISTRY.find(call.func):
        if entry.kind == "trace":
            continue
        assert entry.kind in KINDS
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = entry.rule(call)
        if found is not None:
            return entry.kind, found
    return "followed", followed(call)


def followed(call: Call):
    """What the store answers of a call that is run on tracked arrays, its libraries watched."""
    with warnings.catch_warnings(), dslog.open(":memory:", leaks="ignore") as store:
        warnings.simplefilter("ignore")
        tracked = {id(one): store.track(one.copy(), f"x{k}") for k, one in enumerate(call.inputs)}

        def given(value):
            if type(value) in (list, tuple):
                return type(value)(map(given, value))
            return tracked.get(id(value), value)

        kwargs = {key: given(value) for key, value in call.kwargs.items()}
        with dslog.watch("all"), np.errstate(all="ignore"):
            result = call_foreign(call.name, call.func, tuple(map(given, call.args)), kwargs)
        made = list(results_of(result))
        assert not [leak for leak in store.leaks() if leak.loses], store.leaks()
        for one, plain in zip(made, call.outputs, strict=True):
            assert same_bits(dslog.plain(one), plain)
        return tuple(
            tuple(answered(store, one, source) for source in tracked.values()) for one in made
        )


def answered(store, made, source):
    """The lineage between two arrays as the store's answers say it, cell by cell."""
    name, shape, pairs, exact = store.name_of(made), np.shape(made), [], True
    for cell in np.ndindex(shape) if name is not None else ():
        where = [cell] if cell else np.ones((), bool)
        try:
            found = store.backward(name, where, to=source.name)
        except dslog.PathError:
            break
        assert found.complete
        exact &= found.exact
        pairs += [(*cell, *map(int, one)) for one in found.indices()]
    width = len(shape) + source.ndim
    relation = np.array(pairs, np.int64).reshape(-1, width)
    return dslog.compress(relation, shape, source.shape).with_exact(exact)


def same_bits(one, other):
    return np.array_equal(one, other, equal_nan=np.asarray(other).dtype.kind in "fc")


def differ(a: np.ndarray, b: np.ndarray, noise: float) -> np.ndarray:
    if a.dtype.kind in "fc":
        with np.errstate(all="ignore"):
            near = np.abs(a - b) <= noise * (1 + np.abs(a))
        return ~near & ~(np.isnan(a) & np.isnan(b)) & (a != b)
    return a != b


def shown(call: Call, example: Example) -> Pairs:
    """Per output and input the pairs of cells where a change of the one changes the other."""
    return changed(
        lambda: run(call),
        call.inputs,
        lambda value: [stepped(value, step) for step in example.steps],
        lambda old, new: differ(old, new, example.noise),
    )


def check(example: Example) -> None:
    call = make_call(example)
    _, lineages = found_by(call)
    assert len(lineages) == len(call.outputs)
    really = shown(call, example)
    labels = set()
    for out, per_input, per_changed in zip(call.outputs, lineages, really, strict=True):
        for array, lineage, pairs in zip(call.inputs, per_input, per_changed, strict=True):
            mine = set()
            if lineage is not None:
                assert (lineage.out_shape, lineage.in_shape) == (out.shape, array.shape)
                assert type(lineage.exact) is bool
                labels.add(lineage.exact)
                mine = {tuple(map(int, one)) for one in lineage.to_relation()}
            assert pairs <= mine, f"missed {sorted(pairs - mine)[:5]}"
            if example.equal:
                assert mine <= pairs, f"too much {sorted(mine - pairs)[:5]}"
    assert labels <= {example.exact} or (not example.exact and False in labels)
