"""The command as a process: quick to start, quiet in a pipe, readable on a terminal."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

DSLOG = [sys.executable, "-m", "dslog.cli"]


def run(*arguments, **more):
    return subprocess.run(
        [*DSLOG, *map(str, arguments)], capture_output=True, text=True, check=False, **more
    )


def test_console_script_and_module_are_the_same():
    script = Path(sys.executable).with_name("dslog")
    if not script.exists():
        pytest.skip("dslog is on the path, not installed")
    result = subprocess.run([script, "version"], capture_output=True, text=True, check=False)
    assert result.stdout == run("version").stdout
    assert result.returncode == 0


@pytest.mark.parametrize("arguments", [["--help"], ["query", "--help"], ["version"]])
def test_help_starts_without_the_slow_packages(arguments):
    code = (
        "import sys\n"
        "from dslog.cli.main import app\n"
        "try:\n    app(sys.argv[1:])\n"
        "finally:\n"
        "    print(*({'numba', 'pyspark', 'pyarrow', 'pandas', 'duckdb'} & set(sys.modules)),\n"
        "          file=sys.stderr)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr.strip()) == (0, "")


def test_a_query_does_not_start_spark(store):
    code = (
        "import sys\n"
        "from dslog.cli.main import app\n"
        "try:\n    app(sys.argv[1:])\n"
        "finally:\n    print('pyspark' in sys.modules, file=sys.stderr)\n"
    )
    arguments = ["query", str(store), "total", "image", "-c", "0", "--format", "count"]
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert (result.stdout, result.stderr.strip()) == ("2\n", "False")


def test_exit_codes_and_streams(store):
    good = run("query", store, "total", "image", "--json")
    assert (good.returncode, good.stderr) == (0, "")
    assert json.loads(good.stdout)["count"] == 6
    bad = run("query", store, "totl")
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr == "dslog: there is no array 'totl' in the store. Did you mean 'total'?\n"
    assert run("query").returncode == 2
    debug = run("query", store, "totl", "--debug")
    assert debug.returncode == 1
    assert "Traceback" in debug.stderr


def test_no_colours_and_no_cut_lines_in_a_pipe(store):
    result = run("explain", store, "grand", "total", "image", env={**os.environ, "COLUMNS": "20"})
    assert "\x1b" not in result.stdout
    assert "…" not in result.stdout
    assert result.stdout.splitlines()[2].startswith("grand -> total  backward ")


def test_a_reader_that_stops_early_is_no_error(store):
    command = " ".join([*DSLOG, "query", str(store), "sorted", "list", "-f", "cells", "-n", "0"])
    result = subprocess.run(
        f"{command} | head -n 1; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.stdout.startswith("sorted[all] -> list")
    assert "Traceback" not in result.stderr


def test_an_ascii_terminal_gets_a_picture_it_can_show(store):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    result = run("query", store, "total", "image", env=environment)
    assert result.returncode == 0
    assert "Traceback" not in result.stderr


def test_colours_on_a_terminal(store):
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [*DSLOG, "query", str(store), "total", "image"], stdout=follower, env=environment
    ) as process:
        os.close(follower)
        seen = b""
        while True:
            try:
                chunk = os.read(leader, 4096)
            except OSError:
                break
            if not chunk:
                break
            seen += chunk
    os.close(leader)
    assert process.returncode == 0
    assert b"\x1b[" in seen
    assert b"exact" in seen
