import sys

from dslog.spark import daemon


def test_the_rehearsal_runs():
    daemon.rehearse()


def test_workers_start_with_everything_loaded(spark):
    def loaded(_):
        return [name in sys.modules for name in daemon.PRELOADED]

    found = spark.sparkContext.parallelize([0], 1).map(loaded).collect()
    assert found == [[True] * len(daemon.PRELOADED)]
