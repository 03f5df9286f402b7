"""Sentences for people: every kind of finding, with all that is known and with next to nothing."""

from typing import Any

import pytest

from antecede.auditing.sentences import KINDS, write_sentence
from antecede.auditing.wording import LONGEST, Event, describe_file_and_line, shorten_name

SENT = Event("p1", "send", "m4", "p1#1", "a.log", 9)
GOT = Event("p2", "deliver", "m4", "p2#1", "a.log", 12)
ANSWER = Event("p2", "send", "m7", "p2#2", "a.log", 19)
EARLY = Event("p3", "deliver", "m7", "p3#0")
LATE = Event("p3", "deliver", "m4", "p3#1")
SAME = Event("p1", "send", "m7", "p1#2", "a.log", 11)
FIVE = Event("p2", "send", "m5", None, "a.log", 20)
HAD = Event("p5", "receive", "m5", None, "c.log", 2)
SIX = Event("p5", "send", "m6")
HAD_SIX = Event("p6", "deliver", "m6")
SEVEN = Event("p6", "send", "m7", None, "d.log", 3)
ONE, TWO = (
    Event("p1", "local", None, "e1", "a.log", 3, 30.0),
    Event("p1", "local", None, "e2", "a.log", 7, 17.5),
)
NOBODY = Event()
HEAD = "p3 delivered m7 before m4, though m4 came first: "

