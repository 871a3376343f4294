"""Explanations as lineage: ``dslog.explain.lime`` and ``dslog.explain.drise``."""

from dslog.capture.models.attribution import Attribution
from dslog.capture.models.drise import drise
from dslog.capture.models.lime import lime

__all__ = ["Attribution", "drise", "lime"]
