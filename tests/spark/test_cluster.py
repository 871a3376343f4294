"""A real cluster on loopback, master and two workers: one executor dies in the middle of a job."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pyspark
import pytest

from dslog.spark.java import java_home

SCRIPT = """
import json, os, signal, sys, threading, time
from pathlib import Path
import numpy as np
import dslog

master, directory = sys.argv[1], Path(sys.argv[2])
spark = dslog.spark({
    "spark.master": master,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "700m",
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # both executors, however long it takes
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "1h",
})
n = 60_000
order = np.random.default_rng(0).permutation(n)
import pyarrow as pa, pyarrow.parquet as pq
pq.write_table(pa.table({"b0": np.arange(n), "a0": order}), directory / "relation.parquet")

frame = spark.read.parquet(str(directory / "relation.parquet"))

def executors():
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\\0")
        except OSError:
            continue
        ours = master.encode() not in words and spark.sparkContext.applicationId.encode() in words
        if ours and any(b"CoarseGrainedExecutorBackend" in word for word in words):
            found.append(int(path.parent.name))
    return found

def kill_one(seen):
    while not list((directory / "store" / "lineage").rglob("*.parquet")):
        time.sleep(0.01)
    seen.extend(executors())
    os.kill(seen[0], signal.SIGKILL)

with dslog.open(directory / "store") as store:
    store.array("A", (n,))
    store.array("B", (n,))
    seen = []
    killer = threading.Thread(target=kill_one, args=(seen,))
    killer.start()
    info = store.lineage("B", "A", frame)
    killer.join()
    files = {file.name for file in store.stored("B", "A")[0].body.files}
    first = store.verify()
    garbage = store.gc(force=True)
    after = store.verify()
    left = [p.relative_to(directory / "store" / "lineage").as_posix()
            for p in (directory / "store" / "lineage").rglob("*.parquet")]
    asked = np.random.default_rng(1).choice(n, 500, replace=False)
    found = store.prov_query(["B", "A"], asked[:, None], engine="spark")
    again = store.lineage("B", "A", frame)
    print(json.dumps({
        "executors": len(seen),
        "rows": info.num_rows,
        "files": len(files),
        "ok": [first.ok, after.ok],
        "left": sorted(left) == sorted(files),
        "answer": sorted(found.indices()[:, 0].tolist()) == sorted(order[asked].tolist()),
        "same": again.body == info.body,
        "lineages": len(store.lineages()),
        "garbage": store.gc(force=True).files,
    }))
"""


FRAMES = """
import json, os, signal, sys, threading, time
from pathlib import Path
import numpy as np
import dslog

master, directory = sys.argv[1], Path(sys.argv[2])
spark = dslog.spark({
    "spark.master": master,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "700m",
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # both executors, however long it takes
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "1h",
})
def executors():
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\\0")
        except OSError:
            continue
        ours = master.encode() not in words and spark.sparkContext.applicationId.encode() in words
        if ours and any(b"CoarseGrainedExecutorBackend" in word for word in words):
            found.append(int(path.parent.name))
    return found


with dslog.open(directory / "frames") as store:
    from pyspark.sql import functions as F
    table = store.track(spark.range(0, 400, 1, 4).selectExpr("id", "id % 7 as g"), "table")
    groups = table.groupBy("g").agg(F.sum("id").alias("s"))
    held, before = [row.id for row in table.collect()], groups.collect()
    killed = executors()
    for number in killed:
        os.kill(number, signal.SIGKILL)
    late = groups.where("s > 0").join(table, "g")
    after, wrong = groups.collect(), 0
    for number, row in enumerate(late.collect()[:40]):
        (place, _), = store.backward(late.name, (number, "id"), to="table").indices().tolist()
        wrong += held[place] != row.id
    print(json.dumps({"killed": len(killed), "same": before == after, "rows": late.count(),
                      "wrong": wrong}))
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def cluster(tmp_path):
    """Start a master and two workers; give the master's address."""
    environment = {
        "JAVA_HOME": str(java_home()),
        "PATH": os.environ["PATH"],
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "HOME": str(tmp_path),
    }
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    processes = []

    def start(name, *arguments):
        path = tmp_path / f"{name}.log"
        here = ["--host", "127.0.0.1", "--webui-port", "0"]
        command = [program, f"org.apache.spark.deploy.{arguments[0]}", *here, *arguments[1:]]
        with path.open("wb") as log:
            process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, cwd=tmp_path
            )
        processes.append(process)
        return path

    start("master", "master.Master", "--port", str(port))
    logs = [
        start(
            f"worker{k}",
            "worker.Worker",
            "--cores",
            "1",
            "--memory",
            "1g",
            "--work-dir",
            str(tmp_path / f"work{k}"),
            master,
        )
        for k in range(2)
    ]
    try:
        while not all(b"Successfully registered" in log.read_bytes() for log in logs):
            assert all(process.poll() is None for process in processes)
            time.sleep(0.1)
        yield master
    finally:
        for process in processes[::-1]:
            process.terminate()
        for process in processes:
            process.wait()


def test_an_executor_killed_in_the_middle_changes_nothing(cluster, tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, cluster, str(tmp_path)],
        env={
            **os.environ,
            "DSLOG_COLLECT_ROWS": "1000",
            "DSLOG_PARTITION_ROWS": "2500",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    assert found["executors"] == 2
    assert abs(found["rows"] - 60_000) <= 30
    assert found["files"] > 10
    assert found == {
        **found,
        "ok": [True, True],
        "left": True,
        "answer": True,
        "same": True,
        "lineages": 1,
        "garbage": 0,
    }


def test_tracked_frames_outlive_executors(cluster, tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", FRAMES, cluster, str(tmp_path)],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    assert found == {"killed": 2, "same": True, "rows": 400, "wrong": 0}
    assert not list((tmp_path / "frames").glob("frames-*"))
