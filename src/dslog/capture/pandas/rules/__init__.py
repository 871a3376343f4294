"""Rules for pandas' methods, by family: importing the package registers them."""

from dslog.capture.pandas.rules import (
    cell_rules,
    group_rules,
    join_rules,
    reduce_rules,
    row_rules,
    select_rules,
)

__all__ = [
    "cell_rules",
    "group_rules",
    "join_rules",
    "reduce_rules",
    "row_rules",
    "select_rules",
]
