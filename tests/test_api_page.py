"""The page on the Python API says what the code says."""

import importlib.util
import re
from pathlib import Path

import dslog
from dslog import config, errors

ROOT = Path(__file__).parent.parent


def test_the_page_is_up_to_date():
    path = ROOT / "scripts" / "write_api_page.py"
    spec = importlib.util.spec_from_file_location("write_api_page", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    shown = script.PAGE.read_text(encoding="utf-8")
    assert shown == script.page(), "run: .venv/bin/python scripts/write_api_page.py"


def test_every_error_is_on_its_page():
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    for name in dslog.__all__:
        kind = getattr(dslog, name)
        if isinstance(kind, type) and issubclass(kind, errors.DslogError):
            if name == "DslogError":
                continue
            line = next(line for line in page.splitlines() if line.startswith(f"| `{name}`"))
            also = kind.__bases__[-1].__name__
            assert f"`{also}`" in line.split("|")[2]


def test_every_setting_is_on_its_page():
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    table = re.findall(r"^(DSLOG_\w+) +``(.+?)``", config.__doc__, re.MULTILINE)
    assert table
    for name, default in table:
        assert f"| `{name}` | `{default}` |" in page
