"""A capture function: called once per cell, in order, its answers checked."""

import io
import itertools

import numpy as np
import pytest

import dslog
from dslog.capture import read_capture as callables
from dslog.capture.capture_cost import CaptureCost


def call(function, out_shape, in_shape):
    return callables.call_capture(function, "B", out_shape, "A", in_shape)


def test_called_once_per_cell_in_c_order():
    seen = []

    def capture(index):
        seen.append(index)
        return [index[::-1]]

    relation = call(capture, (2, 3), (3, 2))
    assert seen == list(itertools.product(range(2), range(3)))
    assert all(type(i) is int for index in seen for i in index)
    assert relation.tolist() == [[i, j, j, i] for i, j in seen]


@pytest.mark.parametrize(
    "answer",
    [
        [(0,), (2,)],
        [0, 2],
        (0, 2),
        {0, 2},
        [[0], [2]],
        range(0, 3, 2),
        iter([0, 2]),
        [np.int8(0), np.uint64(2)],
        [0, (2,)],
        np.array([0, 2]),
        np.array([[0], [2]], np.uint8),
        (i for i in (0, 2)),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_what_may_be_returned_for_one_axis(answer):
    assert call(lambda _: answer, (), (3,)).tolist() == [[0], [2]]


def test_scalars_on_either_side():
    assert call(lambda index: [()], (), ()).shape == (1, 0)
    assert call(lambda index: [()], (2,), ()).tolist() == [[0], [1]]
    assert call(lambda index: [], (2,), ()).shape == (0, 1)
    assert call(lambda index: np.ndindex(2, 2), (), (2, 2)).tolist() == [
        [0, 0],
        [0, 1],
        [1, 0],
        [1, 1],
    ]


def test_an_array_without_cells_is_never_called():
    assert call(lambda index: 1 / 0, (3, 0), (2,)).shape == (0, 3)


def test_no_input_cells_for_some_outputs():
    relation = call(lambda i: [i] if i[0] % 2 else [], (4,), (4,))
    assert relation.tolist() == [[1, 1], [3, 3]]


def test_pieces_do_not_show(choose):
    def capture(index):
        return ((index[0], j) for j in range(index[0] * 3))

    whole = call(capture, (7,), (7, 20))
    for size in (1, 2, 5, 18):
        choose(CaptureCost, piece_pairs=size)
        assert np.array_equal(call(capture, (7,), (7, 20)), whole)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "returned None: return an iterable"),
        (5, "returned 5"),
        ("01", "returned '01'"),
        (np.int64(3), "returned"),
        (np.array(3), "returned"),
        ([(0, 1), (0,)], r"gave \(0,\), which is no cell of 'A': each is a tuple of 2 integers"),
        ((0, 1), r"gave 0, which is no cell.*\[\(0, 0\)\]"),
        ([(0, 1, 2)], r"gave \(0, 1, 2\)"),
        ([(0.0, 1)], r"gave \(0\.0, 1\)"),
        ([(0, float("nan"))], "nan"),
        ([(0, None)], "None"),
        ([("a", "b")], "'a'"),
        ([(True, False)], "True"),
        ([(0, 2**70)], "gave"),
        ([(0, 3)], r"gave \(0, 3\), which is outside 'A' of shape \(3, 3\)"),
        ([(-1, 0)], r"gave \(-1, 0\), which is outside"),
        (np.array([[0.0, 1.0]]), r"gave \[0\.0, 1\.0\]"),
        ([{0, 1}], "gave"),
        ([np.array(0)], "gave"),
        (np.array([[True, False]]), "True"),
    ],
)
def test_garbage_names_the_cell(answer, words):
    with pytest.raises(dslog.CaptureError, match=rf"'B' at cell \(1, 0\) .*{words}"):
        call(lambda i: answer if i == (1, 0) else [(0, 0)], (2, 2), (3, 3))


def test_a_mask_is_no_list_of_cells():
    with pytest.raises(dslog.CaptureError, match="gave True"):
        call(lambda i: [0] if i == (0,) else np.array([True, False]), (3,), (2,))


def test_garbage_for_a_scalar_input():
    with pytest.raises(dslog.CaptureError, match=r"gave 0, which is no cell"):
        call(lambda _: [0], (2,), ())


def test_an_exception_is_the_cause():
    def capture(index):
        if index == (1,):
            raise KeyError("no such column")
        return [0]

    def generating(index):
        yield 0
        capture(index)

    for function in (capture, generating):
        with pytest.raises(dslog.CaptureError, match=r"cell \(1,\) raised KeyError") as caught:
            call(function, (3,), (3,))
        assert isinstance(caught.value.__cause__, KeyError)


def test_stopping_by_hand_is_not_an_error_of_the_capture():
    def capture(index):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call(capture, (3,), (3,))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_of_a_long_capture(monkeypatch, choose):
    """With no patience at all, the bar shows; the test does not wait for anything."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    choose(CaptureCost, patience=-1.0)
    call(lambda i: [i], (500,), (500,))
    assert "capturing B <- A" in terminal.getvalue()


def test_no_progress_of_a_short_capture(monkeypatch, choose):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    choose(CaptureCost, patience=1e9)
    call(lambda i: [i], (500,), (500,))
    assert terminal.getvalue() == ""


def test_no_progress_into_a_file(monkeypatch, choose):
    output = io.StringIO()
    monkeypatch.setattr("sys.stderr", output)
    choose(CaptureCost, patience=-1.0)
    call(lambda i: [i], (500,), (500,))
    assert output.getvalue() == ""
