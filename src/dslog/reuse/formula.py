"""A form as people write it: ``out[i, j] <- in[D0-1-i, j]``.

``i, j, k ...`` run over the output's axes, ``D0, D1 ...`` are the sizes of the input's axes, and
``:`` is a whole axis. A range is written as in Python, without its end. ``out.flat[p]`` is a cell
by its place in C order. ``statistics`` says what reuse did, per operation.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dslog.reuse.form import Form
from dslog.reuse.key import open_names, read_key
from dslog.reuse.signature import FIRST, GEN, NOT_REUSABLE, TRACKED, FirstCalls, General
from dslog.reuse.skeleton import size_names
from dslog.store.catalog import OperationReuse, Signature, SignatureInfo
from dslog.types import Json

Row = tuple[dict[int, str], dict[int, str], list[str]]  # outputs, inputs, conditions

_LETTERS = "ijklmn"
_MOST_LINES = 12
_NAME = re.compile(r"([iox])(\d+)(?:_(\d+))?")


def formulas(form: Form, arguments: Sequence[str] = ()) -> list[str]:
    """Return a line per row of a form; ``arguments`` are the names of its open arguments."""
    inputs, outputs = form.seen[0].inputs, form.seen[0].outputs
    numbers = iter([texts[0] for texts in form.numbers])
    lines = []
    pairs = itertools.product(range(len(outputs)), range(len(inputs)))
    for (o, i), item in zip(pairs, form.skeleton, strict=True):
        names = _Names(o, i, len(outputs), len(inputs), tuple(arguments))
        if item is None or not item["t"]:
            lines.append(f"{names.out} <- nothing of {names.inp}")
            continue
        for term in item["t"]:
            factors = [list(_rows(factor, item, names, numbers)) for factor in term]
            found = [
                _line(rows, names, len(outputs[o]), len(inputs[i]))
                for rows in itertools.islice(itertools.product(*factors), _MOST_LINES + 1)
            ]
            lines += found[:_MOST_LINES] + ["..."] * (len(found) > _MOST_LINES)
    return lines


@dataclass(frozen=True, slots=True)
class _Names:
    """How arrays and sizes are called where one output and one input are spoken of."""

    output: int
    input: int
    outputs: int
    inputs: int
    arguments: tuple[str, ...]

    @property
    def out(self) -> str:
        return "out" if self.outputs == 1 else f"out{self.output}"

    @property
    def inp(self) -> str:
        return "in" if self.inputs == 1 else f"in{self.input}"

    def tell(self, text: str) -> str:
        """Write an expression with the names that people see.

        >>> _Names(0, 0, 1, 1, ()).tell("o0_1-i0_1+3")
        'out.D1-D1+3'
        """
        return _NAME.sub(self._name, text)

    def _name(self, match: re.Match[str]) -> str:
        side, number, axis = match[1], int(match[2]), match[3]
        if side == "x":
            return self.arguments[number] if number < len(self.arguments) else f"x{number}"
        if side == "i":
            return f"D{axis}" if number == self.input else f"in{number}.D{axis}"
        return f"{'out' if self.outputs == 1 else f'out{number}'}.D{axis}"


@dataclass(frozen=True, slots=True)
class _Fold:
    """A fold of a row, solved for the output axis that walks with it where there is one."""

    count: str
    steps: Mapping[int, str]
    turn: str


def _rows(factor: Json, item: Json, names: _Names, numbers: Iterator[str]) -> Iterator[Row]:
    """Write the rows of a factor, axis by axis."""
    flat = factor.get("flat", "")
    outs = [-1] if "b" in flat else factor["b"]
    ins = [-1] if "a" in flat else factor["a"]
    l, m = len(outs), len(ins)
    sides = (f"o{names.output}_", f"i{names.input}_")
    absolute, relative = sides[::-1] if item.get("forward") else sides
    out_sizes = size_names(absolute, factor["b"], flat="b" in flat)
    in_sizes = size_names(relative, factor["a"], flat="a" in flat)
    for ref, *moving in factor["r"]:
        row = [next(numbers) for _ in range(2 * (l + m))]
        folds = [
            (next(numbers), {column: next(numbers) for column in columns}) for columns in moving
        ]
        yield _row(row, ref, folds, (outs, ins, out_sizes, in_sizes), names)


def _row(
    row: Sequence[str],
    ref: Sequence[int],
    folds: Sequence[tuple[str, Mapping[int, str]]],
    axes: tuple[Sequence[int], Sequence[int], Sequence[str], Sequence[str]],
    names: _Names,
) -> Row:
    outs, ins, out_sizes, in_sizes = axes
    l, m = len(outs), len(ins)
    letters = [_letter(axis) for axis in outs]
    solved = [_solve(fold, place, row, letters, names) for place, fold in enumerate(folds)]
    conditions = []
    written: dict[int, str] = {}
    for j, letter in enumerate(letters):
        walks = [f for f in solved if j in f.steps or l + j in f.steps]
        along = next((f for f in walks if letter in f.turn), None)
        if along is not None:
            conditions += _limits(letter, row[j], along, out_sizes[j], names)
            written[outs[j]] = letter
        elif walks:
            ends = [_moved(row[c], c, solved, names) for c in (j, l + j)]
            written[outs[j]] = _range(ends, out_sizes[j], names)
        else:
            whole = row[j] == "0" and row[l + j] in (f"{out_sizes[j]}-1", f"({out_sizes[j]})-1")
            limit = f"{letter} in [{names.tell(row[j])}, {names.tell(row[l + j])}]"
            if row[j] == row[l + j]:
                limit = f"{letter} = {names.tell(row[j])}"
            conditions += [] if whole else [limit]
            written[outs[j]] = letter
    for fold in solved:
        if fold.turn.startswith("t"):
            conditions.append(f"{fold.turn} in [0, {names.tell(fold.count)}-1]")
    reads: dict[int, str] = {}
    for n, (axis, r) in enumerate(zip(ins, ref, strict=True)):
        ends = [_moved(row[c], c, solved, names) for c in (2 * l + n, 2 * l + m + n)]
        if r >= 0:
            ends = [_sum(letters[r], end) for end in ends]
        reads[axis] = _range([_shorter(end) for end in ends], in_sizes[n], names)
    return written, reads, conditions


def _letter(axis: int) -> str:
    return "p" if axis < 0 else _LETTERS[axis] if axis < len(_LETTERS) else f"i{axis}"


def _solve(
    fold: tuple[str, Mapping[int, str]],
    place: int,
    row: Sequence[str],
    letters: Sequence[str],
    names: _Names,
) -> _Fold:
    """Write the turn of a fold by the output axis that it walks along, if it walks one alone."""
    count, steps = fold
    l = len(letters)
    walking = sorted({column % l for column in steps if column < 2 * l}) if l else []
    turn = f"t{place}"
    if len(walking) == 1:
        j = walking[0]
        step = steps.get(j)
        if step is not None and step == steps.get(l + j):
            start = names.tell(row[j])
            along = letters[j] if start == "0" else f"({letters[j]}-{_grouped(start)})"
            if step == "1" and row[j] == row[l + j]:
                turn = along
            elif row[l + j] in (f"{step}-1", str(int(step) - 1) if step.isdigit() else ""):
                turn = f"({along}//{_grouped(names.tell(step))})"
    return _Fold(count, steps, turn)


def _limits(letter: str, low: str, fold: _Fold, size: str, names: _Names) -> list[str]:
    """Say where on its axis a fold walks, unless it walks all of it."""
    if "//" in fold.turn.removeprefix("(") and low == "0":
        return []
    if low == "0":
        return [] if fold.count == size else [f"{letter} < {names.tell(fold.count)}"]
    start = names.tell(low)
    return [f"{start} <= {letter} < {_sum(start, names.tell(fold.count))}"]


def _moved(start: str, column: int, folds: Sequence[_Fold], names: _Names) -> str:
    """Write a number with what the folds add to it."""
    text = names.tell(start)
    for fold in folds:
        step = fold.steps.get(column)
        if step == "1":
            text = _sum(fold.turn, text)
        elif step == "-1":
            text = f"-{fold.turn}" if text == "0" else f"{text}-{fold.turn}"
        elif step is not None:
            sign, size = ("-", step[1:]) if step.startswith("-") else ("", step)
            scaled = f"{_grouped(names.tell(size))}*{fold.turn}"
            if re.fullmatch(r"-?\d+", text):
                text = _sum(f"{sign}{scaled}", text)
            else:
                text = f"{text}{sign or '+'}{scaled}"
    return text


_REST = re.compile(r"\b(\w+)-([\w.]+)\*\(\1//\2\)")


def _shorter(text: str) -> str:
    """Write remainders as such, and no brackets around a whole text.

    >>> _shorter("i-D1*(i//D1)"), _shorter("(i//D1)")
    ('i%D1', 'i//D1')
    """
    text = _REST.sub(r"\1%\2", text)
    return text[1:-1] if re.fullmatch(r"\([^()]*\)", text) else text


def _grouped(text: str) -> str:
    return text if re.fullmatch(r"[\w.]+", text) else f"({text})"


def _sum(first: str, second: str) -> str:
    if second == "0":
        return first
    return f"{first}{second}" if second.startswith("-") else f"{first}+{second}"


def _range(ends: Sequence[str], size: str, names: _Names) -> str:
    low, high = ends
    if low == high:
        return low
    if low == "0" and high in (f"{names.tell(size)}-1", f"({names.tell(size)})-1"):
        return ":"
    end = re.sub(r"-1$", "", high) if re.search(r"[^-*/%]-1$", high) else _sum(high, "1")
    plus = re.fullmatch(r"(.*)\+(\d+)", high)
    if plus:
        end = f"{plus[1]}+{int(plus[2]) + 1}"
    elif high.isdigit():
        end = str(int(high) + 1)
    return f"{low}:{end}"


def _line(rows: Sequence[Row], names: _Names, out_axes: int, in_axes: int) -> str:
    outs: dict[int, str] = {}
    ins: dict[int, str] = {}
    conditions: list[str] = []
    for out, inp, more in rows:
        outs.update(out)
        ins.update(inp)
        conditions += more
    line = f"{_index(names.out, outs, out_axes)} <- {_index(names.inp, ins, in_axes)}"
    return f"{line} for {', '.join(conditions)}" if conditions else line


def _index(name: str, axes: Mapping[int, str], count: int) -> str:
    """Write an array with an index; axes in linear order stand together."""
    if -1 in axes:
        others = [f"axis {axis}: {axes[axis]}" for axis in sorted(axes) if axis >= 0]
        return f"{name}.flat[{', '.join([*others, axes[-1]])}]"
    return f"{name}[{', '.join(axes.get(axis, ':') for axis in range(count))}]"


def statistics(signatures: Iterable[Signature], agreeing: int) -> list[OperationReuse]:
    """Sum up signatures by operation, in the order of names."""
    groups: dict[str, list[Signature]] = {}
    for signature in signatures:
        groups.setdefault(read_key(signature.key)[0], []).append(signature)
    return [
        OperationReuse(
            name,
            sum(one.hits for one in group),
            sum(one.misses for one in group),
            sum(one.refusals for one in group),
            sum(one.saved for one in group),
            tuple(describe_signature(one, agreeing) for one in group),
        )
        for name, group in sorted(groups.items())
    ]


def describe_signature(signature: Signature, agreeing: int = 1) -> SignatureInfo:
    """Say what a signature is for and what it knows."""
    _, args, rest = read_key(signature.key)
    lines: tuple[str, ...] = ()
    if signature.kind == GEN or (signature.kind == TRACKED and signature.content):
        lines = tuple(_lines(signature, args, agreeing))
    elif signature.kind == FIRST and FirstCalls.from_json(signature.content).values:
        lines = ("depends on values: only calls on the same arrays are reused",)
    return SignatureInfo(
        signature.kind,
        signature.state,
        args,
        _shapes(signature.kind, rest),
        lines,
        signature.hits,
        signature.misses,
        signature.refusals,
        signature.saved,
    )


def _lines(signature: Signature, args: Json, agreeing: int) -> list[str]:
    general = General.from_json(signature.content)
    if signature.state == NOT_REUSABLE:
        return ["no formula fits the calls seen"]
    names = open_names(args)
    forms = general.permanent(agreeing) or general.forms
    return [line for form in forms for line in formulas(form, names)]


def _shapes(kind: str, rest: Json) -> str:
    if kind in (FIRST, GEN, TRACKED):
        inputs, outputs = (", ".join(f"{rank}-d" for rank in ranks) for ranks in rest)
        return f"{inputs} -> {outputs}"
    if kind == "dim_sig":
        inputs, outputs = (
            ", ".join("x".join(map(str, shape)) or "scalar" for shape in shapes) for shapes in rest
        )
        return f"{inputs} -> {outputs}"
    named = [one if isinstance(one, str) else f"content {one['content'][:8]}" for one in rest[0]]
    return ", ".join(named)
