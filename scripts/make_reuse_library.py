"""Write src/dslog/reuse/library.json: formulas for numpy's structured functions.

python scripts/make_reuse_library.py           # write the library
python scripts/make_reuse_library.py --check   # fail if it differs from what would be written

Each function is captured by its rule at many shapes, a formula is solved from these calls, and it
is compared with further captures at random shapes. Functions whose formula refuses too many of
them are named and left out.
"""

from __future__ import annotations

import itertools
import json
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from function_table import table

from benchmarks.workloads.numpy_call import call_numpy
from dslog.algebra.equal import same_lineages
from dslog.capture.numpy.registry import REGISTRY, function_named
from dslog.reuse.expression import Sizes
from dslog.reuse.form import Example, Form, Refused
from dslog.reuse.key import variants
from dslog.reuse.learner import generalise
from dslog.store.arguments import canonical_args

LIBRARY = Path(__file__).parents[1] / "src" / "dslog" / "reuse" / "library.json"
SIZES = (0, 1, 2, 3, 9, 14, 21)
CALLS, CHECKS = 60, 40
LARGEST = 40
ANSWERED = 0.95

Shapes = tuple[tuple[int, ...], ...]

UNARY = (
    "sin cos tan arcsin arccos arctan degrees radians deg2rad rad2deg sinh cosh tanh arcsinh "
    "arccosh arctanh around round rint fix floor ceil trunc exp expm1 exp2 log log10 log2 log1p "
    "sinc spacing reciprocal positive negative angle real imag conj conjugate sqrt cbrt square "
    "absolute abs fabs sign nan_to_num isnan isfinite isinf signbit logical_not copy asarray "
    "ascontiguousarray asfortranarray"
)
BINARY = (
    "hypot arctan2 logaddexp logaddexp2 copysign nextafter add multiply divide power subtract "
    "true_divide floor_divide float_power fmod mod remainder maximum fmax minimum fmin heaviside "
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor"
)
REDUCTIONS = "sum prod mean std var max min amax amin ptp any all count_nonzero"


@dataclass(frozen=True)
class Entry:
    """Functions that are called alike: shapes with letters for free sizes, and arguments."""

    names: str
    inputs: Sequence[str]
    args: Mapping[str, Any] = field(default_factory=dict)


def entries() -> Iterator[Entry]:
    """Give all that the library is to have."""
    for rank in (1, 2, 3):
        yield from of_rank("abc"[:rank])
    yield Entry(BINARY, ["ab", "b"])
    yield Entry(BINARY, ["a", "ba"])
    yield from joining()
    yield from turning()
    yield from multiplying()
    yield from shifting()


def of_rank(shape: str) -> Iterator[Entry]:
    """Functions for arrays of any number of axes."""
    yield Entry(UNARY, [shape])
    yield Entry(BINARY, [shape, shape])
    yield Entry(REDUCTIONS, [shape])
    for axis in range(-1, len(shape)):
        yield Entry(REDUCTIONS, [shape], {"axis": axis})
        yield Entry(REDUCTIONS, [shape], {"axis": axis, "keepdims": True})
        yield Entry("cumsum cumprod flip", [shape], {"axis": axis})
        yield Entry("expand_dims", [shape], {"axis": axis})
    yield Entry("flip transpose ravel atleast_1d atleast_2d", [shape])


def joining() -> Iterator[Entry]:
    """Arrays put together."""
    for axis, inputs in enumerate((["ab", "cb"], ["ab", "ac"])):
        yield Entry("concatenate", inputs, {"axis": axis})
        yield Entry("stack", ["ab", "ab"], {"axis": axis})
    yield Entry("concatenate hstack", ["a", "b"])
    yield Entry("concatenate vstack", ["ab", "cb"])
    yield Entry("hstack column_stack", ["ab", "ac"])
    yield Entry("stack column_stack vstack", ["a", "a"])


def turning() -> Iterator[Entry]:
    """Axes turned and exchanged, triangles."""
    yield Entry("rot90 fliplr flipud triu tril", ["ab"])
    for k in (1, 2, 3):
        yield Entry("rot90", ["ab"], {"k": k})
    yield Entry("swapaxes", ["ab"], {"axis1": 0, "axis2": 1})
    for one, two in ((0, 1), (0, 2), (1, 2)):
        yield Entry("swapaxes", ["abc"], {"axis1": one, "axis2": two})
    for axes in itertools.permutations(range(3)):
        yield Entry("transpose", ["abc"], {"axes": list(axes)})


def multiplying() -> Iterator[Entry]:
    """Products of matrices and vectors."""
    yield Entry("dot matmul", ["ab", "bc"])
    yield Entry("dot matmul", ["ab", "b"])
    yield Entry("dot matmul vdot inner", ["a", "a"])
    yield Entry("inner", ["ab", "cb"])
    yield Entry("outer", ["a", "b"])
    yield Entry("matmul", ["dab", "dbc"])


def shifting() -> Iterator[Entry]:
    """Cells repeated, moved on, set apart; differences of neighbours."""
    yield Entry("diff", ["a"])
    yield Entry("pad", ["a"], {"pad_width": 1})
    yield Entry("pad", ["ab"], {"pad_width": 1})
    for repeats in (2, 3):
        yield Entry("repeat", ["a"], {"repeats": repeats})
        for axis in (0, 1):
            yield Entry("repeat", ["ab"], {"repeats": repeats, "axis": axis})
    for shift in (1, -1):
        yield Entry("roll", ["a"], {"shift": shift})
        for axis in (0, 1):
            yield Entry("roll", ["ab"], {"shift": shift, "axis": axis})
    for axis in (0, 1):
        yield Entry("diff", ["ab"], {"axis": axis})


