"""The audit of a trace: by definition on random executions, and every kind of fault put into a clean log."""

import re
from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from antecede.auditing import findings as found
from antecede.auditing import late_findings
from antecede.auditing.judge import COUNT_COLUMNS, judge
from antecede.auditing.sentences import KINDS
from antecede.events.graph import build_event_graph
from tests.event_rows import Row, table, talk, without

seeds = st.integers(0, 2**32)
TOLD = {
    "messages": ("clock", "parents"),
    "clocks": ("parents",),
    "clocks alone": ("parents", "index"),
    "parents": ("clock",),
    "parents alone": ("clock", "index"),
}
"""What a log may leave out and still tell all causes."""


def judge_rows(rows):
    return judge(build_event_graph(table(*rows)))


def counts(rows):
    """How many findings there are of each kind, summed over executions."""
    found = judge_rows(rows)
    sums = {kind: sum(found.totals[column].to_pylist()) for kind, column in COUNT_COLUMNS.items()}
    kinds = found.findings["kind"].to_pylist()
    assert sums == {kind: kinds.count(kind) for kind in KINDS}
    return {kind: count for kind, count in sums.items() if count}


def deliveries(rows):
    """First deliveries as (row, send)."""
    sends = {row["message"]: row for row in rows if row["kind"] == "send"}
    first: dict[tuple[str, str], tuple[Row, Row]] = {}
    for row in rows:
        if row["kind"] == "deliver":
            first.setdefault((row["process"], row["message"]), (row, sends[row["message"]]))
    return list(first.values())


def list_receivers(row):
    """Who should get a message; a broadcast need not reach its sender."""
    to = set(row.get("receivers") or ())
    return to - {row["process"]} or to


def judge_by_definition(rows):
    """By definition: (early, late) deliveries, lost copies, what came in spite of each, and two counts."""
    got = deliveries(rows)
    pairs = {
        (early["event"], late["event"])
        for early, cause in got
        for late, sent in got
        if early["process"] == late["process"] and early["index"] < late["index"]
        if sent["event"] in cause["past"]
    }
    had = {(send["event"], row["process"]) for row, send in got}
    lost = {(row["event"], to) for row in rows for to in list_receivers(row)} - had
    spite = {
        (sent, early["event"])
        for early, cause in got
        for sent, to in lost
        if early["process"] == to and sent in cause["past"]
    }
    again = sum(row["kind"] == "deliver" for row in rows) - len(got)
    return pairs, lost, spite, again, sum(len(row["past"]) for row in rows)


def fifo(rows, pairs):
    """Late deliveries of whose sender a later message came before."""
    sender = {row["event"]: row.get("sender") for row in rows}
    return {late for early, late in pairs if sender[early] == sender[late]}


@given(seeds, st.integers(1, 5), st.integers(1, 60), st.sampled_from([0.0, 0.2]), st.sampled_from([*TOLD]))
def test_random_executions(seed, n, size, faults, told):
    rows = talk(seed, n, size, faults=faults)
    pairs, lost, spite, again, ordered = judge_by_definition(rows)
    seen = judge_rows(Random(seed).sample(without(rows, *TOLD[told]), size))
    (totals,) = seen.totals.to_pylist()
    of_fifo = fifo(rows, pairs)
    late = {late for _, late in pairs}
    assert totals["late"] == len(late) and totals["fifo"] == len(of_fifo)
    assert totals["early"] == len({early for early, _ in pairs})
    assert totals["pairs"] == len(pairs)
    assert totals["lost"] == len(lost) and totals["duplicate"] == again
    assert totals["ordered_pairs"] == ordered
    assert totals["ordered_pairs"] + totals["concurrent_pairs"] == size * (size - 1) // 2
    rest = set(COUNT_COLUMNS.values()) - {"late", "fifo", "lost", "duplicate"}
    assert not any(totals[column] for column in rest)
    check_witnesses(seen.findings.to_pylist(), {row["event"]: row for row in rows}, pairs, of_fifo, spite)


