"""The paper's coverage experiment (section VII, "Reuse and Compression Over numpy API").

For each of its 136 numpy operations, each with every set of arguments that the paper lists, an
operation is registered ``RUNS`` times with arrays of random shapes, and three things are asked:

- *compressed*: do all lineages together take less than half of the raw relations as CSV?
- *dim_sig*: after two calls of a shape with different values, is the third one answered?
- *gen_sig*: is a mapping found that answers calls of other shapes?

Each must hold for every set of arguments. Every answer is compared with a full capture at its
shape; one that differs is an *error*. Operations whose lineage depends on values must not be
answered by either signature, only by base_sig: the same operation on the same arrays.

``scripts/write_evaluation_page.py`` writes the table of all operations into the documentation.
"""

from __future__ import annotations

import itertools
import json
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.experiment import Experiment, Setting, Target
from benchmarks.workloads.numpy_call import Lineages, Shapes, call_numpy, values_for
from dslog.algebra.equal import same_lineage
from dslog.capture.store import open_store
from dslog.lineage.lineage import Lineage
from dslog.store.lineage_store import LineageStore

RUNS = 20
SMALLEST, LARGEST = 1, 99  # sizes, as in the paper's own runs
DATA = Path(__file__).parent / "numpy_ops.json"
_SAME_SHAPES = 3
_WRITTEN_OUT = 1 << 20  # pairs up to which a CSV's size is counted and not estimated


@dataclass(frozen=True, slots=True)
class ArgumentSet:
    """One way to call an operation: shapes with letters for free sizes, and keyword arguments."""

    inputs: Sequence[Sequence[int | str]]
    kwargs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NumpyOperation:
    """One of the 136, and what the paper reports of it."""

    name: str
    call: str
    element: bool
    paper_dim: bool
    paper_gen: bool
    sets: Sequence[ArgumentSet]


@dataclass(frozen=True, slots=True)
class CoverageRow:
    """What was found for one operation; ``share`` is of the raw relations as CSV."""

    operation: str
    element: bool
    sets: int
    share: float
    compressed: bool
    dim_sig: bool
    gen_sig: bool
    base_sig: bool
    paper_dim: bool
    paper_gen: bool
    answered: int
    calls: int
    errors: int
    why: str


@dataclass(slots=True)
class Tally:
    """What is counted while one operation is called."""

    operation: NumpyOperation
    lineage_bytes: int = 0
    csv_bytes: int = 0
    dim_sig: int = 0
    gen_sig: int = 0
    base_sig: int = 0
    answered: int = 0
    calls: int = 0
    by: Counter[str | None] = field(default_factory=Counter)  # calls by what answered them
    errors: list[str] = field(default_factory=list)
    refused: str = ""  # what reuse says of the operation where dim_sig does not answer

    @property
    def compressed(self) -> bool:
        """Whether the lineages take less than half of what they take as CSV."""
        return self.lineage_bytes < 0.5 * self.csv_bytes

    @property
    def has_dim(self) -> bool:
        """Whether dim_sig answered for every set of arguments."""
        return self.dim_sig == len(self.operation.sets)

    @property
    def has_gen(self) -> bool:
        """Whether gen_sig answered for every set of arguments."""
        return self.gen_sig == len(self.operation.sets)

    @property
    def why(self) -> str:
        """What the operation falls short of, and why; empty if of nothing."""
        found = [] if self.compressed else ["the cells it reads lie anywhere: no rows to merge"]
        if not self.has_dim:
            found.append(self.refused)
        if self.has_dim and not self.has_gen:
            found.append("no formula was found for some arguments")
        return "; ".join(found)

    def row(self) -> CoverageRow:
        """Return what was found."""
        operation = self.operation
        return CoverageRow(
            operation=operation.name,
            element=operation.element,
            sets=len(operation.sets),
            share=self.lineage_bytes / self.csv_bytes if self.csv_bytes else 0.0,
            compressed=self.compressed,
            dim_sig=self.has_dim,
            gen_sig=self.has_gen,
            base_sig=self.base_sig == len(operation.sets),
            paper_dim=operation.paper_dim,
            paper_gen=operation.paper_gen,
            answered=self.answered,
            calls=self.calls,
            errors=len(self.errors),
            why=self.why,
        )


def load_operations(path: Path = DATA) -> list[NumpyOperation]:
    """Read the operations."""
    listed = json.loads(path.read_text(encoding="utf-8"))["operations"]
    return [
        NumpyOperation(
            item["name"],
            item["call"],
            item["category"] == "element",
            item["paper"]["dim_sig"],
            item["paper"]["gen_sig"],
            [one for case in item["cases"] for one in _argument_sets(case)],
        )
        for item in listed
    ]


