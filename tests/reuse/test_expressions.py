import pytest

from dslog.errors import DslogError
from dslog.reuse.expression import Sizes, compiled, evaluate

SIZES = Sizes(((7, 3), (5,)), ((2,),), (4,))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-2", -2),
        ("i0_1-1", 2),
        ("i0_0*i0_1-1", 20),
        ("i0_0-i1_0+o0_0", 4),
        ("(i0_0+1)//2", 4),
        ("-(i0_0//2)+x0", 1),
        ("i0_0%i1_0", 2),
        ("min(i0_0, i1_0)-1", 4),
        ("-max(i0_0, i1_0)", -7),
    ],
)
def test_values(text, value):
    assert evaluate(text, SIZES) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "i0",
        "a",
        "i0_0**2",
        "i0_0/2",
        "True",
        "1.5",
        "f(1)",
        "min(1)",
        "min(1, 2, 3)",
        "max(1, 2, key=3)",
        "i0_0 if 1 else 2",
        "__import__",
        "(",
        "1" + "+1" * 300,
    ],
)
def test_anything_but_arithmetic_is_refused(text):
    with pytest.raises(DslogError, match="no expression in sizes"):
        compiled(text)
