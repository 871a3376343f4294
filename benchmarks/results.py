"""A run: experiments one after the other, what they found as JSON, and two runs compared."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.experiment import Experiment, Kind, Setting, Target
from benchmarks.experiments import (
    capture,
    compress,
    coverage,
    foreign,
    load,
    queries,
    reuse,
    scale,
    small_calls,
    sql,
    storage,
    tables,
)
from benchmarks.machine import describe_machine
from benchmarks.size import Size
from dslog.errors import DslogError, did_you_mean

FORMAT = 2
SIZE_TOLERANCE = 0.01
TIME_TOLERANCE = 0.5  # on a shared machine, half as much again is noise

_MODULES = (
    *(storage, queries, coverage, capture, small_calls, scale, compress, reuse, tables, sql),
    foreign,
    load,
)
EXPERIMENTS: Mapping[str, Experiment[Any]] = {
    one.name: one for one in chain.from_iterable(module.EXPERIMENTS for module in _MODULES)
}
"""By name; those of the paper first."""


class ExperimentError(DslogError, ValueError):
    """An experiment that does not exist."""


class ResultsError(DslogError, ValueError):
    """A file of results that can't be read."""


@dataclass(slots=True)
class Results:
    """All rows of a run by experiment; one that was left out has none."""

    size: str
    machine: Mapping[str, str]
    rows: dict[str, list[Any]] = field(default_factory=dict)

    def of(self, experiment: str) -> list[Any]:
        """Return the rows of an experiment."""
        return self.rows.get(experiment, [])

    def targets(self) -> list[Target]:
        """Judge the targets that the run measured."""
        return [t for name, one in EXPERIMENTS.items() for t in one.targets(self.of(name))]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        rows = {name: [asdict(row) for row in self.of(name)] for name in EXPERIMENTS}
        return {"format": FORMAT, "size": self.size, "machine": self.machine, **rows}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Results:
        """Undo ``to_json``; the first format kept the coverage as a table of texts."""
        rows = {
            name: [one.read(**row) for row in data.get(name, ())]
            for name, one in EXPERIMENTS.items()
            if name != "coverage" or data["format"] > 1
        }
        return cls(data["size"], data["machine"], rows)

    def write(self, path: Path) -> None:
        """Write a JSON file."""
        path.write_text(json.dumps(self.to_json(), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Results:
        """Read a JSON file that ``write`` wrote."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ResultsError(f"can't read {path}: {error}") from error
        except ValueError as error:
            raise ResultsError(f"{path} is not JSON: {error}") from error
        if not isinstance(data, dict) or data.get("format") not in range(1, FORMAT + 1):
            msg = f"{path} holds no results of this version: make them with python -m benchmarks"
            raise ResultsError(msg)
        try:
            return cls.from_json(data)
        except (KeyError, TypeError) as error:
            msg = f"{path} lacks something that results have ({error}): make it anew"
            raise ResultsError(msg) from error


def check_experiments(names: Sequence[str]) -> tuple[str, ...]:
    """Return the experiments to run, all of them when none is named."""
    for name in names:
        if name not in EXPERIMENTS:
            hint = did_you_mean(name, EXPERIMENTS)
            known = ", ".join(EXPERIMENTS)
            raise ExperimentError(f"there is no experiment {name!r}: choose from {known}.{hint}")
    return tuple(name for name in EXPERIMENTS if not names or name in names)


def run(
    size: Size,
    names: Sequence[str] = (),
    *,
    say: Callable[[str, str], None] = lambda _name, _text: None,
    shared: Path | None = None,
    scratch: Path | None = None,
) -> Results:
    """Run experiments; ``say`` hears which is at what, ``scratch`` is for temporary files."""
    chosen = check_experiments(names)
    results = Results(size.name, describe_machine())
    with tempfile.TemporaryDirectory(prefix="dslog-bench-", dir=scratch) as folder:
        for name in chosen:

            def tick(text: str, name: str = name) -> None:
                say(name, text)

            setting = Setting(size, Path(folder), shared, tick)
            results.rows[name] = list(EXPERIMENTS[name].measure(setting))
            say(name, "")
    return results


@dataclass(frozen=True, slots=True)
class Change:
    """One ratio in two runs."""

    name: str
    kind: Kind
    old: float
    new: float
    regressed: bool


def compare(
    old: Results,
    new: Results,
    size_tolerance: float = SIZE_TOLERANCE,
    time_tolerance: float = TIME_TOLERANCE,
) -> Iterator[Change]:
    """Give every ratio that both runs have; one that is missing in the new run got worse.

    A ratio regressed when it grew by more than its tolerance. Runs of different sizes compare
    different operations, so only their common names are looked at; so are runs of which the new
    one left an experiment out.
    """
    for name, experiment in EXPERIMENTS.items():
        before, after = (
            {ratio.name: ratio for ratio in experiment.ratios(results.of(name))}
            for results in (old, new)
        )
        for key, ratio in before.items():
            tolerance = size_tolerance if ratio.kind == "bytes" else time_tolerance
            if key in after:
                value = after[key].value
                worse = value > ratio.value * (1 + tolerance)
                yield Change(key, ratio.kind, ratio.value, value, regressed=worse)
            elif old.size == new.size and new.of(name):
                yield Change(key, ratio.kind, ratio.value, float("inf"), regressed=True)
