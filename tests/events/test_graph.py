"""Tables of events as graphs: every source of causes, many executions, whatever is null."""

from itertools import permutations, product
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import CallerError
from antecede.events.columns import decode_dictionary_columns
from antecede.events.graph import build_event_graph
from antecede.kernels.causes import CLOCK, MESSAGE, PARENT, PROCESS
from antecede.kernels.linking import ARRIVE
from antecede.kernels.topology import is_linear_extension
from antecede.tables import EVENTS
from tests.event_rows import table, talk, without

seeds = st.integers(0, 2**32)


def event_names(found):
    return found.events.table["event"].to_pylist()


def edges_by_name(found):
    """(cause, effect): what it is known from, by the names of events."""
    event = np.array(event_names(found), dtype=object)
    source, target = found.causes.edges
    pairs = zip(event[source], event[target], strict=True)
    known = found.causes.known.tolist()
    return dict(zip(pairs, known, strict=True))


def collect_pasts(found):
    """Of each event, by execution and name, the names of all that happened before it."""
    event = event_names(found)
    execution = found.events.execution.tolist()
    causes: dict[int, list[int]] = {}
    for source, target in zip(*found.causes.edges, strict=True):
        causes.setdefault(int(target), []).append(int(source))
    past: dict[int, set[str]] = {}
    for row in found.causes.order.tolist():
        past[row] = set()
        for cause in causes.get(row, ()):
            past[row] |= past[cause] | {event[cause]}
    keys = [(execution[row], event[row]) for row in past]
    return dict(zip(keys, past.values(), strict=True))


def name_rows(found, rows):
    event = event_names(found)
    return [event[row] for row in rows]


def names_in_order(found):
    return name_rows(found, found.causes.order)


def build_graph(*rows):
    return build_event_graph(table(*rows))


def make_row(process, index, event, **more):
    return {"process": process, "index": index, "event": event, **more}


def make_send(process, index, event, message, **more):
    return make_row(process, index, event, kind="send", message=message, **more)


def make_receive(process, index, event, message, **more):
    return make_row(process, index, event, kind="receive", message=message, **more)


def make_delivery(process, index, event, message, **more):
    return make_row(process, index, event, kind="deliver", message=message, **more)


plans_of_executions = st.tuples(seeds, st.integers(1, 4), st.integers(1, 25))
columns_left_out = st.sampled_from(
    [
        ("clock", "parents"),
        ("message", "parents"),
        ("clock", "message", "index"),
        ("index",),
    ]
)


@given(
    st.lists(plans_of_executions, min_size=1, max_size=3),
    columns_left_out,
    seeds,
)
def test_each_source_of_causes_tells_the_whole_past(plans, left_out, seed):
    made: list[dict[str, Any]] = []
    want: dict[tuple[int, str], set[str]] = {}
    for execution, (own_seed, processes, size) in enumerate(plans):
        part = talk(own_seed, processes, size, f"x{execution}")
        made += part
        want |= {(execution, row["event"]): row["past"] for row in part}
    rows = without(made, *left_out)
    Random(seed).shuffle(rows)
    found = build_graph(*rows)
    assert collect_pasts(found) == want
    assert is_linear_extension(found.causes.order, *found.causes.edges)
    executions_in_order = found.events.execution[found.causes.order]
    assert (np.diff(executions_in_order) >= 0).all()
    assert len(found.causes.cycles.members) == 0
    assert len(found.causes.ghosts) == 0
    assert len(found.causes.unsent.source) == 0


@given(seeds, seeds)
def test_neither_the_order_of_rows_nor_their_chunks_matter(seed, other):
    made = without(talk(seed, 3, 20) + talk(other, 2, 10, "y"))
    whole = build_graph(*made)
    random = Random(seed)
    mixed = random.sample(made, len(made))
    cut = random.randrange(len(made))
    chunks = [table(*mixed[:cut]), table(*mixed[cut:])]
    found = build_event_graph(pa.concat_tables(chunks))
    expected = decode_dictionary_columns(whole.events.table)
    assert decode_dictionary_columns(found.events.table).equals(expected)
    assert edges_by_name(found) == edges_by_name(whole)
    assert np.array_equal(found.causes.order, whole.causes.order)


def test_rows_that_only_their_names_tell_apart():
    names_and_kinds = product("xyz", ("local", "send"))
    rows = [make_row("a", None, name, kind=kind) for name, kind in names_and_kinds]
    found = build_graph(*rows)
    backwards = build_graph(*rows[::-1])
    assert found.events.table.to_pylist() == backwards.events.table.to_pylist()


