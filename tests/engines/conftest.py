"""Each test runs over both engines; only on Spark does it start a JVM."""

import pytest

from tests.engines.engines import Engine, LocalEngine, SparkEngine
from tests.spark_session import spark

__all__ = ["command_engine", "engine", "spark"]


@pytest.fixture(scope="session", params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "local":
        return LocalEngine()
    return SparkEngine(request.getfixturevalue("spark"))


@pytest.fixture(
    scope="session",
    params=[
        "local",
        pytest.param("spark", marks=pytest.mark.spark),
        pytest.param("distributed", marks=pytest.mark.spark),
    ],
)
def audit_engine(request: pytest.FixtureRequest) -> Engine:
    """An engine for audits; also Spark with every execution taken for a huge one."""
    if request.param == "local":
        return LocalEngine()
    spark = request.getfixturevalue("spark")
    return SparkEngine(spark, huge=0) if request.param == "distributed" else SparkEngine(spark)


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def command_engine(request: pytest.FixtureRequest) -> str:
    """The name of an engine; a command that runs on Spark finds the session of the tests."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    return str(request.param)
