"""Plans of paths, kept while the catalog stays as it is: asking again costs one look at it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dslog.query.edges import Edge
from dslog.query.plan import Plan, plan_path
from dslog.store.catalog import Catalog
from dslog.store.naming import find_array
from dslog.store.records import ArrayInfo

_MOST_PLANS = 256


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans paths through one catalog, with two questions to it for a path of any length."""

    catalog: Catalog
    _kept: dict[object, tuple[ArrayInfo, Plan]] = field(default_factory=dict)

    def plan(self, path: tuple[str, ...]) -> tuple[ArrayInfo, Plan]:
        """Return a path's first array and its plan; an unknown array is an error."""
        key = (self.catalog.state(), path)  # looked at first, so that a plan is never too old
        found = self._kept.get(key)
        if found is None:
            found = self._make(path)
            if len(self._kept) >= _MOST_PLANS:
                self._kept.clear()
            self._kept[key] = found
        return found

    def _make(self, path: tuple[str, ...]) -> tuple[ArrayInfo, Plan]:
        shapes = self.catalog.shapes(path)
        for name in path:
            if name not in shapes:
                find_array(name, self.catalog)  # says what is wrong
        pairs: dict[tuple[str, str], list[Edge]] = {}
        for edge in self.catalog.among(path):
            pairs.setdefault((edge.out, edge.in_), []).append(edge)
        return ArrayInfo(path[0], shapes[path[0]]), plan_path(path, _Known(pairs, self.catalog))


@dataclass(frozen=True, slots=True)
class _Known:
    """The lineages among some arrays, fetched at once; the rest is asked of the catalog."""

    pairs: dict[tuple[str, str], list[Edge]]
    catalog: Catalog

    def between(self, out: str, in_: str) -> Sequence[Edge]:
        """Return every lineage stored for this (output, input) pair."""
        return self.pairs.get((out, in_), ())

    def inputs_of(self, name: str) -> Sequence[str]:
        """Return the arrays that ``name`` was made from."""
        return self.catalog.inputs_of(name)

    def outputs_of(self, name: str) -> Sequence[str]:
        """Return the arrays made from ``name``."""
        return self.catalog.outputs_of(name)
