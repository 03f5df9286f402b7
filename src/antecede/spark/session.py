"""The Spark session: the one that exists, or an embedded one that is quiet and fits the machine."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from antecede.java import find_java, make_java_home
from antecede.machine import count_cores, make_user_folder, memory_gigabytes

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    # Batches are made by number of rows alone: to measure them takes time.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
"""For an embedded Spark."""


def get_session(master: str | None = None, **settings: str) -> SparkSession:
    """The active session if there is one; else a new one, embedded (`local[*]`) unless a master is named.

    `settings` are Spark's own, with underscores for dots: `spark_driver_memory="8g"`.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    builder = SparkSession.builder.appName("antecede").master(master or "local[*]")
    is_embedded = master is None or master.startswith("local")
    chosen = _choose_settings() if is_embedded else {}
    chosen |= {name.replace("_", "."): value for name, value in settings.items()}
    for name, value in chosen.items():
        builder = builder.config(name, value)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if is_embedded:
        os.environ["JAVA_HOME"] = str(make_java_home(find_java()))
    with _redirect_complaints():
        return builder.getOrCreate()


def _choose_settings() -> dict[str, str]:
    """Settings of an embedded Spark that fits this machine."""
    memory = max(1, int(memory_gigabytes() / 3))
    return {
        **SETTINGS,
        "spark.sql.shuffle.partitions": str(2 * count_cores()),
        "spark.driver.memory": f"{memory}g",
    }


def locate_log() -> Path:
    """What Spark and Java print, which is of use only when something is wrong with them."""
    return make_user_folder() / "spark.log"


@contextmanager
def _redirect_complaints() -> Iterator[None]:
    """Let what starts now write its complaints into the log and not onto the user's screen."""
    sys.stderr.flush()
    screen = os.dup(2)
    with locate_log().open("ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(screen, 2)
        os.close(screen)
