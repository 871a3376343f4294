"""Follow arrays through a notebook's code and count what is done with them.

One pass over the statements in order, without running anything. Each name stands for what it was
last given; loops and branches are read once. A function of the notebook is read where it is called,
and counted at its first call only.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.notebooks.catalogue import (
    ACCESSORS,
    ARRAY_MODULES,
    METADATA,
    VIEWS,
    kind_of_function,
    kind_of_method,
)

_DEEPEST_CALL = 8
_PASS_THROUGH = {"list", "tuple", "set", "enumerate", "zip", "reversed", "dict"}
_WRAPPERS = {"DataFrame", "Series", "array", "asarray"}
_FITTING = {"fit", "partial_fit"}

_READERS: dict[type[ast.expr], str] = {
    ast.Name: "_name",
    ast.Attribute: "_attribute",
    ast.Call: "_call",
    ast.Subscript: "_subscript",
    ast.BinOp: "_arithmetic",
    ast.Compare: "_comparison",
    ast.UnaryOp: "_sign",
    ast.Tuple: "_sequence",
    ast.List: "_sequence",
    ast.Lambda: "_lambda",
    ast.IfExp: "_choice",
    ast.ListComp: "_comprehension",
    ast.SetComp: "_comprehension",
    ast.GeneratorExp: "_comprehension",
    ast.DictComp: "_comprehension",
}


@dataclass(frozen=True, slots=True)
class Value:
    """What a name may stand for; by itself, what is not followed: numbers, texts, plots."""


@dataclass(frozen=True, slots=True)
class ArrayValue(Value):
    """An array, a table or a column; ``depth`` operations in a row led to it."""

    depth: int = 0


@dataclass(frozen=True, slots=True)
class Grouped(Value):
    """What groupby and the like give: an operation that waits for its function."""

    depth: int


@dataclass(frozen=True, slots=True)
class Accessor(Value):
    """``df.loc``, ``df.str``: a way to an array's cells."""

    name: str
    depth: int


