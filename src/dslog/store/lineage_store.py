"""The store: define arrays, give lineage, ask questions.

A LineageStore may be used by several threads, and its directory by several processes, at once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

from dslog.cells.cellset import CellSet, Leak, leaky
from dslog.errors import NotFoundError, ShapeError, StoreError
from dslog.lineage.lineage import Lineage
from dslog.query.execute import Cells, pair_named, run_path, run_walk
from dslog.query.explanation import Explanation, explain_path
from dslog.query.graph import check_direction, plan_walk
from dslog.query.plan import Both, Direction, Edge, Plan, check_path
from dslog.store.arguments import (
    ArgumentError,
    canonical_args,
    check_name,
    check_names,
    check_shape,
    fingerprints,
)
from dslog.store.catalog import (
    ArrayInfo,
    CodePlace,
    LineageInfo,
    Operation,
    OperationReuse,
    Pair,
    Signature,
    check_new_name,
    find_array,
    find_run,
)
from dslog.store.chain import Seal, seal_problems, sign
from dslog.store.commit import Commit, Registrar, read_captures
from dslog.store.engines import Engines, Planner, check_engine
from dslog.store.files import (
    CATALOG,
    FILES,
    Files,
    StoredLineage,
    TemporaryFiles,
    flush,
    locate,
)
from dslog.store.hooks import ReadCapture, Request, Reuse
from dslog.store.maintenance import GcReport, VerifyReport, collect_garbage, verify
from dslog.store.run import RunInfo, failure
from dslog.store.source_identity import Reading, SourceChange, change_of
from dslog.store.sqlite import SqliteCatalog

Influence = bool | Literal["only"]
"""Whether what decided that cells are there is in an answer, beside what was read or alone."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Some arrays, the operations and the lineage without one that made them; what there is."""

    arrays: Sequence[ArrayInfo]
    operations: Sequence[Operation]
    lineages: Sequence[LineageInfo]
    counts: Mapping[str, int]