def depends_on_values(name: str) -> bool:
    """Whether a rule for a function looks at values."""
    kinds = {entry.kind for entry in REGISTRY.find(function_named(f"numpy.{name}"))}
    return not kinds <= {"rule", "index-run", "trace", "superset"}


def on_values() -> list[str]:
    """Return the functions whose lineage is computed from values."""
    names = [row.name for row in table() if row.kinds[0] == "value"]
    return [name.removeprefix("numpy.") for name in names]


def shapes_of(entry: Entry, sizes: Mapping[str, int]) -> Shapes:
    """Put sizes in the place of letters."""
    return tuple(tuple(sizes[letter] for letter in shape) for shape in entry.inputs)


def capture(name: str, shapes: Shapes, args: Mapping[str, Any]) -> Example | None:
    """Capture a call; None where numpy refuses it."""
    arrays = [np.zeros(shape) for shape in shapes]
    try:
        called = call_numpy(f"numpy.{name}", arrays, args)
    except (ValueError, IndexError, TypeError, ZeroDivisionError):
        return None
    sizes = variants(name, canonical_args(args), Sizes(shapes, called.outputs))[0].sizes
    return Example(sizes, tuple(called.lineages))


def calls(name: str, entry: Entry, rng: np.random.Generator) -> list[Example]:
    """Capture calls at many shapes."""
    letters = sorted(set("".join(entry.inputs)))
    choices = list(itertools.product(SIZES, repeat=len(letters)))
    if len(choices) > CALLS:
        usual = [c for c in choices if min(c) > 1]
        picked = [usual[n] for n in rng.permutation(len(usual))[: CALLS // 2].tolist()]
        picked += itertools.product((1, 9), repeat=len(letters))
        choices = [*picked, *itertools.product((0, 14), repeat=len(letters))]
    found = (
        capture(name, shapes_of(entry, dict(zip(letters, choice, strict=True))), entry.args)
        for choice in choices
    )
    return [example for example in found if example is not None]


def solve(examples: Sequence[Example], known: Sequence[Sequence[Form]]) -> Sequence[Form]:
    """Solve forms, unless others explain all calls."""
    for forms in known:
        if all(_explained(forms, example) for example in examples):
            return forms
    return [compacted(form) for form in generalise(examples) if is_sure(form)]


def compacted(form: Form) -> Form:
    """Return a form with no more calls seen than say where it holds."""
    place = 1
    while place < len(form.seen):
        less = replace(form, seen=(*form.seen[:place], *form.seen[place + 1 :]))
        if less.scope == form.scope:
            form = less
        else:
            place += 1
    return form


def is_sure(form: Form) -> bool:
    """Whether calls confirmed a form, or were all there are: those of a single shape."""
    return form.agreeing >= 3 or max(max(sizes.dims, default=0) for sizes in form.seen) < 2


def _explained(forms: Sequence[Form], example: Example) -> bool:
    answers = [form.apply(example.sizes) for form in forms]
    given = [one for one in answers if not isinstance(one, Refused)]
    return bool(given) and all(same_lineages(one, example.lineages) for one in given)


def answered(name: str, entry: Entry, forms: Sequence[Form], rng: np.random.Generator) -> float:
    """Return the share of random calls that the forms answer; a wrong answer is an error."""
    letters = sorted(set("".join(entry.inputs)))
    asked = found = 0
    for _ in range(CHECKS):
        sizes = {letter: int(rng.integers(LARGEST + 1)) for letter in letters}
        example = capture(name, shapes_of(entry, sizes), entry.args)
        if example is None:
            continue
        asked += 1
        answers = [form.apply(example.sizes) for form in forms]
        given = [one for one in answers if not isinstance(one, Refused)]
        if any(not same_lineages(one, example.lineages) for one in given):
            raise AssertionError(f"{name} {entry.args} is wrong at {example.sizes}")
        found += bool(given)
    return found / max(asked, 1)


def forms_of(name: str, entry: Entry, known: Sequence[Sequence[Form]] = ()) -> Sequence[Form]:
    """Return the forms of a function, or say why there are none."""
    if depends_on_values(name):
        raise AssertionError(f"{name} depends on values: it can't be in the library")
    rng = np.random.default_rng(0)
    examples = calls(name, entry, rng)
    forms = solve(examples, known) if examples else []
    share = answered(name, entry, forms, rng)
    if share < ANSWERED:
        print(f"left out: {name} {entry.inputs} {dict(entry.args)}: {share:.0%} answered")
        return []
    return forms


def make() -> dict[str, Any]:
    """Make the library: calls with the same forms stand together."""
    groups: dict[str, list[Any]] = {}
    for entry in entries():
        known: list[Sequence[Form]] = []
        for name in entry.names.split():
            forms = forms_of(name, entry, known)
            if not forms:
                continue
            known.append(forms)
            key = variants(name, canonical_args(entry.args), forms[0].seen[0])[0].key
            text = json.dumps([form.to_json() for form in forms], separators=(",", ":"))
            groups.setdefault(text, []).append(json.loads(key))
    return {
        "format": 1,
        "values": on_values(),
        "forms": [{"keys": keys, "forms": json.loads(text)} for text, keys in groups.items()],
    }


def main() -> int:
    """Write the library, or compare it with the one that is there."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        library = make()
    lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in library["forms"])
    values = json.dumps(library["values"], separators=(",", ":"))
    text = f'{{"format":1,"values":{values},"forms":[\n{lines}\n]}}\n'
    if "--check" in sys.argv:
        return int(LIBRARY.read_text(encoding="utf-8") != text)
    LIBRARY.write_text(text, encoding="utf-8")
    keys = sum(len(one["keys"]) for one in library["forms"])
    print(f"{keys} calls, {len(library['forms'])} forms, {len(text):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
