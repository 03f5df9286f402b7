"""Each test runs over both engines; only on Spark does it start a JVM."""

import pytest

from tests.engines.engines import Engine, LocalEngine, SparkEngine


@pytest.fixture(scope="session", params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "local":
        return LocalEngine()
    return SparkEngine(request.getfixturevalue("spark"))