class LineageStore:
    """Lineage between arrays, on disk or in memory; ``dslog.open`` makes one.

    ``read_capture`` and ``reuse`` are the parts above the store that it asks: see ``hooks``.
    ``spark`` is a session, or settings for one. With ``durable``, what is committed is on disk.
    ``place`` says where the program is.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        mode: str = "a",
        *,
        read_capture: ReadCapture,
        reuse: Reuse | None = None,
        spark: object = None,
        durable: bool = False,
        place: Callable[[], CodePlace | None] = lambda: None,
    ) -> None:
        location = locate(path, mode)
        self._path, self._given = location.directory, location.given
        self._catalog = SqliteCatalog(location.catalog, writable=location.writable, durable=durable)
        if durable and self._path is not None:
            for directory in (self._path, self._path.parent):  # that it is there at all
                flush(directory)
        self._files = Files(self._path / FILES) if self._path else TemporaryFiles()
        self._planner = Planner(self._catalog)
        self._engines = Engines(self._catalog, self._files, spark, writable=location.writable)
        reading = self._engines.reading(read_capture)
        commit = Commit(self._catalog, self._files)
        self._registrar = Registrar(commit, reading, reuse or Reuse(), place)

    @property
    def path(self) -> Path | None:
        """The store's directory; None for a store in memory."""
        return self._path

    # giving lineage

    def array(self, name: str, shape: Sequence[int] | int) -> ArrayInfo:
        """Define an array; the same name and shape again is fine, another shape is an error."""
        wanted, sizes = check_new_name(name, self._catalog), check_shape(name, shape)
        known = self._catalog.found([wanted]).get(wanted)
        if known is None or known.shape != sizes:
            with self._catalog.transaction() as transaction:
                known = self._catalog.found([wanted]).get(wanted)  # another one may be faster
                mine = known is not None and known.run == transaction.current_run()
                if known is not None and mine and not transaction.is_made(known.number):
                    if known.shape != sizes:
                        raise ShapeError(
                            f"array {name!r} has shape {known.shape}, so it can't be defined with "
                            f"{sizes}: take another name for another array"
                        )
                elif known is None or known.shape != sizes:
                    transaction.add_array(wanted, sizes)
                known = self._catalog.found([wanted])[wanted]
        return known

    def lineage(self, out: str, in_: str, capture: object, *, engine: str = "auto") -> LineageInfo:
        """Store which cells of ``in_`` made which cells of ``out``.

        ``capture`` is a callable from an output index to input indices, an integer array, an Arrow
        table, a Parquet path or a Lineage. Giving the same lineage again changes nothing; other
        lineage for the same pair is united with what is there.
        """
        check_engine(engine)
        pair = Pair(find_array(out, self._catalog), find_array(in_, self._catalog))
        body = self._registrar.add_lineage(pair, capture, engine)
        stored = self._catalog.lineages(out, pair.in_.name)
        return next(info for info in stored if info.body == body and info.op is None)

    def register_operation(
        self,
        name: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        capture: object = None,
        *,
        op_args: Mapping[str, object] | None = None,
        reuse: bool | None = None,
        contents: Sequence[object] | None = None,
    ) -> Operation:
        """Store one call: its arrays, its arguments and the lineage of each pair.

        ``capture`` has one entry per (output, input) pair, outputs outermost, None where there is
        no lineage; for one pair it may come bare, and it may be left out when an earlier call can
        answer. ``reuse``: None predicts, True may answer without a capture, False never does.
        ``contents``, the values of the inputs, let calls on equal values under other names be
        recognised; values that are not at hand are None.
        """
        args = canonical_args(op_args)
        ins, outs = check_names(inputs), check_names(outputs)
        request = Request(
            name=check_name(name, "operation"),
            inputs=tuple(find_array(array, self._catalog) for array in ins),
            outputs=tuple(find_array(array, self._catalog) for array in outs),
            args=args,
            captures=read_captures(name, capture, len(outs), len(ins)),
            reuse=reuse,
            contents=fingerprints(name, contents, len(ins)),
        )
        return self._registrar.add_operation(request)

    # asking

    def prov_query(
        self,
        path: Sequence[str],
        query: object,
        merge: bool = True,  # noqa: FBT002 (as in the paper)
        engine: str = "auto",
    ) -> CellSet:
        """Follow cells of ``path[0]`` along the path and return the cells of its last array.

        Each pair of neighbours is followed the way its lineage is stored. ``merge=False`` leaves
        the boxes unmerged between steps, the paper's NoMerge: same cells, other cost.
        """
        check_engine(engine)
        with pair_named(path[0], path[-1]) if path else nullcontext():
            plan, cells = self._plan(path, query)
            return run_path(plan, cells, self._engines.loader(engine), merge=merge)

    def backward(
        self,
        array: str,
        query: object,
        to: str,
        *,
        engine: str = "auto",
        influence: Influence = False,
    ) -> CellSet:
        """Return the cells of ``to`` that made these cells of ``array``, over every path.

        Without any path there are none; a path that leads the other way alone is an error. With
        ``influence`` also the cells that decided that they are there, a filter's and a join's;
        with ``"only"``, these alone.
        """
        return self._walk(array, query, to, Direction.BACKWARD, engine, influence)

    def forward(
        self,
        array: str,
        query: object,
        to: str,
        *,
        engine: str = "auto",
        influence: Influence = False,
    ) -> CellSet:
        """Return the cells of ``to`` that these cells of ``array`` touched, over every path.

        Without any path there are none; a path that leads the other way alone is an error. With
        ``influence`` also the cells that they decided about; with ``"only"``, these alone.
        """
        return self._walk(array, query, to, Direction.FORWARD, engine, influence)

    def explain(
        self,
        path: Sequence[str],
        query: object,
        merge: bool = True,  # noqa: FBT002 (as in prov_query)
        engine: str = "auto",
    ) -> Explanation:
        """Run a query and say what each step did."""
        check_engine(engine)
        plan, cells = self._plan(path, query)
        return explain_path(plan, cells, self._engines.loader(engine), merge=merge)

    # looking

    def arrays(self) -> list[ArrayInfo]:
        """Return every array."""
        return self._catalog.arrays()

    def operations(self) -> list[Operation]:
        """Return every operation, in order of registration."""
        return self._catalog.operations()

    def lineages(self) -> list[LineageInfo]:
        """Return what is stored for every pair."""
        return self._catalog.lineages()

    def run(
        self, run: int | str, *, params: Mapping[str, object] | None = None
    ) -> "OpenRun | RunView":
        """Begin a run of this name, for a ``with`` block; or look at the run of this number.

        What is written inside the block belongs to the run. It is done when the block ends, or
        failed when that raises.
        """
        if isinstance(run, str):
            return OpenRun(self, check_name(run, "run"), canonical_args(params))
        return RunView(self, find_run(run, self._catalog))

    def last_runs(self, most: int) -> dict[RunInfo, int]:
        """Return the newest runs, that one first, each with its number of operations."""
        with self._catalog.snapshot():
            found = self._catalog.last_runs(most or 1 << 62)[::-1]
            counts = self._catalog.counts_of([run.number for run in found])
        return {run: counts[run.number] for run in found}

    def go_on(self, out: str) -> None:
        """Let what this process writes belong to the newest run, unless that has ``out`` already.

        So commands that follow each other are one run, and the same ones the next day another.
        """
        self._catalog.go_on(out)

    def runs(self) -> list[RunInfo]:
        """Return every run, in order."""
        return self._catalog.runs()

    def flush(self) -> None:
        """Commit what waits; here nothing does."""

    def sources(self, run: int | None = None, *, array: str | None = None) -> list[Reading]:
        """Return what a run read, the newest one if none is named; or where an array is from."""
        if array is not None:
            return self._catalog.readings(name=find_array(array, self._catalog).name)
        return self._catalog.readings(run=find_run(run, self._catalog).number)

    def changed_sources(self, run: int | None = None) -> list[SourceChange]:
        """Return the sources of a run that are no longer what was read.

        Only files can be looked at again; values that the program made itself can't.
        """
        found = (change_of(reading) for reading in self.sources(run))
        return [change for change in found if change is not None]

    def find(self, name: str) -> ArrayInfo:
        """Return what an array is, by any of its names; an unknown one is an error."""
        return find_array(name, self._catalog)

    def around(self, name: str) -> tuple[list[Operation], list[Operation], list[LineageInfo]]:
        """Return the operations that made an array, those that took it, and its lineage."""
        with self._catalog.snapshot():
            text = self.find(name).name
            made, _ = self._catalog.made_by([text])
            return made, self._catalog.used_by([text])[0], self._catalog.lineages(text)

    def listing(self, most: int) -> Listing:
        """Return the first arrays and how they were made, without looking at all there is."""
        with self._catalog.snapshot():
            arrays = self._catalog.first_arrays(most)
            operations, given = self._catalog.made_by([array.name for array in arrays])
            return Listing(arrays, operations, given, self._catalog.counts())

    def leaks(self) -> list[Leak]:
        """Return every place where values left tracking, in order."""
        return self._catalog.leaks()

    def stored(self, out: str, in_: str) -> list[StoredLineage]:
        """Return the lineages stored between two arrays as they lie there, without reading them."""
        return [self._engines.stored(edge.key) for edge in self._between(out, in_)]

    def load(self, out: str, in_: str) -> list[Lineage]:
        """Return the lineages stored between two arrays; none at all is an error."""
        return [self._engines.load(edge) for edge in self._between(out, in_)]

    def reuse_stats(self) -> list[OperationReuse]:
        """Return per operation how often it was reused, and what its signatures say."""
        return list(self._registrar.reuse.stats(self._catalog))

    def signatures(self) -> list[Signature]:
        """Return what reuse knows, to be given to another store."""
        return self._catalog.signatures()

    def add_signatures(self, signatures: Iterable[Signature]) -> None:
        """Take in what reuse is to know, in place of what it knew under the same keys."""
        with self._catalog.transaction() as transaction:
            for signature in signatures:
                transaction.put_signature(signature)

    def stats(self) -> dict[str, object]:
        """Return counts and sizes: ``lineage_bytes`` is lineage alone, ``store_bytes`` all."""
        names = (CATALOG, f"{CATALOG}-wal")
        paths = [self._path / name for name in names] if self._path else []
        catalog_bytes = sum(path.stat().st_size for path in paths if path.exists())
        totals = self._catalog.totals()
        return {
            "path": self._given,
            **totals,
            "catalog_bytes": catalog_bytes,
            "store_bytes": catalog_bytes + totals["file_bytes"],
        }

    # looking after it

    def verify(self, public_key: str | PathLike[str] | None = None) -> VerifyReport:
        """Re-read everything and check it; problems are reported, not raised.

        With a public key (Ed25519, in a PEM file) also that all there is was sealed with it.
        """
        found = verify(self._catalog, self._files)
        if public_key is None:
            return found
        problems = seal_problems(self._catalog, self._path, public_key)
        return replace(found, problems=(*found.problems, *problems))

    def seal(self, key: str | PathLike[str]) -> Seal:
        """Sign all that was committed with a private key: Ed25519, in a PEM file."""
        self.flush()
        end_own_run(self._catalog)
        if self._path is None:
            raise StoreError("a store in memory can't be sealed: it has no directory")
        return sign(self._catalog, self._path, key)

    def gc(self, *, force: bool = False) -> GcReport:
        """Remove files left behind by writers that never committed.

        Files younger than an hour may belong to a running writer and stay, unless ``force``.
        """
        return collect_garbage(self._catalog, self._files, force=force)

    def close(self) -> None:
        """Close the store; closing twice is fine."""
        end_own_run(self._catalog)
        self._catalog.close()
        self._files.close()
        self._engines.cache.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None:
            self.flush()
            end_own_run(self._catalog, error)
        self.close()

    def __repr__(self) -> str:
        return f"Store({self._given!r})"

    def _plan(self, path: Sequence[str], query: object) -> tuple[Plan, Cells]:
        array, plan = self._planner.plan(check_path(path))
        return plan, self._engines.cells(query, array)

    def _walk(
        self,
        array: str,
        query: object,
        to: str,
        direction: Direction,
        engine: str,
        influence: Influence,
    ) -> CellSet:
        check_engine(engine)
        if influence not in (False, True, "only"):
            raise ArgumentError(f"influence is True, False or 'only', not {influence!r}")
        with pair_named(array, to):
            return self._walk_between(array, query, to, direction, engine, influence)

    def _walk_between(
        self,
        array: str,
        query: object,
        to: str,
        direction: Direction,
        engine: str,
        influence: Influence,
    ) -> CellSet:
        source = find_array(array, self._catalog)
        target = find_array(to, self._catalog)
        cells = self._engines.cells(query, source)
        ends = (source.name, target.name)
        with self._catalog.snapshot():
            only = influence == "only"
            both = Both(self._catalog, direction, only=only)
            last = both.decided(target.name) if only else target.name
            walk = plan_walk(source.name, last, direction, both if influence else self._catalog)
            back = direction is Direction.BACKWARD
            lost = leaky(self._catalog.leaks_between(*(reversed(ends) if back else ends)))
            if walk is None and lost.complete and not influence:
                check_direction(*ends, direction, self._catalog)
        if walk is None:
            found = CellSet.empty(target.shape).with_labels(cells.labels)
        else:
            found = run_walk(walk, last, cells, self._engines.loader(engine))
        return found.with_labels(found.labels.joined(lost))

    def _between(self, out: str, in_: str) -> Sequence[Edge]:
        for name in (out, in_):
            find_array(name, self._catalog)
        edges = self._catalog.between(out, in_)
        if not edges:
            raise NotFoundError(
                f"no lineage is stored with {out!r} as output and {in_!r} as input; "
                f"store.lineages() lists the pairs"
            )
        return edges


