"""Every command, for people and as JSON."""

import re

import pytest
from typer.testing import CliRunner

import dslog
from dslog.cli.main import app

COMMANDS = ["init", "ingest", "ls", "show", "stats", "query", "explain", "verify", "gc", "version"]


@pytest.fixture
def lines(run):
    """Return a function that runs a command which must succeed, and gives its lines."""

    def call(*arguments):
        result = run(*arguments)
        assert (result.code, result.err) == (0, "")
        return [line.rstrip() for line in result.out.splitlines()]

    return call


def test_init_makes_a_store_once(run, tmp_path):
    first = run("init", tmp_path / "new")
    assert first.code == 0
    assert first.out == f"made an empty store at {tmp_path / 'new'}\n"
    again = run("init", tmp_path / "new", "--json")
    assert again.json == {"path": str(tmp_path / "new"), "created": False}
    assert run("verify", tmp_path / "new").code == 0


def test_ls(lines, run, store):
    found = lines("ls", store)
    assert found[0] == f"{store}: 6 arrays, 3 operations, 4 lineages"
    assert found[1].split() == ["array", "shape", "made", "by"]
    assert [line.split() for line in found[2:5]] == [
        ["image", "3", "x", "2", "given"],
        ["total", "3", "sum(axis=1)", "of", "image"],
        ["grand", "scalar", "sum()", "of", "total"],
    ]
    assert found[-1].endswith("lineage from image (superset)")
    data = run("ls", store, "--json").json
    assert data["arrays"][0] == {"name": "image", "shape": [3, 2]}
    assert data["operations"][0]["args"] == {"axis": 1}
    assert [(item["out"], item["in"], item["exact"]) for item in data["lineages"]] == [
        ("total", "image", True),
        ("grand", "total", True),
        ("sorted", "list", True),
        ("guess", "image", False),
    ]


def test_ls_says_what_a_limit_left_out(lines, store):
    found = lines("ls", store, "--limit", 2)
    assert found[-1].strip() == "2 of 6 arrays shown; --limit 0 shows all"
    assert len(found) == 5
    assert len(lines("ls", store, "--limit", 0)) == 8


def test_ls_of_an_empty_store(lines, run, tmp_path):
    run("init", tmp_path / "new")
    assert lines("ls", tmp_path / "new") == [
        f"{tmp_path / 'new'}: 0 arrays, 0 operations, 0 lineages"
    ]


def test_show_an_array(lines, run, store):
    found = lines("show", store, "total")
    assert found[0] == "total: 3 cells"
    assert re.fullmatch(r"  made by sum\(axis=1\) of image: operation 1, .* UTC, run 1.*", found[1])
    assert found[2].startswith("  used by sum() of total")
    assert re.fullmatch(
        r"total <- image: 1 compressed row, \d+ bytes in the catalog, exact", found[3]
    )
    assert found[4] == "  a0 = b0, a1 in [0, 1], for b0 in [0, 2]"
    data = run("show", store, "total", "--json").json
    assert (data["name"], data["shape"]) == ("total", [3])
    assert data["lineages"][0]["formula"] == ["a0 = b0, a1 in [0, 1], for b0 in [0, 2]"]


def test_show_a_source_a_pair_and_a_guess(lines, run, store):
    assert lines("show", store, "image")[:2] == [
        "image: 3 x 2, 6 cells",
        "  given: nothing in the store made it",
    ]
    pair = lines("show", store, "sorted", "list")
    assert re.fullmatch(r"sorted <- list: [\d,]+ compressed rows, .* in the files, exact", pair[0])
    assert pair[-1].endswith("more rows")
    assert "not exact" in lines("show", store, "guess")[1]
    assert run("show", store, "guess", "image", "--json").json["lineages"][0]["exact"] is False


