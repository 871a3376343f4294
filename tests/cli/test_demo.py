"""The demo, on a small photo and a small table, with Spark as it really is."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import dslog
from dslog.cli.commands import demo
from dslog.cli.demo import stories
from dslog.cli.demo.page import Size, measure_steps, to_svg, total

SAY = []


@pytest.fixture
def small(monkeypatch):
    """A small photo and a few flights in the place of the real ones."""
    random = np.random.default_rng(0)
    monkeypatch.setattr(stories, "load_photo", lambda: random.random((40, 60, 3)) * 255)
    monkeypatch.setattr(stories, "CAUSE", (11, 23, 1))
    monkeypatch.setattr(stories, "SIDE", 24)
    monkeypatch.setattr(stories, "load_flights", tables(few_flights(random)))


def tables(flights, real=stories.load_flights):
    """The flights that are given, and the real airlines."""
    return lambda name="flights.csv.zip": flights if "flights" in name else real(name)


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
        told = stories.run_photo(store, SAY.append)
        names = [array.name for array in store.arrays()]
        sizes = measure_steps(store, stories.PHOTO_STEPS)
        made_it = store.backward("final", tuple(told.facts["wrong"]), to="photo")
    assert told.facts["cause"] == [11, 23, 1]
    assert told.facts["touched_exactly_nans"]
    assert told.facts["touched"] == 9
    assert told.facts["made_it"] == made_it.boxes.tolist()
    assert (11, 23, 1) in made_it
    assert {"photo", "grey", "small", "bright", "soft", "turned", "final"} <= set(names)
    assert [size.step for size in sizes] == list(stories.PHOTO_STEPS)
    assert all(size.raw > size.parquet > size.dslog for size in sizes[:1])


def test_the_pixel_asked_about_is_nan_and_so_are_those_touched(small):
    photo = stories.load_photo()
    with pytest.MonkeyPatch.context() as patch, dslog.open(":memory:") as store:
        patch.setattr(stories, "load_photo", photo.copy)
        facts = stories.run_photo(store, SAY.append).facts
    photo[facts["cause"][0], facts["cause"][1], facts["cause"][2]] = np.nan
    *_, final = stories.edit(photo)
    assert np.isnan(final[tuple(facts["wrong"])])
    assert np.isnan(final).sum() == facts["touched"]


def test_the_steps_give_what_numpy_gives(small):
    photo = stories.load_photo()
    with dslog.open(":memory:") as store:
        tracked = list(stories.edit(store.track(photo.copy(), "photo")))
    for name, ours, plain in zip(stories.PHOTO_STEPS, tracked, stories.edit(photo), strict=True):
        np.testing.assert_array_equal(dslog.plain(ours), plain, err_msg=name)


@pytest.fixture(scope="module")
def flown(spark, tmp_path_factory):
    """The flights part, run once on a small table: store, table and what was found."""
    table = few_flights(np.random.default_rng(0))
    scratch = tmp_path_factory.mktemp("flights")
    with dslog.open(":memory:") as store:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stories, "load_flights", tables(table))
            found = stories.run_flights(store, scratch, SAY.append)
        yield store, table, found


def test_flights(flown):
    store, table, (average, _) = flown
    facts = average.facts
    why = store.why("delays", (facts["group"], "delay"))
    delays = table.arr_delay.to_numpy()[why["flights"].indices()[:, 0]]
    assert "(600 rows of" in average.question
    assert facts["cause"] == 3
    assert "HA 51 of 2013-01-09, JFK to HNL, was 1,272 minutes late" in average.answer
    assert max(delays) == 1272
    assert facts["made_it"] == len(delays)
    assert facts["average"] == pytest.approx(np.mean(delays))
    assert facts["without"] < 30 < facts["average"]
    assert [source.array for source in why.sources] == ["flights"]
    sizes = measure_steps(store, stories.FLIGHT_STEPS)
    assert [size.step for size in sizes] == ["arrived", "joined", "delays"]
    assert sizes[0].pairs == table.arr_delay.notna().sum() * table.shape[1]
    assert all(size.raw > size.dslog for size in sizes)


def test_a_flight_that_never_arrived_is_dropped_by_dropna(flown):
    store, table, (average, row) = flown
    assert row.facts["vanished"] == 0
    assert row.facts["dropped_by"] == "dropna"
    for number in np.flatnonzero(table.arr_delay.isna())[::10].tolist():
        assert store.dropped("flights", number).operation.name == "dropna"
    assert not store.dropped("flights", average.facts["cause"])


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
        self.links += [value for key, value in attrs if key in ("src", "href", "xlink:href")]
        if tag not in ("meta", "br", "link"):
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.stack.pop()

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
    outside = [link for link in page.links if not link.startswith("#")]
    assert len(outside) == 4  # the photo and the result, whole and near
    assert all(link.startswith("data:image/png;base64,") for link in outside)
    assert "http" not in text.replace("file:", "")
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


def test_missing_packages_are_named_with_what_to_install(monkeypatch, run, tmp_path):
    there = demo.find_spec
    gone = ("PIL", "matplotlib")
    monkeypatch.setattr(demo, "find_spec", lambda name: None if name in gone else there(name))
    result = run("demo", "--to", tmp_path / "out")
    assert (result.code, result.out) == (1, "")
    assert result.err == "dslog: the demo needs matplotlib, PIL: pip install 'dslog[demo]'\n"
    assert not (tmp_path / "out").exists()


def test_real_data_is_what_the_demo_says():
    assert stories.load_photo().shape == (427, 640, 3)
    assert stories.load_flights().shape == (336_776, 19)
    assert stories.load_flights("airlines.csv").columns.tolist() == ["carrier", "name"]


def test_a_figure_stands_in_a_page():
    figure = Figure()
    figure.subplots().plot([1, 2], label="x < y")
    text = to_svg(figure)
    assert text.startswith("<svg")
    assert "http" not in text
    assert "currentColor" in text
    assert text == to_svg(figure)


def test_total():
    assert total([Size("a", 1, 2, 3, 4), Size("b", 10, 20, 30, 40)]) == Size(
        "together", 11, 22, 33, 44
    )


def test_times_less():
    assert Size("a", 1, 2, 250_000, 85).times == "2,941x"
    assert Size("a", 1, 2, 30, 20).times == "1.5x"