def end_own_run(catalog: SqliteCatalog, error: BaseException | None = None) -> None:
    """Say that this process's run is over, for now; where that can't be written, it is seen."""
    if not catalog.is_closed:
        with suppress(StoreError):
            catalog.end_process(failure() if error is None else error)


@dataclass
class OpenRun:
    """A run, for the length of a ``with`` block."""

    store: LineageStore
    name: str
    params: Mapping[str, object]

    def __enter__(self) -> "RunView":
        self.store.flush()
        info = self.store._catalog.begin_run(self.name, self.params)  # noqa: SLF001 (its other half)
        return RunView(self.store, info)

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self.store.flush()
        self.store._catalog.end_run(error)  # noqa: SLF001 (its other half)


@dataclass(frozen=True)
class RunView:
    """One run of a store: ``store.run(41)["total"]`` is what its ``total`` is called anywhere."""

    store: LineageStore
    _info: RunInfo

    @property
    def number(self) -> int:
        """The run's number."""
        return self._info.number

    @property
    def info(self) -> RunInfo:
        """All that is known of it, as it is now."""
        return find_run(self.number, self.store._catalog)  # noqa: SLF001 (its other half)

    def __getitem__(self, name: str) -> str:
        return find_array(f"{name}@{self.number}", self.store._catalog).name  # noqa: SLF001

    def arrays(self) -> list[ArrayInfo]:
        """Return the arrays that it made."""
        return [array for array in self.store.arrays() if array.run == self.number]

    def operations(self) -> list[Operation]:
        """Return its operations, in order."""
        return self.store._catalog.operations_of(self.number)[0]  # noqa: SLF001 (its other half)

    def sources(self) -> list[Reading]:
        """Return what it read."""
        return self.store.sources(self.number)

    def prov_query(self, path: Sequence[str], query: object, **options: Any) -> CellSet:
        """Ask as ``store.prov_query`` does, of this run's arrays."""
        return self.store.prov_query([self[name] for name in path], query, **options)

    def backward(self, array: str, query: object, to: str, **options: Any) -> CellSet:
        """Ask as ``store.backward`` does, of this run's arrays."""
        return self.store.backward(self[array], query, self[to], **options)

    def forward(self, array: str, query: object, to: str, **options: Any) -> CellSet:
        """Ask as ``store.forward`` does, of this run's arrays."""
        return self.store.forward(self[array], query, self[to], **options)
