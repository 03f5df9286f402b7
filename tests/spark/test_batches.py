"""Rows reach Python in batches that nobody measures, unless the owner of a session wants it."""

import pytest

from antecede.spark.arrow_batches import LARGEST_BATCH, NAME, lift_arrow_batch_limit
from antecede.spark.auditing.event_audit import audit

pytestmark = pytest.mark.spark


def test_our_own_session_measures_no_batches(spark):
    assert spark.conf.get(NAME) == LARGEST_BATCH


def test_a_session_as_spark_makes_it_is_set_right_by_an_audit(spark):
    theirs = spark.newSession()
    theirs.conf.set(NAME, "67108864b")
    audit(theirs.createDataFrame([("a", 0)], "process string, index long"))
    assert theirs.conf.get(NAME) == LARGEST_BATCH


def test_a_size_that_was_chosen_stays(spark):
    theirs = spark.newSession()
    theirs.conf.set(NAME, "1048576")
    lift_arrow_batch_limit(theirs)
    assert theirs.conf.get(NAME) == "1048576"
