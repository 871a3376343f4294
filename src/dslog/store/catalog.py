"""What a catalog holds, as small frozen values, and what a store asks of one.

The catalog is the one source of truth: a lineage exists when its row is committed. SQLite is the
only implementation (``store/sqlite.py``); another database has to offer the two protocols here,
which speak of names and records, never of SQL.
"""

import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from math import prod
from typing import Protocol

from dslog.cells.cellset import Labels, Leak
from dslog.errors import NotFoundError, did_you_mean
from dslog.query.plan import Edge
from dslog.store.arguments import ArgumentError, check_name
from dslog.store.run import RunInfo
from dslog.store.source_identity import Reading, SourceIdentity
from dslog.types import MOST_CELLS, Shape


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """An array the store knows: its name and shape, never its values.

    ``number`` is its own for ever, ``run`` the run that made it, ``base`` its name without a run.
    """

    name: str
    shape: Shape
    number: int = field(default=0, compare=False, repr=False)
    run: int = field(default=0, compare=False, repr=False)
    base: str = field(default="", compare=False, repr=False)


class Numbered(Protocol):
    """An array that is known by its number once it is stored, and by its name before."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def number(self) -> int:
        """Its number, 0 before it has one."""


@dataclass(frozen=True, slots=True)
class CodePlace:
    """A line of a program."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


@dataclass(frozen=True, slots=True)
class Pair:
    """An output and an input array that lineage is given for."""

    out: ArrayInfo
    in_: ArrayInfo


@dataclass(frozen=True, slots=True)
class Operation:
    """One registered call.

    ``args`` holds the arguments as JSON values; ``reused`` names the signature that answered in
    place of a capture (``"base_sig"``, ``"dim_sig"``, ``"gen_sig"``), or is None; ``predicted`` is
    True when it answered and was not compared with a capture in full: ``compared`` is then the
    number of output cells that were compared, 0 without a capture, None where an old store did not
    count them. ``exact`` is False when some lineage of the call is a superset. ``run`` did it, at
    ``place``, in so many ``seconds``, where that is known; ``text`` is what people wrote.
    """

    id: int
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    args: Mapping[str, object]
    reused: str | None
    exact: bool
    created: datetime
    predicted: bool = False
    compared: int | None = None
    run: int = 0
    place: CodePlace | None = None
    seconds: float | None = None
    text: str | None = None

    @property
    def labels(self) -> Labels:
        """What is said of every answer that comes through its lineage."""
        return Labels(self.exact, self.predicted)


@dataclass(frozen=True, slots=True)
class LineageInfo:
    """One stored lineage: its pair of arrays, its operation, its size, and where it lives.

    ``op`` is the operation's number, None for lineage given without one; ``where`` is
    ``"catalog"`` or ``"files"``; ``nbytes`` counts what it takes there; ``body`` is the number of
    the stored lineage itself, which several pairs may share; ``predicted`` is its operation's.
    ``influence`` is set where it says what decided, not what was read.
    """

    out: str
    in_: str
    op: int | None
    num_rows: int
    nbytes: int
    exact: bool
    where: str
    body: int
    predicted: bool = False
    influence: bool = False

    @property
    def labels(self) -> Labels:
        """What is said of every answer that comes through it."""
        return Labels(self.exact, self.predicted)


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A committed file: part ``part`` of blob ``blob`` of a lineage."""

    blob: int
    part: int
    name: str
    nbytes: int
    checksum: bytes


@dataclass(frozen=True, slots=True)
class Body:
    """A lineage as it is stored: the header, which may be all of it, and the files with the rest.

    Bodies never change once committed, so they can be shared between pairs and cached by number.
    """

    header: str
    num_rows: int
    exact: bool
    files: tuple[FileRecord, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes of the header and of every file."""
        return len(self.header.encode()) + sum(file.nbytes for file in self.files)

    @property
    def content(self) -> bytes:
        """What two bodies with the same lineage have in common, whatever their files are called."""
        sums = (file.checksum for file in self.files)
        return b"\0".join([self.header.encode(), *sums])

    @property
    def checksum(self) -> int:
        """The checksum of its content."""
        return zlib.crc32(self.content)


