"""Tables in pandas, with lineage: ``dslog.tables.group_by`` and ``dslog.tables.inner_join``."""

from dslog.capture.relational import group_by, inner_join

__all__ = ["group_by", "inner_join"]
