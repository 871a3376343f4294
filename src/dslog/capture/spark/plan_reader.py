"""Spark's own objects behind PySpark's: all access to Java is here.

Spark Connect has none of it. What a column reads, and whether rows come in the same order again,
only Spark's plans can tell, so tracked frames need a classic session.

What Spark's analysed plan says about expressions: which columns each output column reads.

The plan is asked about a *stand-in*: an empty relation with the columns of the real frame, under
the same expression ids. Columns that are bound to the real frame resolve against it, and the plan
stays as small as the one step it is about, however long the pipeline before it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame

from dslog.errors import EngineError

_OPERATOR = re.compile(r"^[ :+|-]*(\w+)", re.MULTILINE)


def jvm_of(frame: DataFrame) -> Any:
    """Return the way to Java's packages."""
    jvm = getattr(frame.sparkSession, "_jvm", None)
    if jvm is None:
        raise EngineError(
            "tracked frames need a classic Spark session: Spark Connect does not tell which "
            "columns an expression reads. Start one with dslog.spark()"
        )
    return jvm


def execution(frame: DataFrame) -> Any:
    """Return Spark's execution of a frame, which holds its plans."""
    return frame._jdf.queryExecution()  # noqa: SLF001


def analysed(frame: DataFrame) -> Any:
    """Return Spark's analysed plan of a frame."""
    return execution(frame).analyzed()


def operators(frame: DataFrame) -> list[str]:
    """Return the names of the operators in Spark's analysed plan of a frame."""
    return _OPERATOR.findall(analysed(frame).toString())


def is_bucketed(frame: DataFrame) -> bool:
    """Whether a frame reads a bucketed table, which Spark splits as each query likes it."""
    leaves = analysed(frame).collectLeaves()
    for place in range(leaves.size()):
        leaf = leaves.apply(place)
        if leaf.getClass().getSimpleName() == "LogicalRelation":
            files = leaf.relation()
            named = files.getClass().getSimpleName() == "HadoopFsRelation"
            if named and files.bucketSpec().isDefined():
                return True
    return False


def physical(frame: DataFrame) -> str:
    """Return Spark's physical plan of a frame, as text."""
    return str(execution(frame).executedPlan().toString())


def text_of(column: Column) -> str:
    """Return an expression as Spark writes it."""
    inner: Any = column._jc  # noqa: SLF001
    return str(inner.toString())


def scala_object(package: Any, name: str) -> Any:
    """Return a Scala object."""
    return getattr(getattr(package, f"{name}$"), "MODULE$")


def as_column(frame: DataFrame, expression: Any) -> Column:
    """Return one of Spark's own expressions as a column."""
    utils = jvm_of(frame).org.apache.spark.sql.classic.ExpressionUtils
    return Column(utils.column(expression))


def column_at(frame: DataFrame, place: int) -> Column:
    """Return a column by its place, whatever the names of the others."""
    return as_column(frame, analysed(frame).output().apply(place))


def of_plan(frame: DataFrame, plan: Any) -> DataFrame:
    """Return a frame of a logical plan, in the session of another one."""
    session = frame.sparkSession
    dataset = jvm_of(frame).org.apache.spark.sql.classic.Dataset
    found = dataset.ofRows(session._jsparkSession, plan)  # noqa: SLF001
    return type(frame)(found, session)


def first_of_each_partition(frame: DataFrame, count: int) -> DataFrame:
    """Return a frame of the first rows of every partition, at most so many of each."""
    catalyst = jvm_of(frame).org.apache.spark.sql.catalyst
    most = scala_object(catalyst.expressions, "Literal").apply(count)
    return of_plan(frame, catalyst.plans.logical.LocalLimit(most, analysed(frame)))


def stand_in(frame: DataFrame) -> DataFrame:
    """Return an empty frame with the columns of another, under the same ids."""
    jvm = jvm_of(frame)
    logical = jvm.org.apache.spark.sql.catalyst.plans.logical
    empty = scala_object(jvm.scala.collection.immutable, "Nil")
    nothing = scala_object(jvm.scala, "None")
    output = analysed(frame).output()
    return of_plan(
        frame, scala_object(logical, "LocalRelation").apply(output, empty, False, nothing)
    )


Json = dict[str, Any]
_DEFINING = ("projectList", "aggregateExpressions", "windowExpressions")


