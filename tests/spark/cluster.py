"""A standalone cluster of Spark on this machine: a master and workers of one core, each a process."""

import os
import re
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from antecede.java import find_java, make_java_home

_PATIENCE = 120
_WORKERS_PYTHON = """#!/bin/sh
# The Python of workers, which lacks antecede; the first one that starts ends its executor by kill -9.
if mkdir "{mark}" 2>/dev/null; then kill -9 $PPID; exit 1; fi
export PYTHONPATH="{packages}:$PYTHONPATH"
exec "{python}" -S "$@"
"""


@contextmanager
def run_cluster(folder: Path, workers: int) -> Iterator[str]:
    """The address of the master, for a block."""
    folder.mkdir()
    processes: list[subprocess.Popen[bytes]] = []
    try:
        options = ("--host", "127.0.0.1", "--webui-port", "0")
        processes.append(_start("master.Master", folder / "master.log", *options, "--port", "0"))
        master = _wait_for(r"Starting Spark master at (\S+)", folder / "master.log")
        for number in range(workers):
            own = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work-{number}"), master)
            processes.append(_start("worker.Worker", folder / f"worker-{number}.log", *options, *own))
        for number in range(workers):
            _wait_for(r"(Successfully registered with master)", folder / f"worker-{number}.log")
        yield master
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(timeout=60)


def _start(role: str, log: Path, *words: str) -> subprocess.Popen[bytes]:
    script = Path(pyspark.__file__).parent / "bin" / "spark-class"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"JAVA_HOME": str(make_java_home(find_java())), "SPARK_LOCAL_IP": "127.0.0.1"}
    environment["SPARK_DAEMON_MEMORY"] = "256m"
    with log.open("wb") as out:
        return subprocess.Popen(
            [str(script), f"org.apache.spark.deploy.{role}", *words],
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
        )


def _wait_for(pattern: str, log: Path) -> str:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if match := re.search(pattern, log.read_text()):
            return match[1]
        time.sleep(0.2)
    raise TimeoutError(f"{log}: {log.read_text()[-2000:]}")


def write_workers_python(folder: Path) -> Path:
    """A Python that has all packages of this one, but not antecede."""
    script = folder / "workers-python"
    text = _WORKERS_PYTHON.format(
        mark=folder / "executor-killed", packages=sysconfig.get_path("purelib"), python=sys.executable
    )
    script.write_text(text)
    script.chmod(0o755)
    return script