@dataclass(frozen=True, slots=True)
class Method(Value):
    """A method of an array, a group or an accessor, before it is called."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True)
class Module(Value):
    """A module or something in it, by its dotted name."""

    path: str


@dataclass(frozen=True, slots=True)
class Model(Value):
    """An estimator of a machine-learning library; ``depth`` once it was fitted to arrays."""

    depth: int = 0


@dataclass(frozen=True, slots=True)
class Function(Value):
    """A function that the notebook defines."""

    node: ast.FunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Several(Value):
    """A list or a tuple of values."""

    items: tuple[Value, ...]


OTHER = Value()


def depth_of(value: Value) -> int | None:
    """Return how many operations led to a value, or None when it holds no array."""
    if isinstance(value, Several):
        return deepest(value.items)
    if isinstance(value, ArrayValue | Grouped | Accessor):
        return value.depth
    return None


def deepest(values: Sequence[Value]) -> int | None:
    """Return the greatest depth among values, or None when none holds an array."""
    depths = [depth for value in values if (depth := depth_of(value)) is not None]
    return max(depths, default=None)


@dataclass(frozen=True, slots=True)
class Found:
    """One operation: where it is, what it is called, and whether its lineage compresses."""

    line: int
    name: str
    compressible: bool
    depth: int


@dataclass(slots=True)
class Reader:
    """Reads code and keeps what it found."""

    names: dict[str, Value] = field(default_factory=dict)
    found: list[Found] = field(default_factory=list)
    counting: bool = True
    _called: set[ast.AST] = field(default_factory=set)
    _level: int = 0
    _returned: list[Value] = field(default_factory=list)

    # statements

    def read(self, body: Iterable[ast.stmt]) -> None:
        """Read statements in order."""
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node)
        elif isinstance(node, ast.FunctionDef):
            self.names[node.name] = Function(node)
        elif isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                self._assign(target, value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assign(node.target, self.value(node.value))
        elif isinstance(node, ast.AugAssign):
            self._assign(node.target, self._combine("augment", node, [node.target, node.value]))
        elif isinstance(node, ast.For):
            self._assign(node.target, self._element(self.value(node.iter)))
            self.read([*node.body, *node.orelse])
        elif isinstance(node, ast.Return):
            self._returned.append(self.value(node.value) if node.value else OTHER)
        else:
            self._compound(node)

    def _compound(self, node: ast.stmt) -> None:
        """Read the expressions and the blocks of any other statement."""
        for name, part in ast.iter_fields(node):
            if name in ("body", "orelse", "finalbody") and isinstance(part, list):
                self.read(part)
            elif name == "handlers":
                for handler in part:
                    self.read(handler.body)
            elif name == "items":
                for item in part:
                    self.value(item.context_expr)
            elif isinstance(part, ast.expr):
                self.value(part)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, ast.ImportFrom):
                path = f"{node.module or ''}.{alias.name}"
                self.names[alias.asname or alias.name] = Module(path)
            else:
                name = alias.asname or alias.name.split(".")[0]
                self.names[name] = Module(alias.name if alias.asname else name)

    def _assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            items = value.items if isinstance(value, Several) else ()
            for place, part in enumerate(target.elts):
                same = len(items) == len(target.elts)
                self._assign(part, items[place] if same else self._element(value))
        elif isinstance(target, ast.Subscript):
            self._write(target, value)

    def _write(self, target: ast.Subscript, value: Value) -> None:
        """``df["c"] = value``: an operation that gives a new version of the array."""
        owner = target.value
        while isinstance(owner, ast.Attribute):  # df.loc[...] = value writes to df
            owner = owner.value
        held = self.value(target.value)
        depth = deepest([held, value])
        if depth_of(held) is None or depth is None:
            self.value(target.slice)
            return
        by_mask = depth_of(self.value(target.slice)) is not None
        result = self._note(target, "assign", depth, compressible=not by_mask)
        if isinstance(owner, ast.Name):
            self.names[owner.id] = result

    @staticmethod
    def _element(value: Value) -> Value:
        """What iterating over a value gives."""
        if isinstance(value, Several):
            depth = deepest(value.items)
            return OTHER if depth is None else ArrayValue(depth)
        return value if isinstance(value, ArrayValue) else OTHER

    # expressions

    def value(self, node: ast.expr) -> Value:
        """Return what an expression stands for, counting the operations in it."""
        read: Callable[[ast.expr], Value] = getattr(self, _READERS.get(type(node), "_children"))
        return read(node)

    def _name(self, node: ast.Name) -> Value:
        return self.names.get(node.id, OTHER)

    def _arithmetic(self, node: ast.BinOp) -> Value:
        return self._combine("arithmetic", node, [node.left, node.right])

    def _comparison(self, node: ast.Compare) -> Value:
        return self._combine("compare", node, [node.left, *node.comparators])

    def _sign(self, node: ast.UnaryOp) -> Value:
        return self._combine("arithmetic", node, [node.operand])

    def _sequence(self, node: ast.Tuple | ast.List) -> Value:
        return Several(tuple(self.value(item) for item in node.elts))

    def _lambda(self, node: ast.Lambda) -> Value:
        return Function(node)

    def _choice(self, node: ast.IfExp) -> Value:
        self.value(node.test)
        values = [self.value(node.body), self.value(node.orelse)]
        return next((value for value in values if value != OTHER), OTHER)

    def _children(self, node: ast.AST) -> Value:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
            else:
                self._children(child)
        return OTHER

    def _attribute(self, node: ast.Attribute) -> Value:
        owner = self.value(node.value)
        if isinstance(owner, Module):
            return Module(f"{owner.path}.{node.attr}")
        if isinstance(owner, ArrayValue):
            return self._array_attribute(node, owner)
        if isinstance(owner, Accessor | Grouped | Model):
            return Method(owner, node.attr)
        if isinstance(owner, Method) and isinstance(owner.owner, ArrayValue):
            # df.column.method(): a column by its name
            column = self._note(node, "column", owner.owner.depth, compressible=True)
            return Method(column, node.attr)
        return OTHER

    def _array_attribute(self, node: ast.Attribute, owner: ArrayValue) -> Value:
        if node.attr in VIEWS:
            return self._note(node, node.attr, owner.depth, compressible=True)
        if node.attr in METADATA:
            return OTHER
        if node.attr in ACCESSORS:
            return Accessor(node.attr, owner.depth)
        return Method(owner, node.attr)

    def _subscript(self, node: ast.Subscript) -> Value:
        owner = self.value(node.value)
        key = self.value(node.slice)
        if isinstance(owner, Grouped):
            return owner
        if isinstance(owner, Method) and isinstance(owner.owner, ArrayValue):
            owner = self._note(node, "column", owner.owner.depth, compressible=True)
        if isinstance(owner, Several):
            return self._element(owner)
        depth = depth_of(owner)
        if depth is None:
            return OTHER
        by_values = depth_of(key)
        name = "select" if by_values is None else "filter"
        return self._note(node, name, max(depth, by_values or 0), compressible=by_values is None)

    def _combine(self, name: str, node: ast.AST, parts: list[ast.expr]) -> Value:
        values = [self._resolved(part) for part in parts]
        depth = deepest(values)
        return OTHER if depth is None else self._note(node, name, depth, compressible=True)

    def _resolved(self, node: ast.expr) -> Value:
        """The value of an expression, where ``df.column`` is a column."""
        value = self.value(node)
        if isinstance(value, Method) and isinstance(value.owner, ArrayValue):
            return self._note(node, "column", value.owner.depth, compressible=True)
        return value

    def _comprehension(
        self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp
    ) -> Value:
        for part in node.generators:
            self._assign(part.target, self._element(self.value(part.iter)))
            for test in part.ifs:
                self.value(test)
        made = node.value if isinstance(node, ast.DictComp) else node.elt
        depth = depth_of(self.value(made))
        return OTHER if depth is None else ArrayValue(depth)

    # calls

    def _call(self, node: ast.Call) -> Value:
        function = self.value(node.func)
        given = [self._argument(part) for part in node.args]
        given += [self._argument(part.value) for part in node.keywords]
        if isinstance(function, Method):
            return self._method(node, function, given)
        if isinstance(function, Module):
            return self._library(node, function.path, given)
        if isinstance(function, Function):
            return self._own(function, given)
        if isinstance(node.func, ast.Name):
            return self._builtin(node, node.func.id, given)
        return OTHER

    def _argument(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Starred):
            return self.value(node.value)
        return self._resolved(node)

    def _method(self, node: ast.Call, method: Method, given: list[Value]) -> Value:
        owner, name = method.owner, method.name
        if isinstance(owner, Model):
            return self._model(node, owner, name, given)
        depth = max(depth_of(owner) or 0, deepest(given) or 0)
        if isinstance(owner, Grouped):
            return self._note(node, f"group {name}", depth, compressible=False)
        if isinstance(owner, Accessor):
            return self._note(node, f"{owner.name}.{name}", depth, compressible=True)
        kind = kind_of_method(name)
        quiet = {"none": OTHER, "copy": ArrayValue(depth), "group": Grouped(depth)}
        if kind in quiet:
            return quiet[kind]
        return self._note(node, name, depth, compressible=kind == "structured")

    def _model(self, node: ast.Call, model: Model, name: str, given: list[Value]) -> Value:
        depth = deepest(given)
        if depth is None:
            return OTHER
        if name in _FITTING:
            if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
                self.names[node.func.value.id] = Model(max(depth, model.depth))
            return Model(max(depth, model.depth))
        kind = kind_of_method(name)
        return self._note(node, name, max(depth, model.depth), compressible=kind == "structured")

    def _library(self, node: ast.Call, path: str, given: list[Value]) -> Value:
        kind = kind_of_function(path)
        depth = deepest(given)
        name = path.rsplit(".", 1)[-1]
        is_class = kind == "unknown" and name[:1].isupper()
        if depth is None:
            made = ArrayValue(0) if kind in ("source", "structured", "value") else OTHER
            return Model() if is_class else made
        if kind == "none" or (kind == "unknown" and path.partition(".")[0] not in ARRAY_MODULES):
            return OTHER
        if name in _WRAPPERS:
            return ArrayValue(depth)
        if is_class:
            return Model(depth)
        result = self._note(node, name, depth, compressible=kind in ("structured", "source"))
        if name == "train_test_split":
            return Several((result,) * (2 * max(1, len(node.args))))
        return result

    def _own(self, function: Function, given: list[Value]) -> Value:
        """Read a function of the notebook with what it is called with."""
        if self._level >= _DEEPEST_CALL or isinstance(function.node, ast.Lambda):
            depth = deepest(given)
            return OTHER if depth is None else ArrayValue(depth)
        inner = Reader(dict(self.names), self.found, _called=self._called, _level=self._level + 1)
        inner.counting = self.counting and function.node not in self._called
        self._called.add(function.node)
        names = [argument.arg for argument in function.node.args.args]
        inner.names.update(dict.fromkeys(names, OTHER))
        inner.names.update(dict(zip(names, given, strict=False)))
        inner.read(function.node.body)
        returned = inner._returned
        if len(returned) == 1:
            return returned[0]
        best = deepest(returned)
        return OTHER if best is None else ArrayValue(best)

    def _builtin(self, node: ast.Call, name: str, given: list[Value]) -> Value:
        depth = deepest(given)
        if depth is None:
            return OTHER
        if name in _PASS_THROUGH:
            return ArrayValue(depth)
        kind = kind_of_function(name)
        if kind in ("structured", "value"):
            return self._note(node, name, depth, compressible=kind == "structured")
        return OTHER

    def _note(self, node: ast.AST, name: str, depth: int, *, compressible: bool) -> ArrayValue:
        """Take note of an operation on arrays ``depth`` operations deep; return its result."""
        if self.counting:
            line = getattr(node, "lineno", 0)
            self.found.append(Found(line, name, compressible, depth + 1))
        return ArrayValue(depth + 1)