Row = tuple[str, list[Event], dict[str, Any], str]
SENTENCES: list[Row] = [
    ("late", [SENT, GOT, ANSWER, EARLY, LATE], {}, "p2 received m4 (a.log:12) before it sent m7 (a.log:19)"),
    ("late", [SENT, SAME, EARLY, LATE], {}, "p1 sent m4 (a.log:9) before m7 (a.log:11)"),
    (
        "late",
        [SENT, GOT, FIVE, HAD, Event("p5", "send", "m7"), EARLY, LATE],
        {},
        "p2 received m4 (a.log:12) before it sent m5 (a.log:20), "
        "and p5 received m5 (c.log:2) before it sent m7",
    ),
    (
        "late",
        [SENT, GOT, FIVE, HAD, SIX, HAD_SIX, SEVEN, EARLY, LATE],
        {},
        "p2 received m4 (a.log:12) before it sent m5 (a.log:20), m5 led to m6, "
        "and p6 received m6 before it sent m7 (d.log:3)",
    ),
    (
        "late",
        [SENT, GOT, FIVE, *[HAD, SIX, HAD_SIX, FIVE] * 3, HAD_SIX, SEVEN, EARLY, LATE],
        {},
        "p2 received m4 (a.log:12) before it sent m5 (a.log:20), m5 led to m6 through 8 messages, "
        "and p6 received m6 before it sent m7 (d.log:3)",
    ),
    (
        "late",
        [SENT, SEVEN, EARLY, LATE],
        {},
        "p1 sent m4 (a.log:9) before p6 sent m7 (d.log:3), which depends on it",
    ),
]
OTHERS: list[Row] = [
    (
        "fifo",
        [SENT, SAME, EARLY, LATE],
        {},
        "p3 delivered m7 before m4, though p1 sent m4 (a.log:9) before m7 (a.log:11)",
    ),
    ("misdelivered", [SENT, GOT], {}, "p2 delivered m4 (a.log:12), which p1 had not sent to it (a.log:9)"),
    (
        "wrong-sender",
        [SENT, GOT],
        {"sender": "p9"},
        "p2 delivered m4 (a.log:12) as a message of p9, but p1 sent it (a.log:9)",
    ),
    (
        "same-id",
        [SENT, GOT],
        {},
        "p2's delivery of m4 (a.log:12) has the same id as p1's send of m4 (a.log:9)",
    ),
    ("lost", [SENT], {}, "p1 sent m4 (a.log:9), which was never delivered"),
    ("lost", [SENT], {"receiver": "p9"}, "p1 sent m4 (a.log:9), which was never delivered at p9"),
    (
        "lost",
        [SENT, EARLY],
        {"receiver": "p3"},
        "p1 sent m4 (a.log:9), which was never delivered at p3; p3 delivered m7, which came after it",
    ),
    ("orphan", [GOT], {}, "p2 delivered m4 (a.log:12), but the log has no send of it"),
    (
        "duplicate",
        [GOT, GOT._replace(line=15)],
        {},
        "p2 delivered m4 (a.log:15) again, after it had it before (a.log:12)",
    ),
    ("unsent", [SENT, GOT], {}, "p2 delivered m4 (a.log:12) before p1 sent it (a.log:9)"),
    ("unsent", [GOT, SENT], {}, "p2 delivered m4 (a.log:12) before p1 sent it (a.log:9)"),
    (
        "resent",
        [SENT, SENT._replace(process="p8", line=99)],
        {},
        "p8 sent m4 (a.log:99), which p1 had sent before (a.log:9)",
    ),
    (
        "clock-backwards",
        [ONE, TWO],
        {"slot": "p2", "value": 3, "was": 5},
        "The clock of p1 went backwards: what it knows of p2 fell from 5 to 3 "
        "between p1's e1 (a.log:3) and p1's e2 (a.log:7)",
    ),
    (
        "clock-backwards",
        [ONE, TWO],
        {"slot": "p1", "value": 3},
        "The clock of p1 went backwards: the count of its own events fell to 3 "
        "between p1's e1 (a.log:3) and p1's e2 (a.log:7)",
    ),
    (
        "clock-hole",
        [ONE, TWO],
        {"value": 3, "own": 7},
        "Events number 3 to 6 of p1 are missing: "
        "after number 2 (a.log:3) it goes on with number 7, p1's e2 (a.log:7)",
    ),
    (
        "clock-hole",
        [ONE, TWO],
        {"value": 3, "own": 4},
        "Event number 3 of p1 is missing: "
        "after number 2 (a.log:3) it goes on with number 4, p1's e2 (a.log:7)",
    ),
    (
        "clock-hole",
        [TWO],
        {"value": 1},
        "Event number 1 of p1 is missing: the log begins with a later one, p1's e2 (a.log:7)",
    ),
    ("clock-repeat", [ONE, TWO], {"value": 3}, "p1 counted 3 twice: p1's e1 (a.log:3) and p1's e2 (a.log:7)"),
    (
        "clock-restart",
        [ONE, TWO],
        {"was": 8},
        "p1 began to count from 1 again with p1's e2 (a.log:7), after number 8, p1's e1 (a.log:3)",
    ),
    ("clock-uncounted", [ONE], {}, "The clock of p1's e1 (a.log:3) does not count p1 itself"),
    (
        "clock-unknown",
        [SENT],
        {"slot": "p9", "value": 1},
        "The clock of p1's send of m4 (a.log:9) says that 1 event of p9 came before, "
        "but the log has none of p9",
    ),
    (
        "clock-unknown",
        [SENT],
        {"slot": "p9", "value": 2, "acts": True},
        "The clock of p1's send of m4 (a.log:9) says that 2 events of p9 came before, "
        "but no event of p9 in the log has an index or a clock that counts it",
    ),
    (
        "clock-beyond",
        [ONE],
        {"slot": "p2", "value": 5, "last": 3},
        "The clock of p1's e1 (a.log:3) says that 5 events of p2 came before, "
        "but in the log p2 counts only to 3",
    ),
    (
        "clock-not-transitive",
        [GOT, ONE],
        {"slot": "p3", "value": 5, "has": 2},
        "p1's e1 (a.log:3) came after p2's delivery of m4 (a.log:12), which knew of 5 events of p3, "
        "but its own clock has only 2",
    ),
    (
        "clock-cyclic",
        [GOT, ONE],
        {},
        "By their clocks p2's delivery of m4 (a.log:12) and p1's e1 (a.log:3) both came before the other",
    ),
    (
        "concurrent",
        [ONE, TWO],
        {},
        "By its clocks p1 did two things at once: "
        "neither of p1's e1 (a.log:3) and p1's e2 (a.log:7) knows of the other",
    ),
    (
        "cycle",
        [ONE, TWO, HAD],
        {},
        "3 events lead back to each other, so that none of them can be first: "
        "p1's e1 (a.log:3), p1's e2 (a.log:7) and p5's receipt of m5 (c.log:2)",
    ),
    (
        "cycle",
        [ONE] * 5,
        {"size": 1200},
        "1,200 events lead back to each other, so that none of them can be first: "
        + "p1's e1 (a.log:3), " * 3
        + "p1's e1 (a.log:3) and 1,196 more",
    ),
    ("self-parent", [ONE], {}, "p1's e1 (a.log:3) names itself as its own cause"),
    ("missing", [ONE], {"name": "e9"}, "p1's e1 (a.log:3) names e9 as its cause, which is not in the log"),
    (
        "timestamp",
        [ONE, TWO],
        {},
        "By their times p1's e2 (a.log:7) came 12.5 ms before its cause, p1's e1 (a.log:3)",
    ),
    (
        "timestamp",
        [ONE._replace(time=1_700_000_000_000.021), TWO._replace(time=1_700_000_000_000.0)],
        {},
        "By their times p1's e2 (a.log:7) came 0.021 ms before its cause, p1's e1 (a.log:3)",
    ),
    (
        "offset-time",
        [
            SENT._replace(process="p9", message="m9", time=7.5),
            SENT._replace(time=5.0),
            SENT._replace(process="log/0", time=None),
        ],
        {"value": 2, "size": 1200, "middle": 2.0},
        "log/0 took 2 of 1,200 messages of "
        f"{SENT.process} behind others that were sent later by their times, half of them by 2 ms or more; "
        f"at worst m4 (a.log:{SENT.line}) was sent 2.5 ms before m9 of p9 (a.log:{SENT.line})",
    ),
    (
        "false-causality",
        [SENT, GOT, ANSWER],
        {"receiver": "p3"},
        "m7 would wait for m4 at p3 though it does not depend on it; "
        "all that orders them: p2 received m4 (a.log:12) before it sent m7 (a.log:19)",
    ),
]
WANTED: dict[str, dict[str, Any]] = {
    "clock-backwards": {"slot": "p2", "value": 1},
    "clock-hole": {"value": 1},
    "clock-repeat": {"value": 1},
    "clock-unknown": {"slot": "p2", "value": 1},
    "clock-beyond": {"slot": "p2", "value": 1},
    "clock-not-transitive": {"slot": "p2", "value": 1},
    "missing": {"name": "e9"},
    "offset-time": {"value": 1, "size": 1},
    "wrong-sender": {"sender": "p9"},
}
ALONE = {"lost", "orphan", "clock-uncounted", "clock-unknown", "clock-beyond", "self-parent", "missing"}


