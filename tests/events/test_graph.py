"""Tables of events as graphs: every source of causes, many executions, whatever is null."""

from itertools import permutations
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.events.columns import decode_columns
from antecede.events.graph import build_event_graph
from antecede.kernels.causes import CLOCK, MESSAGE, PARENT, PROCESS
from antecede.kernels.linking import ARRIVE
from antecede.kernels.topology import is_linear
from antecede.tables import EVENTS
from tests.event_rows import table, talk, without

seeds = st.integers(0, 2**32)


def event_names(found):
    return found.events.table["event"].to_pylist()


def edges_by_name(found):
    """(cause, effect): what it is known from, by the names of events."""
    event, (source, target) = event_names(found), found.causes.edges
    known = found.causes.known.tolist()
    return {(event[s], event[t]): k for s, t, k in zip(source, target, known, strict=True)}


def collect_pasts(found):
    """Of each event, by execution and name, the names of all that happened before it."""
    event, execution = event_names(found), found.events.execution.tolist()
    causes: dict[int, list[int]] = {}
    for source, target in zip(*found.causes.edges, strict=True):
        causes.setdefault(int(target), []).append(int(source))
    past: dict[int, set[str]] = {}
    for row in found.causes.order.tolist():
        past[row] = set().union(*(past[cause] | {event[cause]} for cause in causes.get(row, ())))
    return {(execution[row], event[row]): one for row, one in past.items()}


def make_row(process, index, event, **more):
    return {"process": process, "index": index, "event": event, **more}


@given(
    st.lists(st.tuples(seeds, st.integers(1, 4), st.integers(1, 25)), min_size=1, max_size=3),
    st.sampled_from(
        [("clock", "parents"), ("message", "parents"), ("clock", "message", "index"), ("index",)]
    ),
    seeds,
)
def test_each_source_of_causes_tells_the_whole_past(plans, left_out, seed):
    parts = [talk(seed, n, size, f"x{i}") for i, (seed, n, size) in enumerate(plans)]
    made = [row for part in parts for row in part]
    found = build_event_graph(table(*Random(seed).sample(without(made, *left_out), len(made))))
    want = {(i, row["event"]): row["past"] for i, part in enumerate(parts) for row in part}
    assert collect_pasts(found) == want
    assert is_linear(found.causes.order, *found.causes.edges)
    assert (np.diff(found.events.execution[found.causes.order]) >= 0).all()
    assert (
        len(found.causes.cycles.members) == len(found.causes.ghosts) == len(found.causes.unsent.source) == 0
    )


@given(seeds, seeds)
def test_neither_the_order_of_rows_nor_their_chunks_matter(seed, other):
    made = without(talk(seed, 3, 20) + talk(other, 2, 10, "y"))
    whole = build_event_graph(table(*made))
    random = Random(seed)
    mixed = random.sample(made, len(made))
    cut = random.randrange(len(made))
    found = build_event_graph(pa.concat_tables([table(*mixed[:cut]), table(*mixed[cut:]).slice(0)]))
    assert decode_columns(found.events.table).equals(decode_columns(whole.events.table))
    assert edges_by_name(found) == edges_by_name(whole)
    assert np.array_equal(found.causes.order, whole.causes.order)


def test_rows_that_only_their_names_tell_apart():
    rows = [make_row("a", None, name, kind=kind) for name in "xyz" for kind in ("local", "send")]
    found = [build_event_graph(table(*some)).events.table.to_pylist() for some in (rows, rows[::-1])]
    assert found[0] == found[1]


def test_an_empty_table():
    found = build_event_graph(EVENTS.empty_table())
    assert len(found.events.execution) == len(found.causes.edges.source) == len(found.causes.order) == 0


def test_rows_of_nulls():
    found = build_event_graph(
        table({}, {}, {"process": "a"}, {"kind": "send"}, {"kind": "deliver", "message": "m"})
    )
    assert len(found.causes.edges.source) == 0 and found.events.executions.to_pylist() == [""]
    assert len(set(found.events.process.tolist())) == 5


def test_columns_that_are_not_there():
    found = build_event_graph(pa.table({"process": ["a", "a"], "index": [1, 0], "event": ["e1", "e0"]}))
    assert edges_by_name(found) == {("e0", "e1"): PROCESS}


