"""Clean logs with one seeded fault each: the audit finds all that follows from it, and nothing else."""

import json
import re
from collections import Counter
from itertools import pairwise
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from antecede.auditing.judge import judge
from antecede.events.graph import build_event_graph
from antecede.formats import Settings, read
from tests.by_definition import Finding, Log, Row, findings, reach
from tests.event_rows import table
from tests.formats.samples import DATA, events_as_rows, needs_data
from tests.mutations import ALONE, FAULTS, make_clocked_log, simulate_log

SEEDS = 6
CLEAN: dict[str, list[Row]] = {}
CERTAIN = {
    "swap": {"late", "fifo", "false-causality"},
    "delay": {"late", "fifo", "false-causality"},
    "delay_send": {"unsent", "fifo", "timestamp"},
    "drop_send": {"orphan", "clock-hole"},
    "drop_delivery": {"lost", "clock-hole", "missing"},
    "drop_event": {"clock-hole"},
    "end_log_early": {"clock-beyond", "orphan", "lost"},
    "duplicate": {"duplicate", "clock-repeat"},
    "resend": {"resent", "clock-repeat"},
    "split_send": {"resent", "lost"},
    "send_to_itself": {"misdelivered", "lost"},
    "repeat": {"clock-repeat"},
    "fork": {"concurrent"},
    "shift": {"timestamp"},
    "forget_times": {"timestamp"},
    "shrink": {"clock-backwards", "clock-not-transitive"},
    "rename": {"clock-uncounted", "clock-hole", "misdelivered", "wrong-sender"},
    "rename_key": {"clock-unknown", "clock-uncounted", "clock-backwards"},
    "wrong_sender": {"wrong-sender"},
    "same_id": {"same-id"},
    "ghost": {"missing"},
    "own_parent": {"self-parent"},
    "loop": {"cycle"},
}
"""Kinds of findings that some of the logs with a fault must have."""


def clean() -> dict[str, list[Row]]:
    """Logs without a fault: several protocols and workloads, with and without clocks; clocks alone."""
    if not CLEAN:
        for clocks in (False, True):
            name = "with" if clocks else "without"
            CLEAN[f"matrix {name}"] = simulate_log("matrix", clocks, rate=50.0)
            CLEAN[f"multicast {name}"] = simulate_log("optimal", clocks, fanout=2, rate=50.0)
            CLEAN[f"broadcast {name}"] = simulate_log("vector", clocks, workload="broadcast", rate=50.0)
            CLEAN[f"talk {name}"] = simulate_log("matrix", clocks, workload="conversation", rate=50.0)
        CLEAN["clocks"] = make_clocked_log(1, 4, 40)
        CLEAN["more clocks"] = make_clocked_log(7, 3, 60)
    return CLEAN


def mutants(fault: str, logs: dict[str, list[Row]], seeds: int) -> dict[str, list[Row]]:
    """Every log with so many faults of a kind, one each, where it has what the fault needs."""
    found = {}
    for name, log in logs.items():
        for seed in range(seeds):
            mutant = FAULTS[fault](log, Random(f"{fault} {name} {seed}"))
            if mutant is not None:
                found[f"{fault} {name} {seed}"] = mutant
    return found


def real() -> dict[str, list[Row]]:
    """Small executions of real logs that have clocks and nothing else."""
    found: dict[str, list[Row]] = {}
    for log in json.loads((DATA / "expected.json").read_text())["vector_clock_logs"]:
        if log["events"] <= 100:
            settings = Settings(regex=log["regex"], delimiter=log["delimiter"] or None)
            rows = events_as_rows(read((DATA / log["file"]).read_bytes(), log["file"], settings=settings))
            mine = [row for row in rows if row["execution"] == log["execution"]]
            found[f"{log['file']} {log['execution']}"] = mine
    return found


def join_logs(logs: dict[str, list[Row]]) -> pa.Table:
    """All logs as executions of one table, shuffled."""
    rows = [row | {"execution": name} for name, log in logs.items() for row in log]
    return table(*Random(0).sample(rows, len(rows)))


def name_finding(row: Row) -> Finding:
    """A finding as the definitions name it."""
    kind, ids = row["kind"], row["events"]
    if kind == "lost":
        told = re.search("never delivered(?: at ([^;]+))?", row["sentence"])
        assert told, row["sentence"]
        return kind, ids[0], told.group(1) or ""
    if kind in ("late", "fifo", "clock-not-transitive"):
        return kind, ids[-1]
    if kind == "false-causality":
        return kind, ids[0], ids[-1]
    return (kind, *sorted(ids)) if kind == "cycle" else (kind, *ids)


def check(logs: dict[str, list[Row]], found: list[Row]) -> Counter[str]:
    """Demand exactly what follows by definition from each log; returns how often each kind was found."""
    told: dict[str, list[Row]] = {}
    for row in found:
        told.setdefault(row["execution"], []).append(row)
    for name, log in logs.items():
        mine = told.get(name, [])
        assert Counter(map(name_finding, mine)) == findings(log), name
        check_witnesses(Log(log), mine)
    return Counter(row["kind"] for row in found)


def check_witnesses(log: Log, found: list[Row]) -> None:
    """Witnesses stand in the log; that of a late delivery leads from its send to what came before it."""
    place = {log.id(i): i for i in range(len(log.rows))}
    ahead = reach(len(log.rows), log.edges)
    for row in found:
        names = row["events"]
        if row["kind"] == "missing":
            assert names[0] not in place
            names = names[1:]
        events = [place[name] for name in names]
        assert row["sentence"] and "None" not in row["sentence"]
        if row["kind"] in ("late", "fifo"):
            *chain, early, late = events
            assert log.sends[log.rows[late]["message"]] == chain[0]
            assert log.sends[log.rows[early]["message"]] == chain[-1]
            assert log.rows[early]["process"] == log.rows[late]["process"]
            assert early < late
            assert all(after in ahead[before] for before, after in pairwise(chain))


def tell_findings(logs: dict[str, list[Row]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = judge(build_event_graph(join_logs(logs))).findings.to_pylist()
    return found


def test_clean_logs_have_no_finding():
    assert all(not findings(log) for log in clean().values())
    assert tell_findings(clean()) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_exactly_what_follows_from_a_fault_is_found(fault):
    logs = mutants(fault, clean(), SEEDS)
    assert len(logs) >= 2 * SEEDS
    found = check(logs, tell_findings(logs))
    assert found.keys() >= CERTAIN[fault], "what the fault is known for"


def test_two_faults_at_once():
    random, logs = Random(5), dict[str, list[Row]]()
    faults = [fault for fault in FAULTS if fault not in ALONE]
    for trial in range(300):
        (one, other), name = random.choices(faults, k=2), random.choice(list(clean()))
        mutant = FAULTS[one](clean()[name], random)
        mutant = mutant and FAULTS[other](mutant, random)
        if mutant and len({row["event"] for row in mutant}) == len(mutant):
            logs[f"{trial} {one} {other} {name}"] = mutant
    assert len(logs) > 150
    assert len(check(logs, tell_findings(logs))) >= 15


@needs_data
@pytest.mark.parametrize(
    "fault", ["drop_event", "end_log_early", "repeat", "fork", "shrink", "rename", "rename_key", "loop"]
)
def test_faults_in_real_logs(fault):
    logs = mutants(fault, real(), 5)
    assert len(logs) >= 20
    assert check(logs, tell_findings(logs))
