"""One Spark for all tests of a test process, started when the first of them asks for it.

The conftest of a folder that may start a JVM imports this fixture; elsewhere there is none. It can read
topics where Maven can fetch what that takes; where not, tests of topics are skipped, but not in CI.

With SPARK_REMOTE=local[2] in the environment, all goes through Spark Connect (`make connect`).
"""

import os

import pytest

from antecede.core.errors import SetupError
from antecede.maven import has_maven

NOT_THROUGH_CONNECT = pytest.mark.skipif("SPARK_REMOTE" in os.environ, reason="not through Spark Connect")
"""For tests of what Spark Connect does not have, or does elsewhere."""
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java's quick compiler alone: what the thorough one makes faster does not run long enough to pay for it."""


@pytest.fixture(scope="session")
def spark():
    from antecede.spark.session import get_session

    started = get_session(
        None if "SPARK_REMOTE" in os.environ else "local[2]",
        spark_driver_memory="2g",
        spark_sql_shuffle_partitions="3",
        spark_driver_extraJavaOptions=SHORT_LIVED,
        **find_connector(),
    )
    yield started
    started.stop()


def find_connector() -> dict[str, str]:
    """Settings for topics; none if they cannot be had."""
    from antecede.spark.kafka_connector import fetch_connector_and_make_settings

    try:
        return fetch_connector_and_make_settings() if has_maven() else {}
    except SetupError:
        if os.environ.get("CI"):
            raise
        return {}
