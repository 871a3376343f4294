"""A group of calls that becomes one operation: from what it read to what is left of it.

Inside a group nothing reaches the store. When it ends, the arrays that are still alive are its
outputs, the arrays from outside that it used are its inputs, and the lineage between them is
composed over everything that happened in between. Where composing would take too many pairs, or
when the group ends with an error, its steps are recorded one by one instead: nothing is lost.

``dslog.operation``: the numpy calls of a function, or of a block, as one operation.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import Token
from dataclasses import replace
from types import TracebackType
from typing import Any, Protocol, TypeVar, overload

from dslog.algebra.compose import Either, as_lineage, compose, unite
from dslog.algebra.positions import Pairs
from dslog.capture.numpy.call import Call, Inputs, Lineages, describe
from dslog.capture.numpy.memory import (
    CURRENT,
    Latent,
    Mark,
    Memory,
    Scope,
    State,
    Tracked,
    TrackedScalar,
    home_among,
    home_of,
    own_node,
    recorder_of,
    scalar_node,
    tracked_in,
)
from dslog.capture.numpy.view import can_be_root
from dslog.capture.recorder import Node, Recorder, Step, StoreRecorder
from dslog.errors import CaptureError
from dslog.lineage.lineage import Lineage
from dslog.types import Shape

Alive = tuple[Tracked, State, Memory]


class Group:
    """Gathers the calls on one store's arrays."""

    def __init__(self, name: str, recorder: StoreRecorder, parent: Recorder) -> None:
        self.name = name
        self.recorder = recorder
        self._parent = parent
        self._steps: list[Step] = []
        self._arrays: list[weakref.ref[Tracked | TrackedScalar]] = []
        self._written: dict[Memory, Mark] = {}  # where it was before
        self._given: set[Node] = set()  # nodes that the user named
        self._kept: list[Tracked | TrackedScalar] | None = None
        self._closed = False
        self._args: Mapping[str, object] = {}

    # what a recorder does

    def node(self, shape: Shape, wanted: str | tuple[Node, int], base: str) -> Node:
        """Make a node that only the group knows."""
        return Node(wanted, shape, base, self)

    def free_name(self, wanted: str) -> str:
        """Return the name as it is: it need not be free before the group ends."""
        return wanted

    def rename(self, node: Node, name: str) -> bool:
        """Give a node of the group a name; a node from outside is not renamed."""
        if node.owner is not self:
            return self._parent.rename(node, name)
        if self.recorder.is_taken(name) or any(name == other.name for other in self._given):
            raise CaptureError(f"there is an array {name!r} in the store: take another name")
        node.name = node.base = name
        self._given.add(node)
        return True

    def final_name(self, node: Node) -> str:
        """Return the name a node has so far."""
        return node.name

    def record(self, step: Step) -> None:
        """Keep a step until the group ends."""
        self._steps.append(step)

    def reach(self, node: Node) -> None:
        """Record how a node came about that outlives the group without being a result."""
        if self._closed and node.owner is self:
            self._record([node], self._args)
            node.owner.reach(node)

    def made(self, value: Tracked | TrackedScalar) -> None:
        """Take note of a value that got a node inside."""
        self._arrays.append(weakref.ref(value))

    def written(self, memory: Memory) -> None:
        """Take note of memory that is about to be written inside."""
        if memory not in self._written:
            self._written[memory] = memory.mark()

    def inherit(self, inner: Group) -> None:
        """Take over what outlives a group inside this one."""
        self._arrays.extend(inner._arrays)
        self._given.update(inner._given)
        for memory, before in inner._written.items():
            self._written.setdefault(memory, before)

    # what the user may do

    def keep(self, *results: Any) -> None:
        """Say which arrays are the results; without that it is all that are alive at the end.

        Others are results too if they are used later.
        """
        self._kept = [*(self._kept or ()), *self.give(*results)]

    def give(self, *results: Any) -> list[Tracked | TrackedScalar]:
        """Let results be outputs, also numbers; return what is tracked of them."""
        found = list(tracked_in(results))
        for value in found:
            if home_of(value) is self.recorder and isinstance(value, TrackedScalar):
                scalar_node(value)
        return found

    # the end

    def close(self, args: Mapping[str, object], *, failed: bool = False) -> None:
        """Record the group, as one operation if that can be."""
        for memory in list(self._written):
            memory.settle()
        outputs = self._outputs()
        if isinstance(self._parent, Group):
            self._parent.inherit(self)
        self._args = args
        inside = [node for step in self._steps for node in step.outputs if node.owner is self]
        self.recorder.leaks.replace({node: self.outside(node) for node in inside})
        self._record(outputs, args, failed=failed)
        self._closed = True
        self.recorder.forget(node for node in inside if node.owner is self)

    def drop(self) -> list[Memory]:
        """Bring everything back to where it was, and return the memory that was written.

        Nothing of it reaches the store, but what is alive and used later.
        """
        self._kept = []
        self._forget_others(list(self._alive()))
        self._closed = True
        self.recorder.forget(node for step in self._steps for node in step.outputs)
        older = [memory for memory in self._written if self._was_there(memory)]
        for memory in older:
            memory.reset(self._written[memory])
        return older

    def _record(
        self, outputs: Sequence[Node], args: Mapping[str, object], *, failed: bool = False
    ) -> None:
        """Record what leads to some nodes, as one operation if that can be."""
        lineages = None if failed else self._composed(outputs)
        if lineages is None:
            self._record_steps(outputs)
        elif outputs:
            self._record_whole(outputs, lineages, args)

    def outside(self, node: Node) -> list[Node]:
        """Return the nodes from outside that a node may come from."""
        if node.owner is not self:
            return [node]
        steps = self._needed([node])
        return list(dict.fromkeys(n for step in steps for n in step.inputs if n.owner is not self))

    def _record_whole(
        self,
        outputs: Sequence[Node],
        lineages: Sequence[Mapping[Node, Either]],
        args: Mapping[str, object],
    ) -> None:
        """Record one operation from everything outside to the outputs."""
        sources = list(dict.fromkeys(source for row in lineages for source in row))
        rows: Lineages = tuple(
            tuple(as_lineage(row[s]) if s in row else None for s in sources) for row in lineages
        )
        for node in outputs:
            self._hand_over(node)
        self._parent.record(Step(self.name, sources, outputs, rows, args))

    def _outputs(self) -> list[Node]:
        """The nodes of the group that something outside can still reach."""
        alive = list(self._alive())
        views = Counter(id(memory) for _, _, memory in alive)
        if self._kept is not None:
            alive = self._forget_others(alive)
        found: dict[Node, None] = {}
        for _, state, memory in alive:
            if views[id(memory)] == 1:
                self._separate(state, memory)
            found[(state.memory or memory).node] = None
            if state.node is not None and state.seen == memory.version:
                found[state.node] = None
        found.update(dict.fromkeys(self._numbers()))
        found.update((memory.node, None) for memory in self._written if self._was_there(memory))
        return [node for node in found if node.owner is self]

    def _numbers(self) -> Iterator[Node]:
        """The nodes of numbers that are alive, or of those among them that are results."""
        for reference in self._arrays:
            value = reference()
            if not isinstance(value, TrackedScalar) or (node := own_node(value)) is None:
                continue
            if self._kept is None or any(value is each for each in self._kept):
                yield node

    def _was_there(self, memory: Memory) -> bool:
        """Whether memory is older than the group."""
        before = self._written.get(memory)
        return (memory.node if before is None else before[0]).owner is not self

    def _forget_others(self, alive: list[Alive]) -> list[Alive]:
        """Let arrays go that are not among the kept ones, unless they were there before."""
        kept = []
        unkept: dict[Memory, Latent] = {}
        for array, state, memory in alive:
            if any(array is each for each in self._kept or ()) or self._was_there(memory):
                kept.append((array, state, memory))
            else:
                latent = Latent(memory.root, memory.node.base, memory)
                state.latent, state.memory = unkept.setdefault(memory, latent), None
        return kept

    def _alive(self) -> Iterator[Alive]:
        seen: set[int] = set()
        for reference in self._arrays:
            array = reference()
            if isinstance(array, Tracked) and id(array) not in seen:
                seen.add(id(array))
                state = array.tracking
                memory = state.memory or (state.latent.memory if state.latent else None)
                if memory is not None:
                    yield array, state, memory

    def _separate(self, state: State, memory: Memory) -> None:
        """Let a view that is all that is left of its memory be a root of its own."""
        node, plain = state.node, state.plain
        if node is None or plain is memory.root or state.seen != memory.version:
            return
        if not self._was_there(memory) and can_be_root(plain):
            state.memory = Memory(plain, node, self.recorder)
            state.seen, state.steps, state.picked = 0, None, ()

    def _composed(self, outputs: Sequence[Node]) -> list[dict[Node, Either]] | None:
        """Per output, its lineage from each node outside; None when that takes too many pairs."""
        steps = self._needed(outputs)
        from_outside: dict[Node, dict[Node, Either]] = {}
        written: dict[int, Pairs] = {}
        for step in steps:
            for out, row in zip(step.outputs, step.lineages, strict=True):
                parts: dict[Node, list[Either]] = {}
                for node, lineage in zip(step.inputs, row, strict=True):
                    if not isinstance(lineage, Lineage):
                        continue
                    if node.owner is not self:
                        parts.setdefault(node, []).append(lineage)
                        continue
                    for source, inner in from_outside.get(node, {}).items():
                        both = compose(lineage, inner, written)
                        if both is None:
                            return None
                        parts.setdefault(source, []).append(both)
                from_outside[out] = {source: unite(found) for source, found in parts.items()}
        return [from_outside.get(out, {}) for out in outputs]

    def _needed(self, outputs: Sequence[Node]) -> list[Step]:
        """The steps that lead to some nodes, in order."""
        wanted = set(outputs)
        steps = []
        for step in reversed(self._steps):
            if any(out in wanted for out in step.outputs):
                wanted.update(step.inputs)
                steps.append(step)
        return steps[::-1]

    def _record_steps(self, outputs: Sequence[Node]) -> None:
        """Record each step that leads to an output on its own."""
        for step in self._needed(outputs):
            for node in step.outputs:
                self._hand_over(node, wanted=node.name)
            self._parent.record(replace(step, op=f"{self.name}/{step.op}"))

    def _hand_over(self, node: Node, wanted: str | None = None) -> None:
        """Give a node to the recorder around the group, under a name that is free there."""
        if node.owner is not self:
            return
        keeps_name = node in self._given or any(
            node is memory.node for memory in self._written if self._was_there(memory)
        )
        name = wanted or (node.name if keeps_name else f"{node.base}.{self.name}")
        node.name, node.wanted = self._parent.free_name(name), name
        node.owner = self._parent