def test_an_empty_table():
    found = build_event_graph(EVENTS.empty_table())
    assert len(found.events.execution) == 0
    assert len(found.causes.edges.source) == 0
    assert len(found.causes.order) == 0


def test_rows_of_nulls():
    delivery = {"kind": "deliver", "message": "m"}
    found = build_graph({}, {}, {"process": "a"}, {"kind": "send"}, delivery)
    assert len(found.causes.edges.source) == 0
    assert found.events.executions.to_pylist() == [""]
    assert len(set(found.events.process.tolist())) == 5


def test_columns_that_are_not_there():
    columns = {
        "process": ["a", "a"],
        "index": [1, 0],
        "event": ["e1", "e0"],
    }
    found = build_event_graph(pa.table(columns))
    assert edges_by_name(found) == {("e0", "e1"): PROCESS}


def test_a_null_execution_is_the_one_without_a_name():
    first = make_row("a", 0, "e0")
    found = build_graph(first, make_row("a", 1, "e1", execution=""))
    assert edges_by_name(found) == {("e0", "e1"): PROCESS}
    apart = build_graph(first, make_row("a", 1, "e1", execution="x"))
    assert edges_by_name(apart) == {}


def test_what_an_edge_is_known_from():
    found = build_event_graph(
        table(
            make_send("a", 0, "a0", "m", clock={"a": 1}),
            make_receive("b", 0, "b0", "m", clock={"a": 1, "b": 1}, parents=["a0"]),
            make_row("b", 1, "b1", clock={"a": 1, "b": 2}, parents=["b0"]),
        )
    )
    assert edges_by_name(found) == {
        ("a0", "b0"): CLOCK | PARENT | MESSAGE,
        ("b0", "b1"): PROCESS | PARENT,
    }


ARRIVALS = [
    make_send("a", 0, "a0", "m", time=5.0),
    make_receive("b", 0, "b0", "m", time=1.0),
    make_send("b", 1, "b1", "n", time=2.0),
    make_delivery("b", 2, "b2", "m", time=3.0),
    make_receive("b", 3, "b3", "m", time=4.0),
]


def test_arrivals_are_no_steps():
    found = build_graph(*ARRIVALS)
    assert edges_by_name(found) == {
        ("a0", "b0"): MESSAGE,
        ("a0", "b2"): MESSAGE,
        ("a0", "b3"): MESSAGE,
        ("b0", "b2"): MESSAGE,
        ("b1", "b2"): PROCESS,
    }
    assert names_in_order(found) == ["b1", "a0", "b0", "b2", "b3"]
    assert (found.messages.act == ARRIVE).sum() == 2
    assert (~found.events.is_step).sum() == 2


def test_an_arrival_that_was_noted_too_late_comes_before_nothing():
    rows = [
        make_delivery("b", 0, "b0", "m"),
        make_receive("b", 1, "b1", "m"),
    ]
    assert edges_by_name(build_graph(*rows)) == {}


def test_receives_are_deliveries_where_there_is_no_other():
    found = build_graph(*[row for row in ARRIVALS if row["kind"] != "deliver"])
    assert edges_by_name(found) == {
        ("a0", "b0"): MESSAGE,
        ("b0", "b1"): PROCESS,
        ("b1", "b3"): PROCESS,
    }


def test_a_receive_with_a_clock_is_a_step():
    rows = [dict(row) for row in ARRIVALS]
    assert rows[1]["event"] == "b0"
    rows[1]["clock"] = {"b": 1, "a": 1}
    assert ("b0", "b1") in edges_by_name(build_graph(*rows))


def test_of_copies_at_a_process_the_first_by_its_clock_comes_from_the_send():
    send = make_send("a", None, "a1", "m", clock={"a": 1})
    copies = [
        make_delivery("b", None, "b1", "m", line=8, clock={"b": 1}),
        make_delivery("b", None, "b2", "m", line=7, clock={"b": 2}),
    ]
    assert edges_by_name(build_graph(send, *copies)) == {
        ("a1", "b1"): MESSAGE,
        ("b1", "b2"): PROCESS,
    }


def test_ids_that_each_sender_counts_for_itself():
    sends = [make_send(p, 0, p, "1") for p in "ab"]
    from_b = make_delivery("c", 0, "c0", "1", sender="b")
    from_a = make_delivery("c", 1, "c1", "1", sender="a")
    found = build_graph(*sends, from_b, from_a)
    assert edges_by_name(found) == {
        ("b", "c0"): MESSAGE,
        ("a", "c1"): MESSAGE,
        ("c0", "c1"): PROCESS,
    }
    from_somebody = make_delivery("c", 1, "c1", "1")
    untold = build_graph(*sends, from_b, from_somebody)
    assert edges_by_name(untold) == {("a", "c0"): MESSAGE, ("c0", "c1"): PROCESS}


