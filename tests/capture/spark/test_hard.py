"""What went wrong in silence once: values are Spark's, and cells those that recomputing finds."""

import pytest
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import Window
from pyspark.sql import functions as F
from table_checks import plain

import dslog
from dslog.errors import CaptureError


def cells(store, frame, cell, to):
    return {tuple(c) for c in store.backward(store.name_of(frame), cell, to=to).indices().tolist()}


def rows_of(store, frame, number, column, to):
    return {row for row, _ in cells(store, frame, (number, column), to)}


@pytest.fixture
def numbers(spark, store):
    df = spark.range(0, 60, 1, 4).selectExpr("id", "id % 7 as g", "id * 2 as v")
    return store.track(df, "numbers")


@pytest.mark.parametrize("aqe", [True, False])
def test_a_sort_inside_one_partition(aqe, spark, store):
    """Windows after rows that a Sort without an Exchange moved."""
    before = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", aqe)
    try:
        df = spark.range(0, 90, 1, 3).select(
            (90 - F.col("id")).alias("a"), (F.col("id") % 5).alias("g")
        )
        top = store.track(df.orderBy("a").limit(80), "top")
        held = [row.a for row in top.collect()]
        by = Window.partitionBy("g").orderBy("a")
        sums = top.groupBy("g", "a").agg(F.max("a").alias("m"))
        for frame in (
            top.select("a", F.lag("a").over(by).alias("w")),
            sums.select("a", F.lag("m").over(by).alias("w")),
            top.distinct().select("a", "g", F.row_number().over(by).alias("n"))
            .select("a", F.lag("n").over(by).alias("w")),
        ):  # fmt: skip
            for number, row in enumerate(frame.collect()):
                assert {held[a] for a in rows_of(store, frame, number, "a", "top")} == {row.a}
                behind = {held[a] for a in rows_of(store, frame, number, "w", "top")}
                assert behind == {row.a - 5} or row.w != row.a - 5
                assert row.w is not None or not behind
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", before)


def test_a_merge_join_of_one_partition(spark, store):
    left = store.track(spark.range(50).select((49 - F.col("id")).alias("k")).coalesce(1), "left")
    right = store.track(spark.range(0, 50, 2).toDF("k").coalesce(1), "right")
    frame = left.join(right.hint("merge"), "k", "semi")
    held = [row.k for row in left.collect()]
    for number, row in enumerate(frame.collect()):
        assert [held[a] for a in rows_of(store, frame, number, "k", "left")] == [row.k]


def test_groups_of_random_numbers(store, numbers):
    frame = numbers.groupBy((F.rand() * 3).cast("int").alias("r")).agg(F.sum("id").alias("s"))
    rows = frame.collect()
    for number, row in enumerate(rows):
        assert sum(rows_of(store, frame, number, "s", "numbers")) == row.s
    assert sum(row.s for row in rows) == sum(range(60))


def test_sessions_and_sliding_windows(spark, store):
    times = [(0, 1), (5, 2), (40, 3), (44, 4), (100, 5)]
    df = spark.createDataFrame(times, "s long, v long").select(
        F.timestamp_seconds("s").alias("t"), "v"
    )
    events = store.track(df.coalesce(1), "events")
    sessions = events.groupBy(F.session_window("t", "10 seconds")).agg(F.sum("v").alias("total"))
    assert sorted(row.total for row in sessions.collect()) == [3, 5, 7]
    for number, row in enumerate(sessions.collect()):
        found = rows_of(store, sessions, number, "total", "events")
        assert sum(times[a][1] for a in found) == row.total
    sliding = events.groupBy(F.window("t", "20 seconds", "10 seconds")).agg(
        F.sum("v").alias("total")
    )
    for number, row in enumerate(sliding.collect()):
        found = rows_of(store, sliding, number, "total", "events")
        assert sum(times[a][1] for a in found) == row.total


