"""Every way to write rows, and to read them again: which row was it, and which column."""

import pytest
from pyspark.ml.feature import StandardScaler, VectorAssembler
from pyspark.sql import functions as F

import dslog

COUNT = 40
SCHEMA = "id int, x int, p string"


@pytest.fixture
def table(spark, store):
    """Rows in several partitions, in no order; row and id are told apart by ``held``."""
    df = spark.range(COUNT).selectExpr(
        "cast((id * 7) % 40 as int) id", "cast(id * 2 as int) x", "nullif('p' || (id % 3), 'p2') p"
    )
    return store.track(df.repartition(3), "o")


def behind(store, frame, number, column, to="o"):
    found = store.backward(store.name_of(frame), (number, column), to=to)
    return {tuple(cell) for cell in found.indices().tolist()}, found.exact


def check(store, table, back, key="id", sample=7, **others):
    """Each id of what was read again is that of one row; so are the values of other columns."""
    held = [row.id for row in table.collect()]
    rows = back.collect()
    assert len(rows) == COUNT
    for number in range(0, COUNT, sample):
        place = held.index(int(rows[number][key]))
        assert behind(store, back, number, key) == ({(place, 0)}, True)
        for column, of in others.items():
            assert behind(store, back, number, column) == ({(place, of)}, True)


