"""The oracles importable by the tests beside them; what is remembered of calls, checked."""

import sys
from pathlib import Path

import pytest

from dslog.capture.numpy.registry import REGISTRY

sys.path.insert(0, str(Path(__file__).parent))


class Checked(dict):
    """Forms of calls that are looked up anew each time, and must then be as they were."""

    def get(self, form, default=None):
        return default

    def __setitem__(self, form, found):
        known = super().get(form)
        assert known is None or (known.lineages, known.args) == (found.lineages, found.args), form
        super().__setitem__(form, found)


@pytest.fixture(autouse=True, scope="session")
def _calls_of_one_form_are_alike():
    object.__setattr__(REGISTRY, "known", Checked())
    yield
    object.__setattr__(REGISTRY, "known", {})
