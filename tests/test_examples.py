"""Every example runs and finds what it promises."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
FINDS = {
    "by_hand.py": "smoother[10, 10] was made from 13 cells of grid:",
    "spark_relation.py": "customer 17 has 400 orders, the first at [43]",
    "wrong_pixel.py": "which touched [[126, 60], [127, 60]]",
}


def test_every_example_is_here():
    assert sorted(path.name for path in EXAMPLES.glob("*.py")) == sorted(FINDS)


@pytest.mark.parametrize("name", FINDS)
def test_example(name, spark, capsys):
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert FINDS[name] in capsys.readouterr().out