F = TypeVar("F", bound=Callable[..., Any])


class HasRecorder(Protocol):
    """A store that tracks."""

    @property
    def recorder(self) -> StoreRecorder:
        """Where calls on its arrays are recorded."""
        ...


class NamedOperation:
    """Groups numpy calls under a name, as a decorator or in a ``with`` block."""

    def __init__(self, name: str, store: HasRecorder | None = None) -> None:
        self._name = name
        self._store = store
        self._open: list[tuple[Group, Token[tuple[Scope, ...]]]] = []

    def __call__(self, function: F) -> F:
        """Make every call of a function one operation."""
        return _decorate(function, self._name)

    def __enter__(self) -> Group:
        if self._store is None:
            raise CaptureError(
                f"a block needs the store: with dslog.operation({self._name!r}, store): ..."
            )
        group, token = begin_group(self._name, self._store.recorder)
        self._open.append((group, token))
        return group

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        group, token = self._open.pop()
        end_group(group, token, {}, failed=kind is not None)


@overload
def operation(target: F) -> F: ...
@overload
def operation(target: str, store: HasRecorder | None = None) -> NamedOperation: ...
def operation(target: Any, store: HasRecorder | None = None) -> Any:
    """Group the numpy calls of a function, or of a block, into one registered operation.

    As a decorator, bare or with a name; the operation's inputs are the tracked arrays that the
    function uses, its outputs those that outlive it::

        @dslog.operation
        def normalise(x): ...

    As a block, with the store; ``op.keep(y)`` says which arrays are results, else it is all that
    are alive at the end::

        with dslog.operation("normalise", store) as op: ...
    """
    if callable(target):
        return _decorate(target, getattr(target, "__name__", "operation"))
    return NamedOperation(target, store)


