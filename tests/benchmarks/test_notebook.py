"""Operations are counted from the syntax tree."""

import json

import pytest

from benchmarks.notebooks.catalogue import kind_of_function, kind_of_method
from benchmarks.notebooks.notebook import NotebookError, count_cells, count_notebook
from benchmarks.paper import KAGGLE, WORKFLOWS, means

HEAD = """
import numpy as np
import pandas as pd
import matplotlib.pyplot as plt
import seaborn as sns
from sklearn.model_selection import train_test_split
from sklearn.linear_model import LogisticRegression
df = pd.read_csv("x.csv")
other = pd.read_csv("y.csv")
x = np.array([1, 2, 3])
"""


def count(*cells):
    return count_cells([HEAD, *cells])


def names(*cells):
    return [one.name for one in count(*cells).found]


@pytest.mark.parametrize(
    ("code", "operations", "compressible", "chain"),
    [
        ("", 0, 0, 0),
        ("y = x + 1", 1, 1, 1),
        ("y = np.sqrt(x) + x", 2, 2, 2),
        ("y = np.sort(x)", 1, 0, 1),
        ("df['a']", 1, 1, 1),
        ("df[df['a'] > 3]", 3, 2, 3),
        ("df.a.mean()", 2, 2, 2),
        ("df['c'] = df['a'] * df['b']", 4, 4, 3),
        ("df.dropna().head()", 2, 1, 2),
        ("df.groupby('k')['v'].sum()", 1, 0, 1),
        ("df.groupby('k').agg({'v': 'sum'}).sort_values('v')", 2, 0, 2),
        ("pd.merge(df, other, on='k')", 1, 0, 1),
        ("pd.concat([df, other])", 1, 1, 1),
        ("df.loc[0:3, 'a']", 1, 1, 1),
        ("df['t'].str.lower().str.strip()", 3, 3, 3),
        ("df.values.reshape(-1)", 2, 2, 2),
        ("-x", 1, 1, 1),
        ("x += 1\nx *= 2", 2, 2, 2),
        ("x[0] = 5\ny = x", 1, 1, 1),
        ("df.shape; df.columns; len(df); print(df)", 0, 0, 0),
        ("plt.plot(x); sns.countplot(df)", 0, 0, 0),
        ("df['a'].plot(); df['a'].hist()", 2, 2, 1),
        ("max(x)", 1, 1, 1),
        ("sorted(x)", 1, 0, 1),
    ],
)
def test_counts(code, operations, compressible, chain):
    found = count(code)
    assert (found.operations, found.compressible, found.longest_chain) == (
        operations,
        compressible,
        chain,
    )


def test_loops_count_once():
    assert count("for i in range(9):\n    x = x + i").operations == 1
    assert count("while True:\n    x = x + 1").operations == 1


def test_branches_are_both_read():
    assert count("if a:\n    y = x + 1\nelse:\n    y = x - 1").operations == 2
    assert count("try:\n    y = x + 1\nexcept ValueError:\n    y = -x").operations == 2
    assert count("with open('f') as f:\n    y = x + 1").operations == 1
    assert count("y = x + 1 if a else x").operations == 1


def test_functions_count_where_first_called():
    code = "def twice(v):\n    return v * 2\n"
    assert count(code).operations == 0
    found = count(code, "y = twice(x)", "z = twice(y)")
    assert (found.operations, found.longest_chain) == (1, 1)
    chained = count(code, "z = twice(twice(x)) + 1")
    assert (chained.operations, chained.longest_chain) == (2, 3)


def test_recursion_ends():
    assert count("def f(v):\n    return f(v + 1)\n", "f(x)").operations >= 1


def test_models_take_the_chain_along():
    code = """
X, y = df[['a', 'b']], df['c']
X_train, X_test, y_train, y_test = train_test_split(X, y)
model = LogisticRegression()
model.fit(X_train, y_train)
p = model.predict(X_test)
error = (p != y_test).mean()
"""
    found = count(code)
    assert names(code)[-4:] == ["train_test_split", "predict", "compare", "mean"]
    assert found.longest_chain == 5


def test_names_follow_what_they_were_last_given():
    assert count("x = 'text'\ny = x + 'more'").operations == 0
    assert count("a, b = x, 1\nc = b + 1\nd = a + 1").operations == 1
    assert count("y: object = x + 1").operations == 1
    assert count("y = [row * 2 for row in x if row > 1]").operations == 2


def test_magics_and_broken_cells():
    found = count("%matplotlib inline\n!pip install x\ny = x + 1\ndf?", "not python at all")
    assert (found.operations, found.skipped, found.cells) == (1, 1, 3)
    assert count("%%time\ny = x + 1").operations == 1
    assert count("%%bash\nls").skipped == 1


def notebook(path, *sources):
    cells = [{"cell_type": "code", "source": source} for source in sources]
    cells.insert(1, {"cell_type": "markdown", "source": "x + 1"})
    path.write_text(json.dumps({"cells": cells, "nbformat": 4}))
    return path


def test_notebook_files(tmp_path):
    path = notebook(tmp_path / "a.ipynb", HEAD.splitlines(keepends=True), "y = x + 1")
    found = count_notebook(path)
    assert (found.notebook, found.operations, found.cells) == ("a.ipynb", 1, 2)
    script = tmp_path / "b.py"
    script.write_text(HEAD + "y = x + 1\n")
    assert count_notebook(script).operations == 1


def test_old_notebooks(tmp_path):
    cells = [{"cell_type": "code", "input": [HEAD, "y = x + 1"]}]
    path = tmp_path / "old.ipynb"
    path.write_text(json.dumps({"worksheets": [{"cells": cells}], "nbformat": 3}))
    assert count_notebook(path).operations == 1


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": [{}]}', '{"cells": 3}'])
def test_other_files(text, tmp_path):
    path = tmp_path / "x.ipynb"
    path.write_text(text)
    with pytest.raises(NotebookError, match=r"\.ipynb"):
        count_notebook(path)


def test_missing_file(tmp_path):
    with pytest.raises(NotebookError, match="can't read"):
        count_notebook(tmp_path / "none.ipynb")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("numpy.sin", "structured"),
        ("numpy.sort", "value"),
        ("numpy.linalg.inv", "structured"),
        ("seaborn.heatmap", "none"),
        ("pandas.read_csv", "source"),
        ("pandas.merge", "value"),
        ("somewhere.thing", "unknown"),
    ],
)
def test_functions_are_known(path, kind):
    assert kind_of_function(path) == kind


def test_methods_are_known():
    assert kind_of_method("cumsum") == "structured"
    assert kind_of_method("argsort") == "value"
    assert kind_of_method("to_csv") == "none"
    assert kind_of_method("nonsense") == "unknown"


def test_hand_counts_agree_with_the_papers_table():
    assert len(KAGGLE) == 20
    for dataset, found in means().items():
        for mean, (printed, _) in zip(found, WORKFLOWS[dataset], strict=True):
            assert mean == pytest.approx(printed, abs=0.06)
