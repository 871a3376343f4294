"""Explanations as lineage: ``dslog.explain.lime`` and ``dslog.explain.drise``."""

from dslog.capture.explain.attribution import Attribution
from dslog.capture.explain.drise import drise
from dslog.capture.explain.lime import lime

__all__ = ["Attribution", "drise", "lime"]