def name_receipts(random: Random, rows: list[Row]) -> list[Row]:
    """The rows with a receipt of some messages, which is no step: later events name it among their causes."""
    told: list[Row] = []
    causes: dict[str, set[str]] = {}
    for row in rows:
        receipts = [one["event"] for one in told if one["kind"] == "receive"]
        named = [receipt for receipt in receipts if random.random() < 0.1]
        past = set[str]().union(*(causes[parent] for parent in [*row["parents"], *named]))
        told.append(row | {"parents": [*row["parents"], *named], "past": past})
        causes[row["event"]] = past | {row["event"]}
        if row["kind"] == "send" and random.random() < 0.5:
            receipt = {"execution": row["execution"], "kind": "receive", "message": row["message"]}
            receipt |= {"process": row["receivers"][0], "event": f"{row['message']} is there", "past": set()}
            earlier = [parent for parent in receipts if random.random() < 0.1]
            told.append(receipt | {"parents": earlier})
            causes[receipt["event"]] = causes[row["event"]].union(*(causes[parent] for parent in earlier))
    return told


@given(seeds, st.integers(2, 4), st.integers(1, 60))
def test_causes_that_are_known_from_receipts(seed, n, size):
    """A receipt apart from the delivery is no step, but what names it depends on the send."""
    rows = name_receipts(Random(seed), talk(seed, n, size))
    assume("deliver" in {row["kind"] for row in rows})  # else a receipt is a delivery
    pairs, lost, *_, ordered = judge_by_definition(rows)
    (totals,) = judge_rows(Random(seed).sample(without(rows, "clock"), len(rows))).totals.to_pylist()
    assert totals["ordered_pairs"] == ordered and totals["pairs"] == len(pairs)
    assert totals["late"] == len({late for _, late in pairs}) and totals["lost"] == len(lost)


def check_witnesses(findings, by_name, pairs, of_fifo, spite):
    """Late deliveries have a chain from send to send, and lost copies may have what came in spite."""
    for row in findings:
        events = [by_name[name] for name in row["events"]]
        if row["kind"] in ("late", "fifo"):
            *chain, early, late = events
            assert (early["event"], late["event"]) in pairs
            assert row["kind"] == "late" or (late["event"] in of_fifo and early["sender"] == late["sender"])
            assert (chain[0]["message"], chain[-1]["message"]) == (late["message"], early["message"])
            assert chain[0]["kind"] == chain[-1]["kind"] == "send"
            assert all(one["event"] in two["past"] for one, two in pairwise(chain))
            assert (row["process"], row["message"], row["line"]) == (
                late["process"],
                late["message"],
                late["line"],
            )
        elif row["kind"] == "lost":
            at = [event["event"] for event in events[1:]]
            receivers = {by_name[early]["process"] for sent, early in spite if sent == row["events"][0]}
            told = re.search("never delivered at (p[0-9])", row["sentence"])
            assert told and (told[1] in receivers) == bool(at)
            assert {(row["events"][0], early) for early in at} <= spite


@given(st.lists(st.tuples(seeds, st.integers(1, 4), st.integers(1, 30)), min_size=1, max_size=5), seeds)
def test_executions_in_one_table_do_not_mix(plans, seed):
    made = [talk(seed, n, size, f"x{i}", 0.1) for i, (seed, n, size) in enumerate(plans)]
    parts = [without(part, "parents") for part in made]
    rows = [row for part in parts for row in part]
    together = judge_rows(Random(seed).sample(rows, len(rows)))
    alone = [judge_rows(part) for part in parts]
    assert together.totals.to_pylist() == [row for one in alone for row in one.totals.to_pylist()]
    findings = [row for one in alone for row in one.findings.to_pylist()]
    assert sorted(map(str, together.findings.to_pylist())) == sorted(map(str, findings))


