"""Stamps in every form, made of what real endpoints sent: all come out as the endpoints delivered them."""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from antecede.core.errors import CallerError
from antecede.protocols.counts import unpack_counts
from antecede.protocols.keys import derive_key_set_id, unrank_key_set
from tests.engines.engines import LocalEngine, rows_of
from tests.message_rows import Row, Sent, lines
from tests.sql_tables import make_table

decode = msgspec.msgpack.decode
BASE = "group string, sender string, receiver string, arrival long, message string, number long"
Made = Callable[[Sent, Row], Any]


def row(sent: Sent, packet: Row, stamp: Any, number: int = 1) -> tuple[Any, ...]:
    group, names = packet["group"], (packet["sender"], packet["group"])
    return (group, *names, packet["arrival"], packet["message"], number, stamp)


def check_ordered(engine, frame, sent: Sent, **options: Any) -> None:
    """Check that all comes out, per process as it was delivered there, and not as it arrived."""
    outcome = engine.order(frame, group="group", **options)
    found = rows_of(outcome.ordered)
    assert outcome.counts["ordered"] == len(sent.packets)
    line = lines(found)
    assert line == {name: names for name, names in sent.delivered.items() if names}
    assert line != lines([{**one, "position": one["arrival"]} for one in found])


def vector(sent: Sent, packet: Row) -> list[int]:
    return list(decode(packet["stamp"]))


def by_name(sent: Sent, counts: Iterable[int]) -> dict[str, int]:
    return {name: count for name, count in zip(sent.names, counts, strict=True) if count}


def matrix(sent: Sent, packet: Row) -> list[list[int]]:
    n = len(sent.names)
    return [[int(count) for count in line] for line in unpack_counts(decode(packet["stamp"])[1], n, n)]


def triples(sent: Sent, packet: Row) -> list[tuple[str, str, int]]:
    counts = enumerate(matrix(sent, packet))
    return [(sent.names[x], sent.names[y], c) for x, line in counts for y, c in enumerate(line) if c]


def pairs(sent: Sent, packet: Row) -> tuple[list[int], list[tuple[int, list[int]]]]:
    time, last = decode(packet["stamp"])
    return time, list(last.items())


def named_pairs(sent: Sent, packet: Row) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    time, last = decode(packet["stamp"])
    return by_name(sent, time), {sent.names[q]: by_name(sent, t) for q, t in last.items()}