def test_a_null_execution_is_the_one_without_a_name():
    found = build_event_graph(table(make_row("a", 0, "e0"), make_row("a", 1, "e1", execution="")))
    assert edges_by_name(found) == {("e0", "e1"): PROCESS}
    assert (
        edges_by_name(build_event_graph(table(make_row("a", 0, "e0"), make_row("a", 1, "e1", execution="x"))))
        == {}
    )


def test_what_an_edge_is_known_from():
    found = build_event_graph(
        table(
            make_row("a", 0, "a0", kind="send", message="m", clock={"a": 1}),
            make_row("b", 0, "b0", kind="receive", message="m", clock={"a": 1, "b": 1}, parents=["a0"]),
            make_row("b", 1, "b1", clock={"a": 1, "b": 2}, parents=["b0"]),
        )
    )
    assert edges_by_name(found) == {("a0", "b0"): CLOCK | PARENT | MESSAGE, ("b0", "b1"): PROCESS | PARENT}


ARRIVALS = [
    make_row("a", 0, "a0", kind="send", message="m", time=5.0),
    make_row("b", 0, "b0", kind="receive", message="m", time=1.0),
    make_row("b", 1, "b1", kind="send", message="n", time=2.0),
    make_row("b", 2, "b2", kind="deliver", message="m", time=3.0),
    make_row("b", 3, "b3", kind="receive", message="m", time=4.0),
]


def test_arrivals_are_no_steps():
    found = build_event_graph(table(*ARRIVALS))
    came = dict.fromkeys([("a0", "b0"), ("a0", "b2"), ("a0", "b3"), ("b0", "b2")], MESSAGE)
    assert edges_by_name(found) == came | {("b1", "b2"): PROCESS}
    assert [event_names(found)[row] for row in found.causes.order] == ["b1", "a0", "b0", "b2", "b3"]
    assert (found.messages.act == ARRIVE).sum() == (~found.events.is_step).sum() == 2


def test_an_arrival_that_was_noted_too_late_comes_before_nothing():
    rows = [
        make_row("b", 0, "b0", kind="deliver", message="m"),
        make_row("b", 1, "b1", kind="receive", message="m"),
    ]
    assert edges_by_name(build_event_graph(table(*rows))) == {}


def test_receives_are_deliveries_where_there_is_no_other():
    found = build_event_graph(table(*[row for row in ARRIVALS if row["kind"] != "deliver"]))
    assert edges_by_name(found) == {("a0", "b0"): MESSAGE, ("b0", "b1"): PROCESS, ("b1", "b3"): PROCESS}


def test_a_receive_with_a_clock_is_a_step():
    rows = [dict(row, clock={"b": 1, "a": 1}) if row["event"] == "b0" else row for row in ARRIVALS]
    assert ("b0", "b1") in edges_by_name(build_event_graph(table(*rows)))


def test_of_copies_at_a_process_the_first_by_its_clock_comes_from_the_send():
    send = make_row("a", None, "a1", kind="send", message="m", clock={"a": 1})
    lines = [make_row("b", None, f"b{own}", kind="deliver", message="m", line=9 - own) for own in (1, 2)]
    copies = [row | {"clock": {"b": own}} for own, row in enumerate(lines, 1)]
    assert edges_by_name(build_event_graph(table(send, *copies))) == {
        ("a1", "b1"): MESSAGE,
        ("b1", "b2"): PROCESS,
    }


def test_ids_that_each_sender_counts_for_itself():
    sends = [make_row(p, 0, p, kind="send", message="1") for p in "ab"]
    told = [make_row("c", i, f"c{i}", kind="deliver", message="1", sender=p) for i, p in enumerate("ba")]
    found = build_event_graph(table(*sends, *told))
    assert edges_by_name(found) == {("b", "c0"): MESSAGE, ("a", "c1"): MESSAGE, ("c0", "c1"): PROCESS}
    untold = build_event_graph(table(*sends, told[0], dict(told[1], sender=None)))
    assert edges_by_name(untold) == {("a", "c0"): MESSAGE, ("c0", "c1"): PROCESS}