def test_bad_lines_are_left_out_once(spark, store, tmp_path):
    """Which lines are bad depends on the columns that are read: rows are those of the table."""
    (tmp_path / "t.csv").write_text("".join(f"{n},{'x' if n % 3 else n}\n" for n in range(30)))
    read = (
        spark.read.schema("a int, b int")
        .option("mode", "DROPMALFORMED")
        .csv(str(tmp_path / "t.csv"))
    )
    table = store.track(read, "table")
    held = [row.a for row in table.collect()]
    assert held == [n for n in range(30) if n % 3 == 0]
    frame = table.where("a > 5").select("a")
    for number, row in enumerate(frame.collect()):
        assert [held[a] for a in rows_of(store, frame, number, "a", "table")] == [row.a]
    assert table.count() == len(held)


def test_settings_that_change_how_files_are_cut(spark, store, tmp_path):
    for part in range(3):
        size = 3000 * (part + 1)
        spark.range(part * 10_000, part * 10_000 + size, 1, 1).write.mode("append").parquet(
            str(tmp_path / "t")
        )
    table = store.track(spark.read.parquet(str(tmp_path / "t")), "table")
    held = table.toPandas()["id"].tolist()
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    try:
        for size in ("3000", "9000", "100000"):
            spark.conf.set("spark.sql.files.maxPartitionBytes", size)
            assert table.toPandas()["id"].tolist() == held
            frame = table.where("id % 1000 = 7")
            for number, row in enumerate(frame.collect()):
                assert [held[a] for a in rows_of(store, frame, number, 0, "table")] == [row.id]
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", before)


def test_a_source_that_has_changed_is_noticed(spark, store, tmp_path):
    spark.range(10).coalesce(1).write.parquet(str(tmp_path / "t"))
    table = store.track(spark.read.parquet(str(tmp_path / "t")), "table")
    table.count()
    (file,) = (tmp_path / "t").glob("*.parquet")
    file.write_bytes(next((tmp_path / "t").glob("*.parquet")).read_bytes() + b" ")
    with pytest.raises(CaptureError, match="has changed since it was tracked"):
        table.where("id > 3").collect()


def test_names_in_other_case(spark, store):
    df = spark.createDataFrame([("a", 1), ("b", None)], "name string, Val int")
    table = store.track(df.coalesce(1), "table")
    kept = table.dropna(subset=["val"])
    assert [tuple(row) for row in kept.collect()] == [("a", 1)]
    other = store.track(
        spark.createDataFrame([(5, "c")], "VAL int, NAME string").coalesce(1), "other"
    )
    both = table.unionByName(other)
    place = [row.name for row in both.collect()].index("c")
    assert cells(store, both, (place, "Val"), "other") == {(0, 0)}
    same = table.where(F.col("name") == table.name)
    assert same.count() == 2


def test_filters_before_a_join(spark, store, numbers):
    """Rows that ended do not join: what is computed grows with the rows that are left."""
    other = store.track(spark.range(7).toDF("g").coalesce(1), "other")
    frame = numbers.where("id >= 10").where("id < 20").join(other, "g")
    assert frame.count() == 10
    held = [row.id for row in numbers.collect()]
    for number, row in enumerate(frame.collect()):
        assert [held[a] for a in rows_of(store, frame, number, "id", "numbers")] == [row.id]
    store.flush()
    assert {info.out for info in store.lineages()} == {store.name_of(frame)}


def test_a_frame_that_fails_harms_no_other(spark, numbers, tmp_path):
    with dslog.open(tmp_path / "s") as store:
        table = store.track(numbers.df, "table")
        failing = table.select(F.raise_error(F.lit("no")).alias("e"))
        name = store.name_of(failing)
        after = failing.groupBy("e").count()
        fine = store.name(table.where("id > 3"), "fine")
        with pytest.raises(Exception, match="no"):
            failing.collect()
        with pytest.warns(RuntimeWarning, match="is not recorded"):
            assert store.backward("fine", (0, "id"), to="table").count == 1
        assert name not in {array.name for array in store.arrays()}
        with pytest.raises(Exception, match="no"):
            after.collect()
        assert fine.count() == 56
    with dslog.open(tmp_path / "s", "r") as store:
        assert {array.name for array in store.arrays()} == {"table", "fine"}


