"""What numpy's functions do, a module per family: importing the package registers all rules."""

from dslog.capture.numpy.rules import concatenate as join
from dslog.capture.numpy.rules import (
    elementwise,
    fft,
    histogram,
    linalg,
    quantile,
    reduce,
    select,
    sets,
    shape,
    sort,
    statistics,
    window,
)
from dslog.capture.numpy.rules import linalg as matrices
from dslog.capture.numpy.rules import reduce as scan
from dslog.capture.numpy.rules import select as apply
from dslog.capture.numpy.rules import shape as views
from dslog.capture.numpy.rules import window as pad

__all__ = [
    "apply",
    "elementwise",
    "fft",
    "histogram",
    "join",
    "linalg",
    "matrices",
    "pad",
    "quantile",
    "reduce",
    "scan",
    "select",
    "sets",
    "shape",
    "sort",
    "statistics",
    "views",
    "window",
]
