"""The linking kernel against its definitions, written down naively: rows of random messages in any order."""

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import CallerError
from antecede.kernels.linking import ARRIVE, MessageLinks, MessageRows, match_messages
from antecede.kernels.links import DELIVER, OTHER, SEND

Row = dict[str, Any]


def random_rows(random: Random, size: int, processes: int, messages: int) -> list[Row]:
    """Rows with every fault that there is, shuffled; arrivals are on the line of their process or on none."""
    rows = []
    for place in range(size):
        act = random.choice([SEND, DELIVER, DELIVER, ARRIVE, OTHER])
        process = random.randrange(processes)
        names = [random.randrange(-1, processes + 1) for _ in range(random.randrange(4))]
        on_line = act != ARRIVE or random.random() < 0.5
        rows.append(
            {
                "code": random.randrange(-1, messages),
                "act": act,
                "process": process,
                "track": process if on_line else processes + 1 + place,
                "place": place,
                "sender": random.choice([-1, random.randrange(processes + 1)]),
                "receivers": names if act == SEND and random.random() < 0.7 else [],
            }
        )
    random.shuffle(rows)
    return rows


def match_rows(rows: list[Row]) -> MessageLinks:
    columns = {
        name: np.array([row[name] for row in rows], dtype=np.int64)
        for name in ("code", "act", "process", "track", "place", "sender")
    }
    lists = [row["receivers"] for row in rows]
    starts = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    flat = np.array([name for names in lists for name in names], dtype=np.int64)
    return match_messages(MessageRows(**columns, receiver_starts=starts, receivers=flat))


def messages_of(rows):
    """The rows of each message, in the order of (process, place); ids counted by each sender are split."""
    groups: dict[object, list[int]] = {}
    for i, row in enumerate(rows):
        if row["act"] != OTHER and row["code"] >= 0:
            groups.setdefault(row["code"], []).append(i)
    found = []
    for members in groups.values():
        members.sort(key=lambda i: (rows[i]["process"], rows[i]["place"]))
        senders = {rows[i]["process"] for i in members if rows[i]["act"] == SEND}
        came = [i for i in members if rows[i]["act"] != SEND]
        if len(senders) > 1 and all(rows[i]["sender"] in senders for i in came):
            for one in senders:
                found.append(
                    [i for i in members if rows[i]["process" if rows[i]["act"] == SEND else "sender"] == one]
                )
        else:
            found.append(members)
    return found


def by_definition(rows):
    """Everything that the kernel tells, as sets."""
    told: dict[str, set[Any]] = {
        name: set() for name in ("send", "cause", "arrival", "original", "misdelivered", "wrong", "lost")
    }
    for members in messages_of(rows):
        sends = [i for i in members if rows[i]["act"] == SEND]
        came = [i for i in members if rows[i]["act"] != SEND]
        deliveries = [i for i in came if rows[i]["act"] == DELIVER]
        first = sends[0] if sends else -1
        told["send"] |= {(i, first) for i in members}
        for track in {rows[i]["track"] for i in came}:
            told["cause"].add((next(i for i in came if rows[i]["track"] == track), first))
        reached = set()
        for process in {rows[i]["process"] for i in deliveries}:
            one, *more = [i for i in deliveries if rows[i]["process"] == process]
            reached.add(process)
            told["original"] |= {(i, one) for i in more}
            arrivals = [i for i in came if rows[i]["act"] == ARRIVE and rows[i]["process"] == process]
            if arrivals and rows[arrivals[0]]["place"] < rows[one]["place"]:
                told["arrival"].add((one, arrivals[0]))
        if not sends:
            continue
        senders = {rows[i]["process"] for i in sends}
        addressed = {name for i in sends for name in rows[i]["receivers"]} | senders
        everybody = any(not rows[i]["receivers"] for i in sends)
        told["misdelivered"] |= {
            i for i in deliveries if not everybody and rows[i]["process"] not in addressed
        }
        told["wrong"] |= {i for i in deliveries if rows[i]["sender"] not in senders | {-1}}
        named = [(i, name) for i in sends for name in rows[i]["receivers"] if name >= 0]
        meant = [(i, name) for i, name in named if name != rows[i]["process"]] or named
        by_receiver = {name: i for i, name in reversed(meant)}
        told["lost"] |= {(i, name) for name, i in by_receiver.items() if name not in reached}
        if not named and not deliveries:
            told["lost"].add((first, -1))
    return told


