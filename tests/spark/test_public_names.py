"""`antecede.spark` has the names of `antecede`, for DataFrames."""

import pytest

import antecede
import antecede.spark


@pytest.mark.parametrize("name", antecede.spark.__all__)
def test_every_name_is_there(name) -> None:
    assert getattr(antecede.spark, name) is not None


STREAMS = {"order_stream", "write_ordered"}
"""Streams are for Spark alone."""


def test_both_have_the_same_functions() -> None:
    functions = {name for name in antecede.spark.__all__ if name.islower()} - STREAMS
    assert functions == {"audit", "compare", "order", "order_events", "read_logs"}
    assert functions <= set(antecede.__all__)


def test_a_log_is_read_ordered_and_audited(spark, tmp_path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"process": "a", "kind": "send", "message": "m"}\n')
    logs = antecede.spark.read_logs(spark, log)
    ordered, held, quarantine = antecede.spark.order_events(logs.events)
    assert (ordered.count(), held.count(), quarantine.count()) == (1, 0, 0)
    audit = antecede.spark.audit(logs.events)
    assert audit.summary().counts == antecede.audit(antecede.read_logs(log).events).summary().counts
