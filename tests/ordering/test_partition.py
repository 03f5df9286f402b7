"""The kernel alone, without Spark: against the Python gate, against live endpoints, and however rows lie."""

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antecede.core.gate import Gate
from antecede.core.gated import Gated
from antecede.ordering.partition import order_partition
from antecede.ordering.stamps import Reading
from antecede.protocols.registry import get_protocol_class, list_protocols
from tests.message_rows import Row, Sent, lines
from tests.ordering.answers import answers

VECTORS = Reading("entries", counted=True)
MAPS = Reading("pairs", counted=True)
NAMES = "abc"


@st.composite
def messages(draw: st.DrawFn) -> list[Row]:
    """Vectors that are right or nearly so, some of them missing, some twice."""
    random = Random(draw(st.integers(0, 10**6)))
    rows = []
    for group in range(draw(st.integers(1, 3))):
        know = [[0, 0, 0] for _ in NAMES]
        for _ in range(draw(st.integers(0, 12))):
            me, other = random.randrange(3), random.randrange(3)
            know[me] = [max(pair) for pair in zip(know[me], know[other], strict=True)]
            know[me][me] += 1
            row = {"group": f"g{group}", "sender": me, "number": know[me][me], "needs": list(know[me])}
            rows += [{**row, "arrival": random.randrange(6), "content": random.randrange(2)}] * random.choice(
                (0, 1, 1, 1, 1, 1, 2)
            )
    return rows


def one_by_one(rows: list[Row]) -> dict[str, tuple[list[Any], dict[Any, set[str]]]]:
    """By the Python gate: per group the order of (sender, number), and what the others miss."""
    found = {}
    for group in {row["group"] for row in rows}:
        gate: Gate[tuple[int, int]] = Gate()
        seen, order = set(), []
        mine = [row for row in rows if row["group"] == group]
        for row in sorted(mine, key=lambda row: (row["arrival"], row["sender"], row["number"])):
            name = (row["sender"], row["number"])
            if name not in seen:
                seen.add(name)
                needs = [(x, c - (x == row["sender"])) for x, c in enumerate(row["needs"])]
                gate.add_arrival(name, needs, [name])
                while (at := gate.find_ready_arrival()) is not None:
                    order.append(gate.take_and_apply_gains(at))
        held = {
            name: {_words(*unmet) for unmet in what} for name, what in gate.iterate_held_with_unmet_needs()
        }
        found[group] = (order, held)
    return found


def _words(slot: int, have: int, count: int) -> str:
    which = f"message {count}" if have + 1 == count else f"messages {have + 1} to {count}"
    return f"{which} of {slot}"


@settings(max_examples=60, deadline=None)
@given(messages(), st.integers(1, 9), st.randoms())
def test_it_answers_like_the_python_gate_however_rows_lie(
    rows: list[Row], chunk: int, random: Random
) -> None:
    if not rows:
        return
    random.shuffle(rows)
    found = answers(rows, VECTORS, chunk)
    expected = one_by_one(rows)
    out = [{**row, "name": (row["sender"], row["number"])} for row in found]
    ordered = lines([row for row in out if row["position"] is not None], what="name")
    assert ordered == {group: order for group, (order, _) in expected.items() if order}
    held = [row for row in out if row["missing"] is not None]
    assert len(held) == sum(len(held) for _, held in expected.values())
    for row in held:
        assert set(row["missing"]) == expected[row["group"]][1][row["name"]]
    twice = [row for row in out if row["reason"] is not None]
    assert len(ordered) or len(held) or len(twice)
    assert sum(map(len, ordered.values())) + len(held) + len(twice) == len(rows)


@settings(max_examples=40, deadline=None)
@given(messages())
def test_vectors_by_name_and_by_place_give_the_same_answers(rows: list[Row]) -> None:
    if not rows:
        return
    named = [
        {
            **row,
            "sender": NAMES[row["sender"]],
            "needs": [(n, c) for n, c in zip(NAMES, row["needs"], strict=True) if c],
        }
        for row in rows
    ]
    by_place = answers(rows, VECTORS._replace(members=tuple(NAMES)))
    by_name = answers(named, MAPS, needs=pa.map_(pa.string(), pa.int32()))
    fields = ("position", "arrival", "missing", "reason", "gaps")
    assert [[a[f] for f in fields] for a in by_place] == [[a[f] for f in fields] for a in by_name]


