"""The picture shows exactly the blocks that hold a lit cell, at any size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dslog.cells.cellset import CellSet
from dslog.cli.picture import HEIGHT, WIDTH, draw


def inside(picture):
    return [line[1:-1] for line in picture.lines[1:-1]]


def test_small_arrays_have_two_characters_per_cell():
    cells = CellSet.from_indices((2, 3), [(0, 0), (1, 2)])
    assert inside(draw(cells)) == ["██    ", "    ██"]
    assert draw(cells).caption == ""


def test_a_vector_is_one_line():
    assert inside(draw(CellSet.from_indices((4,), [(1,)]))) == ["  ██    "]
    long = draw(CellSet.from_boxes((6000,), [[[0, 2999]]]))
    assert inside(long) == ["█" * 30 + " " * 30]
    assert long.caption == "one character is 100 cells"


def test_no_picture_of_nothing():
    assert draw(CellSet.full(())) is None
    assert draw(CellSet.empty((0, 3))) is None


def test_shades_tell_the_share():
    cells = CellSet.from_boxes((4000, 4000), [[[0, 3999], [0, 1999]], [[0, 0], [3999, 3999]]])
    lines = inside(draw(cells))
    assert lines[0].startswith("█")
    assert lines[0].endswith("▒")
    assert set(lines[1]) == {"█", "▓", " "}


def test_other_axes_are_counted_in():
    picture = draw(CellSet.from_boxes((3, 20, 10), [[[0, 0], [0, 19], [0, 4]]]))
    assert picture.caption == "axes 1 and 2, over all of axis 0; one character is 2 x 1 cells"
    assert set(inside(picture)) == {"▒" * 5 + " " * 5}


def test_enormous_arrays_cost_nothing():
    picture = draw(CellSet.from_boxes((10**9, 10**9), [[[0, 5 * 10**8], [0, 10**9 - 1]]]))
    lines = inside(picture)
    assert len(lines) <= HEIGHT
    assert "█" in lines[0]
    assert lines[-1].strip() == ""


def test_long_thin_arrays_use_both_directions():
    table = draw(CellSet.full((336_776, 19)))
    assert 2 <= len(table.lines) <= HEIGHT + 2
    assert len(table.lines[0]) > 10


shapes = st.tuples(st.integers(1, 130), st.integers(1, 130))


@given(shapes, st.integers(0, 2**32 - 1))
def test_no_lit_cell_is_lost_and_no_dark_block_shines(shape, seed):
    random = np.random.default_rng(seed)
    mask = random.random(shape) < random.choice([0.001, 0.05, 0.7])
    picture = draw(CellSet.from_mask(mask))
    lines = inside(picture)
    assert len(lines) <= HEIGHT
    assert len(lines[0]) <= WIDTH
    wide = 2 if picture.caption == "" and 2 * shape[1] <= WIDTH else 1
    high = -(-shape[0] // len(lines)) if len(lines) < shape[0] else 1
    columns = len(lines[0]) // wide
    across = -(-shape[1] // columns) if columns < shape[1] else 1
    if picture.caption:
        words = picture.caption.split()
        high, across = int(words[3]), int(words[5])
    for i, line in enumerate(lines):
        for j in range(columns):
            block = mask[i * high : (i + 1) * high, j * across : (j + 1) * across]
            glyph = line[j * wide]
            assert (glyph != " ") == block.any()
            assert (glyph == "█") == block.all()


@pytest.mark.parametrize("width", [10, 33])
def test_width_and_height_are_kept(width):
    picture = draw(CellSet.full((500, 700)), width=width, height=5)
    assert all(len(line) <= width + 2 for line in picture.lines)
    assert len(picture.lines) <= 7
