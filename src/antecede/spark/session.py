"""The Spark session: the one that exists, or a quiet new one; embedded, on a cluster or on a server."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from antecede.java import find_java, make_java_home
from antecede.machine import count_cores, make_user_folder, read_memory_gigabytes
from antecede.spark.shipping import ship_package
from antecede.spark_address import SparkAddress, find_spark_address

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    # Batches are made by number of rows alone: to measure them takes time.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}
"""For every session that is started here."""
EMBEDDED_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Python's memory in large pages, where the system has them: with small ones, a task that judges ten
    # million events spends a third of its processor time on page faults.
    "spark.executorEnv.GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
}
"""For an embedded Spark, too."""


def get_session(master: str | None = None, **settings: str) -> SparkSession:
    """The active session if there is one; else a new one, embedded (`local[*]`) unless a master is named.

    A master may be a server of Spark Connect (`sc://host:port`); without one, the environment may name it
    (`SPARK_REMOTE`). The workers of a cluster get this package, and use the Python that `PYSPARK_PYTHON`
    names: this one, unless it is set. `settings` are Spark's own, with underscores for dots:
    `spark_driver_memory="8g"`.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    address = find_spark_address(master)
    chosen = _choose_session_settings(address)
    chosen |= {name.replace("_", "."): value for name, value in settings.items()}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if address.kind != "connect":
        os.environ["JAVA_HOME"] = str(make_java_home(find_java()))
    with _redirect_stderr_to_log(), _hide_remote_of_environment(address.is_remote):
        builder = SparkSession.builder.appName("antecede")
        builder = builder.remote(address.text) if address.is_remote else builder.master(address.text)
        for name, value in chosen.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    if address.kind != "embedded":
        ship_package(session)
    return session


def _choose_session_settings(address: SparkAddress) -> dict[str, str]:
    """Settings of a new session; of an embedded one, which fits this machine, more of them."""
    if address.kind != "embedded":
        return dict(SETTINGS)
    memory = max(1, int(read_memory_gigabytes() / 3))
    return {
        **SETTINGS,
        **EMBEDDED_SETTINGS,
        "spark.sql.shuffle.partitions": str(2 * count_cores()),
        "spark.driver.memory": f"{memory}g",
    }


def locate_spark_log() -> Path:
    """What Spark and Java print, which is of use only when something is wrong with them."""
    return make_user_folder() / "spark.log"


@contextmanager
def _hide_remote_of_environment(is_remote: bool) -> Iterator[None]:
    """PySpark refuses a master where SPARK_REMOTE names a server; here, who names a master means it."""
    hidden = None if is_remote else os.environ.pop("SPARK_REMOTE", None)
    try:
        yield
    finally:
        if hidden is not None:
            os.environ["SPARK_REMOTE"] = hidden


@contextmanager
def _redirect_stderr_to_log() -> Iterator[None]:
    """Let what starts now write its complaints into the log and not onto the user's screen."""
    sys.stderr.flush()
    screen = os.dup(2)
    with locate_spark_log().open("ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(screen, 2)
        os.close(screen)
