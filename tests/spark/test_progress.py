import io
import threading
from types import SimpleNamespace

from rich.console import Console

from dslog.spark import job as progress
from dslog.spark.job import Stage, Watch


def terminal():
    return Console(file=io.StringIO(), force_terminal=True, width=120)


def test_stages_tasks_and_rows_are_shown():
    console = terminal()
    done = threading.Event()
    answers = iter([[Stage(3, 10, 4)], [Stage(3, 10, 9), Stage(4, 2, 0)]])

    def ask():
        stages = next(answers, None)
        if stages is None:
            done.set()
            return []
        return stages

    watch = Watch(console, "compressing", 1000, ask)
    watch.run(done, patience=0)
    text = console.file.getvalue()
    assert "compressing, stage 3" in text


def test_what_a_stage_says():
    watch = Watch(terminal(), "compressing", 1000, list)
    assert watch._rows_text(Stage(1, 10, 4)) == ", about 400 of 1,000 rows"
    assert watch._rows_text(Stage(1, 0, 0)) == ""
    assert Watch(terminal(), "joining", 0, list)._rows_text(Stage(1, 10, 4)) == ""


def test_a_short_job_says_nothing():
    console = terminal()
    done = threading.Event()
    done.set()
    Watch(console, "compressing", 0, list).run(done)
    assert console.file.getvalue() == ""


def test_bars_of_ended_stages_go():
    watch = Watch(terminal(), "compressing", 0, list)
    watch.update([Stage(1, 4, 2), Stage(2, 4, 0)])
    watch.update([Stage(2, 4, 1)])
    assert set(watch._bars) == {2}


def test_nothing_is_shown_without_a_terminal(spark, capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.shown(spark, "compressing"):
        spark.range(10).count()
    assert capsys.readouterr().err == ""


def test_a_job_on_a_terminal_is_watched(spark, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(progress.sys, "stderr", Terminal())
    with progress.shown(spark, "compressing", rows=10):
        assert spark.range(10).count() == 10


def test_only_new_stages_count():
    infos = {2: SimpleNamespace(numTasks=4, numCompletedTasks=1)}
    tracker = SimpleNamespace(getActiveStageIds=lambda: [1, 2, 3], getStageInfo=infos.get)
    assert progress.stages(tracker, {1}) == [Stage(2, 4, 1)]
