"""The page on the command line names every command and every option there is, and no other."""

import re
from pathlib import Path

import pytest
import typer

from dslog.cli.main import app

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
COMMON = {"--json", "--debug", "--help", "-h"}
COMMANDS = typer.main.get_command(app).commands


def section(name):
    match = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert match, f"docs/cli.md has no section on {name}"
    return re.sub(r"^```.*?^```$", "", match[1], flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_documented(name):
    options = {
        option
        for parameter in COMMANDS[name].params
        if parameter.param_type_name == "option" and not parameter.hidden
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    named = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", section(name)))
    missing = options - COMMON - named
    assert not missing, f"docs/cli.md, {name}: says nothing of {missing}"
    unknown = {option for option in named - COMMON if option.startswith("--")} - options
    assert not unknown, f"docs/cli.md, {name}: names {unknown}, which it does not take"


def test_no_section_on_a_command_that_is_not_there():
    assert set(re.findall(r"^## ([a-z]+)$", PAGE, re.MULTILINE)) <= set(COMMANDS)
