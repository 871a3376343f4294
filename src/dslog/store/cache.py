"""Lineage that was loaded, kept while it fits: a query over the same arrays reads nothing twice."""

import threading
from collections import OrderedDict

from dslog.lineage.lineage import Lineage


class LineageCache:
    """The lineages used last, up to ``limit`` bytes of rows; the newest one stays in any case.

    Keyed by body number: bodies never change, so nothing has to be dropped when others write.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, Lineage] = OrderedDict()
        self._size = 0

    def get(self, body: int) -> Lineage | None:
        """Return a kept lineage and mark it as used."""
        with self._lock:
            if body in self._kept:
                self._kept.move_to_end(body)
            return self._kept.get(body)

    def put(self, body: int, lineage: Lineage) -> None:
        """Keep a lineage, and drop those used longest ago to make room."""
        with self._lock:
            if body in self._kept:
                return
            self._kept[body] = lineage
            self._size += _weight(lineage)
            while self._size > self._limit and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self._size -= _weight(dropped)

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._kept.clear()
            self._size = 0


def _weight(lineage: Lineage) -> int:
    return sum(factor.table.nbytes for term in lineage.terms for factor in term)
