"""A session for the length of one piece of work, and Spark's errors told as ours."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from antecede.core import errors
from antecede.core.errors import AntecedeError, SetupError
from antecede.spark.session import get_session, locate_log

SHOWN = 300
"""Characters of what Spark says that are shown."""


@contextmanager
def open_session(master: str | None = None, **settings: str) -> Iterator[SparkSession]:
    """A session for the block, stopped behind it unless it was there before; settings as in `get_session`."""
    existing = SparkSession.getActiveSession()
    try:
        yield existing or get_session(master, **settings)
    except (PySparkException, Py4JError) as error:
        packages = settings.get("spark_jars_packages")
        if packages and "JAVA_GATEWAY_EXITED" in str(error):
            raise SetupError(
                f"Spark does not start, most likely since it cannot fetch {packages}: install Maven (Debian: "
                "apt-get install maven), or put that jar and what it needs into the folder jars of pyspark "
                f"({locate_log()} has what Spark said)"
            ) from error
        raise translate_error(error) from error
    finally:
        started = SparkSession.getActiveSession()
        if existing is None and started is not None:
            started.stop()


def translate_error(error: Exception) -> AntecedeError:
    """The error of ours that was raised inside a task; or a sentence about what Spark says."""
    text = str(error)
    if match := re.search(r"\bantecede\.core\.errors\.(\w+): (.*)", text):
        kind = getattr(errors, match[1], None)
        if isinstance(kind, type) and issubclass(kind, AntecedeError):
            return kind(match[2])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = lines[0][:SHOWN] if lines else type(error).__name__
    return SetupError(f"Spark failed: {first} (run antecede doctor; {locate_log()} has what Spark said)")
