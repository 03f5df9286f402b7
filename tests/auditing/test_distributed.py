"""The tasks of a distributed audit, without Spark: together they find what the audit in memory finds."""

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede.auditing.distributed.catalog import ProcessCatalog
from antecede.auditing.distributed.judging import JudgeTask, build_graph_from_matched_rows, judge_executions
from antecede.auditing.distributed.layouts import JUDGED, MATCHED, NUMBERED
from antecede.auditing.distributed.matching import MatchTask, match_message_rows
from antecede.auditing.distributed.sentences import TELLABLE, write_finding_sentences
from antecede.auditing.judge import judge
from antecede.auditing.wording import Event
from antecede.events.graph import build_event_graph
from antecede.events.messages import classify_message_acts
from antecede.events.row_order import find_row_order
from tests.auditing.test_judge import BARE, CLOCKS
from tests.auditing.test_mutations import clean, join_logs, mutants
from tests.engines.engines import in_any_order
from tests.event_rows import Row, table, talk, without
from tests.mutations import FAULTS


class Numbered:
    """A table of events, numbered as Spark numbers it, but in plain Python."""

    def __init__(self, events: pa.Table) -> None:
        order, execution, executions = find_row_order(events)
        self.events = events.take(pa.array(order))
        self.rows: list[Row] = self.events.to_pylist()
        processes = sorted({(row["execution"], row["process"]) for row in self.rows})
        names = executions.to_pylist()
        self.catalog = ProcessCatalog(
            executions=names,
            names=[process for _, process in processes],
            execution=np.array([names.index(name) for name, _ in processes], dtype=np.int64),
        )
        code = {process: at for at, process in enumerate(processes)}
        first: dict[tuple[str, str], int] = {}
        for at, row in enumerate(self.rows):
            if row["event"] is not None:
                first.setdefault((row["execution"], row["event"]), at)
        acts = classify_message_acts(self.events, execution).tolist()
        numbered = [self._number(at, row, acts[at], code, first) for at, row in enumerate(self.rows)]
        self.table = pa.Table.from_pylist(numbered, NUMBERED)

    def _number(self, at: int, row: Row, act: int, code: Any, first: Any) -> Row:
        scope, event, named = row["execution"], row["event"], row["parents"]
        rows = [None if parent == event else first.get((scope, parent)) for parent in named or []]
        known = first.get((scope, event))
        return row | {
            "row": at,
            "process": code[scope, row["process"]],
            "act": act,
            "parents": None if named is None else rows,
            "missing_parents": [
                p for p in dict.fromkeys(named or []) if p is not None and (scope, p) not in first
            ],
            "is_own_parent": event is not None and event in (named or []),
            "namesake": None if known == at else known,
        }

    def split(self, parts: int) -> list[pa.Table]:
        """Rows of a message stay together; the others are spread."""
        keys = [hash(row["message"] or at) % parts for at, row in enumerate(self.rows)]
        return [self.table.filter(pa.array([key == part for key in keys])) for part in range(parts)]

    def tell(self, judged: pa.Table) -> pa.Table:
        """Findings with the strings of their events."""
        words = [{name: row[name] for name in Event._fields} for row in self.rows]
        tellable = [
            {
                **{name: finding[name] for name in ("kind", "rank", "details")},
                "execution": row["execution"],
                "fault": words[finding["row"]],
                "witness": [words[at] for at in finding["witness"]],
            }
            for row in judged.to_pylist()
            for finding in row["findings"]
        ]
        batches = pa.Table.from_pylist(tellable, TELLABLE).to_batches()
        return pa.Table.from_batches(list(write_finding_sentences(iter(batches)))) if tellable else None


def assert_same(events: pa.Table, parts: int, shuffle: Random) -> pa.Table:
    """Audit in tasks and in memory; returns the findings."""
    numbered = Numbered(events)
    matched = pa.concat_tables(match_message_rows(part, numbered.catalog) for part in numbered.split(parts))
    matched = matched.take(pa.array(shuffle.sample(range(len(matched)), len(matched)), pa.int64()))
    judged = judge_executions(build_graph_from_matched_rows(matched, numbered.catalog), 0)
    want = judge(build_event_graph(events))
    assert judged.schema == JUDGED and in_any_order(judged.drop_columns("findings")) == in_any_order(
        want.totals
    )
    told = numbered.tell(judged)
    findings = [] if told is None else in_any_order(told.drop_columns("rank"))
    assert findings == in_any_order(want.findings)
    return want.findings