def test_parents_that_are_strange():
    rows = [
        make_row("a", 0, "a0", parents=["a0"]),
        make_row("a", 1, "a1", parents=["gone", "b0", "gone"]),
        make_row("b", 0, "b0", parents=[]),
        make_row("b", 0, "b0", parents=["a1"], line=2, execution="other"),
    ]
    found = build_event_graph(table(*rows))
    assert edges_by_name(found) == {("a0", "a1"): PROCESS, ("b0", "a1"): PARENT}
    assert [event_names(found)[row] for row in found.causes.own_parents] == ["a0"]
    assert set(found.causes.ghosts.select(["execution", "event"]).to_pydict()["event"]) == {"gone", "a1"}
    assert {event_names(found)[row] for row in found.causes.ghosts["row"].to_pylist()} == {"a1", "b0"}


def test_of_two_events_with_one_id_the_first_is_meant():
    rows = [make_row("a", 0, "x"), make_row("b", 0, "x"), make_row("c", 0, "c0", parents=["x"])]
    for some in permutations(rows):
        found = build_event_graph(table(*some))
        assert [found.events.table["process"].to_pylist()[row] for row in found.causes.edges.source] == ["a"]


def test_a_cycle_and_what_is_behind_it():
    rows = [
        make_row("a", 0, "a0", parents=["b0"]),
        make_row("b", 0, "b0", parents=["a0"]),
        make_row("c", 0, "c0", parents=["b0"]),
    ]
    found = build_event_graph(table(*rows, make_row("d", 0, "d0")))
    assert [event_names(found)[row] for row in found.causes.cycles.members] == ["a0", "b0"]
    assert [event_names(found)[row] for row in found.causes.order] == ["a0", "b0", "c0", "d0"]


def test_a_message_delivered_before_it_was_sent_is_left_out():
    rows = [
        make_row("b", 0, "b0", kind="deliver", message="m", line=1),
        make_row("b", 1, "b1", kind="send", message="n", line=2),
        make_row("a", 0, "a0", kind="deliver", message="n", line=9),
        make_row("a", 1, "a1", kind="send", message="m", line=10),
        make_row("b", 9, "b9", kind="receive", message="m"),
        make_row("b", -1, "b?", kind="receive", message="m"),
    ]
    found = build_event_graph(table(*rows))
    assert [
        event_names(found)[row] for row in (*found.causes.unsent.source, *found.causes.unsent.target)
    ] == [
        "a1",
        "b0",
    ]
    assert [event_names(found)[row] for row in found.causes.order] == ["b0", "b1", "a0", "a1", "b?", "b9"]
    assert len(found.causes.cycles.members) == 0


CLOCKED = [
    make_row("a", None, "z1", clock={"a": 1}),
    make_row("a", None, "a2", clock={"a": 2, "b": 1}),
    make_row("b", None, "b1", clock={"b": 1, "zero": 0}),
]


def test_clocks_order_a_process_that_has_no_index():
    assert edges_by_name(build_event_graph(table(*CLOCKED))) == {("z1", "a2"): PROCESS, ("b1", "a2"): CLOCK}


def test_events_without_a_place_stand_alone():
    rows = [*CLOCKED, make_row("a", None, "a?"), make_row("a", 7, "a7")]
    assert edges_by_name(build_event_graph(table(*rows))) == {("z1", "a2"): PROCESS, ("b1", "a2"): CLOCK}


@pytest.mark.parametrize("value", [None, 0, -3])
def test_entries_of_a_clock_that_say_nothing(value):
    made = pa.array([[("a", value), ("b", 1)]], pa.map_(pa.string(), pa.int64()))
    found = build_event_graph(pa.table({"process": ["b"], "event": ["b1"], "clock": made}))
    assert found.events.own.tolist() == [1] and found.events.clocks.counts.tolist() == [1]


def test_names_that_only_clocks_and_receivers_tell():
    found = build_event_graph(
        table(make_row("a", 0, "a0", kind="send", message="m", receivers=["x", "a"], clock={"y": 2, "a": 1}))
    )
    assert found.events.process_names.to_pylist() == ["a", "x", "y"]
    assert found.messages.links.lost_receiver.tolist() == [1] and found.events.clocks.slots.tolist() == [0, 2]