def _decorate(function: F, name: str) -> F:
    @functools.wraps(function)
    def grouped(*args: Any, **kwargs: Any) -> Any:
        home = home_among((args, kwargs))
        if home is None:
            return function(*args, **kwargs)
        described = _describe(function, name, args, kwargs)
        group, token = begin_group(name, home)
        failed = True
        try:
            result = function(*args, **kwargs)
            group.give(result)
            failed = False
        finally:
            end_group(group, token, described, failed=failed)
        return result

    return grouped  # type: ignore[return-value]


def _describe(
    function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, object]:
    """The arguments that are not tracked."""
    inputs = Inputs()
    plain = tuple(inputs.unwrap(arg) for arg in args)
    named = {key: inputs.unwrap(value) for key, value in kwargs.items()}
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return {}  # the call is about to fail with a better message
    return describe(Call(name, function, plain, named, tuple(inputs.plains)))


def begin_group(name: str, recorder: StoreRecorder) -> tuple[Group, Token[tuple[Scope, ...]]]:
    """Gather the calls on a store's arrays from now on."""
    group = Group(name, recorder, recorder_of(recorder))
    return group, CURRENT.set((*CURRENT.get(), group))


def end_group(
    group: Group, token: Token[tuple[Scope, ...]], args: Mapping[str, object], *, failed: bool
) -> None:
    """Record what was gathered."""
    try:
        group.close(args, failed=failed)
    finally:
        CURRENT.reset(token)


def drop_group(group: Group, token: Token[tuple[Scope, ...]]) -> list[Memory]:
    """Forget what was gathered, and return the memory from outside that was written."""
    CURRENT.reset(token)
    return group.drop()
