"""Tables that are easily taken for something else: they come out right, or the outcome says what is wrong."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tests.commands import here
from tests.engines.engines import rows_of
from tests.formats.samples import lines
from tests.message_rows import Sent
from tests.sql_tables import make_table

TRIPLES = "src string, dst string, m string, stamp array<struct<from:string,to:string,count:int>>"
MATRIX = "src int, dst int, m string, stamp array<array<int>>"


def in_order(outcome: Any, at: Any = None) -> list[str]:
    rows = [row for row in rows_of(outcome.ordered) if at is None or row["dst"] == at]
    return [row["m"] for row in sorted(rows, key=lambda row: int(row["position"]))]


def test_triples_that_leave_out_a_cause_are_told_of(engine):
    """z to c m1, c to b m2, b to c m3: what c passed on itself no stamp of a small matrix asks for at c."""
    rows: list[tuple[Any, ...]] = [("b", "c", "m3", []), ("c", "b", "m2", []), ("z", "c", "m1", [])]
    outcome = engine.order(make_table(rows, TRIPLES), sender="src", receiver="dst")
    assert in_order(outcome, "c") == ["m3", "m1"]
    (note,) = outcome.notes
    assert "form 'triples' may leave out a cause" in note and "name a column as arrival or time" in note
    timed = [(*row, at) for row, at in zip(rows, (3, 2, 1), strict=True)]
    outcome = engine.order(make_table(timed, f"{TRIPLES}, at int"), sender="src", receiver="dst", time="at")
    assert in_order(outcome, "c") == ["m1", "m3"] and outcome.notes == []


@pytest.mark.parametrize("group", [None, "topic"])
def test_stamps_for_one_receiver_are_put_in_order_at_each(engine, group):
    """0 writes to 1 and to 2, twice each: as matrices the second ones are alike, and no copies."""
    none = [[0, 0, 0]] * 3
    one = [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    both = [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    more = [[0, 2, 1], [0, 0, 0], [0, 0, 0]]
    rows = [(0, 2, "d", more), (0, 1, "c", both), (0, 2, "b", one), (0, 1, "a", none)]
    table = make_table([(*row, "t") for row in rows], f"{MATRIX}, topic string")
    outcome = engine.order(table, sender="src", receiver="dst", group=group)
    assert outcome.counts == {"input": 4, "ordered": 4, "held": 0, "quarantined": 0}
    assert (in_order(outcome, 1), in_order(outcome, 2)) == (["a", "c"], ["b", "d"])


LOG = "src string, dst string, n int, m string, stamp array<struct<s:string,n:int,d:array<string>>>"
PAIRS = "src int, dst int, m string, stamp struct<t:array<int>,l:array<struct<p:int,v:array<int>>>>"


def test_first_messages_know_of_nothing(engine):
    """No stamp of the table has an entry: lists of lists are empty on both levels."""
    log = make_table([("a", "c", 1, "x", []), ("b", "c", 1, "y", [])], LOG)
    assert in_order(engine.order(log, sender="src", receiver="dst", number="n")) == ["x", "y"]
    matrix = engine.order(make_table([(0, 1, "x", [])], MATRIX), sender="src", receiver="dst")
    assert matrix.counts["quarantined"] == 1
    pairs = make_table([(0, 1, "x", ([1, 0], []))], PAIRS)
    assert in_order(engine.order(pairs, sender="src", receiver="dst")) == ["x"]


def test_rows_of_the_receiver_itself_come_before_their_effects(engine):
    """c writes x, b answers y to c: with or without c's own row."""
    own = ("c", "b", "x", {"c": 1})
    answer = ("b", "c", "y", {"b": 1, "c": 1})
    schema = "src string, dst string, m string, stamp map<string,int>"
    for rows, expected in (([answer, own], ["x", "y"]), ([answer], ["y"])):
        outcome = engine.order(make_table(rows, schema), sender="src", receiver="dst")
        assert in_order(outcome) == expected


