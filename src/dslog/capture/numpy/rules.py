"""All rules: importing this module registers them."""

from dslog.capture.numpy import (
    rules_elementwise,
    rules_fft,
    rules_join,
    rules_linalg,
    rules_matrices,
    rules_pad,
    rules_reduce,
    rules_shape,
    rules_views,
    rules_window,
)

__all__ = [
    "rules_elementwise",
    "rules_fft",
    "rules_join",
    "rules_linalg",
    "rules_matrices",
    "rules_pad",
    "rules_reduce",
    "rules_shape",
    "rules_views",
    "rules_window",
]
