"""Formulas as people see them: what they say must be true."""

import re

import numpy as np
import pytest
from zoo import ZOO

from dslog.compress.encoder import compress
from dslog.reuse.expression import Sizes
from dslog.reuse.form import Example
from dslog.reuse.formula import formulas
from dslog.reuse.learner import generalise

SIZES = [(9, 14, 11), (12, 8, 17), (16, 21, 9), (10, 13, 19), (23, 9, 12)]


def example(operation, *sizes):
    shapes = tuple(operation.shapes(*sizes))
    out = operation.out(*shapes)
    lineages = [
        compress(pairs, out, shape)
        for pairs, shape in zip(operation.relations(*shapes), shapes, strict=True)
    ]
    return Example(Sizes(shapes, (out,)), tuple(lineages))


def form_of(operation):
    return generalise([example(operation, *one[: operation.sizes]) for one in SIZES])[0]


def lines_of(name, **args):
    operation = next(op for op in ZOO if op.name == name and (op.args or {}) == args)
    return formulas(form_of(operation))


@pytest.mark.parametrize(
    ("name", "args", "lines"),
    [
        ("flip", {"axis": 0}, ["out[i, j] <- in[D0-1-i, j]"]),
        ("flip", {"axis": 1}, ["out[i, j] <- in[i, D1-1-j]"]),
        ("copy", {}, ["out[i, j] <- in[i, j]"]),
        ("transpose", {}, ["out[i, j] <- in[j, i]"]),
        ("sum", {"axis": 1}, ["out[i] <- in[i, :]"]),
        ("total", {}, ["out[] <- in[:, :]"]),
        ("cumsum", {}, ["out[i] <- in[0:i+1]"]),
        ("diff", {}, ["out[i] <- in[i:i+2]"]),
        ("pool", {}, ["out[i] <- in[2*i:2*i+2]"]),
        ("outer", {}, ["out[i, j] <- in0[i]", "out[i, j] <- in1[j]"]),
        ("nothing", {}, ["out <- nothing of in"]),
        ("ravel", {}, ["out[i] <- in[i//D1, i%D1]"]),
        (
            "pad",
            {"width": 1},
            ["out[i, j] <- in[i-1, j-1] for i in [1, out.D0-2], j in [1, out.D1-2]"],
        ),
    ],
)
def test_lines(name, args, lines):
    assert lines_of(name, **args) == lines


def spoken(line, sizes, cell):
    """The input cells that a line gives for an output cell; None if it is not about it."""
    head, _, conditions = line.partition(" for ")
    out, inp = re.fullmatch(r"out\[(.*)\] <- in\[(.*)\]", head).groups()
    names = dict(zip([n.strip() for n in out.split(",") if n.strip()], cell, strict=True))
    names |= {f"D{axis}": size for axis, size in enumerate(sizes.inputs[0])}
    text = re.sub(r"out\.D(\d)", r"E\1", conditions)
    names |= {f"E{axis}": size for axis, size in enumerate(sizes.outputs[0])}
    for letter, low, high in re.findall(r"(\w) in \[(.*?), (.*?)\]", text):
        if not eval(low, {}, names) <= names[letter] <= eval(high, {}, names):
            return None
    rest = re.sub(r"\w in \[.*?\](, )?", "", text)
    for condition in filter(None, rest.split(", ")):
        if not eval(re.sub(r"(?<![<>=])=(?!=)", "==", condition), {}, names):
            return None
    axes = []
    inp = re.sub(r"out\.D(\d)", r"E\1", inp)
    for part, size in zip(inp.split(", "), sizes.inputs[0], strict=True):
        low, colon, high = part.partition(":")
        low = eval(low, {}, names) if low else 0
        high = eval(high, {}, names) if high else size if colon else low + 1
        axes.append(range(low, high))
    return axes


@pytest.mark.parametrize(
    "name", ["copy", "flip", "transpose", "rot90", "tile", "repeat", "pad", "blur", "softmax",
             "head", "tail", "every_other", "sum", "cumsum", "diff", "pool", "diagonal", "cross"]
)  # fmt: skip
def test_lines_are_true(name):
    """Read each line back as Python and compare with the definition at another shape."""
    for operation in (op for op in ZOO if op.name == name):
        sizes = [(n, 3) for n in (9, 12, 17)] if name == "cross" else SIZES
        examples = [example(operation, *one[: operation.sizes]) for one in sizes]
        lines = formulas(generalise(examples)[0])
        elsewhere = example(
            operation, *((13, 3) if name == "cross" else (11, 15))[: operation.sizes]
        )
        assert "..." not in lines
        found = set()
        for cell in np.ndindex(*elsewhere.sizes.outputs[0]):
            for line in lines:
                axes = spoken(line, elsewhere.sizes, cell)
                if axes is not None:
                    index = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(axes))
                    found |= {(*cell, *map(int, one)) for one in index}
        assert found == set(map(tuple, elsewhere.lineages[0].to_relation().tolist()))