@pytest.mark.parametrize("fault", FAULTS)
def test_logs_with_a_fault(fault):
    logs = mutants(fault, clean(), 2)
    assert len(assert_same(join_logs(logs), 3, Random(fault)))


@pytest.mark.parametrize("kind", [*BARE, *CLOCKS])
def test_every_kind_of_finding_is_found(kind):
    """What a finding reads has to reach the tasks: they get the columns of MATCHED alone."""
    rows, _ = {**BARE, **CLOCKS}[kind]
    untold = ("time",) if kind in CLOCKS else ("clock", "time")
    named = [{"execution": "x", **row} for row in without(rows, *untold)]
    findings = assert_same(table(*named), 2, Random(1))
    assert kind in findings["kind"].to_pylist()


def test_a_clock_that_knows_events_which_have_no_place():
    rows: list[Row] = [
        {"execution": "", "process": "a", "index": 0, "event": "a1", "clock": {"a": 1, "p": 2}},
        {"execution": "", "process": "p", "event": "p1", "kind": "local"},
    ]
    findings = assert_same(table(*rows), 2, Random(1)).to_pylist()
    assert [finding["kind"] for finding in findings] == ["clock-unknown"]
    assert "no event of p in the log has an index" in findings[0]["sentence"]


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 80), st.integers(1, 5), st.data())
def test_any_log(seed, n, size, parts, data):
    """Some tell clocks, some parents; some lines stand there twice, or have no time or message."""
    random = Random(seed)
    columns = data.draw(st.sets(st.sampled_from(["clock", "parents", "receivers", "sender"])))
    rows = without(talk(seed, n, size, "x", 0.2), *columns) + without(talk(seed + 1, 2, 9, "y"), *columns)
    rows += random.sample(rows, len(rows) // 4)
    for row in rows:
        kinds = ["receive", row["kind"], row["kind"]] if row["kind"] == "deliver" else [row["kind"]]
        row |= {"kind": random.choice(kinds), "time": random.choice([None, 1.0, 2.0])}
    assert_same(table(*rows), parts, random)


def test_processes_that_never_act():
    """As receivers, as a sender and in clocks; in two executions, one of which has one of that name."""
    rows = [
        {"process": "a", "index": 0, "kind": "send", "message": "m", "receivers": ["b", "x", None, "a"]},
        {
            "process": "b",
            "index": 0,
            "kind": "deliver",
            "message": "m",
            "sender": "x",
            "clock": {"x": 2, "b": 1},
        },
        {"process": "b", "index": 1, "kind": "send", "message": "n", "receivers": ["z"]},
        {"process": "b", "index": 2, "kind": "send", "message": "o", "receivers": [None]},
    ]
    made: list[Row] = [row | {"execution": name, "event": None} for name in ("one", "two") for row in rows]
    made.append({"execution": "two", "process": "x", "index": 0})
    findings = assert_same(table(*made), 2, Random(1))
    lost = findings.filter(pc.equal(findings["kind"], "lost"))
    assert {sentence.rpartition(" at ")[2] for sentence in lost["sentence"].to_pylist()} >= {"x", "z"}


def test_tasks_read_batches():
    """Tasks that get nothing say nothing; batches are put together."""
    numbered = Numbered(table(*without(talk(5, 3, 60, "x", 0.2))))
    match, judging = MatchTask(numbered.catalog), JudgeTask(numbered.catalog)
    assert not list(match.match_numbered_batches(iter([])))
    assert not list(judging.judge_matched_batches(iter([])))
    matched = pa.Table.from_batches(match.match_numbered_batches(iter(numbered.table.to_batches(7))))
    assert matched.schema == MATCHED and len(matched) == 60
    judged = pa.Table.from_batches(judging.judge_matched_batches(iter(matched.to_batches(7))))
    assert judged.equals(judge_executions(build_graph_from_matched_rows(matched, numbered.catalog), 0))


def test_names_are_looked_up_in_their_executions():
    catalog = ProcessCatalog(["one", "two"], ["a", "c", "b", "c"], np.array([0, 0, 1, 1]))
    names = pa.array(["a", "b", "c", "d"])
    codes = catalog.look_up_process_codes(
        np.array([0, 0, 0, 1, 1, 1, 0, 1]), names, np.array([0, 1, 2, 0, 1, 2, -1, 3])
    )
    assert codes.tolist() == [0, -1, 1, -1, 2, 3, -1, -1]