def ring():
    """A clean log of three processes: a asks b and c, both answer; c answers last."""
    steps: list[tuple[str, str, str | None, list[str] | None, str | None]] = [
        ("a", "send", "q", ["b", "c"], None),
        ("b", "deliver", "q", None, "a:1"),
        ("b", "send", "r", ["a"], None),
        ("c", "deliver", "q", None, "a:1"),
        ("a", "deliver", "r", None, "b:2"),
        ("c", "send", "s", ["a"], None),
        ("a", "deliver", "s", None, "c:2"),
        ("a", "local", None, None, None),
        ("b", "local", None, None, None),
    ]
    clocks: dict[str, dict[str, int]] = {}
    rows: dict[str, Row] = {}
    for number, (process, kind, message, to, cause) in enumerate(steps):
        heard = rows[cause]["clock"] if cause else {}
        mine = clocks.get(process, {})
        mine = {q: max(mine.get(q, 0), heard.get(q, 0)) for q in mine | heard}
        clocks[process] = mine = mine | {process: mine.get(process, 0) + 1}
        event = f"{process}:{mine[process]}"
        rows[event] = {"process": process, "index": mine[process] - 1, "event": event, "kind": kind}
        rows[event] |= {"message": message, "receivers": to, "clock": mine, "time": float(number)}
        rows[event] |= {"file": "a.log", "line": number + 1}
    return rows


def test_a_clean_log_has_no_finding():
    assert counts(ring().values()) == counts(without(ring().values(), "clock")) == {}


def change_clean_log(**changes):
    """Change columns of events of the clean log: a_1={"message": "x"}; with None, the event is taken out."""
    rows = ring()
    for name, change in changes.items():
        event = name.replace("_", ":")
        if change is None:
            del rows[event]
        else:
            rows.setdefault(event, dict(rows["a:4"], event=event)).update(change)
    return list(rows.values())


def clock(**entries):
    return {"clock": entries}


def at(process, index, **more):
    """An event more."""
    return {"process": process, "index": index, "kind": "local", **more}


OVERTAKEN = change_clean_log(
    b_2={"receivers": ["a", "c"]},
    c_9=at("c", 0, kind="deliver", message="r"),
    c_1={"index": 1},
    c_2={"index": 2},
)
TWO = {"kind": "send", "message": "t", "receivers": ["a"]}
JUMPED = change_clean_log(
    b_3=TWO,
    a_9=at("a", 1, kind="deliver", message="t"),
    a_2={"index": 2},
    a_3={"index": 3},
    a_4={"index": 4},
)
W = {"kind": "send", "message": "w", "receivers": ["c"]}
BACK = change_clean_log(
    a_4=W, c_9=at("c", 0, kind="deliver", message="w", line=1), c_1={"index": 1}, c_2={"index": 2}
)
BARE = {
    "late": (
        OVERTAKEN,
        "q came first: b received q (a.log:2) before it sent r (a.log:3)",
    ),
    "fifo": (JUMPED, "b sent r (a.log:3) before t (a.log:9)"),
    "lost": (change_clean_log(a_4=W), "a sent w (a.log:8), which was never delivered at c"),
    "orphan": (change_clean_log(b_3={"kind": "deliver", "message": "x"}), "b delivered x (a.log:9), but"),
    "duplicate": (change_clean_log(b_3={"kind": "deliver", "message": "q"}), "b delivered q (a.log:9) again"),
    "unsent": (BACK, "c delivered w (a.log:1) before a sent it (a.log:8)"),
    "resent": (
        change_clean_log(a_4={"kind": "send", "message": "q"}),
        "a sent q (a.log:8), which a had sent before",
    ),
    "misdelivered": (
        change_clean_log(c_9=at("c", 2, kind="deliver", message="r")),
        "c delivered r (a.log:8), which b had not sent to it (a.log:3)",
    ),
    "wrong-sender": (
        change_clean_log(b_1={"sender": "z"}),
        "b delivered q (a.log:2) as a message of z, but a sent it",
    ),
    "same-id": (change_clean_log(a_4={"event": "a:1"}), "a's a:1 (a.log:8) has the same id as a's send of q"),
    "cycle": (change_clean_log(a_4={"parents": ["b:3"]}, b_3={"parents": ["a:4"]}), "2 events lead back"),
    "self-parent": (change_clean_log(a_4={"parents": ["a:4"]}), "a's a:4 (a.log:8) names itself"),
    "missing": (change_clean_log(a_4={"parents": ["zz", "a:1"]}), "names zz as its cause"),
}
"""What the order of processes, messages and parents shows."""
CLOCKS = {
    "clock-backwards": (change_clean_log(b_3=clock(b=3)), "what it knows of a fell from 1 to 0"),
    "clock-hole": (change_clean_log(a_4=clock(a=6, b=2, c=2)), "Events number 4 to 5 of a are missing"),
    "clock-repeat": (change_clean_log(a_4=clock(a=3, b=2, c=2)), "a counted 3 twice"),
    "clock-restart": (change_clean_log(b_3=clock(b=1)), "b began to count from 1 again"),
    "clock-uncounted": (change_clean_log(b_3=clock(a=1)), "does not count b itself"),
    "clock-unknown": (change_clean_log(b_3=clock(a=1, b=3, z=1)), "but the log has none of z"),
    "clock-beyond": (change_clean_log(b_3=clock(a=1, b=3, c=9)), "but in the log c counts only to 2"),
    "clock-not-transitive": (change_clean_log(b_3=clock(a=3, b=3)), "which knew of 2 events of c"),
    "clock-cyclic": (
        change_clean_log(b_3=clock(a=4, b=3, c=2), a_4=clock(a=4, b=3, c=2)),
        "both came before the other",
    ),
    "concurrent": (change_clean_log(a_4=clock(a=3, b=3, c=1)), "a did two things at once"),
}
"""What clocks show."""