@pytest.mark.parametrize(("kind", "events", "detail", "text"), SENTENCES)
def test_late_deliveries_are_told_by_the_chain(kind, events, detail, text):
    assert write_sentence(kind, events, **detail) == HEAD + text


@pytest.mark.parametrize(("kind", "events", "detail", "text"), OTHERS)
def test_every_other_kind_has_its_sentence(kind, events, detail, text):
    assert write_sentence(kind, events, **detail) == text


def test_no_kind_is_forgotten():
    assert {kind for kind, *_ in SENTENCES + OTHERS} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "event", [NOBODY, Event(kind="send"), Event(process="p1"), Event(line=3, kind="local")]
)
def test_a_sentence_does_without_what_is_unknown(kind, event):
    several = {"late": 4, "fifo": 4, "offset-time": 3}
    count = 1 if kind in ALONE else several.get(kind, 2)
    text = write_sentence(kind, [event] * count, **WANTED.get(kind, {}))
    assert "None" not in text and "()" not in text and "  " not in text
    assert text[0].isupper() or text.startswith(("p1", "2 events"))


def test_long_and_hostile_names_are_made_fit_to_read():
    assert shorten_name("p" * 100) == "p" * 26 + "…" + "p" * 13
    assert len(shorten_name("p" * 100)) == LONGEST
    assert shorten_name("a\x1b[31m\nb\u202e") == "a\ufffd[31m\ufffdb\ufffd"
    deep = Event(file="/var/log/" + "very/" * 20 + "deep/a.log", line=3)
    assert describe_file_and_line(deep) == " (…/very/very/very/very/very/deep/a.log:3)"
    assert describe_file_and_line(Event(file="x" * 99)) == " (…" + "x" * LONGEST + ")"
    assert describe_file_and_line(Event(file="a\nb", line=0)) == " (a\ufffdb:0)"
    text = write_sentence(
        "missing", [Event("p" * 1000, "local", None, "e" * 1000, "f" * 1000, 1)], name="n" * 1000
    )
    assert len(text) < 250


def test_a_late_delivery_without_an_early_one_at_hand():
    told = "p3 delivered m4 only after something that depends on it; p1 sent m4 (a.log:9)"
    assert write_sentence("late", [SENT, LATE]) == told
