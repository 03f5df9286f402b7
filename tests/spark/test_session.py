"""The session as users start it: quiet, embedded, or their own."""

import os
import subprocess
import sys

import pytest

from tests.spark_session import NOT_THROUGH_CONNECT

pytestmark = pytest.mark.spark


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", code]
    return subprocess.run(
        words, capture_output=True, text=True, timeout=300, check=False, env={**os.environ, **environment}
    )


STARTS = """
import pyarrow as pa
from antecede.spark.session import get_session

def same(table: pa.Table) -> pa.Table:
    return table

spark = get_session(spark_sql_shuffle_partitions="3")
rows = spark.range(1000).selectExpr("id % 7 as g", "id")
print(rows.groupBy("g").applyInArrow(same, "g long, id long").count())
print(spark.conf.get("spark.sql.shuffle.partitions"), spark.conf.get("spark.ui.enabled"))
print(get_session() is spark)
"""


@NOT_THROUGH_CONNECT
def test_an_embedded_spark_starts_without_a_word_and_runs_python() -> None:
    done = python(STARTS)
    assert (done.stdout.split("\n"), done.stderr) == (["1000", "3 false", "True", ""], "")


@NOT_THROUGH_CONNECT
def test_a_session_that_exists_is_taken() -> None:
    code = """
from pyspark.sql import SparkSession
mine = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
from antecede.spark.session import get_session
print(get_session() is mine, get_session(master="local[9]").conf.get("spark.master"))
"""
    done = python(code)
    assert done.stdout.splitlines() == ["True local[1]"]


def test_rooms_that_need_no_spark_start_none() -> None:
    code = "import sys, antecede, antecede.cli.app, antecede.demo; print('pyspark' in sys.modules)"
    assert python(code).stdout == "False\n"


def test_packages_that_cannot_be_had_are_told_with_the_remedy() -> None:
    code = """
from antecede.spark.running import open_session
with open_session(spark_jars_packages="no such package"):
    print("started")
"""
    done = python(code)
    assert "started" not in done.stdout
    assert "SetupError: Spark does not start" in done.stderr
    assert "cannot fetch no such package: install Maven" in done.stderr
