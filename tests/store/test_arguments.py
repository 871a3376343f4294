import json

import numpy as np
import pytest

import dslog
from dslog.store.arguments import canonical_args
from dslog.store.catalog import compact


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (None, None),
        (True, True),
        (np.True_, True),
        (3, 3),
        (np.int32(3), 3),
        (np.uint64(2**63), 2**63),
        (1.5, 1.5),
        (np.float32(0.5), 0.5),
        (float("nan"), {"$float": "nan"}),
        (float("-inf"), {"$float": "-inf"}),
        (1 + 2j, {"$complex": [1.0, 2.0]}),
        ("text", "text"),
        (np.str_("text"), "text"),
        ((1, (2, None)), [1, [2, None]]),
        (range(3), [0, 1, 2]),
        (slice(1, None, -1), {"$slice": [1, None, -1]}),
        ((..., slice(np.int64(2))), [{"$ellipsis": True}, {"$slice": [None, 2, None]}]),
        (np.dtype("float32"), "float32"),
        (np.float32, "float32"),
        (int, "int64"),
        (np.array([[1, 2]]), {"$array": ["<i8", [1, 2], [1, 2]]}),
        (np.array(True), {"$array": ["|b1", [], [True]]}),
        (np.add, {"$ufunc": "add"}),
        ({"a": {"b": (1,)}}, {"a": {"b": [1]}}),
        ({"$slice": 1}, {"$$slice": 1}),
    ],
)
def test_values(value, stored):
    found = canonical_args({"x": value})
    assert found == {"x": stored}
    assert json.loads(compact(found)) == found


def test_equal_arguments_give_equal_text():
    one = canonical_args({"axis": (0, 1), "keepdims": False})
    two = canonical_args({"keepdims": np.False_, "axis": [np.int8(0), 1]})
    assert compact(one) == compact(two)
    assert compact(canonical_args({"x": 1})) != compact(canonical_args({"x": 1.0}))
    assert compact(canonical_args({"x": 1})) != compact(canonical_args({"x": True}))


def test_no_arguments():
    assert canonical_args(None) == canonical_args({}) == {}


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"f": len}, r"op_args\['f'\] is <built-in function len>"),
        ({"deep": [1, {"x": object()}]}, r"op_args\['deep'\]\[1\]\['x'\]"),
        ({"s": {1, 2}}, "of type set"),
        ({"b": b"raw"}, "of type bytes"),
        ({"o": np.array([object()])}, "of type ndarray"),
        ({"d": np.datetime64("2020-01-01")}, "datetime64"),
        ({"t": str}, "of type type"),
        ({"d": {1: 2}}, r"op_args\['d'\] has the key 1"),
        ([("axis", 1)], "is a dict"),
    ],
)
def test_what_cannot_be_stored(args, words):
    with pytest.raises(dslog.ArgumentError, match=words):
        canonical_args(args)
