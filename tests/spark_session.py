"""One Spark for all tests of a test process, started when the first of them asks for it.

The conftest of a folder that may start a JVM imports this fixture; elsewhere there is none.
"""

import pytest

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java's quick compiler alone: what the thorough one makes faster does not run long enough to pay for it."""


@pytest.fixture(scope="session")
def spark():
    from antecede.spark.session import get_session

    started = get_session(
        "local[2]",
        spark_driver_memory="2g",
        spark_sql_shuffle_partitions="3",
        spark_driver_extraJavaOptions="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    )
    yield started
    started.stop()
