"""Root gaps in every form of stamps: against their definition, and against live endpoints."""

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.packet import Packet
from antecede.ordering.stamps import Reading
from antecede.protocols.registry import endpoint, get_protocol_class
from tests.message_rows import Row
from tests.ordering.answers import answers
from tests.root_gap_definition import Gap, Pairs, root_gaps
from tests.root_gap_definition import Row as Held

NAMES = "abc"
PAIR = pa.list_(pa.struct([("name", pa.string()), ("count", pa.int64())]))
MAP = pa.map_(pa.string(), pa.int64())
ENTRIES = pa.list_(pa.int64())
OPTIONS: dict[str, dict[str, Any]] = {"bounded": {"k": 4}}
KEYS = {"a": [0, 1], "b": [1, 2], "c": [2, 3]}


class Message(NamedTuple):
    """One of an execution in which all is broadcast."""

    sender: int
    number: int
    past: list[int]  # how many messages of each it knows of, itself among them
    causes: list[tuple[int, int]]  # some of those messages
    shared: list[int]  # the counts on shared entries that its sender knows, itself among them


def execution(random: Random, size: int) -> list[Message]:
    past = [[0, 0, 0] for _ in NAMES]
    shared = [[0, 0, 0, 0] for _ in NAMES]
    messages: list[Message] = []
    for _ in range(size):
        me, other = random.randrange(3), random.randrange(3)
        past[me] = [max(both) for both in zip(past[me], past[other], strict=True)]
        shared[me] = [max(both) for both in zip(shared[me], shared[other], strict=True)]
        known = [(x, k) for x in range(3) for k in range(1, past[me][x] + 1)]
        past[me][me] += 1
        for key in KEYS[NAMES[me]]:
            shared[me][key] += 1
        causes = random.sample(known, min(len(known), random.randrange(4)))
        messages.append(Message(me, past[me][me], list(past[me]), causes, list(shared[me])))
    return messages


def before(message: Message) -> Pairs:
    """What a vector needs: all of the past but the message itself."""
    return [(x, count - (x == message.sender)) for x, count in enumerate(message.past)]


def latest(message: Message) -> Pairs:
    """The last cause of each sender: a time has one count for each."""
    return list(dict(sorted(message.causes)).items())


def name_slots(pairs: Pairs) -> list[tuple[str, int]]:
    return [(NAMES[x], count) for x, count in pairs]


class Form(NamedTuple):
    """How a message is written in a form, and what that asks of the gate."""

    columns: Callable[[Message], Row]
    needs: Callable[[Message], Pairs]
    reading: Reading
    types: dict[str, pa.DataType]
    gap: str = "message"


def by_number(message: Message) -> Row:
    return {"sender": NAMES[message.sender], "number": message.number}


FORMS = {
    "sequence": Form(by_number, lambda m: [(m.sender, m.number - 1)], Reading("sequence"), {}),
    "vector by place": Form(
        lambda m: {"sender": m.sender, "number": m.number, "needs": m.past},
        before,
        Reading("entries", counted=True, members=tuple(NAMES)),
        {"needs": ENTRIES},
    ),
    "vector by name": Form(
        lambda m: {**by_number(m), "needs": name_slots(list(enumerate(m.past)))},
        before,
        Reading("pairs", counted=True),
        {"needs": MAP},
    ),
    "matrix": Form(
        lambda m: {"sender": m.sender, "number": m.number, "needs": [count for _, count in before(m)]},
        before,
        Reading("entries", members=tuple(NAMES)),
        {"needs": ENTRIES},
    ),
    "triples": Form(
        lambda m: {**by_number(m), "needs": [{"name": n, "count": c} for n, c in name_slots(before(m))]},
        before,
        Reading("pairs"),
        {"needs": PAIR},
    ),
    "pairs": Form(
        lambda m: {
            **by_number(m),
            "needs": name_slots(latest(m)),
            "gains": name_slots(list(enumerate(m.past))),
        },
        latest,
        Reading("pairs", stretches=False, noun="time"),
        {"needs": MAP, "gains": MAP},
        "time",
    ),
    "log": Form(
        lambda m: {**by_number(m), "needs": [{"name": n, "count": c} for n, c in name_slots(m.causes)]},
        lambda m: m.causes,
        Reading("pairs", stretches=False, silent=True),
        {"needs": PAIR},
    ),
    "parents": Form(
        lambda m: {
            "id": f"{NAMES[m.sender]}{m.number}",
            "needs": [f"{n}{c}" for n, c in name_slots(m.causes)],
        },
        lambda m: m.causes,
        Reading("parents"),
        {"needs": pa.list_(pa.string())},
    ),
}


