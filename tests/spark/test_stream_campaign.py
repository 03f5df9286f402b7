"""A slice of the campaign of streams: the whole job is killed under load, and goes on."""

from pathlib import Path

import pytest

from tests.spark.stream_campaign import run_campaign
from tests.spark_session import NOT_THROUGH_CONNECT

# Through Connect a server would not be killed with the job.
pytestmark = [pytest.mark.spark, pytest.mark.slow, NOT_THROUGH_CONNECT]


def test_a_job_that_is_killed_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    problems, struck = run_campaign(tmp_path, kills=1, batches=8, seed=1)
    assert problems == []
    assert sum(struck.values()) == 1
