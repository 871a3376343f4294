"""The one way into a store: files are written first, the catalog comes last.

Everything that a commit adds becomes visible in one transaction: one registered call, or many that
a recorder saw. Whatever fails on the way, a capture that raises or a full disk, leaves the store as
it was, and the files that were written go again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import product
from time import perf_counter
from typing import Any, Protocol, cast

from dslog.cells.cellset import Leak
from dslog.errors import CaptureError, StoreError
from dslog.lineage.large_lineage import LargeLineage
from dslog.lineage.lineage import Lineage
from dslog.store.catalog import (
    ArrayInfo,
    Body,
    Catalog,
    CodePlace,
    Operation,
    Pair,
    Transaction,
)
from dslog.store.files import Files, Stored, read_body, write_body
from dslog.store.hooks import Answer, Observation, ReadCapture, Request, Reuse
from dslog.store.source_identity import SourceIdentity
from dslog.types import Shape

Learn = Callable[[tuple[int | None, ...], Transaction], None]
"""Called in the transaction that stores a draft, with the numbers of its bodies."""


class Named(Protocol):
    """An array that an operation names; ``number`` is 0 until it is stored.

    A new one whose name the user did not choose (``given``) gives way to another of that name. One
    that the user ``brought`` may be there already; ``source`` says what it was read of.
    """

    name: str
    number: int
    given: bool
    brought: bool
    source: SourceIdentity | None

    @property
    def shape(self) -> Shape:
        """The array's shape."""


Array = Named | ArrayInfo


@dataclass(frozen=True, slots=True)
class Draft:
    """An operation that is to be stored: lineage per (output, input) pair, outputs outermost.

    ``answer`` is what stood in for a capture, ``learn`` what is to be told of the captured lineage.
    ``influences`` say what decided, per pair, if anything did.
    """

    name: str
    inputs: Sequence[Array]
    outputs: Sequence[Array]
    lineages: Sequence[Stored | None]
    args: Mapping[str, object]
    answer: Answer | None = None
    learn: Learn | None = None
    influences: Sequence[Stored | None] = ()
    place: CodePlace | None = None
    seconds: float | None = None
    text: str | None = None

    @property
    def of_pairs(self) -> Iterator[tuple[tuple[Array, Array], Stored | None]]:
        """All lineage of every (output, input) pair, outputs outermost, and then all influences."""
        pairs = list(product(self.outputs, self.inputs))
        yield from zip(pairs, self.lineages, strict=True)
        if self.influences:
            yield from zip(pairs, self.influences, strict=True)


@dataclass(frozen=True, slots=True)
class DraftLeak:
    """A leak that is to be stored; see :class:`~dslog.cells.cellset.Leak`.

    ``before`` is how many of the new arrays of the same commit there were when it first happened.
    """

    array: Named
    way: str
    file: str
    line: int
    function: str
    inside: str
    count: int
    loses: bool
    before: int

    @property
    def leak(self) -> Leak:
        """The leak, under the array's name of the moment."""
        place = (self.file, self.line, self.function, self.inside)
        return Leak(self.array.name, self.way, *place, self.count, self.loses)


