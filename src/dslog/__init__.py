"""Cell-level data lineage: which input cells made these output cells, and what did they touch?"""

from dslog.engine.session import spark
from dslog.errors import DslogError

__all__ = ["DslogError", "spark"]