def test_frames_of_two_stores(store, numbers, spark):
    with dslog.open(":memory:") as other:
        table = other.track(spark.range(7).selectExpr("id g", "rand() r").coalesce(1), "table")
        values = [row.r for row in table.collect()]
        frame = numbers.join(table, "g")
        for number, row in enumerate(frame.collect()):
            assert row.r == values[row.g]
            assert cells(store, frame, (number, "r"), "table") == {(row.g, 1)}


def test_frames_stand_where_frames_do(spark, store, numbers):
    """On either side of a join, in functions, in libraries: what comes out is recorded."""
    small = spark.range(7).selectExpr("id as g", "id * 10 as t").coalesce(1)
    held = [row.id for row in numbers.collect()]
    assembled = VectorAssembler(inputCols=["id", "v"], outputCol="f").transform(numbers)
    for made in (
        small.join(numbers, "g"),
        numbers.join(small, "g"),
        small.join(F.broadcast(numbers), "g"),
        assembled,
        numbers.transform(lambda f: f.where("g > 1")),
    ):
        frame = made if store.name_of(made) else store.record(made)
        rows = frame.collect()
        assert rows
        for number in range(0, len(rows), 9):
            found = rows_of(store, frame, number, "id", "numbers")
            assert [held[a] for a in found] == [rows[number].id]


def test_odd_names(spark, store):
    df = spark.createDataFrame([(1, 2, 3), (1, 2, 3), (4, 5, 6)], ["a", "b", "c"]).toDF(
        "a", "a", "b.c"
    )
    table = store.track(df.coalesce(1), "table")
    one = table.distinct()
    assert sorted(plain(one.collect())) == [(1, 2, 3), (4, 5, 6)]
    place = [row[0] for row in one.collect()].index(1)
    for column in range(3):
        assert cells(store, one, (place, column), "table") == {(0, column), (1, column)}
    dotted = table.select("`b.c`").fillna(0).replace(3, 30)
    assert [row[0] for row in dotted.collect()] == [30, 30, 6]
    assert cells(store, dotted, (2, 0), "table") == {(2, 2)}
    again = table.select("`b.c`", "`b.c`")
    assert cells(store, again, (2, 0), "table") == cells(store, again, (2, 1), "table") == {(2, 2)}


def test_columns_by_place(store, numbers):
    ordered = numbers.select("id", "g", "v", (-F.col("id")).alias("n")).orderBy(4)
    assert [row.id for row in ordered.limit(3).collect()] == [59, 58, 57]


def test_names_of_files_after_filters(spark, store, tmp_path):
    spark.range(0, 40, 1, 2).write.parquet(str(tmp_path / "t"))
    plain_df = spark.read.parquet(str(tmp_path / "t"))
    table = store.track(plain_df, "table")

    def step(frame):
        return frame.where("id > 3").where("id < 30").select("id", F.input_file_name().alias("f"))

    assert sorted(step(table).collect()) == sorted(step(plain_df).collect())


def test_checkpoints_go_on(spark, store, numbers):
    held = [row.id for row in numbers.collect()]
    frame = numbers.where("id > 3").localCheckpoint().where("id < 9")
    for number, row in enumerate(frame.collect()):
        assert [held[a] for a in rows_of(store, frame, number, "id", "numbers")] == [row.id]
    apart = store.record(numbers.df.where("id > 3").localCheckpoint())
    found = store.backward(store.name_of(apart), (0, "id"), to="numbers")
    assert not found.exact
    assert found.count > 0


def test_many_keys(spark, store):
    names = [f"c{n}" for n in range(60)]
    df = spark.range(6).selectExpr(*(f"id % 3 + {n} as c{n}" for n in range(60))).coalesce(1)
    table = store.track(df, "table")
    for frame in (
        table.distinct(),
        table.groupBy(*names).agg(F.count("c1").alias("n")),
        table.intersect(table),
        table.dropDuplicates(names),
    ):
        for number, row in enumerate(frame.collect()):
            assert cells(store, frame, (number, "c7"), "table") == {(row.c0, 7), (row.c0 + 3, 7)}
