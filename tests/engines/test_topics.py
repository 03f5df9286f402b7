"""What an audit tells of Kafka's topics: retries that overtook, times against offsets, copies."""

from pathlib import Path

import pytest

from tests.engines.engines import rows_of
from tests.formats.samples import lines
from tests.formats.test_kafka import record


@pytest.fixture
def judge(audit_engine, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def run(*records):
        Path("dump").write_text(lines(*records))
        return audit_engine.audit(audit_engine.read_logs(["dump"]).events)

    return run


def test_a_retry_that_was_overtaken(judge):
    results = judge(record(0, 10, "p"), record(1, 30, "p"), record(2, 20, "p"), record(3, 40, "p"))
    assert results.summary.counts == {"late": 1, "fifo": 1}
    (found,) = [row for row in rows_of(results.findings) if row["kind"] == "fifo"]
    assert found["sentence"] == (
        "orders/0 delivered orders/0@1 before orders/0@2, "
        "though p sent orders/0@2 (dump:3) before orders/0@1 (dump:2)"
    )
    assert (found["file"], found["line"]) == ("dump", 3)


def test_a_message_that_was_sent_twice(judge):
    results = judge(record(0, 10, "p", message_id="m"), record(1, 10, "p", message_id="m"))
    assert results.summary.counts == {"duplicate": 1}


def test_times_against_offsets_by_producer(judge):
    slow = [record(3 * n + 1, 1000 + 100 * n - 50 * (n > 0) - n, "slow") for n in range(4)]
    fast = [record(3 * n + at, 1000 + 100 * n + at, "fast") for n in range(4) for at in (0, 2)]
    results = judge(*sorted(slow + fast, key=lambda one: one["offset"]))
    assert results.summary.counts == {"offset-time": 1}
    (found,) = rows_of(results.findings)
    assert found["sentence"] == (
        "orders/0 took 3 of 4 messages of slow behind others that were sent later by their times, half of "
        "them by 52 ms or more; at worst orders/0@10 (dump:11) was sent 53 ms before orders/0@9 of fast "
        "(dump:10)"
    )
    assert found["events"] == ["send of orders/0@9", "send of orders/0@10", "orders/0@10"]
    assert (found["process"], found["line"]) == ("orders/0", 11)


def test_times_of_partitions_are_not_compared_with_each_other(judge):
    results = judge(record(0, 10, "p"), record(0, 5, "q", partition=1), record(1, 6, "p", partition=1))
    assert results.summary.counts == {}


def test_times_against_offsets_where_no_producer_is_told(judge):
    results = judge(record(0, 10), record(1, 30), record(2, 20))
    assert results.summary.counts == {"timestamp": 1}
    assert (
        "orders/0's orders/0@2 (dump:3) came 10 ms before its cause"
        in results.findings["sentence"][0].as_py()
    )