@dataclass(frozen=True, slots=True)
class Commit:
    """Writes to one store."""

    catalog: Catalog
    files: Files

    def lineage(self, pair: Pair, lineage: Stored) -> int:
        """Store lineage of one pair, without an operation, and return its body's number.

        The same lineage again changes nothing; another one for the same pair is united with it.
        """
        self.catalog.require_writable()
        with ExitStack() as cleanup:
            body = self._stage(pair.out, pair.in_, lineage, cleanup, {})
            with self.catalog.transaction() as transaction:
                out = _own_output(pair.out, transaction)
                stored = self.catalog.lineages(out.name, pair.in_.name) if out is pair.out else []
                number = self._add_body(body, transaction)
                if not any(info.op is None and info.body == number for info in stored):
                    transaction.add_lineage(out, pair.in_, None, number)
        self._settle([body], [number])
        return number

    def operations(
        self,
        drafts: Sequence[Draft],
        new: Sequence[Named] = (),
        fresh: Callable[[Named], str] | None = None,
        leaks: Sequence[DraftLeak] = (),
    ) -> Operation | None:
        """Define new arrays, store operations on them and leaks of them; return the last operation.

        When somebody else took the name of a new array meanwhile in the same run, and the user did
        not choose it, ``fresh`` gives it another one, inside the transaction, where names can't be
        taken any more.
        """
        self.catalog.require_writable()
        last: list[Any] = []
        settled: list[tuple[Body | int | None, int | None]] = []
        with ExitStack() as cleanup:
            alike: dict[int, Body] = {}  # calls of one form have one lineage, written once
            staged = [
                [
                    None if lineage is None else self._stage(*pair, lineage, cleanup, alike)
                    for pair, lineage in draft.of_pairs
                ]
                for draft in drafts
            ]
            now = _milliseconds(datetime.now(UTC))
            added: dict[int, int] = {}
            cleanup.enter_context(_unnumbered_on_error(new))
            with self.catalog.transaction() as transaction:
                marks = [self.catalog.last_number() if leaks else 0]
                if new:
                    transaction.expect([array.name for array in new])
                for array in new:
                    array.number = self._add_array(array, transaction, fresh)
                    marks.append(max(marks[-1], array.number))
                for leak in leaks:
                    transaction.add_leak(leak.leak, marks[leak.before], leak.array.number)
                for draft, bodies in zip(drafts, staged, strict=True):
                    *last, numbers = self._add(draft, bodies, transaction, added, now)
                    settled += zip(bodies, numbers, strict=True)
        self._settle(*zip(*settled, strict=True)) if settled else None
        return replace(last[0], id=last[1]) if last else None

    def _add_array(
        self, array: Named, transaction: Transaction, fresh: Callable[[Named], str] | None
    ) -> int:
        """Return the number of a new array: of a new version, or of one that is the same."""
        number, source = None, array.source
        if source is not None and source.identity is not None:
            number = transaction.same_source(array.name, array.shape, source)
        if number is None and array.brought:
            known = self.catalog.found([array.name]).get(array.name)
            if known is not None and known.shape == array.shape:
                goes_on = transaction.is_made(known.number) or not transaction.is_read(known.number)
                number = known.number if goes_on else None
        if number is None:
            while fresh is not None and not array.given and transaction.is_taken(array.name):
                array.name = fresh(array)
            number = transaction.add_array(array.name, array.shape)
        else:
            transaction.turn_to(number)
        if source is not None:
            transaction.add_source(number, source)
        return number

    def _add(
        self,
        draft: Draft,
        bodies: Sequence[Body | int | None],
        transaction: Transaction,
        added: dict[int, int],
        now: datetime,
    ) -> tuple[Operation, int, list[int | None]]:
        """Write the rows of one operation; ``added`` has the numbers of bodies of this commit."""
        answer = draft.answer
        outputs = [
            _own_output(one, transaction) if isinstance(one, ArrayInfo) else one
            for one in draft.outputs
        ]
        operation = Operation(
            id=0,
            name=draft.name,
            inputs=tuple(array.name for array in draft.inputs),
            outputs=tuple(array.name for array in outputs),
            args=draft.args,
            reused=answer.reused if answer else None,
            exact=all(self._is_exact(body) for body in bodies[: len(draft.lineages)]),
            created=now,
            predicted=answer is not None and answer.compared is not None,
            compared=answer.compared if answer else None,
            run=transaction.current_run(),
            place=draft.place,
            seconds=draft.seconds,
            text=draft.text,
        )
        id_ = transaction.add_operation(operation, draft.inputs, outputs)
        numbers: list[int | None] = []
        sides = [(out, in_) for out in outputs for in_ in draft.inputs]
        if draft.influences:
            sides += sides
        for place, ((out, in_), body) in enumerate(zip(sides, bodies, strict=True)):
            number = None if body is None else added.get(id(body))
            if number is None and body is not None:
                number = added[id(body)] = self._add_body(body, transaction)
            if number is not None:
                decides = place >= len(draft.lineages)
                transaction.add_lineage(out, in_, id_, number, influence=decides)
            numbers.append(number)
        if answer is not None:
            self._count(answer, transaction)
        if draft.learn is not None:
            draft.learn(tuple(numbers), transaction)
        return operation, id_, numbers

    def _stage(
        self,
        out: Named | ArrayInfo,
        in_: Named | ArrayInfo,
        lineage: Stored,
        cleanup: ExitStack,
        alike: dict[int, Body],
    ) -> Body | int:
        """Write a lineage's files; they go again if the commit fails."""
        known = alike.get(id(lineage))
        if known is not None and isinstance(lineage, Lineage):
            shapes = lineage.out_shape, lineage.in_shape
            if shapes == (out.shape, in_.shape):
                return known
        pair = Pair(ArrayInfo(out.name, out.shape), ArrayInfo(in_.name, in_.shape))
        body = write_body(lineage, pair, self.files)
        if isinstance(body, Body) and not body.files:
            alike[id(lineage)] = body
        elif isinstance(body, Body):
            cleanup.enter_context(self.files.removed_on_error([file.name for file in body.files]))
        return body

    def _add_body(self, body: Body | int, transaction: Transaction) -> int:
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

    def _is_exact(self, body: Body | int | None) -> bool:
        content = self.catalog.body(body) if isinstance(body, int) else body
        return content is None or content.exact

    def _count(self, answer: Answer, transaction: Transaction) -> None:
        if answer.new is not None:
            transaction.put_signature(answer.new)
        if answer.key is not None:
            transaction.count_hit(answer.reused, answer.key, answer.saved)


