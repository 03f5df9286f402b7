"""One Spark for all tests of a test process, started when the first of them asks for it."""

import pytest

from antecede.spark.session import session


@pytest.fixture(scope="session")
def spark():
    found = session("local[2]", spark_driver_memory="2g", spark_sql_shuffle_partitions="3")
    yield found
    found.stop()
