"""A session for the length of one piece of work, and Spark's errors told as ours."""

import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from antecede.core import errors
from antecede.core.errors import AntecedeError, CallerError, SetupError
from antecede.spark.session import get_session, locate_spark_log
from antecede.spark.shipping import explain_worker_fault

_CAUSE = re.compile(r"(Caused by: )?([\w$]+\.)*[\w$]+(Error|Exception|Invalid): .|\[[A-Z_.]+\] .")
"""A line of a stack trace, Java's or Python's, that says what went wrong."""
FULL_DISK = ("No space left on device", "Disk quota exceeded", "File too large")
"""What systems say of a disk that is full, or of a file that must not grow."""
LACK_OF_MEMORY = ("Python worker exited unexpectedly", "OutOfMemoryError", "Java heap space")
END_TIME = 5
"""Seconds that Spark's process may take to end once it has no answer any more."""
SHOWN = 300
"""Characters of what Spark says that are shown."""


@contextmanager
def open_session(master: str | None = None, **settings: str) -> Iterator[SparkSession]:
    """A session for the block, stopped behind it unless it was there before; settings as in `get_session`."""
    existing = SparkSession.getActiveSession()
    try:
        with _keep_interrupt_handler():
            session = existing or get_session(master, **settings)
        yield session
    except (PySparkException, Py4JError, ConnectionError) as error:
        if _has_spark_ended(error):
            raise SetupError(
                "Spark has ended: somebody stopped its process, or the system did for lack of memory; run "
                f"the same command again ({locate_spark_log()} has what Spark said)"
            ) from error
        if isinstance(error, ConnectionError):
            raise
        packages = settings.get("spark_jars_packages")
        if packages and "JAVA_GATEWAY_EXITED" in str(error):
            raise SetupError(
                f"Spark does not start, most likely since it cannot fetch {packages}: install Maven (Debian: "
                "apt-get install maven), or put that jar and what it needs into the folder jars of pyspark "
                f"({locate_spark_log()} has what Spark said)"
            ) from error
        raise translate_spark_error(error) from error
    finally:
        with suppress(Py4JError, ConnectionError):  # there may be no Spark any more that could be stopped
            started = SparkSession.getActiveSession()
            if existing is None and started is not None:
                started.stop()


def _has_spark_ended(error: Exception) -> bool:
    """Whether an embedded Spark that we had started is gone; if calls break off, it may be about to go."""
    process = getattr(SparkContext._gateway, "proc", None)
    if process is None:
        return False
    if isinstance(error, ConnectionError | Py4JNetworkError):
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_TIME)
    return process.poll() is not None


@contextmanager
def _keep_interrupt_handler() -> Iterator[None]:
    """PySpark takes Ctrl-C for itself when it starts; it stays with whoever had it."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def translate_spark_error(error: Exception) -> AntecedeError:
    """The error of ours that was raised inside a task; or a sentence about what Spark says."""
    text = str(error)
    if match := re.search(r"\bantecede\.core\.errors\.(\w+): (.*)", text):
        kind = getattr(errors, match[1], None)
        if isinstance(kind, type) and issubclass(kind, AntecedeError):
            return kind(match[2])
    if fault := explain_worker_fault(text):
        return SetupError(fault)
    if "Multiple streaming queries are concurrently using" in text:
        return CallerError("another run works with this checkpoint: stop that one first, or name another")
    if any(sign in text for sign in FULL_DISK):
        return SetupError(
            "no space left on a disk that Spark writes to: make room where --out and --staging are and in "
            f"{tempfile.gettempdir()}, or set TMPDIR to a folder on another disk"
        )
    if any(sign in text for sign in LACK_OF_MEMORY):
        return SetupError(
            "a task of Spark was ended, most likely for lack of memory: give less at a time, or use a "
            f"machine with more memory ({locate_spark_log()} has what Spark said)"
        )
    said = _find_innermost_error_line(text) or type(error).__name__
    return SetupError(f"Spark failed: {said} (run antecede doctor; {locate_spark_log()} has what Spark said)")


def _find_innermost_error_line(text: str) -> str:
    """The line that tells most: of a stack of errors around one another, the innermost one's."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if _CAUSE.match(line)] or lines[:1]
    return causes[-1][:SHOWN] if causes else ""
