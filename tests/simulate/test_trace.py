"""The trace: tables of the agreed form, clocks that are right, and all that is needed to run it again."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import antecede
from antecede import Effects
from antecede.protocols.registry import count_stamp_entries
from antecede.simulate import trace
from antecede.simulate.run import Plan, simulate
from antecede.simulate.trace import ParquetSink, RunTrace
from antecede.tables import EVENTS, MESSAGES
from tests.simulate.traced import FAULTY, Row, Traced, packet, plan_of, same_rows

PLANS = {
    "matrix": plan_of("matrix"),
    "matrix-faulty": plan_of("matrix", network=FAULTY, rate=50.0),
    "optimal-multicast": plan_of("optimal", fanout=2),
    "vector": plan_of("vector", messages=100, workload="broadcast"),
    "history-faulty": plan_of("history", workload="hot-spot", network=FAULTY),
    "buffered-faulty": plan_of("buffered", messages=100, fanout=2, network=FAULTY),
    "bounded": plan_of("bounded", options={"k": 4}),
    "unordered": plan_of("unordered", rate=50.0),
    "semantic": plan_of("semantic", workload="conversation"),
}


@pytest.fixture(scope="module")
def runs() -> dict[str, Traced]:
    return {name: Traced(plan) for name, plan in PLANS.items()}


@pytest.fixture(params=PLANS)
def run(request, runs: dict[str, Traced]) -> Traced:
    return runs[request.param]


def rows_of_process(run: Traced, process: str) -> list[Row]:
    return [row for row in run.events if row["process"] == process]


# -- form --------------------------------------------------------------------------------------------


def test_tables_have_the_agreed_columns(run: Traced) -> None:
    assert run.events_table.schema == EVENTS
    assert run.messages_table.schema == MESSAGES
    assert {row["execution"] for row in run.events} == {"run"}
    assert {row["kind"] for row in run.events} == {"send", "receive", "deliver"}
    for column in ("file", "line"):  # unknown is null
        assert run.events_table[column].null_count == len(run.events)
    declared = {row["kind"] for row in run.events if row["parents"] is not None}
    assert declared == ({"send"} if run.plan.workload == "conversation" else set())


def test_indices_are_dense_and_names_of_events_are_unique(run: Traced) -> None:
    for process in run.plan.names:
        rows = rows_of_process(run, process)
        assert [row["index"] for row in rows] == list(range(len(rows)))
    assert len({row["event"] for row in run.events}) == len(run.events)


def test_times_never_decrease(run: Traced) -> None:
    for process in run.plan.names:
        times = [row["time"] for row in rows_of_process(run, process)]
        assert times == sorted(times)
    arrived = [row["arrived"] for row in run.messages]
    assert arrived == sorted(arrived)


def test_each_message_is_sent_once_and_delivered_where_it_was_sent_to(run: Traced) -> None:
    sends = {row["message"]: row for row in run.of("send")}
    assert len(sends) == len(run.of("send")) == run.plan.messages
    expected = {(to, message) for message, row in sends.items() for to in row["receivers"]}
    delivered = [(row["process"], row["message"]) for row in run.of("deliver")]
    assert len(delivered) == len(set(delivered)) == run.run.costs.deliveries
    assert set(delivered) == expected
    for row in run.of("deliver"):
        assert row["sender"] == sends[row["message"]]["process"]
        assert row["time"] >= sends[row["message"]]["time"]


def test_receive_events_are_the_arrivals_of_messages(run: Traced) -> None:
    arrivals = [(row["group"], row["message"], row["arrived"]) for row in run.messages if row["message"]]
    events = [(row["process"], row["message"], row["time"]) for row in run.of("receive")]
    assert events == arrivals
    assert len(set(arrivals)) == len(arrivals) == run.run.costs.deliveries
    assert all(row["clock"] is None for row in run.of("receive"))
    if run.plan.protocol != "history":  # which delivers what others bring along
        arrived = run.times("receive")
        assert all(arrived[pair] <= when for pair, when in run.times("deliver").items())


def test_early_and_late_deliveries_are_marked(runs: dict[str, Traced]) -> None:
    for run in runs.values():
        marks = Counter(dict(row["fields"] or {}).get("order") for row in run.of("deliver"))
        assert marks["early"] == run.run.verdict.early
        assert marks["late"] <= run.run.verdict.late
    assert runs["unordered"].run.verdict.early > 0


# -- clocks ------------------------------------------------------------------------------------------


def test_clocks_are_vector_clocks_made_from_scratch(run: Traced) -> None:
    """The past of an event as a set of events, by process order and from send to delivery."""
    latest: dict[str, frozenset[str]] = dict.fromkeys(run.plan.names, frozenset())
    sent: dict[str, frozenset[str]] = {}
    for row in run.events:
        if row["kind"] == "receive":
            continue
        past = latest[row["process"]] | {row["event"]}
        if row["kind"] == "deliver":
            past |= sent[row["message"]]
        else:
            sent[row["message"]] = past
        latest[row["process"]] = past
        clock = dict(row["clock"])
        assert clock == Counter(event.split("#")[0] for event in past)
        assert len(clock) == len(row["clock"])


# -- messages ----------------------------------------------------------------------------------------


def test_one_row_per_packet_with_a_stamp_that_decodes(run: Traced) -> None:
    assert len(run.messages) == run.run.costs.arrivals == run.run.costs.packets
    places: Counter[str] = Counter()
    pairs = set()
    for row in run.messages:
        assert row["arrival"] == places[row["group"]]
        places[row["group"]] += 1
        pairs.add((row["sender"], row["group"], row["number"]))
        assert row["protocol"] == run.plan.protocol
        assert (row["message"] is None) == (row["kind"] != "message")
        assert count_stamp_entries(packet(row, 0)) >= 0
    assert len(pairs) == len(run.messages)


def test_times_of_sending_are_those_of_the_sends(run: Traced) -> None:
    times = {row["message"]: row["time"] for row in run.of("send")}
    known = [row for row in run.messages if row["sent"] is not None]
    assert all(row["sent"] == times[row["message"]] for row in known)
    if run.plan.protocol != "history":  # there the packet may come after its message was delivered everywhere
        assert len(known) == sum(row["message"] is not None for row in run.messages)


def inputs(run: Traced, process: str) -> list[Row]:
    """What happened to a process, in order: its sends, and all packets that arrived."""
    arrivals = [row for row in run.messages if row["group"] == process]
    sends = [row for row in run.of("send") if row["process"] == process]
    return sorted([*sends, *arrivals], key=lambda row: row["arrived"] if "arrived" in row else row["time"])


@pytest.mark.parametrize("name", ["matrix", "optimal-multicast", "vector", "bounded", "matrix-faulty"])
def test_endpoints_fed_from_the_trace_deliver_the_same(name: str, runs: dict[str, Traced]) -> None:
    run = runs[name]
    names = run.plan.names
    for process in names:
        end = antecede.endpoint(run.plan.protocol, process=process, group=names, **run.plan.options)
        got: list[str] = []
        for row in inputs(run, process):
            effects: Effects
            if "arrived" in row:
                effects = end.receive(packet(row, end.group_fingerprint))
            else:
                payload = int(row["message"][1:]).to_bytes(8, "little")
                effects = end.send(payload, None if run.plan.protocol == "vector" else row["receivers"])
            others = [one for one in effects.deliveries if one.sender != process]
            got += [f"m{int.from_bytes(one.payload, 'little')}" for one in others]
        assert got == [row["message"] for row in run.of("deliver") if row["process"] == process]


# -- on the way out ----------------------------------------------------------------------------------


def write(plan: Plan, folder: Path) -> list[pa.Table]:
    paths = [folder / "events.parquet", folder / "messages.parquet"]
    made = [ParquetSink(schema, path) for schema, path in zip((EVENTS, MESSAGES), paths, strict=True)]
    simulate(plan, lambda queue, names: RunTrace(queue, "run", names, *made))
    for sink in made:
        sink.close()
    return [pq.read_table(path) for path in paths]


@pytest.mark.parametrize("block", [1, 7, 50_000])
def test_files_hold_what_memory_holds_in_blocks_of_any_size(block: int, tmp_path: Path, monkeypatch) -> None:
    plan = plan_of("matrix", messages=40)
    memory = Traced(plan)
    monkeypatch.setattr(trace, "BLOCK", block)
    events, messages = write(plan, tmp_path)
    assert same_rows(events, memory.events_table) and same_rows(messages, memory.messages_table)
    again = Traced(plan)
    assert all(blocks.num_rows <= block for blocks in again.sinks[0].blocks)
    assert same_rows(again.events_table, memory.events_table)


def test_a_run_without_messages_has_empty_tables(tmp_path: Path) -> None:
    plan = plan_of("matrix", messages=0)
    tables = write(plan, tmp_path)
    assert [table.num_rows for table in tables] == [0, 0]
    assert [table.schema for table in tables] == [EVENTS, MESSAGES]
    assert Traced(plan).events_table.schema == EVENTS