def gains(form: str, message: Message) -> Pairs:
    """A message gains its own place first; a time of pairs tells of others as well."""
    own = (message.sender, message.number)
    return [own, *enumerate(message.past)] if form == "pairs" else [own]


def play(items: list[Held], add: bool = False) -> tuple[dict[int, int], list[Held]]:
    """The state after all that can go has gone, and the rest; by looking at the queue again and again."""
    have: dict[int, int] = {}
    queue = list(items)
    while ready := [i for i in queue if all(have.get(slot, 0) >= count for slot, count in i.needs)]:
        queue.remove(ready[0])
        for slot, value in ready[0].gains:
            have[slot] = have.get(slot, 0) + value if add else max(have.get(slot, 0), value)
    return have, queue


def count_waiting(rows: list[Row]) -> dict[str, int]:
    return {gap["missing"]: gap["waiting"] for row in rows for gap in row["gaps"] or []}


def words(noun: str, gap: Gap, names: Any) -> str:
    slot, first, last = gap
    which = f"{noun} {last}" if first == last else f"{noun}s {first} to {last}"
    return f"{which} of {names[slot]}"


@st.composite
def arrivals(draw: st.DrawFn) -> list[Message]:
    """What arrives of an execution, in any order."""
    random = Random(draw(st.integers(0, 10**6)))
    lost = draw(st.sampled_from([0.1, 0.4]))
    messages = [m for m in execution(random, draw(st.integers(4, 20))) if random.random() > lost]
    random.shuffle(messages)
    return messages


@pytest.mark.parametrize("form", [name for name in FORMS if name != "parents"])
@given(messages=arrivals())
def test_they_are_what_the_definition_says(form: str, messages: list[Message]) -> None:
    columns, needs, reading, types, noun = FORMS[form]
    if not messages:
        return
    rows = [{"group": "g", "arrival": at, "content": 0, **columns(m)} for at, m in enumerate(messages)]
    found = answers(rows, reading, **types)
    items = [Held([*needs(m), *row_before(m, messages, reading)], gains(form, m)) for m in messages]
    have, held = play(items)
    expected = root_gaps(held, have, dense=reading.stretches)
    assert count_waiting(found) == {
        words(noun, gap, NAMES): len(waiting) for gap, waiting in expected.items()
    }
    assert sum(row["missing"] is not None for row in found) == len(held)


def row_before(message: Message, messages: list[Message], reading: Reading) -> Pairs:
    """The row of the same sender that must come first where stamps may be silent about it."""
    numbers = [m.number for m in messages if m.sender == message.sender and m.number < message.number]
    return [(message.sender, max(numbers))] if reading.silent and numbers else []


@pytest.mark.parametrize("form", ["log", "sequence", "vector by name", "triples"])
@given(messages=arrivals())
def test_no_row_of_a_sender_overtakes_an_earlier_one(form: str, messages: list[Message]) -> None:
    columns, _, reading, types, _ = FORMS[form]
    if not messages:
        return
    rows = [{"group": "g", "arrival": at, "content": 0, **columns(m)} for at, m in enumerate(messages)]
    found = answers(rows, reading, **types)
    for name in NAMES:
        of_sender = [row for row, m in zip(found, messages, strict=True) if NAMES[m.sender] == name]
        of_sender.sort(key=lambda row: int(row["number"]))
        positions = [row["position"] for row in of_sender]
        out = [position for position in positions if position is not None]
        assert positions == sorted(out) + [None] * (len(positions) - len(out))


@given(messages=arrivals())
def test_ids_that_are_missing(messages: list[Message]) -> None:
    columns, _, reading, types, _ = FORMS["parents"]
    if not messages:
        return
    found = answers([{"group": "g", "content": 0, **columns(m)} for m in messages], reading, **types)
    ids = [(x, k) for x in range(3) for k in range(30)]
    items = []
    for m in messages:  # an id is a slot of its own, which is there or not
        needs = [(ids.index(cause), 1) for cause in m.causes]
        items.append(Held(needs, [(ids.index((m.sender, m.number)), 1)]))
    have, held = play(items)
    expected = root_gaps(held, have, dense=False)
    names = [f"{NAMES[x]}{k}" for x, k in ids]
    assert count_waiting(found) == {names[slot]: len(waiting) for (slot, _, _), waiting in expected.items()}


