"""What methods of estimators read: a table by class, in words that many classes share.

A method is seen as a function of its arguments and of the fitted attributes of its estimator. A
*pattern* says which cells of one of these an output reads, from the shapes or from the values: the
same row, the same column, everything. A *spec* has the patterns of a class: by attribute for what
``fit`` makes, by method for the rest. What no spec names is from everything, labelled not exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dslog.algebra.product import all_to_all, elementwise, matched
from dslog.capture.numpy.call import Call, Lineages, arrange
from dslog.capture.numpy.registry import REGISTRY, find_lineages
from dslog.lineage.lineage import Lineage
from dslog.types import Array


@dataclass(eq=False)
class MethodCall:
    """One call of an estimator's method on plain values.

    ``made`` names the attributes that are its outputs, if it fits, and ``output`` the one that is
    asked for; ``values`` are its arguments.
    """

    estimator: Any
    kind: type
    method: str
    values: Mapping[str, Any]
    text: str
    made: list[str] = field(default_factory=list)
    output: str = ""

    def __post_init__(self) -> None:
        self.__qualname__ = self.text  # what can be called is written down by its name

    def __call__(self) -> None:
        """Do nothing: it only has to look like something that can be called."""


Pattern = Callable[[MethodCall, Array, Array], Lineage | None]
"""The lineage of an output from an input; None where it reads nothing of it."""

Reads = dict[str, Pattern]
"""Patterns by the name of an argument or an attribute; ``"state"`` for attributes not named."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What is known of a class.

    ``fit`` says by attribute what it is made from, ``"*"`` for those not named; ``use`` what other
    methods read. ``opaque`` says that they read more of a fit than the attributes named.
    """

    fit: Mapping[str, Reads]
    use: Mapping[str, Reads]
    opaque: bool = False

    def reads(self, method: str) -> Reads | None:
        """Return what a method that does not fit reads, if that is known."""
        for name in (method, *_LIKE.get(method, ())):
            if name in self.use:
                return self.use[name]
        if method == "score" and (reads := self.reads("predict")) is not None:
            return dict.fromkeys(("X", "y", "sample_weight", *reads), everything)
        return None

    def of_attribute(self, attribute: str) -> Reads:
        """Return what an attribute is made from."""
        name = attribute.partition(".")[0]
        return self.fit.get(name, self.fit.get("*", {}))


_LIKE = {
    "fit_transform": ("transform",),
    "fit_predict": ("predict",),
    "predict_log_proba": ("predict_proba",),
    "predict_joint_log_proba": ("decision_function",),
    "score_samples": ("decision_function",),
    "inverse_transform": (),
}
SPECS: dict[str, Spec] = {}
"""By the public name of the class."""

_PER_ROW = (
    "predict predict_proba predict_log_proba decision_function score_samples transform "
    "staged_predict staged_predict_proba staged_decision_function apply"
)
_BY_ROW = frozenset(_PER_ROW.split())
"""scikit-learn tests of every estimator that these do not depend on the other rows of ``X``."""
_COUPLED = frozenset({"NMF", "MiniBatchNMF", "BernoulliRBM", "MiniBatchSparsePCA", "SparsePCA"})
"""Estimators that solve for all rows together, whatever the tests say."""


def describe_estimators(module: str, names: str, spec: Spec) -> None:
    """Say what classes of a module of scikit-learn read; nothing is imported for that."""
    SPECS.update({f"sklearn.{module}.{name}": spec for name in names.split()})


def spec_of(kind: type) -> Spec | None:
    """Return what is known of a class; a subclass made elsewhere may do anything."""
    package, _, rest = kind.__module__.partition(".")
    return SPECS.get(f"{package}.{rest.partition('.')[0]}.{kind.__name__}")


# --- patterns ------------------------------------------------------------------------------------


def everything(_call: MethodCall, out: Array, array: Array) -> Lineage:
    """Every cell."""
    return all_to_all(out.shape, array.shape)


def at_most(_call: MethodCall, out: Array, array: Array) -> Lineage:
    """Every cell, as far as we know."""
    return all_to_all(out.shape, array.shape, exact=False)


def nothing(_call: MethodCall, _out: Array, _array: Array) -> None:
    """Not read: shapes and the like do not count."""


def cell(call: MethodCall, out: Array, array: Array) -> Lineage:
    """The cell in the same place, after broadcasting."""
    try:
        if np.broadcast_shapes(out.shape, array.shape) == out.shape:
            return elementwise(out.shape, array.shape)
    except ValueError:
        pass
    return at_most(call, out, array)


def along(in_axis: int, out_axis: int, *, otherwise: Pattern = at_most) -> Pattern:
    """One axis of the input goes with one of the output, the others are read whole.

    ``otherwise`` is for what lacks such axes, or has them of another length.
    """

    def pattern(call: MethodCall, out: Array, array: Array) -> Lineage | None:
        ends = (in_axis, array.ndim), (out_axis, out.ndim)
        if all(-n <= axis < n for axis, n in ends):
            i, j = (axis % n for axis, n in ends)
            if array.shape[i] == out.shape[j]:
                return matched(out.shape, array.shape, {i: j})
        return otherwise(call, out, array)

    return pattern


row = along(0, 0)
column = along(-1, -1)
per_output = along(0, 1, otherwise=everything)
"""An attribute with a line per column of the output, or for the one output there is."""
per_target = along(1, 0, otherwise=everything)
"""Targets that are fitted apart, each with a line of the attribute."""
vector = column
"""A line of numbers, one per column."""


def inexact(pattern: Pattern) -> Pattern:
    """The same cells, as a superset."""

    def labelled(call: MethodCall, out: Array, array: Array) -> Lineage | None:
        found = pattern(call, out, array)
        return None if found is None else found.with_exact(False)

    return labelled


def like(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Pattern:
    """What a numpy function reads that gives an output of that shape."""

    def pattern(call: MethodCall, out: Array, array: Array) -> Lineage | None:
        with np.errstate(all="ignore"):
            result = np.asarray(function(array, *args, **kwargs))
        if result.shape != out.shape:
            return at_most(call, out, array)
        name = f"numpy.{function.__name__}"
        return find_lineages(Call(name, function, (array, *args), kwargs, (array,), (result,)))[0][
            0
        ]

    return pattern


# --- the one rule of all methods -----------------------------------------------------------------


def method_call(estimator: MethodCall, **values: Any) -> None:
    """Stand for a method of an estimator in the registry: arguments and attributes by name."""
    raise NotImplementedError((estimator, values))


def _rule(call: Call) -> Lineages | None:
    """Look every pair of an output and an input up in the class's spec."""
    step: MethodCall = call.args[0]
    spec = spec_of(step.kind)
    outputs = []
    for place, out in enumerate(call.outputs):
        if step.made:
            step.output = step.made[place]
            reads = {} if spec is None else spec.of_attribute(step.output)
        else:
            reads = (spec.reads(step.method) if spec else None) or _unknown(step)
        pairs = []
        for name, value in call.kwargs.items():
            pattern = _pattern(reads, name, value)
            pairs += [(item, pattern(step, out, item)) for item in _items(call, value)]
        outputs.append(pairs)
    return arrange(call, *outputs)


def _pattern(reads: Reads, name: str, value: Any) -> Pattern:
    """What is read of an argument or an attribute; of a list in place of an array nobody knows."""
    if isinstance(value, (list, tuple)):
        return at_most
    name = name.partition(".")[0]
    return reads.get(name, reads.get("state", at_most) if name.endswith("_") else at_most)


def _items(call: Call, value: Any) -> list[Array]:
    """Return the tracked arrays that an argument is, or holds."""
    if isinstance(value, (list, tuple)):
        return [array for item in value for array in _items(call, item)]
    return [] if call.which(value) is None else [value]


def _unknown(step: MethodCall) -> Reads:
    """What is known of a method without a spec."""
    ours = step.kind.__module__.startswith("sklearn.") and step.kind.__name__ not in _COUPLED
    by_row = step.method in _BY_ROW and not step.values.get("return_cov")
    return {"X": inexact(row)} if ours and by_row else {}


REGISTRY.attach(
    method_call, "sklearn.base.BaseEstimator", "value", _rule, "what the class's spec says"
)
