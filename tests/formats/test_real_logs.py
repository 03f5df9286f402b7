"""Every real log reads with the counts that two independent readers found."""

import json
from collections import Counter

import pytest

from antecede.formats import Settings, detect, read
from tests.formats.samples import DATA, events_as_rows, needs_data

pytestmark = needs_data
EXPECTED = json.loads((DATA / "expected.json").read_text()) if DATA.is_dir() else {}
LOGS = EXPECTED.get("vector_clock_logs", [])
SPANS = EXPECTED.get("spans", {})


def events(file, **settings):
    parsed = read((DATA / file).read_bytes(), file, settings=Settings(**settings))
    assert parsed.quarantine.num_rows == 0
    return events_as_rows(parsed)


def check_log(found, log):
    found = [row for row in found if row["execution"] == log["execution"]]
    assert len(found) == log["events"]
    counts = Counter(row["process"] for row in found)
    assert counts == log["host_event_counts"] and len(counts) == log["hosts"]
    sizes = [len(row["clock"]) for row in found]
    assert max(sizes) == log["max_clock_entries"]
    assert round(sum(sizes) / len(sizes), 2) == pytest.approx(log["mean_clock_entries"], abs=0.011)
    assert all(row["clock"][row["process"]] == row["index"] + 1 for row in found)
    assert len({row["event"] for row in found}) == len(found)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log['file']} {log['execution']}")
def test_vector_clock_logs_with_their_expressions(log):
    check_log(events(log["file"], regex=log["regex"], delimiter=log["delimiter"] or None), log)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log['file']} {log['execution']}")
def test_vector_clock_logs_without_any_help(log):
    if any(name in log["file"] for name in ("ewd998", "reliable")):
        pytest.skip("has a layout of its own, for which ShiViz's page gives the expression")
    check_log(events(log["file"]), log)


def test_lines_are_those_of_the_file():
    for file in ("shiviz/simpledb.log", "shiviz/facebook-multiple.log"):
        lines = (DATA / file).read_text().split("\n")
        for row in events(file):
            assert row["text"] == lines[row["line"] - 1]


def test_tsviz_log():
    found = events("tsviz/tsviz_fslock_24t_4sp.log")
    assert len(found) == 2001
    assert len({row["process"] for row in found}) == 30
    assert found[0]["line"] == 3
    assert found[0]["time"] == pytest.approx(1456966522870.8457)


def test_sends_and_receives_of_ewd998():
    want = EXPECTED["graphs_and_messages"]["ewd998/trace-unstable.ndjson"]
    found = events("ewd998/trace-unstable.ndjson")
    kinds = Counter(row["kind"] for row in found)
    assert len(found) == want["events"]
    assert found[0]["line"] == want["header_lines"] + 1
    assert len({row["process"] for row in found}) == want["nodes"]
    assert (kinds["send"], kinds["receive"]) == (want["sends"], want["receive_records"])
    assert kinds["local"] == want["deactivations"]
    matches = Counter(row["fields"]["match"] for row in found if row["kind"] == "receive")
    assert matches["first"] == want["first_receives"] and matches["repeat"] == want["repeat_receives"]
    assert matches["none"] == want["receives_without_a_send"]
    sent = {row["message"] for row in found if row["kind"] == "send"}
    lost = sent - {row["message"] for row in found if row["kind"] == "receive"}
    assert len(sent) == want["sends"] and len(lost) == want["lost_sends"]
    (failed,) = [row for row in found if "failure" in (row["fields"] or {})]
    assert lost == {failed["message"]}


def test_editing_trace():
    file = "editing-traces/friendsforever.json.gz"
    want = EXPECTED["graphs_and_messages"][file]
    found = events(file)
    agent = {row["event"]: row["process"] for row in found}
    edges = [(parent, row["event"]) for row in found for parent in row["parents"]]
    assert len(found) == want["txns"]
    assert len(set(agent.values())) == want["agents"]
    assert len(edges) == want["edges"]
    assert sum(agent[parent] != agent[child] for parent, child in edges) == want["cross_agent_edges"]
    assert sum(len(row["parents"]) > 1 for row in found) == want["merges"]
    assert sum(not row["parents"] for row in found) == want["roots"]
    assert len(agent.keys() - {parent for parent, _ in edges}) == want["heads"]
    assert sum(n > 1 for n in Counter(parent for parent, _ in edges).values()) == want["forks"]
    assert max(len(row["parents"]) for row in found) == want["max_parents"]
    assert {row["execution"] for row in found} == {"friendsforever"}


@pytest.mark.parametrize("file", SPANS)
def test_zipkin_spans(file):
    found = events(file)
    starts = {row["event"]: row for row in found if row["event"].startswith("start of span ")}
    assert len(starts) == SPANS[file]["spans"]
    assert len({row["process"] for row in found} - {None}) == SPANS[file]["services"]
    if (before := SPANS[file].get("children_starting_before_parent")) is not None:
        pairs = [(row, starts[parent]) for row in starts.values() for parent in row["parents"]]
        assert sum(child["time"] < parent["time"] for child, parent in pairs) == before


FORMATS = {"tsviz": "shiviz", "ewd998": "ndjson", "editing-traces": "editing", "zipkin": "zipkin"}


@pytest.mark.parametrize("folder", FORMATS)
def test_detection(folder):
    files = [file for file in (DATA / folder).iterdir() if "LICENSE" not in file.name]
    assert files
    assert {detect(file.read_bytes(), "?") for file in files} == {FORMATS[folder]}
