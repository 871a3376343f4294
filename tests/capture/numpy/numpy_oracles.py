"""Oracles for the rules of numpy functions, which know nothing of the rules.

A case is a numpy call. Its lineage must be what happens when input cells are changed one by one
("influence"), what the tracer says, or what a test says in so many words.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from perturbation import Pairs, changed, stepped

from dslog.capture.numpy import rules  # noqa: F401  registers them
from dslog.capture.numpy.call import Call
from dslog.capture.numpy.registry import REGISTRY
from dslog.capture.numpy.trace import trace
from dslog.lineage.lineage import Lineage


@dataclass(frozen=True)
class Untracked:
    """Marks an array argument of a case that is not tracked."""

    array: Any


def arrays_in(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from arrays_in(one)


def unmarked(value: Any) -> Any:
    if isinstance(value, Untracked):
        return value.array
    if type(value) in (list, tuple):
        return type(value)(map(unmarked, value))
    return value


def results_of(result: Any) -> Iterator[np.ndarray]:
    """The arrays of a result in order; numpy's scalars are arrays of no axes."""
    if isinstance(result, (tuple, list)):
        for one in result:
            yield from results_of(one)
    elif isinstance(result, (np.ndarray, np.generic, bool)):
        yield np.asarray(result)


def make_call(func, args, kwargs) -> Call:
    inputs: list[np.ndarray] = []
    for array in itertools.chain(arrays_in(args), arrays_in(list(kwargs.values()))):
        if not any(array is one for one in inputs):
            inputs.append(array)
    args, kwargs = unmarked(args), {key: unmarked(v) for key, v in kwargs.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs = tuple(results_of(func(*args, **kwargs)))
    return Call(getattr(func, "__name__", "?"), func, args, kwargs, tuple(inputs), outputs)


def capture(call: Call) -> tuple[str, list[list[Lineage]]]:
    """The kind of rule that knew the call, and its lineage with None written out."""
    for entry in REGISTRY.find(call.func):
        found = entry.rule(call)
        if found is not None:
            return entry.kind, written_out(call, found)
    pytest.fail(f"no rule for {call.name}{[a.shape for a in call.inputs]} {call.kwargs}")


def written_out(call, lineages) -> list[list[Lineage]]:
    assert len(lineages) == len(call.outputs)
    full = []
    for out, per_input in zip(call.outputs, lineages, strict=True):
        assert len(per_input) == len(call.inputs)
        full.append([])
        for inp, lineage in zip(call.inputs, per_input, strict=True):
            if lineage is not None:
                assert lineage.out_shape == out.shape
                assert lineage.in_shape == inp.shape
            full[-1].append(Lineage.empty(out.shape, inp.shape) if lineage is None else lineage)
    return full


def pairs_of(lineage: Lineage) -> set[tuple[int, ...]]:
    pairs = {tuple(map(int, one)) for one in lineage.to_relation()}
    sizes = lineage.out_shape + lineage.in_shape
    assert all(0 <= i < n for pair in pairs for i, n in zip(pair, sizes, strict=True))
    return pairs


def influence(call: Call, size: float, kinds: str) -> Pairs:
    """Which output cells change, bit by bit, when one input cell does."""

    def run() -> list[np.ndarray]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(results_of(call.func(*call.args, **call.kwargs)))

    def others(value: Any) -> list[Any]:
        return [stepped(value, size)] if value.dtype.kind in kinds else []

    return changed(run, call.inputs, others)


@dataclass(frozen=True)
class Case:
    """A call and how its lineage is judged.

    ``oracle`` "influence": the pairs are exactly those where a small change of the input changes
    the output; "contains": they contain those; "trace": they are the tracer's. ``expect`` gives a
    predicate (output cell, input cell) per output and input instead. ``nudge`` are the kinds of
    dtype whose cells are changed, floats by ``size``, integers by one. ``layouts``: whether the
    memory order of inputs makes no difference.
    """

    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    oracle: str = "influence"
    size: float = 1e-6
    expect: Any = None
    kind: str | None = None
    nudge: str = "fc"
    layouts: bool = True
    exact: bool = True

    def but(self, **changes: Any) -> Case:
        return replace(self, **changes)

    def __str__(self) -> str:
        words = [named(arg) for arg in self.args]
        words += [f"{key}={named(value)}" for key, value in self.kwargs.items()]
        name = getattr(self.func, "__qualname__", None) or self.func.__name__
        return f"{name}({', '.join(words)})"


def named(value: Any) -> str:
    if isinstance(value, Untracked):
        return named(value.array)
    if isinstance(value, np.ndarray):
        return f"{value.dtype.char}{list(value.shape)}"
    if type(value) in (list, tuple):
        return "[" + ",".join(map(named, value)) + "]"
    return getattr(value, "__name__", str(value))


def case(func, *args, **kwargs) -> Case:
    return Case(func, args, kwargs)


def contains(func, *args, **kwargs) -> Case:
    return Case(func, args, kwargs, oracle="contains")


def traced(func, *args, **kwargs) -> Case:
    return Case(func, args, kwargs, oracle="trace")


def random(shape: tuple[int, ...]) -> np.random.Generator:
    """The same numbers at the same line of a test, whatever else runs."""
    caller = sys._getframe(2)
    return np.random.default_rng([caller.f_lineno, caller.f_lasti, *shape])


def floats(*shape: int) -> np.ndarray:
    """Random values between 0.5 and 1.5."""
    return np.asarray(random(shape).random(shape) + 0.5)


def apart(*shape: int) -> np.ndarray:
    """Values in random order, so far apart that a nudge does not change their order."""
    return np.asarray(random(shape).permutation(int(np.prod(shape))).reshape(shape) + 0.25)


def check(one: Case) -> list[list[Lineage]]:
    """Check a rule against the case's oracle, and that memory order makes no difference."""
    call = make_call(one.func, one.args, one.kwargs)
    kind, lineages = capture(call)
    if one.kind is not None:
        assert kind == one.kind
    for lineage in itertools.chain.from_iterable(lineages):
        assert lineage.exact == one.exact
    found = [[pairs_of(lineage) for lineage in per_input] for per_input in lineages]
    if one.oracle == "trace":
        followed = trace(call)
        assert followed is not None, "the tracer can't follow this call"
        assert found == [[pairs_of(lin) for lin in row] for row in written_out(call, followed)]
    elif one.expect is not None:
        assert found == expected(call, one.expect)
    shown = influence(call, one.size, one.nudge)
    if one.oracle == "influence" and one.expect is None:
        assert found == shown
    for per_output, per_changed in zip(found, shown, strict=True):
        for mine, theirs in zip(per_output, per_changed, strict=True):
            assert theirs <= mine
    if one.layouts:
        same_for_other_layouts(one.func, one.args, one.kwargs, lineages)
    return lineages


def expected(call: Call, expect) -> Pairs:
    tests = expect if isinstance(expect, list) else [[expect]]
    return [
        [
            {
                (*b, *a)
                for b in itertools.product(*map(range, out.shape))
                for a in itertools.product(*map(range, inp.shape))
                if test is not None and test(b, a)
            }
            for inp, test in zip(call.inputs, row, strict=True)
        ]
        for out, row in zip(call.outputs, tests, strict=True)
    ]


def relaid(value: Any, how: str, seen: dict) -> Any:
    if isinstance(value, np.ndarray):
        if id(value) not in seen:
            if how == "F":
                seen[id(value)] = np.array(value, order="F")
            else:
                wide = np.zeros((*value.shape, 2), value.dtype)
                wide[..., 1] = value
                seen[id(value)] = wide[..., 1]
        return seen[id(value)]
    if type(value) in (list, tuple):
        return type(value)(relaid(one, how, seen) for one in value)
    return value


def same_for_other_layouts(func, args, kwargs, lineages) -> None:
    """Fortran-ordered and non-contiguous inputs have the same lineage."""
    for how in ("F", "strided"):
        seen: dict = {}
        again = make_call(
            func, relaid(args, how, seen), {k: relaid(v, how, seen) for k, v in kwargs.items()}
        )
        _, other = capture(again)
        for mine, theirs in zip(lineages, other, strict=True):
            for one, two in zip(mine, theirs, strict=True):
                assert np.array_equal(one.to_relation(), two.to_relation())
