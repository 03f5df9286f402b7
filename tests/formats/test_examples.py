"""Logs that other tools wrote (examples/README.md) are found by content and read as what they are."""

from pathlib import Path

import pytest

from antecede.formats import read
from antecede.local.audit import audit
from antecede.local.logs import read_logs
from tests.formats.samples import events_as_rows, parse

EXAMPLES = Path(__file__).parent / "examples"


def load(name):
    return read((EXAMPLES / name).read_bytes(), "log")


def describe(parsed):
    """Events without their lines, and without the lists that each form writes in its own way."""
    rows = events_as_rows(parsed)
    for row in rows:
        row["line"] = 0
        row["fields"] = {k: v for k, v in (row["fields"] or {}).items() if not k.startswith("Links.")}
    return rows


def test_protobuf_has_the_events_of_json():
    binary, json = load("otlp.binpb"), load("otlp.jsonl")
    assert (binary.format, json.format, len(binary.quarantine)) == ("otlp", "otlp", 0)
    assert binary.events.equals(json.events) and len(json.events) == 6
    fields = events_as_rows(binary)[0]["fields"]
    assert (fields["n"], fields["ok"], fields["rate"]) == ("-5", "true", "0.5")


def test_protobuf_that_is_cut_or_altered_goes_to_quarantine():
    data = (EXAMPLES / "otlp.binpb").read_bytes()
    cut = parse(data[:-1])
    assert len(cut.events) == 4
    assert cut.quarantine["reason"].to_pylist() == ["the file ends in the middle of a message"]
    first = 4 + int.from_bytes(data[:4], "big")
    altered = parse(data[: first + 4] + b"\xff" * (len(data) - first - 4))
    assert len(altered.events) == 2 and len(altered.quarantine) >= 1


def test_protobuf_with_any_other_byte_loses_no_message():
    """Also with a field that has a value of another type, such as a name that is a number."""
    data = (EXAMPLES / "otlp.binpb").read_bytes()
    reasons = set()
    for place in range(5, len(data)):
        for change in (1, 2, 4, 5, 7, 128):
            altered = data[:place] + bytes([data[place] ^ change]) + data[place + 1 :]
            parsed = parse(altered, "otlp")
            assert len(parsed.events) + len(parsed.quarantine)
            reasons.update(parsed.quarantine["reason"].to_pylist())
    assert "no message of OTLP: the field name has a value of another type" in reasons


@pytest.mark.parametrize("name", ["otel_traces.parquet", "otel_traces.jsonl", "otel_traces.csv"])
def test_what_clickhouse_exports(name):
    parsed = load(name)
    assert (parsed.format, len(parsed.events), len(parsed.quarantine)) == ("otel-table", 12, 0)
    assert describe(parsed) == describe(load("otel_traces.jsonl"))
    found = audit(read_logs([EXAMPLES / name]).events).summary()
    assert (found.executions, found.counts, found.reasons) == (1, {"missing": 1}, {"not-found": 1})


def test_what_kcat_dumps():
    """A producer's second record was overtaken by its third, by the numbers in their headers."""
    parsed = load("kcat.jsonl")
    assert (parsed.format, len(parsed.quarantine)) == ("kafka", 0)
    kinds = [(row["process"], row["kind"], row["index"]) for row in events_as_rows(parsed)]
    sends = [("web", "send", 0), ("web", "send", 2), ("web", "send", 1)]
    taken = [("orders/0", "deliver", 0), ("orders/0", "deliver", 1), ("orders/0", "deliver", 2)]
    assert kinds == [*sends, *taken, ("orders/0", "local", 3)]
    counts = audit(parsed.events).summary().counts
    assert counts["fifo"] == 1