def broadcast_with_clocks(seed: int, size: int) -> list[tuple[str, str, dict[str, int]]]:
    """Broadcasts of three processes, as they were sent, with clocks that tick at sends and at receives."""
    random = Random(seed)
    clocks: dict[str, dict[str, int]] = {name: {} for name in "abc"}
    sent: list[tuple[str, str, dict[str, int]]] = []
    unread = {name: list[dict[str, int]]() for name in "abc"}
    for at in range(size):
        me = random.choice("abc")
        for stamp in unread[me]:
            merged = {name: max(clocks[me].get(name, 0), stamp.get(name, 0)) for name in "abc"}
            clocks[me] = {**merged, me: merged[me] + 1}
        unread[me].clear()
        clocks[me][me] = clocks[me].get(me, 0) + 1
        sent.append((me, f"m{at:02}", {name: count for name, count in clocks[me].items() if count}))
        for other in set("abc") - {me}:
            unread[other].append(sent[-1][2])
    return sent


def test_clocks_that_tick_at_receives(engine):
    rows = broadcast_with_clocks(1, 30)
    table = make_table(Random(2).sample(rows, len(rows)), "sender string, m string, stamp map<string,int>")
    strict = engine.order(table)
    assert strict.counts["held"] > 20
    assert strict.notes and "name the form 'clock'" in strict.notes[0]
    outcome = engine.order(table, form="clock")
    assert outcome.counts["ordered"] == len(rows) and outcome.notes == []
    stamps = {m: (sender, stamp) for sender, m, stamp in rows}
    line = in_order(outcome)
    for at, late in enumerate(line):
        sender, stamp = stamps[late]
        assert all(stamps[early][1].get(sender, 0) < stamp[sender] for early in line[:at])


@pytest.mark.parametrize(("seed", "size"), [(1, 3), (2, 4), (3, 5), (4, 6), (5, 8)])
def test_small_tables_of_clocks_that_tick_at_receives(engine, seed, size):
    """Also without the rows of c, in a table of what arrived there."""
    rows = broadcast_with_clocks(seed, size)
    outcome = engine.order(make_table(rows, "sender string, m string, stamp map<string,int>"))
    assert outcome.counts["held"] > 0 and "name the form 'clock'" in outcome.notes[0]
    at_c = [(*row, "c") for row in rows if row[0] != "c"]
    schema = "sender string, m string, stamp map<string,int>, dst string"
    outcome = engine.order(make_table(at_c, schema), receiver="dst")
    assert bool(outcome.notes) == (outcome.counts["held"] > 0)


def test_a_small_table_that_lacks_a_row_is_not_taken_for_clocks(engine):
    """b knows of a without a hole before: so receives have no numbers."""
    rows = [("a", "m1", {"a": 1}), ("b", "m2", {"a": 1, "b": 1}), ("a", "m3", {"a": 3, "b": 1})]
    outcome = engine.order(make_table(rows, "sender string, m string, stamp map<string,int>"))
    assert outcome.counts["held"] == 1 and outcome.notes == []


def test_a_small_table_that_begins_late_is_not_taken_for_clocks(engine):
    rows = [("a", "m1", {"a": 80, "b": 90}), ("b", "m2", {"a": 80, "b": 91}), ("a", "m3", {"a": 81, "b": 91})]
    outcome = engine.order(make_table(rows, "sender string, m string, stamp map<string,int>"))
    assert outcome.counts["held"] == 3 and outcome.notes == []


DIRECT = "src string, dst string, n int, m string, stamp array<struct<s:string,n:int>>"


@pytest.mark.parametrize(("schema", "lost"), [(LOG, ("b", 4, ["r"])), (DIRECT, ("b", 4))])
def test_what_waits_is_not_overtaken_by_later_rows_of_its_sender(engine, schema, lost):
    """b5 needs b4, which is lost, and b6 is silent; what b wrote to q does not wait for that."""
    rows = [
        ("b", "r", 6, "b6", []),
        ("b", "r", 5, "b5", [lost]),
        ("b", "q", 7, "b7", []),
        ("b", "r", 3, "b3", []),
    ]
    outcome = engine.order(make_table(rows, schema), sender="src", receiver="dst", number="n")
    assert (in_order(outcome, "r"), in_order(outcome, "q")) == (["b3"], ["b7"])
    held = {row["m"]: row["missing"] for row in rows_of(outcome.held)}
    assert held == {"b5": ["message 4 of b"], "b6": ["message 5 of b"]}
    (gap,) = rows_of(outcome.gaps)
    assert (gap["receiver"], gap["missing"], gap["waiting"]) == ("r", "message 4 of b", 2)


