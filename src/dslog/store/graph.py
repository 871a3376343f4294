"""A catalog as the operation graph that queries walk."""

from dslog.query.edges import Edge
from dslog.store.catalog import Catalog


class CatalogEdges:
    """The :class:`~dslog.query.edges.Edges` of a store."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def between(self, out: str, in_: str) -> list[Edge]:
        """Return every lineage stored for this (output, input) pair, shared ones once."""
        infos = {info.body: info for info in self._catalog.lineages(out, in_)}
        return [Edge(out, in_, body, info.num_rows, info.exact) for body, info in infos.items()]

    def inputs_of(self, name: str) -> list[str]:
        """Return the arrays that ``name`` was made from."""
        return self._catalog.inputs_of(name)

    def outputs_of(self, name: str) -> list[str]:
        """Return the arrays made from ``name``."""
        return self._catalog.outputs_of(name)