def test_query_backward_and_forward(lines, run, store):
    assert lines("query", store, "total", "image", "--cells", "1") == [
        "total[1] -> image (3 x 2): 2 of 6 cells, exact",
        "  box   cells",
        "  1, :      2",
        "  ┌────┐",
        "  │    │",
        "  │████│",
        "  │    │",
        "  └────┘",
    ]
    assert run("query", store, "image", "total", "-c", "0:2, :", "--json").json == {
        "path": ["image", "total"],
        "asked": "0:2, :",
        "way": None,
        "shape": [3],
        "count": 2,
        "exact": True,
        "predicted": False,
        "complete": True,
        "leaks": [],
        "num_boxes": 1,
        "boxes": [[[0, 1]]],
    }


def test_query_along_a_path_and_over_every_path(lines, run, store):
    long = run("query", store, "grand", "total", "image", "--json").json
    assert (long["count"], long["boxes"]) == (6, [[[0, 2], [0, 1]]])
    walk = lines("query", store, "grand", "image", "--backward", "--no-picture")
    assert walk[0] == "grand[all] -> every path backward -> image (3 x 2): 6 of 6 cells, exact"
    ahead = run("query", store, "image", "grand", "--forward", "-c", "0, 0", "--json").json
    assert (ahead["way"], ahead["shape"], ahead["count"]) == ("forward", [], 1)


def test_a_box_is_printed_as_cells_takes_it(run, store):
    result = run("query", store, "sorted", "list", "-c", "0:200", "-n", 0, "--no-picture")
    boxes = [line.split("  ")[1] for line in result.out.splitlines()[2:]]
    again = run("query", store, "list", "-c", "; ".join(boxes), "--json").json
    assert (
        again["boxes"]
        == run("query", store, "sorted", "list", "-c", "0:200", "--json").json["boxes"]
    )


def test_query_formats(lines, run, store):
    path = ("query", store, "total", "image", "-c", "0; 2")
    assert lines(*path, "--format", "count") == ["4"]
    assert lines(*path, "--format", "cells")[1:] == ["  0, 0", "  0, 1", "  2, 0", "  2, 1"]
    assert lines(*path, "--format", "mask")[1:] == ["  11", "  00", "  11"]
    assert run(*path, "-f", "cells", "--json").json["cells"] == [[0, 0], [0, 1], [2, 0], [2, 1]]
    assert run(*path, "-f", "mask", "--json").json["mask"] == [[1, 1], [0, 0], [1, 1]]
    assert "boxes" not in run(*path, "-f", "count", "--json").json
    assert lines(*path, "--format", "cells", "--picture")[-1] == "  └────┘"


@pytest.mark.parametrize("form", ["boxes", "cells", "mask"])
def test_query_says_what_a_limit_left_out(lines, run, store, form):
    path = ("query", store, "list", "sorted", "--format", form, "--no-picture")
    asked = ("-c", ":300") if form != "mask" else ("-c", ":")
    found = lines(*path, *asked)
    if form == "mask":
        assert found[-1] == "  the first 200 of 4,000 columns shown"
    else:
        assert re.fullmatch(rf"  20 of \d+ {form} shown; --limit 0 shows all", found[-1])
        assert "shown" not in lines(*path, *asked, "-n", 0)[-1]
        assert len(run(*path, *asked, "-n", 5, "--json").json[form]) == 5


def test_query_of_nothing_and_of_a_scalar(lines, store):
    nothing = lines("query", store, "total", "image", "--cells", "0:0")
    assert nothing[0] == "total[0:0] -> image (3 x 2): 0 of 6 cells, exact"
    assert "█" not in "".join(nothing)
    assert lines("query", store, "total", "grand", "-c", "0") == [
        "total[0] -> grand: 1 of 1 cell, exact",
        "  box  cells",
        "  ()       1",
    ]


def test_a_superset_says_so(lines, run, store):
    found = lines("query", store, "guess", "image", "-c", "0, 0")
    label = "not exact: some lineage on the way is a superset, or an estimate"
    assert found[0].endswith(f"6 of 6 cells, {label}")
    assert run("query", store, "guess", "image", "--json").json["exact"] is False
    assert "backward (not exact)" in lines("explain", store, "guess", "image")[2]


