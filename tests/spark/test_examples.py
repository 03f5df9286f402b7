"""The example of a Spark job, in the session of the tests."""

import runpy
from pathlib import Path

import pytest

JOB = Path(__file__).parents[2] / "examples" / "spark_job.py"


@pytest.mark.spark
def test_a_spark_job(spark, capsys) -> None:
    runpy.run_path(str(JOB), run_name="__main__")
    assert capsys.readouterr().out.splitlines() == [
        "0 ann: the price is 5",
        "1 bob: sold!",
        "held ann: so it is a deal (lacks message 2 of ann)",
        "held cid: what is? (lacks messages 2 to 3 of ann)",
        "0 rows in quarantine",
    ]