def chain(count: int, lost: set[int]) -> list[Row]:
    kept = [k for k in range(1, count + 1) if k not in lost]
    return [{"group": "g", "sender": "a", "number": k, "content": 0} for k in kept]


def test_gaps_are_what_is_missing_and_not_held() -> None:
    found = answers(chain(12, {3, 7, 8}), Reading("sequence"))
    gaps = [gap for row in found for gap in row["gaps"] or []]
    assert gaps == [
        {"missing": "message 3 of a", "waiting": 7},
        {"missing": "messages 7 to 8 of a", "waiting": 4},
    ]
    assert found[2]["missing"] == ["message 3 of a"]
    assert found[-1]["missing"] == ["messages 3 to 11 of a"]


def test_parents_that_are_held_are_no_root_gaps() -> None:
    ids: list[tuple[str, list[str]]] = [("m", []), ("n", ["m", "x"]), ("o", ["n"]), ("p", ["o", "x", "y"])]
    rows = [{"group": "g", "id": i, "needs": p, "content": 0} for i, p in ids]
    found = answers(rows, Reading("parents"), needs=pa.list_(pa.string()))
    assert [row["missing"] for row in found] == [None, ["x"], ["n"], ["o", "x", "y"]]
    gaps = [gap for row in found for gap in row["gaps"] or []]
    assert gaps == [{"missing": "x", "waiting": 3}, {"missing": "y", "waiting": 1}]


def test_long_lists_of_what_is_missing_are_cut() -> None:
    needs = [(f"s{k:02}", 1) for k in range(25)]
    row = {"group": "g", "sender": "me", "number": 1, "needs": [*needs, ("me", 1)], "content": 0}
    found = answers([row], MAPS, needs=pa.map_(pa.string(), pa.int32()))
    assert found[0]["missing"] == [*(f"message 1 of s{k:02}" for k in range(10)), "and 15 more"]
    assert len(found[0]["gaps"]) == 25


def test_of_two_messages_with_one_number_the_same_counts_however_rows_lie() -> None:
    rows: list[Row] = [
        {"group": "g", "sender": "a", "number": 1, "content": c, "time": t}
        for c, t in [(5, 2.0), (7, 2.0), (5, 3.0), (4, 3.0), (9, None)]
    ]
    expected = None
    for seed in range(6):
        shuffled = Random(seed).sample(rows, len(rows))
        found = answers(shuffled, Reading("sequence"), time=pa.float64())
        told = {(row["content"], row["time"]): (row["position"], row["reason"]) for row in found}
        expected = expected or told
        assert told == expected
    assert expected is not None and expected[5, 2.0] == (0, None)
    assert expected[5, 3.0] == (None, "duplicate: message 1 of a came before")
    assert (
        expected[4, 3.0][1] == "duplicate: message 1 of a came before, with other contents: that one counts"
    )


def test_of_two_stamps_with_one_number_the_same_counts_however_rows_lie() -> None:
    rows = [{"group": "g", "sender": 0, "number": 1, "needs": [1, k, 0], "content": 0} for k in range(4)]
    kept = set()
    for seed in range(6):
        found = answers(Random(seed).sample(rows, len(rows)), VECTORS)
        left = [row for row in found if row["reason"] is None]
        kept |= {row["needs"][1] for row in left}
        assert (
            len(left) == 1 and sum("other contents" in row["reason"] for row in found if row["reason"]) == 3
        )
    assert len(kept) == 1


def test_many_small_groups_with_names_of_their_own() -> None:
    rows = [
        {"group": f"g{g}", "sender": s, "number": n, "content": 0, "arrival": -n}
        for g in range(400)
        for s in ("a", f"b{g}")
        for n in (2, 1)
    ]
    found = answers(rows, Reading("sequence"), 37)
    assert {
        row["group"]: row["position"] for row in found if row["number"] == 2 and row["sender"][0] == "b"
    } == {f"g{g}": 3 for g in range(400)}
    assert {row["position"] for row in found if row["number"] == 1} == {0, 2}
    assert all(row["reason"] is None and row["missing"] is None for row in found)