@dataclass(frozen=True, slots=True)
class Signature:
    """What reuse knows about one kind of call.

    ``kind`` is ``"base_sig"``, ``"dim_sig"`` or ``"gen_sig"``, ``key`` says for which call,
    ``state`` is the reuse module's word (tentative, permanent, not reusable), ``content`` its JSON.
    It counts answers (hits), answers that proved wrong (misses), calls it was not fit to answer
    (refusals), and the seconds of capturing that its answers saved.
    """

    kind: str
    key: str
    state: str
    content: str
    hits: int = 0
    misses: int = 0
    refusals: int = 0
    saved: float = 0.0


@dataclass(frozen=True, slots=True)
class SignatureInfo:
    """A signature for people: what it is for, its state, and what it says of the cells."""

    kind: str
    state: str
    args: Mapping[str, object]
    shapes: str
    formulas: tuple[str, ...]
    hits: int
    misses: int
    refusals: int
    saved: float


@dataclass(frozen=True, slots=True)
class OperationReuse:
    """What was reused of an operation, over all its signatures; ``saved`` is in seconds."""

    name: str
    hits: int
    misses: int
    refusals: int
    saved: float
    signatures: tuple[SignatureInfo, ...]


class Transaction(Protocol):
    """Changes that become visible together, when the ``with`` block ends without an error."""

    def add_array(self, name: str, shape: Shape) -> int:
        """Add a version of an array to the run and return its number: later ones are higher."""

    def begin_run(self, run: RunInfo) -> int:
        """Add a run and return its number."""

    def put_run(self, run: RunInfo) -> None:
        """Write a run down as it is now."""

    def current_run(self) -> int:
        """Return the run that is written to."""

    def turn_to(self, number: int) -> None:
        """Say that a name means this array of its from now on: it was read again."""

    def add_source(self, number: int, source: SourceIdentity) -> None:
        """Say what was read as an array."""

    def same_source(self, name: str, shape: Shape, source: SourceIdentity) -> int | None:
        """Return the array of this name and shape that was read of the same source."""

    def is_made(self, number: int) -> bool:
        """Whether an array has lineage."""

    def is_read(self, number: int) -> bool:
        """Whether it is known what was read as an array."""

    def expect(self, names: Sequence[str]) -> None:
        """Look up at once which names the run has."""

    def is_taken(self, name: str) -> bool:
        """Whether the run has an array of this name."""

    def name_of(self, number: int) -> str:
        """Return the name of an array, without its run."""

    def keep(self, number: int, file: str, checksum: str) -> None:
        """Say which file holds the values of an array."""

    def add_operation(
        self,
        operation: Operation,
        inputs: Sequence[Numbered | str] | None = None,
        outputs: Sequence[Numbered | str] | None = None,
    ) -> int:
        """Add an operation on known arrays and return its number; its ``id`` is ignored."""

    def add_body(self, body: Body) -> int:
        """Add a lineage's content, whose files are on disk already, and return its number."""

    def add_lineage(
        self,
        out: Numbered | str,
        in_: Numbered | str,
        op: int | None,
        body: int,
        *,
        influence: bool = False,
    ) -> None:
        """Say that ``body`` is lineage from ``out`` to ``in_``."""

    def add_leak(self, leak: Leak, mark: int, number: int = 0) -> None:
        """Add a place where values of a known array left, or count it again.

        ``mark`` is the highest number of an array that there was when it happened: only arrays
        defined later may hold what came of the values. Of several marks the lowest counts.
        """

    def put_signature(self, signature: Signature) -> None:
        """Add a signature, or replace the one with the same kind and key."""

    def count_hit(self, kind: str, key: str, saved: float) -> None:
        """Count one more answer of a signature, and the seconds it saved."""


