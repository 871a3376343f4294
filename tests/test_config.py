import dataclasses

import pytest

from dslog.config import Config, spark_value
from dslog.errors import EngineError


def test_defaults():
    assert Config.from_environment({}) == Config()
    assert Config().spark_master == "local[*]"
    assert Config().spark_driver_memory == "2g"
    assert dict(Config().spark_conf) == {}


def test_an_empty_variable_counts_as_unset():
    names = ("DSLOG_SPARK_MASTER", "DSLOG_SPARK_DRIVER_MEMORY", "DSLOG_SPARK_CONF")
    assert Config.from_environment(dict.fromkeys(names, "")) == Config()


def test_reads_the_process_environment(monkeypatch):
    monkeypatch.setenv("DSLOG_SPARK_MASTER", "spark://host:7077")
    monkeypatch.setenv("DSLOG_SPARK_DRIVER_MEMORY", "1500m")
    config = Config.from_environment()
    assert (config.spark_master, config.spark_driver_memory) == ("spark://host:7077", "1500m")


def test_conf_values_become_what_spark_reads():
    text = '{"a": true, "b": 8, "c": 0.5, "d": "x"}'
    conf = Config.from_environment({"DSLOG_SPARK_CONF": text}).spark_conf
    assert dict(conf) == {"a": "true", "b": "8", "c": "0.5", "d": "x"}
    assert spark_value(False) == "false"


def test_frozen():
    config = Config.from_environment({"DSLOG_SPARK_CONF": '{"a": "b"}'})
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.spark_master = "x"
    with pytest.raises(TypeError):
        config.spark_conf["a"] = "c"


@pytest.mark.parametrize("text", ["{", "[1]", "null", '{"a": null}', '{"a": {"b": 1}}'])
def test_bad_conf_is_named(text):
    with pytest.raises(EngineError, match="DSLOG_SPARK_CONF"):
        Config.from_environment({"DSLOG_SPARK_CONF": text})


@pytest.mark.parametrize("text", ["2", "2 g", "lots", "0g", "-1g", "2gib"])
def test_bad_memory_is_named(text):
    with pytest.raises(EngineError, match=f"DSLOG_SPARK_DRIVER_MEMORY={text!r}"):
        Config.from_environment({"DSLOG_SPARK_DRIVER_MEMORY": text})
