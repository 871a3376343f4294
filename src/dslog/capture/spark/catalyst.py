"""Catalyst's trees from Python: what plans are made of, and how to make some of them.

A plan as Spark analysed it is a tree of some forty kinds of node. Before it is looked at, common
tables and subqueries are written as joins, by Spark's own rules; what each row and column of the
rest comes from is in ``plan_rule``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dslog.capture.spark.plan_reader import analysed, as_column, jvm_of, of_plan, scala_object

_SESSION = "spark.sessionWindow"
"""Marks, in Spark's metadata, a key that is merged with those that overlap it."""
NAMING = {"PipeOperator", "SubqueryAlias", "View"}
"""Nodes that give names, and nothing else."""

_PREDICATES_TO_JOINS = ("PullupCorrelatedPredicates", "RewritePredicateSubquery")
_OTHERS_TO_JOINS = ("RewriteCorrelatedScalarSubquery", "RewriteLateralSubquery")
_SUBQUERIES = {
    "DynamicPruningSubquery", "Exists", "FunctionTableSubqueryArgumentExpression",
    "LateralSubquery", "ListQuery", "ScalarSubquery",
}  # fmt: skip


def items(seq: Any) -> Iterator[Any]:
    """Iterate over a sequence of Scala's."""
    for place in range(seq.size()):
        yield seq.apply(place)


def kind_of(node: Any) -> str:
    """Return the name of a node's class: of a plan's or an expression's, in one call to Java."""
    return str(node.productPrefix())


def class_of(thing: Any) -> str:
    """Return the name of the class of anything of Java's."""
    return str(thing.getClass().getSimpleName()).rstrip("$")


def expr_id(named: Any) -> int:
    """Return the id of an attribute or of what defines one."""
    return int(named.exprId().id())


def walk(expression: Any) -> Iterator[Any]:
    """Yield an expression and everything below it."""
    yield expression
    for child in items(expression.children()):
        yield from walk(child)


def leaves(plan: Any) -> Iterator[Any]:
    """Yield the leaves of a plan."""
    yield from items(plan.collectLeaves())


def ids_in(text: str) -> list[int]:
    """Read ids off attributes as Spark writes them, one after the other."""
    return [int(part.rpartition("#")[2].rstrip("L")) for part in text.split("\0")] if text else []


def output_ids(plan: Any) -> list[int]:
    """Return the ids of a plan's columns, in one call to Java."""
    return ids_in(plan.output().mkString("\0"))


def output_names(plan: Any) -> tuple[str, ...]:
    """Return the names of a plan's columns, in one call to Java."""
    text = plan.output().mkString("\0")
    return tuple(part.rpartition("#")[0] for part in text.split("\0")) if text else ()


def references(expression: Any) -> list[int]:
    """Return the ids of the attributes that an expression names."""
    return ids_in(expression.references().toSeq().mkString("\0"))


def pivots_of(groups: Any) -> dict[int, Any]:
    """Return the aggregates that put values in the places of a pivot, by their ids."""
    found: dict[int, Any] = {}
    if "pivotfirst" not in str(groups.aggregateExpressions().mkString()):
        return found
    for one in items(groups.aggregateExpressions()):
        if "pivotfirst" in str(one.toString()):
            found |= {expr_id(one): e for e in walk(one) if kind_of(e) == "PivotFirst"}
    return found


def skips_nulls(function: Any) -> bool:
    """Whether a window function looks past nulls."""
    return kind_of(function) in ("Lag", "Lead", "NthValue") and bool(function.ignoreNulls())


def equal_columns(condition: Any) -> list[tuple[int, int]]:
    """Return the pairs of columns, of one name, that a condition says are equal."""
    kind = kind_of(condition)
    if kind == "And":
        return equal_columns(condition.left()) + equal_columns(condition.right())
    if kind not in ("EqualTo", "EqualNullSafe"):
        return []
    left, right = condition.left(), condition.right()
    named = kind_of(left) == kind_of(right) == "AttributeReference"
    if not named or str(left.name()).lower() != str(right.name()).lower():
        return []
    return [(expr_id(left), expr_id(right))]


def is_session(key: Any) -> bool:
    """Whether a key is merged with those that overlap it."""
    named = kind_of(key) in ("AttributeReference", "Alias")
    return named and _SESSION in str(key.metadata().json())


def has_one_row(plan: Any) -> bool:
    """Whether a plan gives a row whatever its tables hold."""
    while kind_of(plan) in ("Project", *NAMING):
        plan = plan.child()
    return kind_of(plan) == "Aggregate" and plan.groupingExpressions().isEmpty()


