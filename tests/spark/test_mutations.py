"""Clean logs with one seeded fault each: the audit finds all that follows from it, and nothing else."""

import re
from collections import Counter
from itertools import pairwise
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from antecede.spark.execution import trace
from antecede.spark.judge import judge
from tests.spark.by_definition import Finding, Log, Row, findings, reach
from tests.spark.event_rows import table
from tests.spark.mutations import FAULTS, clocked, simulated

SEEDS = 12
CLEAN: dict[str, list[Row]] = {}


def clean() -> dict[str, list[Row]]:
    """Logs without a fault: several protocols and workloads, with and without clocks; clocks alone."""
    if not CLEAN:
        for clocks in (False, True):
            name = "with" if clocks else "without"
            CLEAN[f"matrix {name}"] = simulated("matrix", clocks, rate=50.0)
            CLEAN[f"multicast {name}"] = simulated("optimal", clocks, fanout=2, rate=50.0)
            CLEAN[f"broadcast {name}"] = simulated("vector", clocks, workload="broadcast", rate=50.0)
            CLEAN[f"talk {name}"] = simulated("matrix", clocks, workload="conversation", rate=50.0)
        CLEAN["clocks"] = clocked(1, 4, 40)
        CLEAN["more clocks"] = clocked(7, 3, 60)
    return CLEAN


def mutants(fault: str) -> dict[str, list[Row]]:
    found = {}
    for name, log in clean().items():
        for seed in range(SEEDS):
            mutant = FAULTS[fault](log, Random(f"{fault} {name} {seed}"))
            if mutant is not None:
                found[f"{fault} {name} {seed}"] = mutant
    return found


def joined(logs: dict[str, list[Row]]) -> pa.Table:
    """All logs as executions of one table, shuffled."""
    rows = [row | {"execution": name} for name, log in logs.items() for row in log]
    return table(*Random(0).sample(rows, len(rows)))


def named(row: Row) -> Finding:
    """A finding as the definitions name it."""
    kind, ids = row["kind"], row["events"]
    if kind == "lost":
        told = re.search("never delivered(?: at ([^;]+))?", row["sentence"])
        assert told, row["sentence"]
        return kind, ids[0], told.group(1) or ""
    if kind in ("late", "fifo", "clock-not-transitive"):
        return kind, ids[-1]
    return (kind, *sorted(ids)) if kind == "cycle" else (kind, *ids)


def check(logs: dict[str, list[Row]], found: list[Row]) -> Counter[str]:
    """Demand exactly what follows by definition from each log; returns how often each kind was found."""
    told: dict[str, list[Row]] = {}
    for row in found:
        told.setdefault(row["execution"], []).append(row)
    for name, log in logs.items():
        mine = told.get(name, [])
        assert Counter(map(named, mine)) == findings(log), name
        for row in mine:
            shown(log, row)
    return Counter(row["kind"] for row in found)


def shown(log: list[Row], row: Row) -> None:
    """The witness stands in the log; that of a late delivery leads from its send to what came before it."""
    known = Log(log)
    place = {known.id(i): i for i in range(len(known.rows))}
    events = [place[name] for name in row["events"]]
    assert row["sentence"] and "None" not in row["sentence"]
    if row["kind"] in ("late", "fifo"):
        *chain, early, late = events
        assert known.sends[known.rows[late]["message"]] == chain[0]
        assert known.sends[known.rows[early]["message"]] == chain[-1]
        assert known.rows[early]["process"] == known.rows[late]["process"] and early < late
        ahead = reach(len(known.rows), known.edges)
        assert all(after in ahead[before] for before, after in pairwise(chain))


def told(logs: dict[str, list[Row]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = judge(trace(joined(logs))).findings.to_pylist()
    return found


def test_clean_logs_have_no_finding():
    assert all(not findings(log) for log in clean().values())
    assert told(clean()) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_exactly_what_follows_from_a_fault_is_found(fault):
    logs = mutants(fault)
    assert len(logs) >= 2 * SEEDS
    assert check(logs, told(logs))
