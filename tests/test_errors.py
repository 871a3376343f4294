import pickle

import pytest

import dslog
from dslog import errors

BUILT_IN = {
    errors.NotFoundError: KeyError,
    errors.ShapeError: ValueError,
    errors.SelectionError: ValueError,
    errors.RelationError: ValueError,
    errors.CaptureError: ValueError,
    errors.PathError: ValueError,
    errors.StoreError: OSError,
    errors.CorruptError: OSError,
    errors.VersionError: OSError,
    errors.EngineError: RuntimeError,
}


def test_no_error_is_forgotten_here():
    defined = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, errors.DslogError)
    }
    assert defined - {errors.DslogError} == set(BUILT_IN)


@pytest.mark.parametrize(("kind", "built_in"), BUILT_IN.items())
def test_caught_as_dslog_error_and_as_built_in(kind, built_in):
    assert issubclass(kind, dslog.DslogError)
    with pytest.raises(built_in):
        raise kind("what is wrong")


@pytest.mark.parametrize("kind", BUILT_IN)
def test_message_is_plain_and_survives_pickling(kind):
    error = kind("no array 'B'; define it first")
    assert str(error) == "no array 'B'; define it first"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error)


@pytest.mark.parametrize("kind", [errors.CorruptError, errors.VersionError])
def test_store_problems_are_store_errors(kind):
    assert issubclass(kind, errors.StoreError)


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("b2", ["A", "B2"], " Did you mean 'B2'?"),
        ("imgae", ["mask", "image"], " Did you mean 'image'?"),
        ("zzz", ["A", "B2"], ""),
        ("A", [], ""),
        ("", ["A"], ""),
    ],
)
def test_did_you_mean(name, known, hint):
    assert errors.did_you_mean(name, known) == hint


def test_did_you_mean_takes_a_generator():
    assert errors.did_you_mean("B", (name for name in ["b"])) == " Did you mean 'b'?"