def test_a_multicast_logged_as_several_sends_lacks_what_any_of_them_lacks():
    """Each receiver that has no copy is told once, at the send that names it first."""
    rows = [
        at("a", 0, event="1", kind="send", message="m", receivers=["b"]),
        at("a", 1, event="2", kind="send", message="m", receivers=["a", "c", "d"]),
        at("a", 2, event="3", kind="send", message="m", receivers=["d", "c", "e"]),
        at("b", 0, event="4", kind="deliver", message="m"),
        at("b", 1, event="5", kind="send", message="n", receivers=["c"]),
        at("c", 0, event="6", kind="deliver", message="n"),
        at("e", 0, event="7", kind="deliver", message="m"),
    ]
    assert counts(rows) == {"resent": 2, "lost": 2}
    lost = [row for row in judge_rows(rows).findings.to_pylist() if row["kind"] == "lost"]
    assert [(row["events"], row["sentence"]) for row in lost] == [
        (["2"], "a sent m, which was never delivered at c"),
        (["2"], "a sent m, which was never delivered at d"),
    ]
    rows[3], rows[1] = rows[3] | {"message": "n"}, rows[1] | {"receivers": None}
    (lost, *others) = [row for row in judge_rows(rows).findings.to_pylist() if row["kind"] == "lost"]
    assert (lost["events"], lost["sentence"]) == (["1"], "a sent m, which was never delivered at b")
    assert [row["events"] for row in others] == [["3"], ["3"]]


def test_a_copy_is_missed_at_the_sender_only_where_nobody_else_is_meant():
    rows = [at("a", 0, event="1", kind="send", message="m", receivers=["a"]), at("b", 0, event="2")]
    assert counts(rows) == {"lost": 1}
    assert "at a" in judge_rows(rows).findings["sentence"][0].as_py()
    assert counts([*rows, at("a", 1, event="3", kind="deliver", message="m")]) == {}
    rows.append(at("a", 1, event="3", kind="send", message="m", receivers=["b"]))
    rows.append(at("b", 1, event="4", kind="deliver", message="m"))
    assert counts(rows) == {"resent": 1}


def check(rows, kind, words, number=1):
    assert counts(rows) == {kind: number} | ({"late": 1} if kind == "fifo" else {})
    (first, *_) = [row for row in judge_rows(rows).findings.to_pylist() if row["kind"] == kind]
    assert words in first["sentence"]


@pytest.mark.parametrize("kind", BARE)
def test_faults_that_need_no_clock(kind):
    rows, words = BARE[kind]
    check(without(rows, "clock", "time"), kind, words)


@pytest.mark.parametrize("kind", CLOCKS)
def test_faults_of_clocks(kind):
    rows, words = CLOCKS[kind]
    check(without(rows, "time"), kind, words)


