"""What a catalog holds, as small frozen values, and what a store asks of one.

The catalog is the one source of truth: a lineage exists when its row is committed. SQLite is the
only implementation (``store/sqlite.py``); another database has to offer the two protocols here,
which speak of names and records, never of SQL.
"""

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from math import prod
from typing import Protocol

from dslog.cells.cellset import Labels, Leak
from dslog.errors import NotFoundError, did_you_mean
from dslog.query.plan import Edge
from dslog.types import MOST_CELLS, Shape


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """An array the store knows: its name and shape, never its values."""

    name: str
    shape: Shape


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
    count them. ``exact`` is False when some lineage of the call is a superset.
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
        """Add an array whose name is free and return its number: later ones have higher ones."""

    def add_operation(self, operation: Operation) -> int:
        """Add an operation on known arrays and return its number; its ``id`` is ignored."""

    def add_body(self, body: Body) -> int:
        """Add a lineage's content, whose files are on disk already, and return its number."""

    def add_lineage(
        self, out: str, in_: str, op: int | None, body: int, *, influence: bool = False
    ) -> None:
        """Say that ``body`` is lineage from ``out`` to ``in_``."""

    def add_leak(self, leak: Leak, mark: int) -> None:
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

    It is the operation graph too: see :class:`dslog.query.plan.Edges`.
    """

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

    def identity(self) -> str:
        """Return what tells this store from all others; nothing if it has no such thing."""

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

    def close(self) -> None:
        """Let go of the database."""


def find_array(name: object, catalog: Catalog) -> ArrayInfo:
    """Return a known array; an unknown one is an error with the nearest name."""
    shape = catalog.shape(name) if isinstance(name, str) else None
    if not isinstance(name, str) or shape is None:
        known = [array.name for array in catalog.arrays()]
        hint = did_you_mean(name, known) if isinstance(name, str) else ""
        way_out = hint or f" Define it first: store.array({name!r}, shape)."
        raise NotFoundError(f"there is no array {name!r} in the store.{way_out}")
    return ArrayInfo(name, shape)


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