@given(messages=arrivals())
def test_counts_that_are_short_where_senders_share_entries(messages: list[Message]) -> None:
    if not messages:
        return
    rows, items = [], []
    for at, m in enumerate(messages):
        keys = KEYS[NAMES[m.sender]]
        stamp = {"needs": m.shared, "keys": keys, **by_number(m)}
        rows.append({"group": "g", "arrival": at, "content": 0, **stamp})
        needs = [(entry, count - (entry in keys)) for entry, count in enumerate(m.shared)]
        items.append(Held(needs, [(key, 1) for key in keys]))
    found = answers(rows, Reading("shared"), needs=ENTRIES, keys=ENTRIES)
    # Which of several ready rows goes first makes no difference to what is held, as all gains are added.
    have, held = play(items, add=True)
    expected = root_gaps(held, have, dense=True, add=True)
    entries = [f"entry {entry}" for entry in range(4)]
    assert count_waiting(found) == {
        words("count", gap, entries): len(waiting) for gap, waiting in expected.items()
    }


@pytest.mark.parametrize(
    ("form", "columns"),
    [
        ("sequence", lambda k: {"sender": "a", "number": k}),
        ("log", lambda k: {"sender": "a", "number": k, "needs": [{"name": "a", "count": k - 1}]}),
        ("parents", lambda k: {"id": f"a{k}", "needs": [f"a{k - 1}"]}),
        ("triples", lambda k: {"sender": "a", "number": k, "needs": [{"name": "a", "count": k - 1}]}),
    ],
)
def test_a_chain_of_three_counts_three_in_every_form(form: str, columns: Callable[[int], Row]) -> None:
    rows = [{"group": "g", "content": 0, **columns(k)} for k in (2, 3, 4)]
    assert list(count_waiting(answers(rows, FORMS[form].reading, **FORMS[form].types)).values()) == [3]


def test_a_row_that_names_two_messages_of_one_sender_counts_once_for_each() -> None:
    needs = [{"name": "a", "count": 1}, {"name": "a", "count": 2}]
    row = {"group": "g", "content": 0, "sender": "b", "number": 1, "needs": needs}
    assert count_waiting(answers([row], FORMS["log"].reading, needs=PAIR)) == {
        "message 1 of a": 1,
        "message 2 of a": 1,
    }


@pytest.mark.parametrize(
    "protocol",
    [
        *("fifo", "vector", "matrix", "bounded", "semantic", "pairs", "optimal", "predecessors"),
        *("acknowledged", "release", "eager"),
    ],
)
@given(seed=st.integers(0, 10**6), sends=st.integers(1, 14))
def test_a_table_of_packets_has_the_root_gaps_of_the_endpoint(protocol: str, seed: int, sends: int) -> None:
    arrived = packets_to_a_listener(protocol, Random(seed), sends)
    group = ["p0", "p1", "p2", "p3"]
    listener = endpoint(protocol, process="p3", group=group, **OPTIONS.get(protocol, {}))
    for packet in arrived:
        listener.receive(packet)
    rows: list[Row] = [
        {
            "group": "p3", "receiver": "p3", "sender": packet.source, "kind": packet.kind,
            "number": packet.number, "needs": packet.stamp, "arrival": at, "content": 0,
        }
        for at, packet in enumerate(arrived)
    ]  # fmt: skip
    if not rows:
        return
    noun = "time" if protocol == "pairs" else "message"
    reading = Reading("packets", False, get_protocol_class(protocol).dense, noun, tuple(group), protocol)
    found = answers(rows, reading, needs=pa.binary())
    expected = {words(noun, (0, gap.first, gap.last), [gap.slot]) for gap in listener.root_gaps()}
    assert count_waiting(found).keys() == expected
    assert sum(row["missing"] is not None for row in found) == len(listener.held())


def packets_to_a_listener(protocol: str, random: Random, sends: int) -> list[Packet]:
    """What arrives of what three processes send, and how it arrives, at a fourth that only listens."""
    group = ["p0", "p1", "p2", "p3"]
    options = OPTIONS.get(protocol, {})
    ends = {name: endpoint(protocol, process=name, group=group, **options) for name in group[:3]}
    under_way: list[Packet] = []
    to_listener: list[Packet] = []
    for _ in range(sends):
        name = random.choice(group[:3])
        others = [other for other in group if other != name]
        to = (
            None
            if protocol == "vector"
            else random.sample(others, random.randrange(1, 4) if ends[name].facts.multicast else 1)
        )
        posted = ends[name].send(b"x", to=to).packets
        while True:
            to_listener += [packet for packet in posted if packet.target == "p3"]
            under_way += [packet for packet in posted if packet.target != "p3"]
            if not under_way or random.random() < 0.3:
                break
            packet = under_way.pop(random.randrange(len(under_way)))
            posted = ends[packet.target].receive(packet).packets
    arrived = [packet for packet in to_listener if random.random() > 0.25]
    random.shuffle(arrived)
    return arrived