def test_clocks_alone_order_a_process_and_uncounted_events_stand_beside_it():
    rows = without(change_clean_log(b_3=clock(a=1)), "time", "index")
    check(rows, "clock-uncounted", "does not count b itself")
    assert judge_rows(rows).totals["ordered_pairs"].to_pylist() == [23]


def name_parents(number, process, kind, message, *parents):
    """An event of a log that names causes and gives no index."""
    row = {"process": process, "kind": kind, "message": message, "event": str(number), "line": number}
    return row | {"parents": [str(parent) for parent in parents]}


OVERTAKEN_BY_PARENTS = [
    name_parents(1, "a", "send", "m"),
    name_parents(2, "a", "send", "n", 1),
    name_parents(3, "b", "deliver", "n", 2),
    name_parents(4, "b", "deliver", "m", 1, 3),
]
NAMED_THROUGH_OTHERS = [
    *OVERTAKEN_BY_PARENTS[:3],
    name_parents(5, "b", "send", "q", 3),
    name_parents(6, "c", "deliver", "q", 5),
    name_parents(7, "c", "send", "r", 6),
    name_parents(8, "b", "deliver", "r", 7),
    name_parents(4, "b", "deliver", "m", 1, 8),
]


@pytest.mark.parametrize("rows", [OVERTAKEN_BY_PARENTS, NAMED_THROUGH_OTHERS])
def test_parents_alone_tell_the_order_of_a_process(rows):
    """Also where an event names the one before it only through what other processes did in between."""
    for seed in range(5):
        shuffled = Random(seed).sample([row | {"line": None} for row in rows], len(rows))
        assert counts(shuffled) == {"late": 1, "fifo": 1}
        found = judge_rows(shuffled)
        assert found.findings["events"].to_pylist() == [["1", "2", "3", "4"]] * 2
        assert found.totals["unordered_processes"].to_pylist() == [0]


def test_deliveries_that_nothing_orders_are_not_judged():
    """Only processes that delivered several messages are told, since at others nothing can be late."""
    rows = [*OVERTAKEN_BY_PARENTS[:3], name_parents(4, "b", "deliver", "m", 1)]
    rows += [name_parents(5, "c", "deliver", "m", 1), name_parents(6, "c", "local", None)]
    assert counts(rows) == {}
    assert judge_rows(rows).totals["unordered_processes"].to_pylist() == [1]


def test_a_process_on_a_cycle_has_no_order():
    rows = [*OVERTAKEN_BY_PARENTS[:2], name_parents(3, "b", "deliver", "n", 2, 4)]
    rows.append(OVERTAKEN_BY_PARENTS[3])
    assert counts(rows) == {"cycle": 1}
    assert judge_rows(rows).totals["unordered_processes"].to_pylist() == [1]


@given(seeds, st.integers(1, 4), st.integers(1, 40))
def test_parents_that_imply_others_need_not_be_named(seed, n, size):
    """With the fewest parents that tell the same, the audit finds the same as with an index."""
    rows = talk(seed, n, size, faults=0.2)
    past = {row["event"]: row["past"] for row in rows}
    fewest = [
        row | {"parents": [one for one in row["parents"] if not any(one in past[p] for p in row["parents"])]}
        for row in rows
    ]
    alone = judge_rows(Random(seed).sample(without(fewest, "clock", "index", "message"), size))
    assert alone.totals["ordered_pairs"].to_pylist() == [sum(len(row["past"]) for row in rows)]
    told = judge_rows(Random(seed).sample(without(fewest, "clock", "index"), size)).totals.to_pylist()
    assert told == judge_rows(without(fewest, "clock")).totals.to_pylist()


def test_late_by_what_a_clock_tells():
    """b heard of a's send by other ways than a message in the log."""
    rows = [
        {"process": "a", "kind": "send", "message": "m", "clock": {"a": 1}},
        {"process": "b", "kind": "local", "clock": {"a": 1, "b": 1}},
        {"process": "b", "kind": "send", "message": "n", "clock": {"a": 1, "b": 2}},
        {"process": "c", "kind": "deliver", "message": "n", "clock": {"a": 1, "b": 2, "c": 1}},
        {"process": "c", "kind": "deliver", "message": "m", "clock": {"a": 1, "b": 2, "c": 2}},
    ]
    rows = [row | {"event": str(number)} for number, row in enumerate(rows)]
    check(rows, "late", "b did 1 before it sent n")
    assert judge_rows(rows).findings["events"].to_pylist() == [["0", "1", "2", "3", "4"]]


