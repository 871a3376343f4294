"""Every example in the README and the docs runs, and prints what is shown.

In a Markdown file all blocks share one directory and one Python session, in order:

- ``python`` blocks run; a ``text`` block right after one is what it prints.
- ``console`` blocks run their ``$ dslog ...`` lines; the lines after each are what it prints.

In what is shown ``...`` stands for any text, for times and temporary paths.
"""

import contextlib
import doctest
import io
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dslog
from dslog.cli.main import app

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@dataclass(frozen=True)
class Block:
    language: str
    content: str
    line: int
    after: str  # what stands between it and the block before


def blocks(text):
    found, end = [], 0
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(match[1], match[2], line, text[end : match.start()].strip()))
        end = match.end()
    return found


def same(shown, printed):
    """Whether printed text is as shown, but for spaces at the end of lines and ``...``."""
    shown, printed = (
        "".join(f"{line.rstrip()}\n" for line in text.rstrip().splitlines())
        for text in (shown, printed)
    )
    return doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS)


def run_python(block, names):
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as terminal, contextlib.redirect_stdout(printed):
        terminal.setattr(sys, "__stdout__", printed)
        exec(compile("\n" * block.line + block.content, "block", "exec"), names)
    return printed.getvalue()


def run_console(block):
    """Yield each command with what is shown for it and what it prints."""
    for part in re.split(r"^\$ ", block.content, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        program, *arguments = shlex.split(command)
        if program != "dslog":
            continue
        yield command, shown, CliRunner().invoke(app, arguments).output


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_examples(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    printed = None
    for block in blocks(path.read_text(encoding="utf-8")):
        where = f"{path.name}, line {block.line}"
        if block.language == "text" and printed is not None and not block.after:
            assert same(block.content, printed), f"{where} shows other text than:\n{printed}"
        printed = run_python(block, names) if block.language == "python" else None
        if block.language == "console":
            for command, shown, output in run_console(block):
                assert same(shown, output), f"{where}: dslog {command}\nprints:\n{output}"
    for value in names.values():
        if isinstance(value, dslog.Store):
            value.close()


def test_readme_is_what_the_package_index_shows():
    assert 'readme = "README.md"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path):
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize(
    ("shown", "printed", "equal"),
    [
        ("a  \nb\n", "a\nb", True),
        ("took ... ms\n", "took 1.5 ms\n", True),
        ("a\n", "b\n", False),
        ("a\n", "a\nb\n", False),
    ],
)
def test_the_comparison_itself(shown, printed, equal):
    assert same(shown, printed) == equal


def type_errors(code, path):
    """What pyright says of code, as an editor would show it."""
    path.write_text(code)
    command = [sys.executable, "-m", "basedpyright", "--level", "error"]
    checked = subprocess.run(
        [*command, "--pythonpath", sys.executable, path],
        check=False,
        capture_output=True,
        text=True,
    )
    return [line for line in checked.stdout.splitlines() if "error:" in line]


USUAL = [
    "2 * sales", "sales / 2", "1 - sales", "sales**2", "sales @ sales.T", "sales[1:, ::2] - 1",
    "sales.astype(int)", "sales.copy()", "sales.reshape(-1)", "sales.max(axis=0)", "sales.T + 1",
]  # fmt: skip


def test_the_readme_has_types(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = "\n".join(block.content for block in blocks(text) if block.language == "python")
    assert type_errors(code, tmp_path / "readme.py") == []
    more = [f"({text}).named('other')" for text in USUAL]
    assert type_errors("\n".join([code, *more]), tmp_path / "more.py") == []
    wrong = code + "\nstore.track(1).no_such_method()\nstore.backward(1)\n"
    assert len(type_errors(wrong, tmp_path / "wrong.py")) == 2
