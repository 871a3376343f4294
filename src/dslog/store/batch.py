"""Many operations in one commit, for captures that register every call they see.

One commit per operation costs more than a numpy call does. A batch writes the files of all its
operations first and commits the catalog rows of all of them last, in one transaction: each
operation is there as a whole or not at all, and so is the batch.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from dslog.errors import StoreError
from dslog.lineage.lineage import Lineage
from dslog.store.catalog import Catalog, Transaction
from dslog.store.content import write_body
from dslog.store.files import Files
from dslog.store.records import ArrayInfo, Body, Operation, Shape, Signature
from dslog.store.seams import Pair


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