@pytest.mark.parametrize("protocol", ["optimal", "predecessors"])
def test_packets_are_not_overtaken_by_later_ones_of_their_sender(engine, protocol):
    sent = Sent(protocol)
    table = sent.table.filter(pa.array([at % 5 > 0 for at in range(len(sent.table))]))
    outcome = engine.order(table)
    assert outcome.counts["held"] > 0
    places = {
        (row["group"], row["sender"], row["number"]): row["position"] for row in rows_of(outcome.ordered)
    }
    for row in rows_of(outcome.held):
        later = [key for key in places if key[:2] == (row["group"], row["sender"]) and key[2] > row["number"]]
        assert later == []


def test_gaps_name_the_receiver(engine):
    rows = [
        (0, 1, "x", [[0, 1, 0], [0, 0, 0], [0, 0, 0]], "t"),
        (0, 2, "y", [[0, 0, 1], [0, 0, 0], [0, 0, 0]], "t"),
    ]
    table = make_table(rows, f"{MATRIX}, topic string")
    outcome = engine.order(table, sender="src", receiver="dst", group="topic")
    gaps = sorted(tuple(gap.values()) for gap in rows_of(outcome.gaps))
    assert gaps == [("t", "1", "message 1 of 0", 1), ("t", "2", "message 1 of 0", 1)]


@pytest.mark.parametrize(
    ("protocol", "kept"),
    [
        ("unordered", "as they arrive"),
        ("fifo", "in the order of each sender alone"),
        ("probabilistic", "in causal order most of the time"),
        ("scalar", "in causal order most of the time"),
        ("server", "in causal order at one process"),
        ("matrix", None),
    ],
)
def test_packets_that_do_not_keep_causal_order_are_told_of(engine, protocol, kept):
    workload = "broadcast" if protocol in ("probabilistic", "scalar") else "uniform"
    notes = engine.order(Sent(protocol, messages=8, workload=workload).table).notes
    assert bool(notes) == (kept is not None)
    assert all(
        f"packets of {protocol!r} do not keep causal order: rows come {kept}" in note for note in notes
    )


def test_numbers_alone_are_told_to_keep_no_causal_order(engine):
    outcome = engine.order(make_table([("a", 1)], "sender string, stamp int"))
    assert outcome.notes == [
        "stamps of form 'sequence' do not keep causal order: rows come in the order of each sender alone"
    ]


@pytest.mark.parametrize(
    "kept", [{*range(1, 40)} - {4}, {*range(900, 940)}, {*range(1, 20), *range(800, 820)}]
)
def test_vectors_with_lost_messages_are_not_taken_for_clocks(engine, kept):
    rows = [("a", f"m{k}", {"a": k}) for k in sorted(kept)]
    outcome = engine.order(make_table(rows, "sender string, m string, stamp map<string,int>"))
    assert outcome.counts["held"] > 15 and outcome.notes == []


def test_the_command_says_what_stamps_cannot_tell_and_what_they_may_be(
    command_engine, monkeypatch, capsys, tmp_path
):
    monkeypatch.chdir(tmp_path)
    triples = [{"src": "b", "dst": "c", "stamp": []}, {"src": "z", "dst": "c", "stamp": []}]
    Path("triples.jsonl").write_text(lines(*triples))
    options = ["--sender", "src", "--receiver", "dst", "--form", "triples", "--engine", command_engine]
    done = here(monkeypatch, capsys, "order", "triples.jsonl", *options, "--out", "t")
    assert done.code == 0
    assert "note: stamps of form 'triples' may leave out a cause" in done.out
    clocks = [{"sender": sender, "m": m, "stamp": stamp} for sender, m, stamp in broadcast_with_clocks(1, 20)]
    Path("clocks.jsonl").write_text(lines(*clocks))
    options = ["--stamp", "stamp", "--engine", command_engine, "--json"]
    done = here(monkeypatch, capsys, "order", "clocks.jsonl", *options, "--out", "c")
    (note,) = json.loads(done.out)["notes"]
    assert done.code == 1 and note.endswith("name the form 'clock'")