def test_no_merge_gives_the_same_cells(run, store):
    path = ("query", store, "grand", "total", "image", "--json")
    assert run(*path, "--no-merge").json == run(*path).json


def test_explain(lines, run, store):
    found = lines("explain", store, "grand", "total", "image")
    assert re.fullmatch(
        r"grand -> total -> image: 6 cells in 1 box, exact, .* ms on local", found[0]
    )
    assert found[1].split()[:3] == ["step", "way", "rows"]
    assert found[2].startswith("grand -> total  backward ")
    assert len(found) == 4
    data = run("explain", store, "grand", "total", "image", "--json").json
    assert [step["cells"] for step in data["steps"]] == [3, 6]


def test_stats(lines, run, store):
    found = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in lines("stats", store))
    assert found["arrays"] == "6"
    assert found["lineages"] == "4, of which 1 superset and 0 predicted; 4 different ones stored"
    assert "in 1 file" in found["lineage"]
    assert run("stats", store, "--json").json["rows"] > 900


def test_verify_finds_damage(run, store):
    sound = run("verify", store)
    assert (sound.code, sound.out) == (0, f"{store} is sound: checked 4 lineages and 1 file\n")
    file = next(store.rglob("*.parquet"))
    file.write_bytes(file.read_bytes()[:-7])
    broken = run("verify", store)
    assert broken.code == 1
    assert broken.out.startswith(f"{store} is damaged: 1 problem in 4 lineages and 1 file\n")
    assert "'sorted' <- 'list'" in broken.out
    data = run("verify", store, "--json")
    assert data.code == 1
    assert data.json["ok"] is False
    assert len(data.json["problems"]) == 1


def test_gc(run, lines, store):
    left = store / "lineage" / "left.parquet"
    left.write_bytes(b"1234")
    assert "kept 1 file younger than an hour" in lines("gc", store)[1]
    assert left.exists()
    assert run("gc", store, "--force", "--json").json == {"files": 1, "bytes": 4, "kept": 0}
    assert not left.exists()
    assert lines("gc", store) == ["removed 0 files that no lineage names, 0 bytes"]


def test_version(lines, run):
    assert re.fullmatch(r"dslog \d+\.\d+\.\d+", lines("version")[0])
    assert set(run("version", "--json").json) == {"dslog", "python", "parts"}


def test_ingest(lines, run, store, relation):
    path = relation({"b0": [0, 1, 2, 3], "a0": [3, 2, 1, 0]})
    found = lines("ingest", store, "back", "forth", path, "--out-shape", 4, "--in-shape", "(4,)")
    assert re.match(r"back <- forth: 1 compressed row, \d+ bytes in the catalog; ", found[0])
    assert lines("query", store, "back", "forth", "-c", "0", "-f", "cells")[1:] == ["  3"]
    again = run("ingest", store, "back", "forth", path, "--json").json
    assert (again["rows"], again["source"]) == (1, str(path))
    assert run("stats", store, "--json").json["lineages"] == 5


def test_ingest_a_directory(run, store, relation, tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "_SUCCESS").touch()
    for part in range(2):
        relation({"b0": [part], "a0": [part]}, f"parts/part-{part}.parquet")
    done = run(
        "ingest", store, "y", "x", tmp_path / "parts", "--out-shape", 2, "--in-shape", 2, "--json"
    )
    assert done.json["rows"] == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(run, name):
    result = run(name, "--help")
    assert result.code == 0
    assert "Examples" in result.out
    assert f"dslog {name}" in result.out.split("Examples")[1]
    assert "--json" in result.out
    assert "--debug" in result.out


def test_every_command_is_tested_and_in_the_help(run):
    result = run("--help")
    listed = re.findall(r"^│ ([a-z]+) ", result.out, re.MULTILINE)
    assert set(COMMANDS) <= set(listed)
    assert "Exit codes: 0" in result.out


def test_the_app_is_what_the_console_script_names():
    assert CliRunner().invoke(app, ["version"]).exit_code == 0
    assert dslog.DslogError.__module__ == "dslog.errors"