def as_sets(links: MessageLinks):
    def pairs(array, among):
        return {(int(i), int(array[i])) for i in np.flatnonzero(among)}

    return {
        "send": pairs(links.send, links.code >= 0),
        "cause": pairs(links.cause, links.cause >= 0),
        "arrival": pairs(links.arrival, links.arrival >= 0),
        "original": pairs(links.original, links.original >= 0),
        "misdelivered": set(np.flatnonzero(links.misdelivered).tolist()),
        "wrong": set(np.flatnonzero(links.wrong_sender).tolist()),
        "lost": set(zip(links.lost_send.tolist(), links.lost_receiver.tolist(), strict=True)),
    }


@given(st.integers(0, 2**32), st.integers(0, 40), st.integers(1, 4), st.integers(1, 6))
def test_everything_is_as_defined(seed, size, processes, messages):
    rows = random_rows(Random(seed), size, processes, messages)
    wanted = by_definition(rows)
    wanted["cause"] = {(row, send) for row, send in wanted["cause"] if send >= 0}
    links = match_rows(rows)
    assert as_sets(links) == wanted
    assert len(links.lost_send) == len(wanted["lost"])
    for members in messages_of(rows):
        assert len({int(links.code[i]) for i in members}) == 1
        (code,) = {int(links.code[i]) for i in members}
        assert int(links.first_send[code]) == int(links.send[members[0]])


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 4), st.integers(1, 6))
def test_faults_of_rows(seed, size, processes, messages):
    rows = random_rows(Random(seed), size, processes, messages)
    links = match_rows(rows)
    act = np.array([row["act"] for row in rows])
    groups = messages_of(rows)
    sends = [[i for i in members if rows[i]["act"] == SEND] for members in groups]
    assert set(links.list_repeated_sends(act).tolist()) == {i for group in sends for i in group[1:]}
    wanted = set()
    for members in groups:
        if not any(rows[i]["act"] == SEND for i in members):
            deliveries = [i for i in members if rows[i]["act"] == DELIVER]
            firsts = {rows[i]["process"]: i for i in reversed(deliveries)}
            wanted |= set(firsts.values())
    assert set(links.list_orphan_deliveries(act).tolist()) == wanted
    assert set(links.list_duplicate_deliveries().tolist()) == {i for i, _ in by_definition(rows)["original"]}


def test_ids_counted_by_each_sender_are_several_messages():
    def row(act, process, place, sender=-1):
        line = {"process": process, "track": process, "place": place}
        return line | {"code": 0, "act": act, "sender": sender, "receivers": []}

    rows = [row(SEND, 0, 0), row(SEND, 1, 0), row(DELIVER, 2, 0, 1), row(DELIVER, 2, 1, 0)]
    assert match_rows(rows).send.tolist() == [0, 1, 1, 0]
    rows[3]["sender"] = -1  # somebody does not say whose it is: then they are one message, sent twice
    assert match_rows(rows).send.tolist() == [0, 0, 0, 0]


def test_arrays_that_do_not_fit_are_refused():
    one = np.zeros(1, dtype=np.int64)
    fine = MessageRows(one, one, one, one, one, one, np.zeros(2, dtype=np.int64), one[:0])
    assert match_messages(fine).lost_receiver.tolist() == [-1]
    for name, value in (("act", one + 4), ("process", one - 1), ("receiver_starts", one), ("track", one - 1)):
        with pytest.raises(CallerError, match=name):
            match_messages(fine._replace(**{name: value}))