@dataclass(frozen=True)
class Catalyst:
    """Makes nodes and expressions in the session of a frame."""

    frame: DataFrame

    @property
    def jvm(self) -> Any:
        """The way to Java's packages."""
        return jvm_of(self.frame)

    @cached_property
    def _package(self) -> Any:
        return jvm_of(self.frame).org.apache.spark.sql.catalyst

    @cached_property
    def expressions(self) -> Any:
        """The package of expressions."""
        return self._package.expressions

    @cached_property
    def logical(self) -> Any:
        """The package of logical plans."""
        return self._package.plans.logical

    @cached_property
    def _nothing(self) -> Any:
        return scala_object(jvm_of(self.frame).scala, "None")

    def seq(self, some: Sequence[Any]) -> Any:
        """Return a sequence of Scala's."""
        return jvm_of(self.frame).org.apache.spark.api.python.PythonUtils.toSeq(list(some))

    def with_joins(self, plan: Any) -> Any:
        """Write common tables and subqueries as joins, but for scalars from nowhere else.

        What was in a subquery comes to light as it becomes a join, and is then next: values only
        when no predicate is left, whose own subqueries would not have been looked at.
        """
        plan = self._package.optimizer.InlineCTE(True, False, False).apply(plan)
        while True:
            before = plan
            plan = self._rewritten(plan, _PREDICATES_TO_JOINS)
            if plan.fastEquals(before):
                plan = self._rewritten(plan, _OTHERS_TO_JOINS)
            if plan.fastEquals(before):
                return plan

    def _rewritten(self, plan: Any, rules: Sequence[str]) -> Any:
        for name in rules:
            plan = scala_object(self._package.optimizer, name).apply(plan)
        return plan

    def alias(self, expression: Any, name: str, number: Any = None) -> Any:
        """Name an expression, under an id that is new or given."""
        number = number or self._named_expression.newExprId()
        none = self._empty
        return self._alias(expression, name, number, none, self._nothing, none)

    @cached_property
    def _named_expression(self) -> Any:
        return scala_object(self.expressions, "NamedExpression")

    @cached_property
    def _alias(self) -> Any:
        return self.expressions.Alias

    @cached_property
    def _empty(self) -> Any:
        return self.seq([])

    @property
    def counter(self) -> Any:
        """What numbers the rows of each partition."""
        return self.expressions.MonotonicallyIncreasingID()

    def null_of(self, kind: Any) -> Any:
        """Return a missing value of a type."""
        return scala_object(self.expressions, "Literal").create(None, kind)

    @cached_property
    def no_id(self) -> Any:
        """A row id that is missing."""
        return self.null_of(scala_object(jvm_of(self.frame).org.apache.spark.sql.types, "LongType"))

    @cached_property
    def _patterns(self) -> Any:
        return scala_object(self._package.trees, "TreePattern")

    @cached_property
    def _drawn(self) -> Any:
        names = "PYTHON_UDF", "USER_DEFINED_AGGREGATION", "CURRENT_LIKE"
        return self.seq([getattr(self._patterns, name)() for name in names])

    def is_steady(self, expression: Any) -> bool:
        """Whether an expression gives the same each time: clocks and users' functions may not."""
        drawn = not expression.deterministic() or expression.containsAnyPattern(self._drawn)
        return not drawn

    def is_aggregate(self, expression: Any) -> bool:
        """Whether an expression aggregates rows."""
        return bool(expression.containsPattern(self._patterns.AGGREGATE_EXPRESSION()))

    def has_subquery(self, tree: Any) -> bool:
        """Whether there is a subquery in an expression, or in a plan."""
        return bool(tree.containsPattern(self._patterns.PLAN_EXPRESSION()))

    def subqueries_in(self, expression: Any) -> list[Any]:
        """Return the subqueries in an expression."""
        some = walk(expression) if self.has_subquery(expression) else ()
        return [one for one in some if kind_of(one) in _SUBQUERIES]

    def subqueries_of(self, node: Any) -> list[Any]:
        """Return the subqueries in the expressions of a node."""
        some = items(node.expressions()) if self.has_subquery(node) else ()
        return [one for expression in some for one in self.subqueries_in(expression)]

    def replaced(self, node: Any, made: Iterable[tuple[Any, Any]]) -> Any:
        """Put expressions in the places of others in a node."""
        jvm = jvm_of(self.frame)
        found = jvm.java.util.HashMap()
        for old, new in made:
            found.put(old, new)
        if found.isEmpty():
            return node
        function = jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(found)
        return node.transformExpressions(function)

    @cached_property
    def _tag(self) -> Any:
        return self._package.trees.TreeNodeTag("dslog")

    def mark_of(self, plan: Any) -> str:
        """Return the mark on a plan, empty if there is none."""
        found = plan.getTagValue(self._tag)
        return str(found.get()) if found.isDefined() else ""

    def mark(self, plan: Any, text: str) -> None:
        """Put a mark on a plan, which it keeps in plans that are made of it."""
        plan.setTagValue(self._tag, text)

    def equal_to(self, column: Any, values: Any, place: int) -> Any:
        """Say that a column has one of some values, or is missing as that is."""
        sql = jvm_of(self.frame).org.apache.spark.sql
        data = sql.catalyst.util.GenericArrayData(values)  # stays in Java: Python has one integer
        literal = scala_object(self.expressions, "Literal")
        array = literal.create(data, sql.types.ArrayType(column.dataType(), True))
        value = self.expressions.GetArrayItem(array, literal.apply(place), False)
        return self.expressions.EqualNullSafe(column, value)

    def struct(self, values: Sequence[Any]) -> Any:
        """Return several values as one."""
        named = scala_object(self.expressions, "Literal").apply
        fields = (part for n, value in enumerate(values) for part in (named(f"c{n}"), value))
        return self.expressions.CreateNamedStruct(self.seq(list(fields)))

    def is_zero(self, count: Any) -> Any:
        """Say that a count is 0."""
        zero = scala_object(self.expressions, "Literal").default(count.dataType())
        return self.expressions.EqualTo(count, zero)

    def where(self, condition: Any, number: Any) -> Any:
        """Return a row id where a condition holds."""
        return self.expressions.If(condition, number, self.no_id)

    def project(self, named: Sequence[Any], plan: Any) -> Any:
        """Compute columns."""
        return self.logical.Project(self.seq(named), plan)

    def joined(self, left: Any, right: Any) -> Any:
        """Give every row of a plan the first row of another, or nulls."""
        one = scala_object(self.expressions, "Literal").apply(1)
        right = scala_object(self.logical, "Limit").apply(one, right)
        join_type = scala_object(self._package.plans, "LeftOuter")
        hint = scala_object(self.logical, "JoinHint").NONE()
        return self.logical.Join(left, right, join_type, self._nothing, hint)

    def aggregate(self, keys: Sequence[Any], made: Sequence[Any], plan: Any, hint: Any) -> Any:
        """Group rows."""
        return self.logical.Aggregate(self.seq(keys), self.seq(made), plan, hint)

    def window(
        self, made: Sequence[Any], parts: Sequence[Any], order: Sequence[Any], plan: Any, hint: Any
    ) -> Any:
        """Compute window functions."""
        return self.logical.Window(self.seq(made), self.seq(parts), self.seq(order), plan, hint)

    @cached_property
    def hidden_output(self) -> Any:
        """The tag of projections that a join on names makes."""
        return scala_object(self.logical, "Project").hiddenOutputTag()

    # frames of windows

    def _object(self, name: str) -> Any:
        return scala_object(self.expressions, name)

    def _bounds(self, upper: str) -> Any:
        first = self._object("UnboundedPreceding")
        rows = self._object("RowFrame")
        return self.expressions.SpecifiedWindowFrame(rows, first, self._object(upper))

    @cached_property
    def so_far(self) -> Any:
        """The rows up to a row."""
        return self._bounds("CurrentRow")

    @cached_property
    def whole(self) -> Any:
        """All rows of a partition."""
        return self._bounds("UnboundedFollowing")

    def up_to(self, bounds: Any) -> Any:
        """The rows from the first of the partition to the end of a frame."""
        first = self._object("UnboundedPreceding")
        return self.expressions.SpecifiedWindowFrame(bounds.frameType(), first, bounds.upper())

    @cached_property
    def _counting(self) -> Any:
        counted = analysed(self.frame.agg(F.count(F.lit(1))))
        return counted.aggregateExpressions().apply(0).child()

    def counted(self, parts: Sequence[Any], order: Sequence[Any], bounds: Any, name: str) -> Any:
        """Count the rows of a frame of a window."""
        expressions = self.expressions
        window = expressions.WindowSpecDefinition(self.seq(parts), self.seq(order), bounds)
        return self.alias(expressions.WindowExpression(self._counting, window), name)

    # back to frames

    def frame_of(self, plan: Any) -> DataFrame:
        """Return the frame of a plan."""
        return of_plan(self.frame, plan)

    def columns(self, plan: Any) -> Mapping[int, Any]:
        """Return the attributes of a plan by their ids."""
        return dict(zip(output_ids(plan), items(plan.output()), strict=True))

    def select(self, plan: Any, named: Mapping[str, Any]) -> DataFrame:
        """Return a frame of some attributes of a plan, under these names."""
        frame = self.frame_of(plan)
        return frame.select(
            *(as_column(frame, attribute).alias(name) for name, attribute in named.items())
        )

    def analysed(self, frame: DataFrame) -> Any:
        """Return the analysed plan of a frame."""
        return analysed(frame)
