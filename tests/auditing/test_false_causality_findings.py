"""False causality: numbers of executions that say what their sends depend on, and of those that do not."""

import pytest

from antecede.auditing.judge import judge
from antecede.events.graph import build_event_graph
from tests.by_definition import Log, Row, reach
from tests.event_rows import table
from tests.mutations import simulate_log


def list_dependents(log: Log) -> list[set[int]]:
    """What depends on each event."""
    ids = {row["event"]: i for i, row in enumerate(log.rows)}
    named = {(ids[p], i) for i, row in enumerate(log.rows) for p in row["parents"] or []}
    return reach(len(log.rows), named | log.carried)


def count_needless_waits(log: Log) -> int:
    """How often a message that arrived had to wait for one on which it does not depend."""
    past = reach(len(log.rows), log.edges)
    deps = list_dependents(log)
    source = {d: s for s, d in log.carried}
    count = 0
    for (process, message), (delivery, *_) in log.copies.items():
        here = [i for i, row in enumerate(log.rows) if log.arrives[i] and row["process"] == process]
        arrival = next(i for i in here if log.rows[i]["message"] == message)
        open_ = [d for d in log.line[process] if d in source and d > arrival and d != delivery]
        count += sum(
            source[delivery] in past[source[d]] and source[delivery] not in deps[source[d]] for d in open_
        )
    return count


def judge_rows(rows: list[Row]) -> Row:
    findings, totals = judge(build_event_graph(table(*rows)))
    assert len(findings) == 0
    found: Row = totals.to_pylist()[0]
    return found


@pytest.mark.parametrize("clocks", [False, True])
def test_causal_order_makes_messages_wait_without_need(clocks):
    rows = simulate_log("matrix", clocks, workload="conversation", rate=150.0, seed=2)
    log, found = Log(rows), judge_rows(rows)
    assert found["needless_waits"] == count_needless_waits(log) > 0
    steps = [i for i in range(len(log.rows)) if not log.arrives[i]]
    ordered = sum(
        len(ahead & set(steps)) for i, ahead in enumerate(reach(len(log.rows), log.edges)) if i in steps
    )
    assert found["ordered_pairs"] == ordered
    assert found["false_pairs"] == ordered - sum(len(list_dependents(log)[i]) for i in steps) > 0


def test_without_arrivals_nothing_is_known_to_wait():
    rows = simulate_log("matrix", False, workload="conversation", rate=150.0, seed=2)
    found = judge_rows([row for row in rows if row["kind"] != "receive"])
    assert found["needless_waits"] == 0 and found["false_pairs"] > 0


@pytest.mark.parametrize("change", ["unknown", "none", "plain"])
def test_where_dependencies_are_not_known_nothing_is_said(change):
    if change == "plain":
        rows = simulate_log("matrix", False, rate=150.0)
    else:
        rows = simulate_log("matrix", False, workload="conversation", rate=150.0, seed=2)
        sends = [row for row in rows if row["kind"] == "send"]
        for row in sends[:1] if change == "unknown" else sends:
            row["parents"] = None if change == "unknown" else []
    found = judge_rows(rows)
    assert found["needless_waits"] is None and found["false_pairs"] is None


def test_an_answer_that_does_not_depend_on_the_question():
    rows: list[Row] = [
        {"process": "a", "event": "a0", "kind": "send", "message": "m", "parents": []},
        {"process": "b", "event": "b0", "kind": "deliver", "message": "m"},
        {"process": "b", "event": "b1", "kind": "send", "message": "n", "parents": []},
        {"process": "c", "event": "c0", "kind": "deliver", "message": "n"},
        {"process": "c", "event": "c1", "kind": "deliver", "message": "m"},
        {"process": "d", "event": "d0", "kind": "local"},
        {"process": "d", "event": "d1", "kind": "send", "message": "o", "parents": ["d0"]},
        {"process": "c", "event": "c2", "kind": "deliver", "message": "o"},
    ]
    rows = [row | {"index": int(row["event"][1:])} for row in rows]
    findings = judge(build_event_graph(table(*rows))).findings.to_pylist()
    assert [(row["kind"], row["events"]) for row in findings] == [
        ("late", ["a0", "b0", "b1", "c0", "c1"]),
        ("false-causality", ["a0", "b0", "b1"]),
    ]
    assert findings[1]["sentence"] == (
        "n would wait for m at c though it does not depend on it; "
        "all that orders them: b received m before it sent n"
    )
    rows[2]["parents"] = ["b0"]
    assert judge(build_event_graph(table(*rows))).findings["kind"].to_pylist() == ["late"]
