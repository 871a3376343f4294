"""The library that comes with the package: verified again, and a first call that hits."""

import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

import dslog
from benchmarks.workloads.numpy_call import call_numpy
from dslog.algebra.equal import same_lineages
from dslog.reuse.expression import Sizes
from dslog.reuse.form import Refused
from dslog.reuse.key import read_key, variants
from dslog.reuse.library import depends_on_values, numpy_library
from dslog.reuse.signature import General
from dslog.store.arguments import canonical_args

KEYS = sorted(numpy_library())
SIZES = [0, 1, 2, 0, 1, 2, *range(3, 31)]


def test_it_is_not_empty_and_not_large():
    from importlib import resources

    assert len(KEYS) > 600
    size = len(resources.files("dslog.reuse").joinpath("library.json").read_bytes())
    assert size < 120_000


def shapes_like(sizes, draw):
    """Other sizes for the axes of a call; axes that were always equal stay equal."""
    first = sizes[0]
    names = [name for name in first.values if name.startswith("i")]
    alike = {
        name: next(o for o in names if all(s.values[o] == s.values[name] for s in sizes))
        for name in names
    }
    new = {leader: draw() for leader in set(alike.values())}
    return tuple(
        tuple(new[alike[f"i{k}_{axis}"]] for axis in range(len(shape)))
        for k, shape in enumerate(first.inputs)
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy's, about empty slices
@pytest.mark.parametrize("batch", range(10))
def test_every_formula_again(batch):
    """At random shapes, of which many sizes are 0, 1 and 2: the answer is the capture, or none."""
    rng = np.random.default_rng(batch)
    asked = answered = 0
    for key in KEYS[batch::10]:
        name, args, _ = read_key(key)
        forms = General.from_json(numpy_library()[key].content).forms
        for _ in range(3):
            shapes = shapes_like(forms[0].seen, lambda: int(rng.choice(SIZES)))
            try:
                with np.errstate(all="ignore"):
                    called = call_numpy(f"numpy.{name}", [np.ones(s) for s in shapes], args)
            except (ValueError, IndexError, ZeroDivisionError):
                continue  # numpy does not take these shapes
            asked += 1
            sizes = variants(name, args, Sizes(shapes, called.outputs))[0].sizes
            answers = [form.apply(sizes) for form in forms]
            given = [answer for answer in answers if not isinstance(answer, Refused)]
            assert all(same_lineages(answer, called.lineages) for answer in given), (key, shapes)
            answered += bool(given)
    assert answered >= 0.9 * asked


def make_library():
    """The script that wrote the library."""
    path = Path(__file__).parents[2] / "scripts" / "make_reuse_library.py"
    spec = spec_from_file_location("make_reuse_library", path)
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("start", range(3))
def test_the_script_makes_what_is_shipped(start):
    """A part of it; ``scripts/make_reuse_library.py --check`` makes everything again."""
    script = make_library()
    for entry in list(script.entries())[start * 5 :: 15]:
        name = entry.names.split()[0]
        with np.errstate(all="ignore"):
            forms = script.forms_of(name, entry)
        key = variants(name, canonical_args(entry.args), forms[0].seen[0])[0].key
        shipped = General.from_json(numpy_library()[key].content).forms
        assert [replace(form, trusted=True) for form in forms] == list(shipped), key


def test_functions_on_values_are_those_of_the_rules():
    assert all(depends_on_values(f"numpy.{name}") for name in make_library().on_values())


def test_functions_on_values_are_reused_for_the_same_arrays_only(store):
    """Two sorted arrays look like a copy; of numpy.sort it is known that this means nothing."""
    assert depends_on_values("numpy.median")
    for name in "ABC":
        store.array(name, (9,))
        store.array(f"{name}s", (9,))
    for name in "AB":
        done = store.register_operation("numpy.sort", [name], [f"{name}s"], lambda c: [c])
        assert done.reused is None
    for reuse in (None, True):
        with pytest.raises(dslog.CaptureError, match="depends on the values"):
            store.register_operation("numpy.sort", ["C"], ["Cs"], reuse=reuse)
    store.array("again", (9,))
    assert store.register_operation("numpy.sort", ["A"], ["again"]).reused == "base_sig"
    (stats,) = store.reuse_stats()
    assert any("depends on values" in line for s in stats.signatures for line in s.formulas)


def test_a_first_call_hits(store):
    store.array("A", (300, 200))
    store.array("B", (300, 200))
    done = store.register_operation("numpy.flip", ["A"], ["B"], op_args={"axis": 0})
    assert (done.reused, done.predicted) == ("gen_sig", True)
    assert store.prov_query(["B", "A"], (0, 5)).indices().tolist() == [[299, 5]]
    (stats,) = store.reuse_stats()
    assert stats.hits == 1
    assert stats.signatures[0].formulas == ("out[i, j] <- in[D0-1-i, j]",)


def test_a_plain_name_may_mean_anything(store):
    store.array("A", (30, 20))
    store.array("B", (30, 20))
    with pytest.raises(dslog.CaptureError):
        store.register_operation("flip", ["A"], ["B"], op_args={"axis": 0})
    own = store.register_operation("flip", ["A"], ["B"], lambda c: [c], op_args={"axis": 0})
    assert own.reused is None
    store.array("C", (30, 20))
    asked = store.register_operation("flipud", ["A"], ["C"], reuse=True)
    assert asked.reused == "gen_sig"


def test_a_capture_that_disagrees_with_the_library_wins(store):
    for name in "AB":
        store.array(name, (30, 20))
    done = store.register_operation("numpy.flip", ["A"], ["B"], lambda c: [c], op_args={"axis": 0})
    assert done.reused is None
    assert store.prov_query(["B", "A"], (0, 5)).indices().tolist() == [[0, 5]]