def _argument_sets(case: Mapping[str, Any]) -> Iterator[ArgumentSet]:
    names = list(case["kwargs"])
    for values in itertools.product(*(case["kwargs"][name] for name in names)):
        yield ArgumentSet(case["inputs"], dict(zip(names, values, strict=True)))


def measure(operation: NumpyOperation, runs: int = RUNS, seed: int = 0) -> Tally:
    """Run the experiment for one operation."""
    tally = Tally(operation)
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        _try_shapes(tally, runs, rng)
        for arguments in operation.sets:
            tally.dim_sig += _try_values(tally, arguments, rng)
            tally.base_sig += _try_again(tally, arguments, rng)
    return tally


def _try_shapes(tally: Tally, runs: int, rng: np.random.Generator) -> None:
    """Call with ever other shapes, the sets of arguments in turn; count those gen_sig answers."""
    hits = [0] * len(tally.operation.sets)
    with open_store(":memory:") as store:
        for _, (place, arguments) in itertools.product(
            range(runs), enumerate(tally.operation.sets)
        ):
            one = OneCall.draw(tally.operation, arguments, rng)
            _weigh(tally, one.lineages)
            hits[place] += one.register(store, tally) == "gen_sig"
    tally.gen_sig = sum(count > 0 for count in hits)
    tally.answered = sum(hits)
    tally.calls = runs * len(hits)


def _try_values(tally: Tally, arguments: ArgumentSet, rng: np.random.Generator) -> bool:
    """Call with the same shapes and other values; whether dim_sig answers in the end."""
    one = OneCall.draw(tally.operation, arguments, rng, range(8, LARGEST + 1))
    with open_store(":memory:") as store:
        found = one.register(store, tally)
        for _ in range(_SAME_SHAPES):
            one = one.with_other_values(rng)
            found = one.register(store, tally)
        if found != "dim_sig":
            tally.refused = _reason(store)
        return found == "dim_sig"


def _try_again(tally: Tally, arguments: ArgumentSet, rng: np.random.Generator) -> bool:
    """Call twice with the same arrays; whether base_sig answers."""
    one = OneCall.draw(tally.operation, arguments, rng)
    with open_store(":memory:") as store:
        one.register(store, tally)
        return one.register(store, tally, new_inputs=False) == "base_sig"


def _reason(store: LineageStore) -> str:
    lines = [
        line
        for operation in store.reuse_stats()
        for signature in operation.signatures
        for line in signature.formulas
        if signature.state == "not reusable" or signature.kind == "first_calls"
    ]
    return lines[-1] if lines else "the output's shape depends on values"


@dataclass(frozen=True)
class OneCall:
    """A numpy call with its lineage, ready to be registered."""

    operation: NumpyOperation
    shapes: Shapes
    kwargs: Mapping[str, Any]
    outputs: Shapes
    lineages: Lineages

    @classmethod
    def draw(
        cls,
        operation: NumpyOperation,
        arguments: ArgumentSet,
        rng: np.random.Generator,
        sizes: Sequence[int] = range(SMALLEST, LARGEST + 1),
    ) -> OneCall:
        """Call with random values in arrays of random shapes."""
        letters: dict[str, int] = {}

        def size(item: int | str) -> int:
            if isinstance(item, int):
                return item
            return letters.setdefault(item, sizes[int(rng.integers(len(sizes)))])

        shapes = tuple(tuple(map(size, shape)) for shape in arguments.inputs)
        kwargs: dict[str, Any] = {
            name: tuple(map(size, value)) if isinstance(value, list) else value
            for name, value in arguments.kwargs.items()
        }
        for name, value in kwargs.items():
            if value == "index":
                kwargs[name] = int(rng.integers(shapes[0][kwargs["axis"]]))
        return cls._run(operation, shapes, kwargs, rng)

    @classmethod
    def _run(
        cls,
        operation: NumpyOperation,
        shapes: Shapes,
        kwargs: Mapping[str, Any],
        rng: np.random.Generator,
    ) -> OneCall:
        arrays = values_for(operation.name, shapes, rng)
        called = call_numpy(operation.call, arrays, kwargs)
        return cls(operation, shapes, kwargs, called.outputs, called.lineages)

    def with_other_values(self, rng: np.random.Generator) -> OneCall:
        """Call with the same shapes."""
        return self._run(self.operation, self.shapes, self.kwargs, rng)

    def register(
        self, store: LineageStore, tally: Tally, *, new_inputs: bool = True, blind: bool = False
    ) -> str | None:
        """Register the call, and check whatever answered it; return the signature.

        A ``blind`` call has no capture to be compared with: what can't be answered raises.
        """
        number = len(store.operations())
        first = number if new_inputs else 0
        ins = [store.array(f"in{first}_{k}", s).name for k, s in enumerate(self.shapes)]
        outs = [store.array(f"out{number}_{k}", s).name for k, s in enumerate(self.outputs)]
        found = store.register_operation(
            self.operation.name,
            ins,
            outs,
            None if blind else self.lineages,
            op_args=self.kwargs,
        )
        tally.by[found.reused] += 1
        if found.reused is not None:
            pairs = itertools.product(outs, ins)
            for (out, in_), lineage in zip(pairs, self.lineages, strict=True):
                stored = [i.body for i in store.lineages() if (i.out, i.in_) == (out, in_)]
                reused = store.load(out, in_)[0] if stored else None
                if not same_lineage(reused, lineage):
                    tally.errors.append(f"{found.reused} {self.shapes} {dict(self.kwargs)}")
        return found.reused


