"""What a store holds, as small frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from dslog.types import Shape


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """An array the store knows: its name and shape, never its values."""

    name: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class Operation:
    """One registered call.

    ``args`` holds the arguments as JSON values; ``reused`` names the signature that answered in
    place of a capture (``"base_sig"``, ``"dim_sig"``, ``"gen_sig"``), or is None; ``predicted`` is
    True when it answered for shapes or values it had not seen, and no capture was there to compare
    with; ``exact`` is False when some lineage of the call is a superset.
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


@dataclass(frozen=True, slots=True)
class LineageInfo:
    """One stored lineage: its pair of arrays, its operation, its size, and where it lives.

    ``op`` is the operation's number, None for lineage given without one; ``where`` is
    ``"catalog"`` or ``"files"``; ``nbytes`` counts what it takes there; ``body`` is the number of
    the stored lineage itself, which several pairs may share; ``predicted`` is its operation's.
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
