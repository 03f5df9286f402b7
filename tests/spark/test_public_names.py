"""`antecede.spark` has the names of `antecede`, for DataFrames."""

import pytest

import antecede
import antecede.spark
from tests.docstrings import check_docstrings


@pytest.mark.parametrize("name", antecede.spark.__all__)
def test_every_name_is_there_and_tells_what_it_is(name) -> None:
    check_docstrings(getattr(antecede.spark, name))


FOR_SPARK = {
    "order_stream",
    "ship_package",
    "spread_over",
    "to_findings",
    "with_event_order",
    "with_order",
    "write_ordered",
}
"""Streams, steps of a chain, clusters, and what spreads a study."""


def test_both_have_the_same_functions() -> None:
    functions = {name for name in antecede.spark.__all__ if name.islower()} - FOR_SPARK
    assert functions == {"audit", "compare", "order", "order_events", "read_logs"}
    assert functions <= set(antecede.__all__)


def test_a_log_is_read_ordered_and_audited(spark, tmp_path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"process": "a", "kind": "send", "message": "m"}\n')
    with antecede.spark.read_logs(spark, log) as logs, antecede.spark.audit(logs.events) as audit:
        assert antecede.spark.order_events(logs.events).counts()["ordered"] == 1
        assert audit.summary().counts == antecede.audit(antecede.read_logs(log).events).summary().counts
