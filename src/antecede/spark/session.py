"""The Spark session: the one that exists, or an embedded one that is quiet and fits the machine."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from antecede import java
from antecede.machine import cores, memory_gigabytes
from antecede.spark import arrow_batches as batches

LOG = Path(tempfile.gettempdir()) / "antecede-spark.log"
"""What Spark and Java print, which is of use only when something is wrong with them."""

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    batches.NAME: batches.LARGEST_BATCH,
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
"""For an embedded Spark."""


def session(master: str | None = None, **settings: str) -> SparkSession:
    """The active session if there is one; else a new one, embedded (`local[*]`) unless a master is named.

    `settings` are Spark's own, with underscores for dots: `spark_driver_memory="8g"`.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    chosen = {name.replace("_", "."): value for name, value in settings.items()}
    embedded = master is None or master.startswith("local")
    builder = SparkSession.builder.appName("antecede").master(master or "local[*]")
    for name, value in {**(_embedded() if embedded else {}), **chosen}.items():
        builder = builder.config(name, value)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if embedded:
        os.environ["JAVA_HOME"] = str(java.home(java.find()))
    with _quiet():
        return builder.getOrCreate()


def _embedded() -> dict[str, str]:
    memory = f"{max(1, int(memory_gigabytes() / 3))}g"
    return {**SETTINGS, "spark.sql.shuffle.partitions": str(2 * cores()), "spark.driver.memory": memory}


@contextmanager
def _quiet() -> Iterator[None]:
    """Let what starts now write its complaints into the log and not onto the user's screen."""
    sys.stderr.flush()
    screen = os.dup(2)
    with LOG.open("ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(screen, 2)
        os.close(screen)
