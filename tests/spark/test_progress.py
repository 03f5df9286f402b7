"""Progress of Spark's jobs: told while they run, and never in the way."""

import io
import time

import pytest
from pyspark import TaskContext
from rich.console import Console

from antecede.cli import steps as shown
from antecede.spark.progress import Progress, read_progress, watch_jobs
from tests.spark_session import NOT_THROUGH_CONNECT


def slow(batches):
    task = TaskContext.get()
    assert task
    for batch in batches:
        time.sleep(0.5 + 0.3 * task.partitionId())  # Spark's books are some tenths behind
        yield batch


@pytest.mark.spark
@NOT_THROUGH_CONNECT  # a server tells of other stages
def test_tasks_and_rows_are_told_while_a_job_runs(spark, tmp_path) -> None:
    spark.range(4000, numPartitions=4).write.parquet(str(tmp_path / "t"))
    told: list[Progress] = []
    with watch_jobs(spark, told.append, every_seconds=0.05):
        rows = spark.read.parquet(str(tmp_path / "t")).repartition(4)
        assert rows.mapInArrow(slow, "id long").count() == 4000
    assert {one.tasks for one in told} >= {4}
    assert any(0 < one.done < one.tasks for one in told)
    assert max(one.rows for one in told) > 0
    assert all(one.done <= one.tasks for one in told)
    assert len({one.stage for one in told}) > 1


@pytest.mark.spark
@NOT_THROUGH_CONNECT  # there is no context to ask
def test_nothing_is_told_when_nothing_runs(spark) -> None:
    assert read_progress(spark.sparkContext) is None


@pytest.mark.spark
def test_an_error_in_the_block_comes_out(spark) -> None:
    with pytest.raises(KeyError), watch_jobs(spark, print, every_seconds=0.01):
        raise KeyError("mine")


def test_a_session_that_is_gone_is_no_error() -> None:
    class Gone:
        def statusTracker(self) -> None:  # noqa: N802
            raise ConnectionError

    assert read_progress(Gone()) is None


def test_lines_come_now_and_then(monkeypatch) -> None:
    out = io.StringIO()
    lines = shown.StageLines(Console(file=out), "reading")
    lines(Progress(1, 1, 4, 0))
    assert out.getvalue() == ""
    monkeypatch.setattr(shown, "PATIENCE", 0.0)
    lines(Progress(2, 3, 4, 1_200_000))
    assert out.getvalue() == "reading: stage 2, 3 of 4 tasks, 1,200,000 rows\n"
    assert shown.describe_stage(Progress(2, 3, 4, 0)) == "stage 2, 3 of 4 tasks"