def test_parents_that_are_strange():
    rows = [
        make_row("a", 0, "a0", parents=["a0"]),
        make_row("a", 1, "a1", parents=["gone", "b0", "gone"]),
        make_row("b", 0, "b0", parents=[]),
        make_row("b", 0, "b0", parents=["a1"], line=2, execution="other"),
    ]
    found = build_graph(*rows)
    assert edges_by_name(found) == {("a0", "a1"): PROCESS, ("b0", "a1"): PARENT}
    assert name_rows(found, found.causes.own_parents) == ["a0"]
    ghosts = found.causes.ghosts
    assert ghosts["event"].to_pylist() == ["gone", "a1"], "each once, though one is named twice"
    assert name_rows(found, ghosts["row"].to_pylist()) == ["a1", "b0"]


def test_of_two_events_with_one_id_the_first_is_meant():
    rows = [
        make_row("a", 0, "x"),
        make_row("b", 0, "x"),
        make_row("c", 0, "c0", parents=["x"]),
    ]
    for some in permutations(rows):
        found = build_graph(*some)
        causes = found.events.table.take(found.causes.edges.source)
        assert causes["process"].to_pylist() == ["a"]


def test_a_cycle_and_what_is_behind_it():
    rows = [
        make_row("a", 0, "a0", parents=["b0"]),
        make_row("b", 0, "b0", parents=["a0"]),
        make_row("c", 0, "c0", parents=["b0"]),
    ]
    found = build_graph(*rows, make_row("d", 0, "d0"))
    assert name_rows(found, found.causes.cycles.members) == ["a0", "b0"]
    assert names_in_order(found) == ["a0", "b0", "c0", "d0"]


def test_a_message_delivered_before_it_was_sent_is_left_out():
    rows = [
        make_delivery("b", 0, "b0", "m", line=1),
        make_send("b", 1, "b1", "n", line=2),
        make_delivery("a", 0, "a0", "n", line=9),
        make_send("a", 1, "a1", "m", line=10),
        make_receive("b", 9, "b9", "m"),
        make_receive("b", -1, "b?", "m"),
    ]
    found = build_graph(*rows)
    assert [
        event_names(found)[row] for row in (*found.causes.unsent.source, *found.causes.unsent.target)
    ] == [
        "a1",
        "b0",
    ]
    assert names_in_order(found) == ["b0", "b1", "a0", "a1", "b?", "b9"]
    assert len(found.causes.cycles.members) == 0


CLOCKED = [
    make_row("a", None, "z1", clock={"a": 1}),
    make_row("a", None, "a2", clock={"a": 2, "b": 1}),
    make_row("b", None, "b1", clock={"b": 1, "zero": 0}),
]
CLOCKED_EDGES = {("z1", "a2"): PROCESS, ("b1", "a2"): CLOCK}


def test_clocks_order_a_process_that_has_no_index():
    assert edges_by_name(build_graph(*CLOCKED)) == CLOCKED_EDGES


def test_events_without_a_place_stand_alone():
    without_index = make_row("a", None, "a?")
    without_clock = make_row("a", 7, "a7")
    found = build_graph(*CLOCKED, without_index, without_clock)
    assert edges_by_name(found) == CLOCKED_EDGES


def test_entries_of_a_clock_that_say_nothing():
    found = build_graph(make_row("b", None, "b1", clock={"a": 0, "b": 1}))
    assert found.events.own.tolist() == [1]
    assert found.events.clocks.counts.tolist() == [1]


@pytest.mark.parametrize("value", [None, -3, 2**62])
def test_entries_of_a_clock_that_are_no_counts_are_refused(value):
    with pytest.raises(CallerError, match=r"column 'clock' has .* as a count: counts are whole numbers"):
        build_graph(make_row("b", None, "b1", clock={"a": value, "b": 1}))


def test_names_that_only_clocks_and_receivers_tell():
    send = make_send("a", 0, "a0", "m", receivers=["x", "a"])
    found = build_graph(send | {"clock": {"y": 2, "a": 1}})
    assert found.events.process_names.to_pylist() == ["a", "x", "y"]
    assert found.messages.links.lost_receiver.tolist() == [1]
    assert found.events.clocks.slots.tolist() == [0, 2]