@pytest.mark.parametrize("how", ["message", "parents"])
def test_a_clock_that_has_not_heard_of_a_known_cause(how):
    tie = {"message": "m"}
    rows = [
        {
            "process": "a",
            "kind": "send",
            "event": "0",
            "clock": {"a": 1},
            **(tie if how == "message" else {}),
        },
        {"process": "b", "kind": "deliver", "event": "1", "clock": {"b": 1}},
    ]
    rows[1] |= tie if how == "message" else {"parents": ["0"], "kind": "local"}
    check(rows, "clock-not-transitive", "which knew of 1 event of a, but its own clock has none")
    rows[1]["clock"] = {"a": 1, "b": 1}
    assert counts(rows) == {}


def test_pairs_of_events_on_cycles_are_not_counted():
    rows, _ = BARE["cycle"]
    found = judge_rows(without(rows, "clock", "time"))
    assert found.totals["ordered_pairs"].to_pylist() == found.totals["concurrent_pairs"].to_pylist() == [None]


def test_what_is_not_told_is_counted(monkeypatch):
    for module in (found, late_findings):
        monkeypatch.setattr(module, "MOST_REPORTED", 2)
    rows = without(talk(3, 3, 80, faults=0.3), "clock", "parents")
    told = judge_rows(rows)
    kinds = Counter(told.findings["kind"].to_pylist())
    assert max(kinds.values()) == 2
    assert told.totals["lost"].to_pylist()[0] > 2
    assert kinds["late"] == 2 < told.totals["late"].to_pylist()[0]


def test_spans_name_parents_and_no_messages():
    rows = [{"event": "s", "kind": "send", "parents": []}, {"event": "t", "kind": "send", "parents": ["s"]}]
    assert counts(rows) == {}
    assert judge_rows(rows).totals["sends"].to_pylist() == [2]


def test_times_against_causes():
    check(
        without(change_clean_log(b_1={"time": -1.0}), "clock"),
        "timestamp",
        "came 1 ms before its cause, a's send of q",
    )
    assert counts(without(change_clean_log(b_1={"time": -1.0}), "time")) == {}


def test_times_against_causes_through_an_event_without_a_time():
    times = [5.0, None, None, 3.0, None, 6.0]
    rows = [{"process": "a", "index": i, "event": str(i), "time": time} for i, time in enumerate(times)]
    check(rows, "timestamp", "a's 3 came 2 ms before its cause, a's 0")
    assert judge_rows(rows).findings["events"].to_pylist() == [["0", "3"]]


def test_sends_against_the_order_in_which_they_were_taken():
    """Only deliveries without times of their own are looked at, and each pair of processes is told once."""
    sends = [("p", 0, 5.0), ("p", 1, 9.0), ("q", 0, 4.0), ("q", 1, 3.0)]
    rows = [
        {"process": sender, "index": n, "event": f"{sender}{n}", "kind": "send", "message": f"{sender}{n}"}
        | {"time": time, "receivers": ["log"]}
        for sender, n, time in sends
    ]
    for at, message in enumerate(["p0", "q0", "p1", "q1"]):
        rows.append(
            {"process": "log", "index": at, "event": f"at {at}", "kind": "deliver", "message": message}
        )
    found = [row for row in judge_rows(rows).findings.to_pylist() if row["kind"] == "offset-time"]
    assert [row["events"] for row in found] == [["p1", "q1", "at 3"]]
    assert found[0]["sentence"].startswith("log took 2 of 2 messages of q behind others that were sent later")
    timed = [row | {"time": 10.0 + at} for at, row in enumerate(rows)]
    assert not [row for row in judge_rows(timed).findings.to_pylist() if row["kind"] == "offset-time"]


def test_every_kind_is_tested():
    assert {*BARE, *CLOCKS, "timestamp", "offset-time", "false-causality"} == set(KINDS)
