"""Integer expressions in the sizes of a call: what the numbers of a generalised lineage are.

An expression is text such as ``i0_1-1`` (axis 1 of input 0, less one), kept as text in the catalog
so that a person can read it. Its names are ``i0_1`` (input, axis), ``o0_1`` (output, axis) and
``x0`` (an integer argument); its operators ``+ - * // %``, ``min(a, b)``, ``max(a, b)`` and
parentheses.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from dslog.errors import DslogError
from dslog.types import Shape

Evaluate = Callable[[Mapping[str, int]], int]

_NAME = re.compile(r"(?:[io]\d+_\d+|x\d+)\Z")
_LONGEST = 500


class FormulaError(DslogError, ValueError):
    """A text is no expression in the sizes of a call."""


@dataclass(frozen=True)
class Sizes:
    """The shapes of a call's arrays and its integer arguments.

    ``args`` are those that are not part of its key, and so variables of formulas; ``fixed`` are the
    others, which only say what kind of call it is (``scope``).
    """

    inputs: tuple[Shape, ...]
    outputs: tuple[Shape, ...]
    args: tuple[int, ...] = ()
    fixed: tuple[int, ...] = ()

    @cached_property
    def values(self) -> dict[str, int]:
        """Every size by its name in expressions.

        >>> Sizes(((3, 2),), ((3,),)).values
        {'i0_0': 3, 'i0_1': 2, 'o0_0': 3}
        """
        named = {
            f"{side}{k}_{axis}": size
            for side, shapes in (("i", self.inputs), ("o", self.outputs))
            for k, shape in enumerate(shapes)
            for axis, size in enumerate(shape)
        }
        named.update((f"x{n}", value) for n, value in enumerate(self.args))
        return named

    @property
    def dims(self) -> tuple[int, ...]:
        """All sizes of axes, inputs first."""
        return tuple(d for shape in (*self.inputs, *self.outputs) for d in shape)

    @property
    def ranks(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The numbers of axes of inputs and outputs."""
        return tuple(map(len, self.inputs)), tuple(map(len, self.outputs))


def product_text(names: Sequence[str]) -> str:
    """Write a product; of nothing it is 1."""
    return "*".join(names) or "1"


def shifted_text(text: str, constant: int) -> str:
    """Write ``text + constant``.

    >>> shifted_text("i0_0", -1), shifted_text("i0_0", 0)
    ('i0_0-1', 'i0_0')
    """
    return text if constant == 0 else f"{text}{constant:+d}"


def evaluate(text: str, sizes: Sizes) -> int:
    """Return an expression's value.

    >>> evaluate("(i0_0+1)//2", Sizes(((7,),), ()))
    4
    """
    return compiled(text)(sizes.values)


@lru_cache(maxsize=4096)
def compiled(text: str) -> Evaluate:
    """Return a function that evaluates an expression; anything but arithmetic is an error."""
    try:
        return _compile(ast.parse(text if len(text) <= _LONGEST else "", mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FormulaError(
            f"{text!r} is no expression in sizes: use whole numbers, names such as i0_1, o0_1 and "
            f"x0, the operators + - * // %, min and max of two, and parentheses"
        ) from error


def _compile(node: ast.expr) -> Evaluate:
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return lambda _: number
        case ast.Name(id=name) if _NAME.match(name):
            return lambda values: values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _compile(operand)
            return lambda values: -inner(values)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            one, two, function = _compile(left), _compile(right), _OPERATORS[type(op)]
            return lambda values: function(one(values), two(values))
        case ast.Call(func=ast.Name(id=("min" | "max") as name), args=[left, right], keywords=[]):
            one, two, smaller = _compile(left), _compile(right), name == "min"
            return lambda values: (min if smaller else max)(one(values), two(values))
    raise SyntaxError


_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}