FORMS = {
    "folders": (
        lambda w, to: w.partitionBy("p").parquet(to),
        lambda r, to: r.parquet(to),
        {"x": 1, "p": 2},
    ),
    "folders of csv": (
        lambda w, to: w.partitionBy("P").csv(to),
        lambda r, to: r.schema("i int, y int, p string").csv(to),
        {"key": "i", "y": 1, "p": 2},
    ),
    "two folders": (
        lambda w, to: w.option("maxRecordsPerFile", 3).partitionBy("p", "x").json(to),
        lambda r, to: r.schema("id int, x int, p string").json(to),
        {"x": 1, "p": 2},
    ),
    "one folder": (
        lambda w, to: w.partitionBy("p").orc(to),
        lambda r, to: r.option("basePath", to).orc(f"{to}/p=*"),
        {"x": 1, "p": 2},
    ),
    "short files": (
        lambda w, to: w.option("maxRecordsPerFile", 4).csv(to),
        lambda r, to: r.schema(SCHEMA).csv(to),
        {"x": 1, "p": 2},
    ),
    "csv under other names": (
        lambda w, to: w.csv(to, header=True),
        lambda r, to: r.schema("x int, id string, p string").csv(to, header=True),
        {"key": "x", "p": 2},
    ),
    "json in another order": (
        lambda w, to: w.format("json").save(to),
        lambda r, to: r.schema("x int, id int, q int").json(to),
        {"x": 1},
    ),
    "orc in another case": (
        lambda w, to: w.save(to, format="orc"),
        lambda r, to: r.schema("X int, ID int").orc(to),
        {"X": 1, "key": "ID"},
    ),
    "xml": (
        lambda w, to: w.xml(to, rowTag="row"),
        lambda r, to: r.schema(SCHEMA).xml(to, rowTag="row"),
        {"x": 1, "p": 2},
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_files(form, spark, store, table, tmp_path):
    write, read, columns = FORMS[form]
    write(table.write, str(tmp_path / "to"))
    assert not store.leaks()
    check(store, table, store.track(read(spark.read, str(tmp_path / "to")), "back"), **columns)


TABLES = {
    "folders and buckets": lambda t, name: (
        t.write.partitionBy("p").bucketBy(2, "id").saveAsTable(name)
    ),
    "create": lambda t, name: t.writeTo(name).using("parquet").partitionedBy(F.col("p")).create(),
    "insert into folders": lambda t, name: (
        t.sparkSession.sql(
            f"create table {name} (id int, x int, q string) using csv partitioned by (q)"
        ),
        t.write.insertInto(name),
    ),
}


@pytest.mark.parametrize("form", TABLES)
def test_tables(form, spark, store, table):
    try:
        TABLES[form](table, "written")
        assert not store.leaks()
        check(store, table, store.sql("select * from written", "back"), x=1)
    finally:
        spark.sql("drop table if exists written")


COMMANDS = {
    "create json by folder": [
        "create table written using json partitioned by (p) as select * from o"
    ],
    "insert": [
        "create table written (x int, id int) using csv",
        "insert into written (id, x) select id, x from o where x < 30",
        "insert into written select x, id from o where x >= 30",
    ],
    "overwrite a folder": [
        "create table written (id int, x int, p string) using parquet partitioned by (p)",
        "insert into written partition (p = 'q') select id, x from o",
        "insert overwrite written partition (p = 'q') select id, x from o",
    ],
    "with": [
        "create table written (id int, x int) using orc",
        """with a as (select * from o where x > 10), b as (select * from o where x <= 10)
        insert into written select id, x from a union all select id, x from b""",
    ],
}


@pytest.mark.parametrize("form", COMMANDS)
def test_commands(form, spark, store, table):
    table.createOrReplaceTempView("o")
    try:
        for command in COMMANDS[form]:
            store.sql(command).collect()
        assert not store.leaks()
        check(store, table, store.sql("select * from written", "back"), x=1)
    finally:
        spark.sql("drop table if exists written")
        spark.catalog.dropTempView("o")


def test_a_command_that_nobody_followed_leaves(spark, store, table):
    table.createOrReplaceTempView("o")
    try:
        with pytest.warns(dslog.LeakWarning, match="by sql"):
            store.sql("create table written using parquet as select id from o where x < :n", n=9)
        assert store.leaks()
    finally:
        spark.sql("drop table if exists written")
        spark.catalog.dropTempView("o")


def test_names_in_two_cases(spark, store, tmp_path):
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        table = store.track(spark.createDataFrame([(1, 2)], "a int, A int"), "o")
        table.write.json(str(tmp_path / "to"))
        back = store.track(spark.read.schema("A int, a int").json(str(tmp_path / "to")), "back")
        assert [tuple(row) for row in back.collect()] == [(2, 1)]
        assert behind(store, back, 0, 0) == ({(0, 1)}, True)
        assert behind(store, back, 0, 1) == ({(0, 0)}, True)
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


@pytest.mark.parametrize("how", ["lines", "header", "other format", "text"])
def test_lines_that_are_no_rows(how, spark, store, tmp_path):
    """As many rows are read as were written, and they are not those."""
    to = str(tmp_path / "to")
    values = ["a\nb", "c", "", "d"] if how in ("lines", "text") else ["1", "2", "3", "4"]
    table = store.track(spark.createDataFrame([(v,) for v in values], "s string").coalesce(1), "o")
    if how == "text":
        table.write.text(to)
        back = spark.read.text(to).where("value <> ''")
    elif how == "lines":
        table.write.csv(to, quote="", emptyValue="")
        back = spark.read.schema("s string").csv(to)
    elif how == "header":
        table.write.csv(to, header=True)
        back = spark.read.schema("s int").csv(to, mode="DROPMALFORMED")
    else:
        table.write.csv(to)
        back = spark.read.text(to)
    back = store.track(back, "back")
    assert back.count() == 4
    cells, exact = behind(store, back, 3, 0)
    assert not exact
    assert (3, 0) in cells


def test_what_is_made_of_files_at_once(spark, store, table, tmp_path):
    table.write.parquet(str(tmp_path / "to"))
    held = [row.id for row in table.collect()]
    with dslog.open(tmp_path / "store") as other:
        other.track(spark.range(COUNT).selectExpr("id", "id x", "'' p"), "o").write.parquet(
            str(tmp_path / "others")
        )
        back = other.track(spark.read.parquet(str(tmp_path / "to")).where("x > 4"), "back")
        assert back.count() == COUNT - 3
        assert other.backward("back", (0, 0), to="o").count == 0
    found = store.track(spark.read.parquet(str(tmp_path / "to")).where("x > 4"), "back")
    for number, row in enumerate(found.limit(3).collect()):
        assert behind(store, found, number, "id") == ({(held.index(row.id), 0)}, True)
    theirs = store.track(spark.read.parquet(str(tmp_path / "others")), "theirs")
    theirs.collect()
    assert behind(store, theirs, 0, 0) == (set(), True)


@pytest.mark.filterwarnings("ignore:values leave")
def test_values_that_come_back_within_a_plan(spark, store, table):
    back = spark.createDataFrame(table.toPandas())
    joined = table.select("id").join(back.select("id", "x"), "id")
    joined.collect()
    assert not store.backward(store.name_of(joined), (0, "x"), to="o").complete


def test_an_rdd_that_comes_back(spark, store, table):
    frame = store.record(table.rdd.map(lambda row: (row[0], row[1] + 1)).toDF(["a", "b"]))
    frame.collect()
    found, exact = behind(store, frame, 0, "b")
    assert not exact
    assert len(found) == COUNT * 3


def test_a_transposed_table(spark, store, table):
    frame = table.where("x < 6").select("id", "x").transpose()
    assert [len(row) for row in frame.collect()] == [4]
    found, exact = behind(store, frame, 0, 1)
    assert not exact
    assert found


@pytest.mark.filterwarnings("ignore:values leave")
def test_a_model_has_values(spark, store, table):
    rows = VectorAssembler(inputCols=["x"], outputCol="f").transform(table)
    assert not store.leaks()
    model = StandardScaler(inputCol="f", outputCol="z").fit(store.record(rows, "rows"))
    scaled = store.record(model.transform(rows), "scaled")
    scaled.collect()
    assert not store.backward("scaled", (0, "z"), to="rows").complete
