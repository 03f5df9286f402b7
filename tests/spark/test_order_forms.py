"""Stamps in every form, made of what real endpoints sent: all come out as the endpoints delivered them."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest
from pyspark.sql import functions as sf

from antecede.core.errors import CallerError
from antecede.protocols.counts import unpack
from antecede.protocols.keys import entries, set_id_of
from antecede.spark import order
from tests.message_rows import Row, Sent, lines

pytestmark = pytest.mark.spark
decode = msgspec.msgpack.decode
BASE = "group string, sender string, receiver string, arrival long, message string, number long"
Made = Callable[[Sent, Row], Any]


def row(sent: Sent, packet: Row, stamp: Any, number: int = 1) -> tuple[Any, ...]:
    group, names = packet["group"], (packet["sender"], packet["group"])
    return (group, *names, packet["arrival"], packet["message"], number, stamp)


def check_ordered(frame, sent: Sent, **options: Any) -> None:
    """Check that all comes out, per process as it was delivered there, and not as it arrived."""
    outcome = order(frame, group="group", **options).keep()
    found = [one.asDict() for one in outcome.ordered.collect()]
    assert outcome.counts()["ordered"] == len(sent.packets)
    outcome.done()
    line = lines(found)
    assert line == {name: names for name, names in sent.delivered.items() if names}
    assert line != lines([{**one, "position": one["arrival"]} for one in found])


def vector(sent: Sent, packet: Row) -> list[int]:
    return list(decode(packet["stamp"]))


def by_name(sent: Sent, counts: Iterable[int]) -> dict[str, int]:
    return {name: count for name, count in zip(sent.names, counts, strict=True) if count}


def matrix(sent: Sent, packet: Row) -> list[list[int]]:
    n = len(sent.names)
    return [[int(count) for count in line] for line in unpack(decode(packet["stamp"])[1], n, n)]


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
    n, found = len(sent.names), dict[tuple[str, int], list[str]]()
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


@pytest.mark.parametrize(("form", "protocol", "type", "made", "options"), FORMS)
def test_a_form_of_stamps(spark, form, protocol, type, made, options):
    sent = Sent(protocol, workload="broadcast" if protocol == "vector" else "uniform")
    numbered = protocol in ("optimal", "predecessors")
    rows = [
        row(sent, p, made(sent, p), decode(p["stamp"], strict=False)[0] if numbered else 1)
        for p in sent.packets
    ]
    frame = spark.createDataFrame(rows, f"{BASE}, stamp {type}").repartition(4)
    check_ordered(frame, sent, **options)
    check_ordered(frame, sent, form=form, **options)


def test_senders_by_place(spark):
    sent = Sent("vector", workload="broadcast")
    rows = [row(sent, p, vector(sent, p)) for p in sent.packets]
    place = sf.substring("sender", 2, 1).cast("int"), sf.substring("receiver", 2, 1).cast("int")
    frame = spark.createDataFrame(rows, f"{BASE}, stamp array<int>")
    check_ordered(frame.withColumns({"sender": place[0], "receiver": place[1]}), sent, receiver="receiver")


def test_shared_entries_with_keys(spark):
    """The own broadcasts of a process stand in its table too, as what came first."""
    sent = Sent("probabilistic", workload="broadcast", options={"R": 6, "K": 2})
    stamps = {p["message"]: (p["sender"], decode(p["stamp"])) for p in sent.packets}
    rows = [row(sent, p, decode(p["stamp"])[2], decode(p["stamp"])[1]) for p in sent.packets]
    for message, (sender, (_, number, entry)) in stamps.items():
        rows.append((sender, sender, sender, -1, message, number, entry))
    keys = {name: entries(set_id_of(name, 2, 6), 2, 6) for name in sent.names}
    made = [(*one, list(keys[one[1]])) for one in rows]
    frame = spark.createDataFrame(made, f"{BASE}, stamp array<int>, keys array<int>")
    outcome = order(frame, group="group", keys="keys").keep()
    assert outcome.counts() == {"input": len(rows), "ordered": len(rows), "held": 0, "quarantined": 0}
    assert {len(line) for line in lines([one.asDict() for one in outcome.ordered.collect()]).values()} == {60}
    outcome.done()
    gone = order(
        frame.where("not (group = 'p0' and number = 1)"), group="group", keys="keys", number="number"
    )
    told = gone.held.where("group = 'p0'").collect()
    assert told and all(text.startswith("entry ") for one in told for text in one["missing"])


def test_parents(spark):
    sent = Sent("vector", workload="broadcast")
    names = {(p["sender"], vector(sent, p)[sent.place(p["sender"])]): p["message"] for p in sent.packets}
    rows = []
    for p in sent.packets:
        needs = [(s, c - (s == p["sender"])) for s, c in zip(sent.names, vector(sent, p), strict=True)]
        rows.append(row(sent, p, [names[s, c] for s, c in needs if c and s != p["group"]]))
    frame = spark.createDataFrame(rows, f"{BASE}, stamp array<string>")
    outcome = order(frame, group="group", id="message").keep()
    found = lines([one.asDict() for one in outcome.ordered.collect()])
    assert found == sent.delivered
    outcome.done()


@pytest.mark.parametrize("protocol", ["bounded", "plausible", "probabilistic", "monitor"])
def test_packets_that_simulate_wrote_are_known_by_their_columns(spark, protocol):
    workload = "broadcast" if protocol in ("plausible", "probabilistic") else "uniform"
    sent = Sent(protocol, workload=workload, options={"R": 4} if protocol == "plausible" else {})
    outcome = order(spark.createDataFrame(sent.table).repartition(3)).keep()
    counts = outcome.counts()
    assert counts == {"input": len(sent.packets), "ordered": len(sent.packets), "held": 0, "quarantined": 0}
    found = [one.asDict() for one in outcome.ordered.collect()]
    outcome.done()
    line = {group: [name for name in names if name] for group, names in lines(found).items()}
    if protocol == "plausible":  # with as many entries as processes it is exact
        assert [sent.late(messages) for messages in line.values()] == [[]] * len(line)
    elif protocol != "probabilistic":
        assert line == {name: names for name, names in sent.delivered.items() if names}
    assert {one["kind"] for one in found} == ({"message", "extra"} if protocol == "bounded" else {"message"})


def test_packets_of_two_protocols_are_refused(spark):
    tables = [spark.createDataFrame(Sent(name, messages=5).table) for name in ("fifo", "matrix")]
    with pytest.raises(CallerError, match="fifo, matrix: order those of one known protocol"):
        order(tables[0].union(tables[1]))


def test_a_lost_packet_holds_what_depends_on_it(spark):
    sent = Sent("matrix")
    line = sent.delivered["p0"]
    frame = spark.createDataFrame(sent.table).where(f"not (group = 'p0' and message = '{line[0]}')")
    outcome = order(frame).keep()
    held = outcome.held.collect()
    lost = next(p for p in sent.packets if p["message"] == line[0] and p["group"] == "p0")
    assert {one["group"] for one in held} == {"p0"}
    gaps = [tuple(gap) for gap in outcome.gaps.collect()]
    assert gaps == [("p0", f"message {lost['number']} of {lost['sender']}", gaps[0][2])]
    assert outcome.counts()["ordered"] + len(held) == len(sent.packets) - 1
    outcome.done()
