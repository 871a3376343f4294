"""Every method gives pandas' result, and lineage that misses no cell.

What a method reads is seen by changing one input cell at a time. A change that alters which rows
there are, or their order, says what decided, not what was read: those are left out where noted.
"""

import numpy as np
import pandas as pd
import pytest

import dslog
from dslog.capture.pandas import interception, table_state
from tests.capture.pandas.methods import METHODS
from tests.capture.pandas.perturbation import frames, read_cells, told_cells

FRAMES = frames()
# A changed value is in another order, or is chosen or not: it decides.
DECIDES = {"sort", "set_mask"}
# Functions of the program, or no rule yet: labelled.
SUPERSETS = {
    "glambda", "gapply", "crosstab", "apply1", "apply0", "update", "cat",
}  # fmt: skip
CASES = [
    (frame, name)
    for k, frame in enumerate(FRAMES)
    for n, name in enumerate(METHODS)
    if frame == "plain" or n % 5 == k % 5  # all on one, a fifth on each other
]
TAKEN = {"dropcol2"}  # labels that the program takes and gives back
NO_LABELS = dict.fromkeys(("named", "levels", "dates"), TAKEN)
NO_LABELS["repeated"] = TAKEN | {"query", "ghead", "gfilter"}  # whose rows labels can't tell


@pytest.fixture(autouse=True)
def _strict(monkeypatch):
    """What can't be right is an error, as is a rule that fails."""
    monkeypatch.setattr(table_state, "STRICT", [1])
    monkeypatch.setattr(interception, "DEBUG", [])


def same(expected, result):
    if isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(expected, result)
    elif isinstance(expected, pd.Series):
        pd.testing.assert_series_equal(expected, result)
    else:
        np.testing.assert_array_equal(expected, dslog.plain(result))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("frame", "name"), CASES)
def test_method_reads_what_it_says(name, frame):
    table, method = FRAMES[frame], METHODS[name]
    try:
        expected, seen = read_cells(table, method)
    except Exception as error:
        with pytest.raises(type(error)):
            told_cells(table, method)
        return
    told, result, (exact, array) = told_cells(table, method)
    same(expected, result)
    assert told is not None, array
    if name not in DECIDES:
        assert seen <= told
    if name not in SUPERSETS and name not in NO_LABELS.get(frame, ()):
        assert exact