class Catalog(Protocol):
    """Reads, and the way to a transaction. Safe to use from several threads and processes.

    It is the operation graph too: see :class:`dslog.query.plan.Edges`. A name means the array that
    this process's run made or took under it, else that of the newest run that is done; ``name@41``
    is run 41's, and ``name@41.2`` the second version there. An array is called by the shortest of
    these that means it.
    """

    def begin_run(self, name: str, params: Mapping[str, object]) -> RunInfo:
        """Begin a run that all that is written belongs to until it ends."""

    def end_run(self, error: BaseException | None = None) -> RunInfo | None:
        """End the run that was begun."""

    def end_process(self, error: BaseException | str | None = None) -> None:
        """Say that this process's own run is over, unless it goes on."""

    def texts(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return what arrays with these numbers are called."""

    def is_name(self, text: str) -> bool:
        """Whether an array has this text for a name as it is, whatever it looks like."""

    def is_own(self, name: str) -> bool:
        """Whether the run of this process has an array of this name."""

    def found(self, names: Sequence[str]) -> dict[str, ArrayInfo]:
        """Return those arrays that there are, by the text that names each."""

    def run(self, number: int) -> RunInfo | None:
        """Return a run, or None."""

    def runs(self) -> list[RunInfo]:
        """Return all runs, in order."""

    def last_runs(self, most: int) -> list[RunInfo]:
        """Return the newest runs, in order."""

    def counts_of(self, runs: Sequence[int]) -> Mapping[int, int]:
        """Return how many operations runs have."""

    def operations_of(self, run: int) -> tuple[list[Operation], list[LineageInfo]]:
        """Return the operations of a run, and the lineage of its arrays without one."""

    def used_by(self, names: Sequence[str]) -> tuple[list[Operation], list[LineageInfo]]:
        """Return the operations that took any of these arrays, and all lineage from them."""

    def readings(self, name: str | None = None, run: int | None = None) -> list[Reading]:
        """Return when sources were read, those of an array or of a run, in order."""

    def kept(self, name: str) -> tuple[str, str] | None:
        """Return the file that holds an array's values, and its checksum."""

    def all_kept(self) -> Mapping[str, tuple[str, str]]:
        """Return the files that hold values, and their checksums, by array."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin to write; waits for other writers. Reads inside it see its own changes."""

    def require_writable(self) -> None:
        """Raise a StoreError unless a transaction could begin: before work that would be lost."""

    def before_use(self, commit_pending: Callable[[], None]) -> None:
        """Have what waits to be written committed before the catalog is read or written."""

    def still(self) -> AbstractContextManager[None]:
        """Read inside a ``with`` block without committing what waits."""

    def state(self) -> object:
        """Return a value that is another one after any change, whoever made it."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Let all reads of a ``with`` block see one state, whatever others commit meanwhile."""

    def shapes(self, names: Sequence[str]) -> dict[str, Shape]:
        """Return the shapes of those arrays that there are."""

    def among(self, names: Sequence[str], *, influence: bool = False) -> list[Edge]:
        """Return what ``between`` gives for every pair of these arrays."""

    def shape(self, name: str) -> Shape | None:
        """Return an array's shape, or None when there is no such array."""

    def columns(self, name: str) -> tuple[str, ...]:
        """Return the names of a table's columns; none if it has none."""

    def arrays(self) -> list[ArrayInfo]:
        """Return every array, in order of definition."""

    def operations(self) -> list[Operation]:
        """Return every operation, in order of registration."""

    def lineages(
        self, out: str | None = None, in_: str | None = None, *, influence: bool | None = False
    ) -> list[LineageInfo]:
        """Return lineages, all or those of an output, an input, or a pair.

        ``influence`` chooses those that say what was read, what decided, or, as None, both.
        """

    def between(self, out: str, in_: str, *, influence: bool = False) -> list[Edge]:
        """Return the different lineages of a pair, shared ones once, as a query plans with them."""

    def inputs_of(self, name: str, *, influence: bool = False) -> list[str]:
        """Return the arrays that ``name`` has lineage from."""

    def outputs_of(self, name: str, *, influence: bool = False) -> list[str]:
        """Return the arrays that have lineage from ``name``."""

    def without_lineage(self, out: str, in_: str) -> list[Edge]:
        """Return an edge without lineage if ``out`` was made with ``in_``, or with nothing."""

    def leaks(self) -> list[Leak]:
        """Return every place where values left tracking, in order."""

    def has_losses(self) -> bool:
        """Whether there is a leak that makes answers incomplete."""

    def leaks_between(self, source: str, target: str) -> list[Leak]:
        """Return the leaks through which values of ``source`` may have got into ``target``.

        They are of the earlier array, ``source``, or of one made of it, and ``target`` was defined
        after them. From an array to itself there are none.
        """

    def marked_leaks(self) -> list[tuple[Leak, int]]:
        """Return the leaks that make answers incomplete, each with its mark, in order."""

    def array_numbers(self, names: Sequence[str]) -> dict[str, int]:
        """Return the numbers of arrays."""

    def first_arrays(self, most: int) -> list[ArrayInfo]:
        """Return the arrays that were defined first."""

    def made_by(self, names: Sequence[str]) -> tuple[list[Operation], list[LineageInfo]]:
        """Return the operations that gave any of these arrays, and their lineage without one."""

    def behind(self, name: str) -> list[str]:
        """Return an array and all that it has lineage from, over any number of steps."""

    def counts(self) -> Mapping[str, int]:
        """Return how many arrays, operations, lineages, bodies and leaks there are."""

    def last_number(self) -> int:
        """Return the number of the array that was defined last, 0 when there is none."""

    def body(self, number: int) -> Body:
        """Return a stored lineage's content."""

    def find_body(self, body: Body) -> int | None:
        """Return the number of a stored body with the same content, if there is one."""

    def bodies(self) -> Sequence[int]:
        """Return the numbers of all bodies."""

    def file_names(self) -> set[str]:
        """Return the names of all committed files."""

    def signature(self, kind: str, key: str) -> Signature | None:
        """Return one signature, or None."""

    def signatures(self) -> list[Signature]:
        """Return every signature."""

    def totals(self) -> Mapping[str, int]:
        """Return how many arrays, operations, lineages, rows, files and bytes are stored."""

    def problems(self) -> list[str]:
        """Check the database itself and return what is wrong with it."""

    def chain_problems(self) -> list[str]:
        """Compare the chain of commits with all rows."""

    def close(self) -> None:
        """Let go of the database."""


def find_array(name: object, catalog: Catalog) -> ArrayInfo:
    """Return a known array; an unknown one is an error with the nearest name."""
    info = catalog.found([name]).get(name) if isinstance(name, str) else None
    if not isinstance(name, str) or info is None:
        known = [array.name for array in catalog.arrays()]
        hint = did_you_mean(name, known) if isinstance(name, str) else ""
        way_out = hint or f" Define it first: store.array({name!r}, shape)."
        parts = split_name(name) if isinstance(name, str) else None
        if parts is not None:
            base, run, _ = parts
            there = catalog.run(run) is not None
            way_out = f" Run {run} has no {base!r}." if there else f" There is no run {run}."
            way_out += hint
        raise NotFoundError(f"there is no array {name!r} in the store.{way_out}")
    return info


def check_new_name(name: object, catalog: Catalog) -> str:
    """Return a name that an array may get: one that looks like a run's is none."""
    wanted = check_name(name, "array")
    if split_name(wanted) is not None and not catalog.is_name(wanted):
        raise ArgumentError(f"{wanted!r} means an array of a run: take a name without '@'")
    return wanted


def find_run(number: int | None, catalog: Catalog) -> RunInfo:
    """Return a run, the newest one if none is named; an unknown one is an error."""
    last = catalog.last_runs(1)
    found = (last[0] if last else None) if number is None else catalog.run(number)
    if found is None:
        known = f"the newest is {last[0].number}" if last else "there is none"
        raise NotFoundError(f"there is no run {number} in the store: {known}")
    return found


_VERSION = re.compile(r"(.+)@(\d{1,15})(?:\.(\d{1,15}))?", re.DOTALL)


def split_name(text: str) -> tuple[str, int, int | None] | None:
    """Take a name with a run, and maybe a version of that run's, apart.

    >>> split_name("total@41"), split_name("total@41.2"), split_name("me@home")
    (('total', 41, None), ('total', 41, 2), None)
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    return match[1], int(match[2]), None if match[3] is None else int(match[3])


def parse_shape(text: str) -> Shape:
    """Read a stored shape; a ValueError if it can't be one."""
    shape = json.loads(text)
    if not isinstance(shape, list) or any(type(size) is not int or size < 0 for size in shape):
        raise ValueError(f"{text[:100]!r} is no shape")
    if prod(size or 1 for size in shape) > MOST_CELLS:
        raise ValueError(f"the shape {text[:100]} has more than 2**63 - 1 cells")
    return tuple(shape)


def compact(value: object) -> str:
    """Return JSON without spaces and with sorted keys: equal values give equal text."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True)