def _own_output(array: ArrayInfo, transaction: Transaction) -> ArrayInfo:
    """The version of an array that the run makes: what other runs made stays what it was."""
    run = transaction.current_run()
    if array.run == run:
        return array
    name = transaction.name_of(array.number)
    return ArrayInfo(name, array.shape, transaction.add_array(name, array.shape), run)


@contextmanager
def _unnumbered_on_error(arrays: Sequence[Named]) -> Iterator[None]:
    """Forget the numbers of arrays that were not stored after all."""
    try:
        yield
    except BaseException:
        for array in arrays:
            array.number = 0
        raise


def _milliseconds(moment: datetime) -> datetime:
    """Return a moment as precise as it is stored."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


@dataclass(frozen=True, slots=True)
class Registrar:
    """Takes what a user registers: lineage answered by reuse, or read from a capture."""

    commit: Commit
    read_capture: ReadCapture
    reuse: Reuse
    place: Callable[[], CodePlace | None] = lambda: None  # where the program is

    def add_lineage(self, pair: Pair, capture: object, engine: str) -> int:
        """Store lineage for one pair and return its body's number."""
        self.commit.catalog.require_writable()
        return self.commit.lineage(
            pair, self.read_capture(capture, pair, self.commit.files, engine)
        )

    def add_operation(self, request: Request) -> Operation:
        """Store an operation with the lineage of all its pairs."""
        catalog = self.commit.catalog
        catalog.require_writable()
        started = perf_counter()
        request = self._with_given_read(request)
        seconds = perf_counter() - started
        answer = self._answer(request)
        started = perf_counter()
        lineages = answer.lineages if answer else tuple(self._capture(request))
        seconds += perf_counter() - started

        def learn(numbers: tuple[int | None, ...], transaction: Transaction) -> None:
            seen = Observation(request, lineages, numbers, seconds)
            self.reuse.learn(seen, catalog, transaction)

        draft = Draft(
            request.name,
            request.inputs,
            request.outputs,
            lineages,
            request.args,
            answer,
            learn if answer is None and request.reuse is not False else None,
            place=self.place(),
        )
        return cast("Operation", self.commit.operations([draft]))

    def _answer(self, request: Request) -> Answer | None:
        if request.reuse is False:
            return None
        read = partial(read_body, catalog=self.commit.catalog, files=self.commit.files)
        answer = self.reuse.answer(replace(request, read=read), self.commit.catalog)
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
            self._read(capture, pair)
            for pair, capture in zip(request.pairs, request.captures, strict=True)
        ]

    def _with_given_read(self, request: Request) -> Request:
        """Read every capture that is there in full, once: it may be a stream."""
        if request.captures is None:
            return request
        captures = tuple(
            capture if _is_function(capture) else self._read(capture, pair)
            for pair, capture in zip(request.pairs, request.captures, strict=True)
        )
        return replace(request, captures=captures)

    def _read(self, capture: object, pair: Pair) -> Stored | None:
        if capture is None or isinstance(capture, LargeLineage):
            return capture
        return self.read_capture(capture, pair, self.commit.files, "auto")


def _is_function(capture: object) -> bool:
    """Whether a capture has to be asked cell by cell."""
    return callable(capture) and not hasattr(capture, "__arrow_c_stream__")


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
