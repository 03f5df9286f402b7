"""One Hypothesis profile: the same examples in every run; the environment may ask for more of them.

And one Spark for all tests of a test process, started when the first of them asks for it.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "antecede",
    max_examples=int(os.environ.get("ANTECEDE_EXAMPLES", "60")),
    deadline=None,
    derandomize="ANTECEDE_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("antecede")


@pytest.fixture(scope="session")
def spark():
    from antecede.spark.session import session

    started = session("local[2]", spark_driver_memory="2g", spark_sql_shuffle_partitions="3")
    yield started
    started.stop()
