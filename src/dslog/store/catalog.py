"""What a store asks of its catalog.

The catalog is the one source of truth: a lineage exists when its row is committed. SQLite is the
only implementation (``store/sqlite.py``); another database has to offer these two protocols, which
speak of names and records, never of SQL.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from dslog.query.plan import Edge
from dslog.store.records import ArrayInfo, Body, LineageInfo, Operation, Signature
from dslog.types import Shape


class Transaction(Protocol):
    """Changes that become visible together, when the ``with`` block ends without an error."""

    def add_array(self, name: str, shape: Shape) -> None:
        """Add an array whose name is free."""
        ...

    def add_operation(self, operation: Operation) -> int:
        """Add an operation on known arrays and return its number; its ``id`` is ignored."""
        ...

    def add_body(self, body: Body) -> int:
        """Add a lineage's content, whose files are on disk already, and return its number."""
        ...

    def add_lineage(self, out: str, in_: str, op: int | None, body: int) -> None:
        """Say that ``body`` is lineage from ``out`` to ``in_``."""
        ...

    def put_signature(self, signature: Signature) -> None:
        """Add a signature, or replace the one with the same kind and key."""
        ...

    def count_hit(self, kind: str, key: str, saved: float) -> None:
        """Count one more answer of a signature, and the seconds it saved."""
        ...


class Catalog(Protocol):
    """Reads, and the way to a transaction. Safe to use from several threads and processes.

    It is the operation graph too: see :class:`dslog.query.plan.Edges`.
    """

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin to write; waits for other writers. Reads inside it see its own changes."""
        ...

    def require_writable(self) -> None:
        """Raise a StoreError unless a transaction could begin: before work that would be lost."""
        ...

    def state(self) -> object:
        """Return a value that is another one after any change, whoever made it."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Let all reads of a ``with`` block see one state, whatever others commit meanwhile."""
        ...

    def shapes(self, names: Sequence[str]) -> dict[str, Shape]:
        """Return the shapes of those arrays that there are."""
        ...

    def among(self, names: Sequence[str]) -> list[Edge]:
        """Return what ``between`` gives for every pair of these arrays."""
        ...

    def shape(self, name: str) -> Shape | None:
        """Return an array's shape, or None when there is no such array."""
        ...

    def arrays(self) -> list[ArrayInfo]:
        """Return every array, in order of definition."""
        ...

    def operations(self) -> list[Operation]:
        """Return every operation, in order of registration."""
        ...

    def lineages(self, out: str | None = None, in_: str | None = None) -> list[LineageInfo]:
        """Return lineages, all or those of an output, an input, or a pair."""
        ...

    def between(self, out: str, in_: str) -> list[Edge]:
        """Return the different lineages of a pair, shared ones once, as a query plans with them."""
        ...

    def inputs_of(self, name: str) -> list[str]:
        """Return the arrays that ``name`` has lineage from."""
        ...

    def outputs_of(self, name: str) -> list[str]:
        """Return the arrays that have lineage from ``name``."""
        ...

    def body(self, number: int) -> Body:
        """Return a stored lineage's content."""
        ...

    def find_body(self, body: Body) -> int | None:
        """Return the number of a stored body with the same content, if there is one."""
        ...

    def bodies(self) -> Sequence[int]:
        """Return the numbers of all bodies."""
        ...

    def file_names(self) -> set[str]:
        """Return the names of all committed files."""
        ...

    def signature(self, kind: str, key: str) -> Signature | None:
        """Return one signature, or None."""
        ...

    def signatures(self) -> list[Signature]:
        """Return every signature."""
        ...

    def totals(self) -> Mapping[str, int]:
        """Return how many arrays, operations, lineages, rows, files and bytes are stored."""
        ...

    def problems(self) -> list[str]:
        """Check the database itself and return what is wrong with it."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...