def _weigh(tally: Tally, lineages: Lineages) -> None:
    for lineage in lineages:
        if lineage is not None:
            tally.lineage_bytes += lineage.nbytes
            tally.csv_bytes += csv_size(lineage)


def csv_size(lineage: Lineage) -> int:
    """Return the bytes of the raw relation as CSV; of a large one, by the mean length of a row."""
    shape = lineage.out_shape + lineage.in_shape
    pairs = lineage.most_pairs
    if pairs > _WRITTEN_OUT:
        means = [float(_digits(np.arange(size)).mean()) for size in shape]
        return int(pairs * (sum(means) + len(shape)))
    relation = lineage.to_relation()
    return int(_digits(relation).sum() + relation.size)


def _digits(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    found = np.ones(numbers.shape, np.int64)
    for power in range(1, 10):
        found += numbers >= 10**power
    return found


def coverage_table(setting: Setting) -> Iterator[CoverageRow]:
    """Run the experiment for every operation."""
    for operation in load_operations():
        setting.tick(operation.name)
        yield measure(operation, setting.size.coverage_runs).row()


def kinds(rows: Sequence[CoverageRow]) -> dict[str, Sequence[CoverageRow]]:
    """Gather rows as the paper does."""
    return {
        "element": [row for row in rows if row.element],
        "complex": [row for row in rows if not row.element],
        "total": rows,
    }


def counts(rows: Sequence[CoverageRow]) -> tuple[int, int, int, int, int]:
    """Return a line of the paper's table: operations, compressed, dim_sig, gen_sig, errors."""
    return (
        len(rows),
        sum(row.compressed for row in rows),
        sum(row.dim_sig for row in rows),
        sum(row.gen_sig for row in rows),
        sum(row.errors > 0 for row in rows),
    )


def coverage_targets(rows: Sequence[CoverageRow]) -> Iterator[Target]:
    """All operations but those that depend on values, and no errors."""
    if not rows:
        return
    _, *found = counts(rows)
    names = ("compressed", "dim_sig", "gen_sig")
    short = [f"{n}: {value} of 126" for n, value in zip(names, found, strict=False) if value < 126]
    wrong = [f"{found[-1]} errors"] if found[-1] else []
    yield Target(
        "numpy operations compressed / dim_sig / gen_sig / errors, of 136",
        "130 / 126 / 99 / 1",
        "126 value-independent ones in all three, 0 errors",
        " / ".join(map(str, found)),
        (*short, *wrong),
    )


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


EXPERIMENTS = (
    Experiment(
        "coverage",
        "numpy operations: compression and reuse",
        "The paper's 136 numpy operations, each with every set of arguments, called with arrays of "
        "random shapes: whether all lineages together take less than half of the raw relations as "
        "CSV, whether a call of a known shape is answered (dim_sig), and of any shape (gen_sig). "
        "The paper's finding for an operation stands in brackets.",
        coverage_table,
        CoverageRow,
        targets=coverage_targets,
        columns={
            "operation": lambda r: r.operation,
            "sets": lambda r: r.sets,
            "of CSV": lambda r: f"{r.share:.2%}",
            "compressed": lambda r: _yes(r.compressed),
            "dim_sig": lambda r: f"{_yes(r.dim_sig)} ({_yes(r.paper_dim)})",
            "gen_sig": lambda r: f"{_yes(r.gen_sig)} ({_yes(r.paper_gen)})",
            "base_sig": lambda r: _yes(r.base_sig),
            "answered": lambda r: f"{r.answered}/{r.calls}",
            "errors": lambda r: r.errors,
            "falls short because": lambda r: r.why,
        },
    ),
)
