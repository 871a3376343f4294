"""What the store keeps of arguments reads like Python again."""

import numpy as np
import pytest

from dslog.store.arguments import call_text, canonical_args, value_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (1.5, "1.5"),
        (None, "None"),
        (True, "True"),
        ("edge", "'edge'"),
        ((1, 2), "[1, 2]"),
        (slice(None, 2), ":2"),
        (slice(1, None, -1), "1::-1"),
        (slice(None), ":"),
        (..., "..."),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (1 + 2j, "1.0+2.0j"),
        (np.float32, "'float32'"),
        (np.add, "add"),
        (np.array([True, False]), "[True, False]"),
        (np.arange(100), "<100 i8>"),
        (np.zeros((2, 3)), "<2 x 3 f8>"),
        ({"a": 1, "b": "c"}, "{'a': 1, 'b': 'c'}"),
        ({"$slice": 1}, "{'$$slice': 1}"),
    ],
)
def test_values(value, text):
    assert value_text(canonical_args({"x": value})["x"]) == text


def test_what_is_long_is_cut():
    text = call_text("f", {"x": list(range(100))})
    assert text.startswith("f(x=[0, 1, 2")
    assert text.endswith("...)")
    assert len(text) < 60