def log(sent: Sent, packet: Row) -> list[tuple[str, int, list[str]]]:
    _, _, _, waiting = decode(packet["stamp"], strict=False)
    n = len(sent.names)
    found = dict[tuple[str, int], list[str]]()
    for pair, time in waiting.items():
        found.setdefault((sent.names[pair // n], time), []).append(sent.names[pair % n])
    return [(sender, time, dests) for (sender, time), dests in found.items()]


def predecessors(sent: Sent, packet: Row) -> list[tuple[str, int]]:
    barriers = decode(packet["stamp"], strict=False)[2]
    return [(sent.names[a], x) for a, x in barriers.get(sent.place(packet["group"]), {}).items()]


PLACES = {"receiver": "receiver", "members": ["p0", "p1", "p2", "p3"]}
FORMS: list[tuple[str, str, str, Made, dict[str, Any]]] = [
    ("vector", "vector", "array<int>", vector, PLACES),
    (
        "vector",
        "vector",
        "map<string,bigint>",
        lambda s, p: by_name(s, vector(s, p)),
        {"receiver": "receiver"},
    ),
    ("matrix", "matrix", "array<array<int>>", matrix, PLACES),
    ("triples", "matrix", "array<struct<x:string,y:string,c:int>>", triples, {"receiver": "receiver"}),
    ("pairs", "pairs", "struct<t:array<int>,v:array<struct<q:int,t:array<int>>>>", pairs, PLACES),
    (
        "pairs",
        "pairs",
        "struct<t:map<string,int>,v:map<string,map<string,int>>>",
        named_pairs,
        {"receiver": "receiver"},
    ),
    (
        "log",
        "optimal",
        "array<struct<s:string,t:long,d:array<string>>>",
        log,
        {"receiver": "receiver", "number": "number"},
    ),
    ("predecessors", "predecessors", "array<struct<s:string,t:long>>", predecessors, {"number": "number"}),
    ("sequence", "fifo", "long", lambda s, p: decode(p["stamp"]) + 1, {}),
]


def send_in_form(protocol: str, made: Made) -> tuple[Sent, list[tuple[Any, ...]]]:
    """What endpoints sent, and a row of each packet."""
    sent = Sent(protocol, workload="broadcast" if protocol == "vector" else "uniform")
    numbered = protocol in ("optimal", "predecessors")
    rows = [
        row(sent, p, made(sent, p), decode(p["stamp"], strict=False)[0] if numbered else 1)
        for p in sent.packets
    ]
    return sent, rows


@pytest.mark.parametrize(("form", "protocol", "type", "made", "options"), FORMS)
def test_rows_without_a_stamp_change_no_other(engine, form, protocol, type, made, options):
    """Nor does the order of the rows; no column tells it here."""
    _, rows = send_in_form(protocol, made)

    def order(rows: list[tuple[Any, ...]]) -> dict[str, list[str]]:
        frame = make_table(rows, f"{BASE}, stamp {type}").drop_columns("arrival")
        return lines(rows_of(engine.order(frame, group="group", form=form, **options).ordered))

    random = Random(1)
    mixed = random.sample(rows, len(rows))
    for at in range(0, 2 * len(rows), 2):
        group, sender, receiver, arrival, message, number, _ = mixed[at]
        mixed.insert(at + 1, (group, sender, receiver, arrival, f"after {message}", number + 1, None))
    assert order(mixed) == order(rows)


@pytest.mark.parametrize(("form", "protocol", "type", "made", "options"), FORMS)
def test_a_form_of_stamps(engine, form, protocol, type, made, options):
    sent, rows = send_in_form(protocol, made)
    frame = make_table(rows, f"{BASE}, stamp {type}")
    check_ordered(engine, frame, sent, **options)
    # That a form may also be named has nothing to do with the engine.
    check_ordered(LocalEngine(), frame, sent, form=form, **options)


def test_senders_by_place(engine):
    sent = Sent("vector", workload="broadcast")
    rows = [row(sent, p, vector(sent, p)) for p in sent.packets]
    frame = make_table(rows, f"{BASE}, stamp array<int>")
    for name in ("sender", "receiver"):
        place = pc.utf8_slice_codeunits(frame[name], 1).cast(pa.int32())
        frame = frame.set_column(frame.column_names.index(name), name, place)
    check_ordered(engine, frame, sent, receiver="receiver")


def test_shared_entries_with_keys(engine):
    """The own broadcasts of a process stand in its table too, as what came first."""
    sent = Sent("probabilistic", workload="broadcast", options={"R": 6, "K": 2})
    stamps = {p["message"]: (p["sender"], decode(p["stamp"])) for p in sent.packets}
    rows = [row(sent, p, decode(p["stamp"])[2], decode(p["stamp"])[1]) for p in sent.packets]
    for message, (sender, (_, number, entry)) in stamps.items():
        rows.append((sender, sender, sender, -1, message, number, entry))
    keys = {name: unrank_key_set(derive_key_set_id(name, 2, 6), 2, 6) for name in sent.names}
    made = [(*one, list(keys[one[1]])) for one in rows]
    frame = make_table(made, f"{BASE}, stamp array<int>, keys array<int>")
    outcome = engine.order(frame, group="group", keys="keys")
    assert outcome.counts == {"input": len(rows), "ordered": len(rows), "held": 0, "quarantined": 0}
    assert {len(line) for line in lines(rows_of(outcome.ordered)).values()} == {60}
    is_gone = pc.and_(pc.equal(frame["group"], "p0"), pc.equal(frame["number"], 1))
    gone = engine.order(frame.filter(pc.invert(is_gone)), group="group", keys="keys", number="number")
    told = [row for row in rows_of(gone.held) if row["group"] == "p0"]
    assert told
    assert all(text.startswith("entry ") for one in told for text in one["missing"])


def test_parents(engine):
    sent = Sent("vector", workload="broadcast")
    names = {(p["sender"], vector(sent, p)[sent.place(p["sender"])]): p["message"] for p in sent.packets}
    rows = []
    for p in sent.packets:
        needs = [(s, c - (s == p["sender"])) for s, c in zip(sent.names, vector(sent, p), strict=True)]
        rows.append(row(sent, p, [names[s, c] for s, c in needs if c and s != p["group"]]))
    frame = make_table(rows, f"{BASE}, stamp array<string>")
    outcome = engine.order(frame, group="group", id="message")
    found = lines(rows_of(outcome.ordered))
    assert found == sent.delivered


@pytest.mark.parametrize("options", [{}, {"form": "parents"}], ids=["told by the type", "named"])
def test_lists_of_parents_may_all_be_empty(engine, options):
    messages = pa.table({"message": ["m", "n"], "stamp": [[], []], "sender": ["a", "b"]})
    outcome = engine.order(messages, id="message", **options)
    assert outcome.counts == {"input": 2, "ordered": 2, "held": 0, "quarantined": 0}


KINDS = {
    "bounded": {"message", "extra"},
    "acknowledged": {"message", "ack"},
    "release": {"message", "ack"},
    "eager": {"message", "ack", "release"},
}


@pytest.mark.parametrize(
    "protocol", ["bounded", "plausible", "probabilistic", "monitor", "acknowledged", "release", "eager"]
)
def test_packets_that_simulate_wrote_are_known_by_their_columns(engine, protocol):
    workload = "broadcast" if protocol in ("plausible", "probabilistic") else "uniform"
    sent = Sent(protocol, workload=workload, options={"R": 4} if protocol == "plausible" else {})
    outcome = engine.order(sent.table)
    counts = outcome.counts
    assert counts == {"input": len(sent.packets), "ordered": len(sent.packets), "held": 0, "quarantined": 0}
    found = rows_of(outcome.ordered)
    line = {group: [name for name in names if name] for group, names in lines(found).items()}
    if protocol == "plausible":  # with as many entries as processes it is exact
        assert [sent.late(messages) for messages in line.values()] == [[]] * len(line)
    elif protocol != "probabilistic":
        assert line == {name: names for name, names in sent.delivered.items() if names}
    assert {one["kind"] for one in found} == KINDS.get(protocol, {"message"})


def test_packets_that_are_passed_on_are_in_order_where_they_come_first(engine):
    sent = Sent("flood", workload="broadcast")
    found = rows_of(engine.order(sent.table).ordered)
    assert len(found) == len(sent.packets) > 30 * len(sent.names)
    for name, messages in lines(found).items():
        first = [message for message in dict.fromkeys(messages) if message in sent.delivered[name]]
        assert first == sent.delivered[name]


def test_packets_of_two_protocols_are_refused(engine):
    tables = [Sent(name, messages=5).table for name in ("fifo", "matrix")]
    with pytest.raises(CallerError, match="fifo, matrix: order those of one known protocol"):
        engine.order(pa.concat_tables(tables))


def test_a_lost_packet_holds_what_depends_on_it(engine):
    sent = Sent("matrix")
    line = sent.delivered["p0"]
    is_lost = pc.and_(pc.equal(sent.table["group"], "p0"), pc.equal(sent.table["message"], line[0]))
    outcome = engine.order(sent.table.filter(pc.invert(is_lost)))
    held = rows_of(outcome.held)
    lost = next(p for p in sent.packets if p["message"] == line[0] and p["group"] == "p0")
    assert {one["group"] for one in held} == {"p0"}
    gaps = [tuple(gap.values()) for gap in rows_of(outcome.gaps)]
    assert gaps == [("p0", None, f"message {lost['number']} of {lost['sender']}", gaps[0][3])]
    assert outcome.counts["ordered"] + len(held) == len(sent.packets) - 1


@pytest.mark.parametrize(
    ("form", "type", "first", "second"),
    [
        ("vector", "array<int>", [1, 0], [1, 1]),
        ("matrix", "array<array<int>>", [[0, 0], [0, 0]], [[0, 1], [0, 0]]),
        (
            "pairs",
            "struct<t:array<int>, l:array<struct<p:int, t:array<int>>>>",
            ([1, 0], []),
            ([2, 0], [(1, [1, 0])]),
        ),
    ],
)
@pytest.mark.parametrize(("kind", "five", "seven"), [("int", 5, 7), ("string", "5", "7")])
def test_members_that_are_integers(engine, form, type, first, second, kind, five, seven):
    """Senders and receivers are then called by these integers, and not by places."""
    rows = [
        (seven if form == "vector" else five, seven, second, "second"),
        (five, seven, first, "first"),
    ]
    frame = make_table(rows, f"sender {kind}, receiver {kind}, stamp {type}, text string")
    receiver = None if form == "vector" else "receiver"
    outcome = engine.order(frame, form=form, receiver=receiver, members=[5, 7])
    found = sorted(rows_of(outcome.ordered), key=lambda row: row["position"])
    assert [row["text"] for row in found] == ["first", "second"]