def test_huge_counts_are_no_trouble() -> None:
    rows = [{"group": "g", "sender": 0, "number": n, "needs": [n, 0], "content": 0} for n in (2**62 - 1, 1)]
    found = answers(rows, VECTORS)
    assert found[1]["position"] == 0
    assert found[0]["missing"] == [f"messages 2 to {2**62 - 2} of 0"]


BY_PROCESS = sorted(name for name in list_protocols() if not get_protocol_class(name).shares_entries)


@pytest.mark.parametrize("protocol", BY_PROCESS)
def test_packets_of_every_protocol_come_out_as_the_endpoints_delivered_them(protocol: str) -> None:
    workload = "broadcast" if protocol in ("vector",) else "uniform"
    sent = Sent(protocol, workload=workload)
    reading = Reading(
        "packets", False, get_protocol_class(protocol).dense, "message", tuple(sent.names), protocol
    )
    columns = ("group", "sender", "kind", "number", "arrival", "message")
    rows = [
        {**{c: p[c] for c in columns}, "needs": p["stamp"], "receiver": p["group"], "content": 0}
        for p in Random(1).sample(sent.packets, len(sent.packets))
    ]
    found = answers(rows, reading, 50)
    assert [row for row in found if row["position"] is None] == []
    ordered = lines(found)
    messages = {group: [name for name in names if name is not None] for group, names in ordered.items()}
    if protocol == "history":  # messages also come along with others, before they arrive themselves
        assert [sent.late(line) for line in messages.values()] == [[]] * len(messages)
        messages, sent.delivered = ({k: sorted(v) for k, v in m.items()} for m in (messages, sent.delivered))
    if get_protocol_class(protocol).facts.relays:  # messages come again, also to their sender
        for group, names in messages.items():
            messages[group] = [name for name in dict.fromkeys(names) if name in sent.delivered[group]]
    assert messages == {name: names for name, names in sent.delivered.items() if name in messages}
    if issubclass(get_protocol_class(protocol), Gated):
        arrived = lines([{**row, "position": row["arrival"]} for row in found])
        assert arrived != ordered, "nothing overtook anything: the test shows nothing"


def test_a_stamp_that_no_protocol_can_read_is_left_out_with_the_reason() -> None:
    reading = Reading("packets", members=("p", "q"), protocol="vector")
    base = {"group": "p", "receiver": "p", "sender": "q", "kind": "message", "content": 0}
    stamps: list[Row] = [
        {"needs": b"\x92\x00\x01", "number": 1},
        {"needs": b"\x91\x02", "number": 2},
        {"needs": b"\xff", "number": 3},
        {"needs": b"\x92\x00\x00", "number": 4},
        {"needs": b"\x92\x00\x02", "number": 0},
        {"needs": None, "number": 6},
        {"needs": b"\x92\x00\x02", "number": 7, "kind": "ack"},
        {"needs": b"\x92\x00\x02", "number": 8, "sender": "r"},
    ]
    found = answers([{**base, **stamp} for stamp in stamps], reading, needs=pa.binary())
    assert found[0]["position"] == 0
    told = [row["reason"] for row in found[1:]]
    wanted = (
        "1 entries where",
        "stamp of 'vector': ",
        "own entry is 0",
        "below 1",
        "null",
        "no 'ack'",
        "not a member",
    )
    assert all(part in reason for part, reason in zip(wanted, told, strict=True)), told


def test_the_columns_that_are_read_stay_as_they_were() -> None:
    values = np.arange(6, dtype=np.int32).reshape(3, 2) + 1
    table = pa.table(
        {
            "group": ["g"] * 3,
            "sender": [1] * 3,
            "number": values[:, 1],
            "needs": list(values),
            "content": [0] * 3,
        }
    )
    before = table.to_pylist()
    order_partition(table, VECTORS)
    assert table.to_pylist() == before
