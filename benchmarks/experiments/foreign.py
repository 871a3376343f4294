"""Functions of other libraries, and small programs, on tracked arrays.

Each is run on plain and on tracked arrays, with the libraries watched and unwatched. Values must be
the same, bit for bit. Then each input cell is changed, and the store is asked: what changes must be
in its answers, or the answers must say that cells may be missing.

``python -m benchmarks.experiments.foreign [TEXT]...`` shows calls that have a text in them.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

import dslog
from benchmarks.experiment import Experiment, Setting, Target
from benchmarks.workloads.foreign_functions import (
    arrays_for,
    calls,
    compiled,
    make_arrays,
    names_for,
)
from benchmarks.workloads.foreign_scripts import PROGRAMS
from benchmarks.workloads.influence import (
    Influence,
    Leaf,
    Outcome,
    Run,
    influence,
    leaves_of,
    message_of,
    outcome_of,
    same_bits,
    seed,
)
from dslog.capture.store import Store
from dslog.types import Mask

Verdict = Literal["exact", "superset", "incomplete", "SILENT", "WRONG", "VALUES"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
PROGRAM = "programs"
LEAST_CALLS, LEAST_EXACT = 200, 150


@dataclass(frozen=True, slots=True)
class Subject:
    """Something to run: a call or a program, with the names of the arrays that it takes."""

    library: str
    name: str
    arrays: tuple[str, ...]
    run: Run


@dataclass(frozen=True, slots=True)
class ForeignRow:
    """What was found of one call; ``unwatched`` is what was found without watching libraries.

    ``pairs`` counts cells that change together, ``beyond`` those that the answers have beside
    these; ``decided`` those that only a change large enough to turn a decision around shows, and
    that the answers do not have. ``why`` says why it is not exact.
    """

    library: str
    call: str
    watched: Verdict
    unwatched: Verdict
    pairs: int
    beyond: int
    decided: int
    why: str
    why_unwatched: str


@dataclass(slots=True)
class Finding:
    """What is known so far of one run."""

    verdict: Verdict = "exact"
    why: dict[str, None] = field(default_factory=dict)
    pairs: int = 0
    beyond: int = 0
    decided: int = 0

    def add(self, verdict: Verdict, why: str = "") -> None:
        """Judge one more thing: the worst counts."""
        self.verdict = max(self.verdict, verdict, key=VERDICTS.index)
        if why:
            self.why[why] = None

    @property
    def reason(self) -> str:
        """Why it is what it is."""
        return "; ".join(list(self.why)[:3]) + ("; ..." if len(self.why) > 3 else "")


# what is run


def subjects() -> Iterator[Subject]:
    """Give every call of a library that is installed, and every program."""
    for library, line in calls():
        code = compiled(line)
        yield Subject(library, line, arrays_for(code), partial(_evaluate, code, names_for(code)))
    for program in PROGRAMS:
        names = tuple(inspect.signature(program).parameters)
        yield Subject(PROGRAM, program.__name__, names, partial(_call, program))


def _evaluate(code: Any, names: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    return eval(code, {**names, **values})  # noqa: S307 (the lines are ours)


def _call(program: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    return program(**values)


def sample(every: Sequence[Subject], number: int) -> list[Subject]:
    """Choose evenly among all of them, the same ones each time."""
    if number >= len(every):
        return list(every)
    return [every[place * len(every) // number] for place in range(number)]


# what is found


def examine(subject: Subject, plain: Outcome, nudges: Influence) -> Finding:
    """Run something on tracked arrays, and compare with what is known of it."""
    found = Finding()
    try:
        _run_and_ask(found, subject, plain, nudges)
    except dslog.DslogError as error:
        found.add("VALUES", f"the store fails: {message_of(error)[:120]}")
    return found


def _run_and_ask(found: Finding, subject: Subject, plain: Outcome, nudges: Influence) -> None:
    arrays = {name: array for name, array in make_arrays().items() if name in subject.arrays}
    with warnings.catch_warnings(record=True) as caught, dslog.open(":memory:") as store:
        warnings.simplefilter("always")
        values = {name: store.track(array.copy(), name) for name, array in arrays.items()}
        seed()
        try:
            with np.errstate(all="ignore"):
                leaves = leaves_of(subject.run(values))
        except Exception as error:  # noqa: BLE001 (what a run raises is what it gives)
            if message_of(error) != plain.error:
                text = message_of(error).replace("\n", " ")[:120]
                found.add("VALUES", f"{text} instead of {plain.error or 'values'}")
            return
        for name, value in values.items():
            if not same_bits(dslog.plain(value), arrays[name]):
                leaves[name] = value
        _compare(found, leaves, plain)
        if found.verdict != "VALUES":
            told = any(issubclass(one.category, dslog.LeakWarning) for one in caught)
            for way, leaf in leaves.items():
                _judge(found, store, way, leaf, nudges, told=told)


def _compare(found: Finding, leaves: Mapping[str, Leaf], plain: Outcome) -> None:
    """Compare values."""
    if plain.error:
        found.add("VALUES", f"no {plain.error}")
    elif list(leaves) != list(plain.leaves):
        ways = sorted(leaves.keys() ^ plain.leaves.keys())
        found.add("VALUES", f"other parts: {', '.join(ways)[:80]}")
    else:
        for way, leaf in leaves.items():
            value = _plain(leaf)
            if not same_bits(value, plain.leaves[way]):
                text = f"{way} is {_short(value)} instead of {_short(plain.leaves[way])}"
                found.add("VALUES", text)


def _plain(leaf: Leaf) -> Leaf:
    tracked = isinstance(leaf, np.ndarray) or type(leaf).__module__.startswith("dslog.")
    return dslog.plain(leaf) if tracked else leaf


def _short(value: Leaf) -> str:
    shape = f"{value.dtype}{list(value.shape)} " if isinstance(value, np.ndarray) else ""
    return f"{type(value).__name__} {shape}{value!r}"[:60].replace("\n", " ")


def _judge(
    found: Finding, store: Store, way: str, leaf: Leaf, nudges: Influence, *, told: bool
) -> None:
    """Compare what the store says of a leaf with what changed it."""
    name = store.name_of(leaf)
    for (place, source), moved in nudges.tiny.items():
        if place != way:
            continue
        found.pairs += int(moved.sum())
        by_decision = nudges.large[place, source]
        if name is not None:
            _judge_answers(found, store, (name, source), moved, by_decision)
        elif by_decision.any():
            moves = bool(moved.any()) and not isinstance(leaf, (str, bool))  # only looked at
            _judge_plain(found, store, (way, source), by_decision, told=told, moves=moves)


def _judge_plain(
    found: Finding, store: Store, ends: tuple[str, str], changed: Mask, *, told: bool, moves: bool
) -> None:
    """Judge a result without lineage: somebody has to have said so.

    If nothing but decisions changes it, it is enough that these are noted.
    """
    way, source = ends
    noted = [leak for leak in store.leaks() if _comes_from(store, leak.array, source)]
    lost = [leak for leak in noted if leak.loses]
    if lost:
        found.add("incomplete", _leak_text(lost[0]))
    elif told and not store.leaks():
        found.add("incomplete", "a warning alone")
    elif noted and not moves:
        found.decided += int(changed.sum())
    else:
        found.add("SILENT", f"{way} has no lineage, and no leak of {source} is noted")


def _leak_text(leak: Any) -> str:
    return f"{leak.way} inside {leak.inside}" if leak.inside else leak.way


def _comes_from(store: Store, array: str, source: str) -> bool:
    if array == source:
        return True
    shape = next(info.shape for info in store.arrays() if info.name == array)
    if 0 in shape:
        return False
    try:
        found = store.backward(array, np.ones(shape, bool), to=source)
    except dslog.PathError:
        return False
    return bool(found.count) or not found.complete


def _judge_answers(
    found: Finding, store: Store, ends: tuple[str, str], moved: Mask, by_decision: Mask
) -> None:
    """Judge what the store answers for every cell."""
    answers = answered(store, ends, moved.shape)
    missing = moved & ~answers.pairs
    if not answers.complete:
        leaks = [_leak_text(leak) for leak in answers.leaks]
        found.add("incomplete", "; ".join(dict.fromkeys(leaks)))
    elif missing.any():
        label = "exact" if answers.exact else "a superset"
        count = f"{int(missing.sum())} of {int(moved.sum())}"
        found.add("WRONG", f"{count} cells of {ends[1]} missing in {ends[0]}, called {label}")
    elif not answers.exact:
        loose = [info for info in store.operations() if not info.exact]
        for operation in loose:
            found.add("superset", f"{operation.name} is a superset")
        found.add("superset")
    else:
        found.beyond += int((answers.pairs & ~by_decision).sum())
        found.decided += int((by_decision & ~answers.pairs).sum())


@dataclass(slots=True)
class Answers:
    """The pairs that a store answers, and what it says of them."""

    pairs: Mask
    exact: bool = True
    complete: bool = True
    leaks: tuple[Any, ...] = ()


def answered(store: Store, ends: tuple[str, str], shape: tuple[int, ...]) -> Answers:
    """Ask for every cell of one of two arrays, the one that has fewer."""
    out, source = ends
    answers = Answers(np.zeros(shape, bool))
    if out == source:  # the result is the array that was given
        np.fill_diagonal(answers.pairs, val=True)
        return answers
    backward = shape[0] <= shape[1]
    pairs = answers.pairs if backward else answers.pairs.T
    sizes = {info.name: info.shape for info in store.arrays()}
    asked, to = (out, source) if backward else (source, out)
    ask = store.backward if backward else store.forward
    for place, cell in enumerate(np.ndindex(*sizes[asked])):
        try:
            cells = ask(asked, [cell] if cell else np.ones((), bool), to=to)
        except dslog.PathError:  # nothing leads there
            break
        pairs[place] = np.asarray(cells.mask()).reshape(-1)
        answers.exact &= cells.exact
        answers.complete &= cells.complete
        answers.leaks = tuple(dict.fromkeys((*answers.leaks, *cells.labels.leaks)))
    return answers


def survey(
    chosen: Iterable[Subject], tick: Callable[[str], None] = lambda _text: None
) -> Iterator[ForeignRow]:
    """Examine subjects, all of them with each way of looking before the next."""
    chosen = list(chosen)
    known: dict[str, tuple[Outcome, Influence]] = {}
    arrays = make_arrays()
    for subject in chosen:
        tick(f"plain: {subject.name}")
        mine = {name: arrays[name] for name in subject.arrays}
        plain = outcome_of(subject.run, mine)
        known[subject.name] = plain, influence(subject.run, mine, plain)
    unwatched = {}
    for subject in chosen:
        tick(f"unwatched: {subject.name}")
        unwatched[subject.name] = examine(subject, *known[subject.name])
    with dslog.watch("all"):
        for subject in chosen:
            tick(f"watched: {subject.name}")
            found, without = examine(subject, *known[subject.name]), unwatched[subject.name]
            yield ForeignRow(
                library=subject.library,
                call=subject.name,
                watched=found.verdict,
                unwatched=without.verdict,
                pairs=found.pairs,
                beyond=found.beyond,
                decided=found.decided,
                why=found.reason,
                why_unwatched=without.reason,
            )


def foreign_table(setting: Setting) -> Iterator[ForeignRow]:
    """Survey as many calls as the size has."""
    yield from survey(sample(list(subjects()), setting.size.foreign_calls), setting.tick)


def by_library(rows: Sequence[ForeignRow]) -> dict[str, Counter[str]]:
    """Count verdicts by library, and all of them."""
    found: dict[str, Counter[str]] = {}
    for row in rows:
        found.setdefault(row.library, Counter())[row.watched] += 1
    total: Counter[str] = Counter()
    for counts in found.values():
        total.update(counts)
    return {**found, "all": total}


def foreign_targets(rows: Sequence[ForeignRow]) -> Iterator[Target]:
    """Nothing is lost in silence, no value differs, and most answers are exact."""
    if not rows:
        return
    found: dict[str, Callable[[ForeignRow], tuple[Verdict, str]]] = {
        "watched": lambda row: (row.watched, row.why),
        "unwatched": lambda row: (row.unwatched, row.why_unwatched),
    }
    for how, judged in found.items():
        for verdict, what in _BAD.items():
            misses = [
                f"{row.library}: {row.call}: {judged(row)[1]}"
                for row in rows
                if judged(row)[0] == verdict
            ]
            share = f"{len(misses)} of {len(rows)}"
            yield Target(f"{how} library calls {what}", "-", "0", share, tuple(misses))
    counts = Counter(row.watched for row in rows)
    least = LEAST_EXACT if len(rows) >= LEAST_CALLS else len(rows) // 2
    yield Target(
        "library calls and programs on tracked arrays",
        "-",
        f"at least {LEAST_CALLS} run, {LEAST_EXACT} exact",
        f"{len(rows)}: " + ", ".join(f"{counts[v]} {v}" for v in VERDICTS if counts[v]),
        () if counts["exact"] >= least else (f"{counts['exact']} exact",),
    )


_BAD: Mapping[Verdict, str] = {
    "SILENT": "that lose lineage in silence",
    "WRONG": "with cells missing in complete answers",
    "VALUES": "with other values or errors",
}


EXPERIMENTS = (
    Experiment(
        "foreign",
        "Functions of other libraries, and small programs",
        "Each call on tracked arrays, with libraries watched and unwatched: its values beside "
        "those on plain arrays, and what the store answers beside what changes when one input "
        "cell does. Incomplete answers say so; silent ones do not, and wrong ones say that they "
        "have all cells.",
        foreign_table,
        ForeignRow,
        targets=foreign_targets,
        columns={
            "library": lambda r: r.library,
            "call": lambda r: r.call,
            "watched": lambda r: r.watched,
            "unwatched": lambda r: r.unwatched,
            "pairs": lambda r: f"{r.pairs:,}",
            "beyond": lambda r: f"{r.beyond:,}" if r.watched == "exact" else "-",
            "by decision": lambda r: f"{r.decided:,}",
            "why": lambda r: r.why,
        },
    ),
)


def main(texts: Sequence[str]) -> int:
    """Show what is found of calls with any of these texts in their names or libraries."""
    chosen = [
        subject
        for subject in subjects()
        if not texts or any(text in f"{subject.library}: {subject.name}" for text in texts)
    ]
    rows = list(survey(chosen))
    for row in rows:
        if texts or row.watched != "exact" or row.unwatched in _BAD:
            more = f" ({row.beyond} beyond, {row.decided} by decision)" if texts else ""
            print(f"{row.library}: {row.call}\n    {row.watched}{more} {row.why}")
            print(f"    unwatched: {row.unwatched} {row.why_unwatched}")
    print(f"{'':26}", *(f"{verdict:>10}" for verdict in VERDICTS))
    for library, counts in by_library(rows).items():
        print(f"{library:26}", *(f"{counts[verdict]:10}" for verdict in VERDICTS))
    bad = sum(row.watched in _BAD or row.unwatched in _BAD for row in rows)
    print(f"{bad} lose lineage in silence, or give something wrong")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