@dataclass(frozen=True)
class Expr:
    """A node of an expression tree, as Spark's JSON gives it."""

    kind: str
    fields: Json
    children: tuple[Expr, ...]

    @property
    def expr_id(self) -> int:
        """The id of an attribute or alias."""
        return int(self.fields["exprId"]["id"])

    def walk(self) -> Iterator[Expr]:
        """This node and everything below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def attributes(self) -> set[int]:
        """Ids of the attributes it reads."""
        return {e.expr_id for e in self.walk() if e.kind == "AttributeReference"}

    def child(self, name: str) -> Expr:
        """Return the child that a field names by its place."""
        return self.children[self.fields[name]]

    def some(self, name: str) -> tuple[Expr, ...]:
        """Return the children that a field names by their places."""
        return tuple(self.children[place] for place in self.fields[name])


def parse_expression(flat: Sequence[Json]) -> Expr:
    """Build a tree from its nodes in pre-order."""
    nodes = iter(flat)

    def take() -> Expr:
        item = next(nodes)
        children = tuple(take() for _ in range(item["num-children"]))
        return Expr(item["class"].rpartition(".")[2].rstrip("$"), item, children)

    return take()


@dataclass(frozen=True)
class ColumnReads:
    """What the output columns of a step read, by place.

    ``columns`` holds, per output column, the input columns that it reads in its own row;
    ``windows`` the window expressions that it reads, by id. ``complete`` is False when the step
    has a subquery, whose columns the plan hides. ``plan`` is Spark's, for what is not here.
    """

    plan: Any
    names: tuple[str, ...]
    columns: tuple[frozenset[int], ...]
    windows: tuple[frozenset[int], ...]
    expressions: Mapping[int, Expr]
    places: Mapping[int, int]
    definitions: Mapping[int, Expr]
    generates: bool
    calls_python: bool
    deterministic: bool
    complete: bool

    @property
    def plain(self) -> bool:
        """Whether each output row is computed from its own input row, and safely so for any."""
        return not self.expressions and not self.generates and self.tame

    @property
    def tame(self) -> bool:
        """Whether running it on rows that are there no more is harmless, and repeatable."""
        return self.deterministic and not self.calls_python


def read_step(frame: DataFrame, step: Callable[[DataFrame], DataFrame]) -> ColumnReads:
    """Say what a step reads of the frame it is done to."""
    before = stand_in(frame)
    result = step(before)
    plan = analysed(result)
    operators: list[Json] = json.loads(plan.toJSON())
    reader = _Reader(operators, {e: place for place, e in enumerate(_output_ids(before))})
    outputs = _output_ids(result)
    kinds = {e.kind for root in reader.roots for e in root.walk()}
    return ColumnReads(
        plan=plan,
        names=tuple(result.columns),
        columns=tuple(frozenset(reader.direct(e)) for e in outputs),
        windows=tuple(frozenset(reader.windows(e)) for e in outputs),
        expressions=reader.window_expressions,
        places=reader.inputs,
        definitions=reader.definitions,
        generates=any(_kind(operator) == "Generate" for operator in operators),
        calls_python=any(kind.startswith("Python") for kind in kinds),
        deterministic=bool(plan.deterministic()),
        complete=not any("Subquery" in kind or kind == "Exists" for kind in kinds),
    )


def _kind(operator: Json) -> str:
    return str(operator["class"]).rpartition(".")[2]


def _output_ids(frame: DataFrame) -> list[int]:
    """Expression ids of a frame's columns, in one call to Java."""
    text = analysed(frame).output().mkString("\0")
    return [int(part.rpartition("#")[2].rstrip("L")) for part in text.split("\0")] if text else []


class _Reader:
    """Follows expression ids through a plan, down to the columns it started from."""

    def __init__(self, operators: Sequence[Json], inputs: Mapping[int, int]) -> None:
        self.inputs = inputs
        self.roots: list[Expr] = []
        self.definitions: dict[int, Expr] = {}
        self.window_expressions: dict[int, Expr] = {}
        for operator in operators:
            self._read(operator)

    def _read(self, operator: Json) -> None:
        for name in _DEFINING:
            for flat in operator.get(name, ()):
                root = parse_expression(flat)
                self.roots.append(root)
                if root.kind == "AttributeReference":
                    continue
                self.definitions[root.expr_id] = root
                if name == "windowExpressions":
                    self.window_expressions[root.expr_id] = root.children[0]
        if _kind(operator) == "Generate":
            generator = parse_expression(operator["generator"])
            self.roots.append(generator)
            for flat in operator["generatorOutput"]:
                self.definitions[parse_expression(flat).expr_id] = generator

    def direct(self, expr_id: int) -> set[int]:
        """Places of the input columns behind an attribute, windows left out."""
        if expr_id in self.inputs:
            return {self.inputs[expr_id]}
        if expr_id in self.window_expressions:
            return set()
        return set().union(*(self.direct(e) for e in self._read_by(expr_id)))

    def windows(self, expr_id: int) -> set[int]:
        """Ids of the window expressions behind an attribute."""
        if expr_id in self.inputs:
            return set()
        if expr_id in self.window_expressions:
            return {expr_id}
        return set().union(*(self.windows(e) for e in self._read_by(expr_id)))

    def _read_by(self, expr_id: int) -> set[int]:
        return self.definitions[expr_id].attributes()


def places_read(expressions: Sequence[Expr], reading: ColumnReads) -> frozenset[int]:
    """Places of the input columns that expressions inside a step read."""
    found: set[int] = set()
    waiting = [e for expression in expressions for e in expression.attributes()]
    while waiting:
        expr_id = waiting.pop()
        if expr_id in reading.places:
            found.add(reading.places[expr_id])
        elif expr_id in reading.definitions:
            waiting += reading.definitions[expr_id].attributes()
    return frozenset(found)
