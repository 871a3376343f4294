"""Registering lineage: captures are read and files written first, the catalog comes last.

Everything a call adds becomes visible in one transaction. Whatever fails on the way, a capture
that raises or a full disk, leaves the store as it was.

Many operations in one commit, for captures that register every call they see.

One commit per operation costs more than a numpy call does. A batch writes the files of all its
operations first and commits the catalog rows of all of them last, in one transaction: each
operation is there as a whole or not at all, and so is the batch.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import Protocol

from dslog.errors import CaptureError, StoreError
from dslog.lineage.lineage import Lineage
from dslog.store.catalog import ArrayInfo, Body, Catalog, Operation, Pair, Signature, Transaction
from dslog.store.files import Files, Stored, read_body, write_body
from dslog.store.hooks import Answer, Observation, ReadCapture, Request, Reuse
from dslog.types import Shape


@dataclass(frozen=True, slots=True)
class Registrar:
    """Takes lineage into a store."""

    catalog: Catalog
    files: Files
    read_capture: ReadCapture
    reuse: Reuse

    def add_lineage(self, pair: Pair, capture: object, engine: str) -> int:
        """Store lineage for one pair, without an operation, and return its body's number.

        The same lineage again changes nothing; another one for the same pair is united with it.
        """
        self.catalog.require_writable()
        lineage = self.read_capture(capture, pair, self.files, engine)
        with ExitStack() as cleanup:
            body = self._stage(lineage, pair, cleanup)
            with self.catalog.transaction() as transaction:
                stored = self.catalog.lineages(pair.out.name, pair.in_.name)
                number = self._commit_body(body, transaction)
                if not any(info.op is None and info.body == number for info in stored):
                    transaction.add_lineage(pair.out.name, pair.in_.name, None, number)
        self._settle([body], [number])
        return number

    def add_operation(self, request: Request) -> Operation:
        """Store an operation with the lineage of all its pairs."""
        self.catalog.require_writable()
        answer = self._answer(request)
        started = perf_counter()
        lineages = answer.lineages if answer else self._capture(request)
        seconds = perf_counter() - started
        with ExitStack() as cleanup:
            bodies = [
                None if lineage is None else self._stage(lineage, pair, cleanup)
                for pair, lineage in zip(request.pairs, lineages, strict=True)
            ]
            with self.catalog.transaction() as transaction:
                operation = self._operation(request, answer, bodies)
                number = transaction.add_operation(operation)
                numbers = self._commit_pairs(request.pairs, bodies, number, transaction)
                if answer is not None:
                    _count(answer, transaction)
                elif request.reuse is not False:
                    seen = Observation(request, tuple(lineages), tuple(numbers), seconds)
                    self.reuse.learn(seen, self.catalog, transaction)
        self._settle(bodies, numbers)
        return replace(operation, id=number)

    def _answer(self, request: Request) -> Answer | None:
        if request.reuse is False:
            return None
        read = partial(read_body, catalog=self.catalog, files=self.files)
        answer = self.reuse.answer(replace(request, read=read), self.catalog)
        if answer is not None and len(answer.lineages) != len(request.pairs):
            raise StoreError(
                f"{answer.reused} answered {len(answer.lineages)} pairs of {request.name!r}, "
                f"which has {len(request.pairs)}"
            )
        return answer

    def _capture(self, request: Request) -> list[Stored | None]:
        if request.captures is None:
            if not request.pairs:
                return []
            raise CaptureError(
                f"operation {request.name!r} has no capture, and no earlier call of it can answer "
                f"for these shapes and arguments: give capture=[...], one per (output, input) pair"
            )
        return [
            None if capture is None else self.read_capture(capture, pair, self.files, "auto")
            for pair, capture in zip(request.pairs, request.captures, strict=True)
        ]

    def _stage(self, lineage: Stored, pair: Pair, cleanup: ExitStack) -> Body | int:
        """Write a lineage's files; they go again if the commit fails."""
        body = write_body(lineage, pair, self.files)
        if isinstance(body, Body):
            cleanup.enter_context(self.files.removed_on_error([file.name for file in body.files]))
        return body

    def _commit_pairs(
        self,
        pairs: Sequence[Pair],
        bodies: Sequence[Body | int | None],
        operation: int,
        transaction: Transaction,
    ) -> list[int | None]:
        numbers: list[int | None] = []
        for pair, body in zip(pairs, bodies, strict=True):
            number = None if body is None else self._commit_body(body, transaction)
            if number is not None:
                transaction.add_lineage(pair.out.name, pair.in_.name, operation, number)
            numbers.append(number)
        return numbers

    def _commit_body(self, body: Body | int, transaction: Transaction) -> int:
        if isinstance(body, int):
            return body
        self.files.require(body.files)
        same = self.catalog.find_body(body)
        return transaction.add_body(body) if same is None else same

    def _settle(self, bodies: Sequence[Body | int | None], numbers: Sequence[int | None]) -> None:
        """Move files of lineage that turned out to be stored already over the stored ones.

        They hold the same bytes, unless the stored ones were damaged: then this repairs them.
        """
        for body, number in zip(bodies, numbers, strict=True):
            if isinstance(body, Body) and body.files and number is not None:
                self.files.move(body.files, self.catalog.body(number).files)

    def _operation(
        self, request: Request, answer: Answer | None, bodies: Sequence[Body | int | None]
    ) -> Operation:
        now = datetime.now(UTC)
        return Operation(
            id=0,
            name=request.name,
            inputs=tuple(array.name for array in request.inputs),
            outputs=tuple(array.name for array in request.outputs),
            args=request.args,
            reused=answer.reused if answer else None,
            exact=all(self._is_exact(body) for body in bodies),
            created=now.replace(microsecond=now.microsecond // 1000 * 1000),
            predicted=answer is not None and answer.predicted,
        )

    def _is_exact(self, body: Body | int | None) -> bool:
        content = self.catalog.body(body) if isinstance(body, int) else body
        return content is None or content.exact


def _count(answer: Answer, transaction: Transaction) -> None:
    if answer.new is not None:
        transaction.put_signature(answer.new)
    if answer.key is not None:
        transaction.count_hit(answer.reused, answer.key, answer.saved)


def read_captures(
    name: str, capture: object, num_outputs: int, num_inputs: int
) -> tuple[object, ...] | None:
    """Return one capture per pair; a single one may come bare, and None means there is none."""
    if capture is None:
        return None
    pairs = num_outputs * num_inputs
    bare = isinstance(capture, Lineage) or not isinstance(capture, list | tuple)
    captures = (capture,) if bare else tuple(capture)  # type: ignore[arg-type]
    if len(captures) != pairs:
        raise CaptureError(
            f"operation {name!r} has {num_outputs} outputs and {num_inputs} inputs, so it needs "
            f"{pairs} captures, one per (output, input) pair with outputs outermost; got "
            f"{len(captures)}. A list holds captures: give index rows as a numpy array"
        )
    return captures


class Draft(Protocol):
    """An array of a batch; one that is new may have to give way to another of the same name."""

    name: str

    @property
    def shape(self) -> Shape:
        """The array's shape."""
        ...


@dataclass(frozen=True, slots=True)
class Hit:
    """What answered an operation of a batch in place of a capture.

    ``reused`` names the kind of signature; ``signature`` counts what was answered and saved.
    """

    reused: str
    signature: Signature


@dataclass(frozen=True, slots=True)
class BatchCall:
    """One operation of a batch: lineage per (output, input) pair, outputs outermost.

    It may be in stored form already, in files that somebody else wrote.
    """

    name: str
    inputs: Sequence[Draft]
    outputs: Sequence[Draft]
    lineages: Sequence[Lineage | Body | None]
    args: Mapping[str, object]
    hit: Hit | None = None

    @property
    def pairs(self) -> list[tuple[Draft, Draft]]:
        """Every (output, input) pair, outputs outermost."""
        return [(out, in_) for out in self.outputs for in_ in self.inputs]


@dataclass(frozen=True, slots=True)
class Batch:
    """Takes several operations with captured lineage into a store at once."""

    catalog: Catalog
    files: Files

    def commit(
        self, new: Sequence[Draft], calls: Sequence[BatchCall], fresh: Callable[[str], str]
    ) -> None:
        """Define new arrays and store operations on them, without looking for reuse.

        When somebody else took the name of a new array meanwhile, ``fresh`` gives it another one,
        inside the transaction, where names can't be taken any more.
        """
        with ExitStack() as cleanup:
            staged = [
                [self._stage(pair, lineage, cleanup) for pair, lineage in _zip(call)]
                for call in calls
            ]
            with self.catalog.transaction() as transaction:
                for draft in new:
                    while self.catalog.shape(draft.name) is not None:
                        draft.name = fresh(draft.name)
                    transaction.add_array(draft.name, draft.shape)
                for call, bodies in zip(calls, staged, strict=True):
                    self._add(call, bodies, transaction)

    def _stage(
        self, pair: tuple[Draft, Draft], lineage: Lineage | Body | None, cleanup: ExitStack
    ) -> Body | None:
        if lineage is None:
            return None
        out, in_ = (ArrayInfo(array.name, array.shape) for array in pair)
        body = write_body(lineage, Pair(out, in_), self.files)
        if not isinstance(body, Body):
            raise StoreError(f"the lineage of {out.name!r} <- {in_.name!r} is no lineage: {body!r}")
        cleanup.enter_context(self.files.removed_on_error([file.name for file in body.files]))
        return body

    def _add(
        self, call: BatchCall, bodies: Sequence[Body | None], transaction: Transaction
    ) -> None:
        now = datetime.now(UTC)
        operation = Operation(
            id=0,
            name=call.name,
            inputs=tuple(array.name for array in call.inputs),
            outputs=tuple(array.name for array in call.outputs),
            args=call.args,
            reused=call.hit.reused if call.hit else None,
            exact=all(body is None or body.exact for body in bodies),
            created=now.replace(microsecond=now.microsecond // 1000 * 1000),
        )
        number = transaction.add_operation(operation)
        if call.hit is not None:
            self._count(call.hit.signature, transaction)
        for (out, in_), body in zip(call.pairs, bodies, strict=True):
            if body is not None:
                self.files.require(body.files)
                same = None if body.files else self.catalog.find_body(body)
                content = transaction.add_body(body) if same is None else same
                transaction.add_lineage(out.name, in_.name, number, content)

    def _count(self, hit: Signature, transaction: Transaction) -> None:
        if self.catalog.signature(hit.kind, hit.key) is None:
            transaction.put_signature(replace(hit, hits=0, saved=0.0))
        transaction.count_hit(hit.kind, hit.key, hit.saved)


def _zip(call: BatchCall) -> list[tuple[tuple[Draft, Draft], Lineage | Body | None]]:
    return list(zip(call.pairs, call.lineages, strict=True))
