"""Clean logs, and seeded faults: each takes a log and a source of randomness, and gives a log with one fault.

A fault that changes what a process did when leaves the places and times in its log to whoever takes them, as
a log would have them that was written so. None is given where a log has nothing that the fault could change.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from antecede.kernels.links import DELIVER, SEND
from tests.by_definition import Row
from tests.kernels.traces import events
from tests.simulate.traced import Traced, plan_of

Fault = Callable[[list[Row], Random], list[Row] | None]
BLANK = ("message", "sender", "receivers", "parents", "clock", "time", "text", "fields", "file", "line")
STRANGER = "stranger"


def simulate_log(protocol: str, clocks: bool, **more: Any) -> list[Row]:
    """A run of a protocol that keeps causal order."""
    found = [dict(row) for row in Traced(plan_of(protocol, messages=25, **more)).events]
    for row in found:
        row["clock"] = dict(row["clock"]) if clocks and row["clock"] else None
    return found


def make_clocked_log(seed: int, n: int, size: int) -> list[Row]:
    """A log of events with vector clocks and nothing else, as ShiViz reads it."""
    states: list[dict[str, int]] = [{} for _ in range(n)]
    sent: dict[int, dict[str, int]] = {}
    found: list[Row] = []
    for process, kind, message in events(Random(seed), n, size):
        heard = sent[message] if kind == DELIVER else {}
        mine = {q: max(states[process].get(q, 0), heard.get(q, 0)) for q in states[process] | heard}
        states[process] = mine = mine | {(name := f"n{process}"): mine.get(name, 0) + 1}
        if kind == SEND:
            sent[message] = mine
        own = mine[name]
        row = dict.fromkeys(BLANK) | {"execution": "", "kind": "local", "clock": mine, "line": len(found)}
        found.append(row | {"process": name, "index": own - 1, "event": f"{name}:{own}", "file": "a.log"})
    return found


def _lines(rows: list[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["index"]):
        found.setdefault(row["process"], []).append(dict(row))
    return found


def _reorder_process(rows: list[Row], process: str, order: list[Row]) -> list[Row]:
    """The log with the rows of a process in another order; places and times stay where they were."""
    slots = [{"index": row["index"], "time": row["time"]} for row in _lines(rows)[process]]
    others = [row for row in rows if row["process"] != process]
    return others + [row | slot for row, slot in zip(order, slots, strict=True)]


def _pick(random: Random, rows: list[Row], *kinds: str) -> Row | None:
    found = [row for row in rows if (row["kind"] or "local") in kinds]
    return random.choice(found) if found else None


def swap(rows: list[Row], random: Random) -> list[Row] | None:
    """Two deliveries of a process change places; it sends nothing between them."""
    found = []
    for process, line in _lines(rows).items():
        for i in range(len(line)):
            for j in range(i + 1, len(line)):
                if line[j]["kind"] == "send":
                    break
                if line[i]["kind"] == line[j]["kind"] == "deliver":
                    found.append((process, i, j))
    if not found:
        return None
    process, i, j = random.choice(found)
    line = _lines(rows)[process]
    line[i], line[j] = line[j], line[i]
    return _reorder_process(rows, process, line)


def _later(rows: list[Row], random: Random, kind: str) -> list[Row] | None:
    row = _pick(random, rows, kind)
    if row is None:
        return None
    line = _lines(rows)[row["process"]]
    at = [one["event"] for one in line].index(row["event"])
    moved = line.pop(at)
    line.insert(random.randint(at, min(len(line), at + 12)), moved)
    return _reorder_process(rows, row["process"], line)


def delay(rows: list[Row], random: Random) -> list[Row] | None:
    """A delivery comes later than it did."""
    return _later(rows, random, "deliver")


def delay_send(rows: list[Row], random: Random) -> list[Row] | None:
    """A message is sent later than it was: perhaps after it was delivered."""
    return _later(rows, random, "send")


def _drop_rows(rows: list[Row], random: Random, *kinds: str) -> list[Row] | None:
    gone = _pick(random, rows, *kinds)
    return None if gone is None else [row for row in rows if row is not gone]


def drop_send(rows: list[Row], random: Random) -> list[Row] | None:
    return _drop_rows(rows, random, "send")


def drop_delivery(rows: list[Row], random: Random) -> list[Row] | None:
    return _drop_rows(rows, random, "deliver")


def drop_event(rows: list[Row], random: Random) -> list[Row] | None:
    return _drop_rows(rows, random, "local", "send", "deliver", "receive")


def end_log_early(rows: list[Row], random: Random) -> list[Row] | None:
    """The log of a process ends too early."""
    line = random.choice(list(_lines(rows).values()))
    last = random.choice(line)
    return [row for row in rows if row["process"] != last["process"] or row["index"] < last["index"]]


def _again(rows: list[Row], random: Random, *kinds: str) -> list[Row] | None:
    """A second copy of an event, at once or later, under another id."""
    row = _pick(random, rows, *kinds)
    if row is None:
        return None
    line = [one for one in _lines(rows)[row["process"]] if one["index"] >= row["index"]]
    behind = random.choice(line[:8])
    copy = dict(row) | {"event": f"{row['event']}+", "index": behind["index"] + 0.5, "time": behind["time"]}
    lines = _lines([*rows, copy]).values()
    return [row | {"index": i} for line in lines for i, row in enumerate(line)]


def duplicate(rows: list[Row], random: Random) -> list[Row] | None:
    return _again(rows, random, "deliver")


def resend(rows: list[Row], random: Random) -> list[Row] | None:
    return _again(rows, random, "send")


def split_send(rows: list[Row], random: Random) -> list[Row] | None:
    """A multicast is logged as a send for each receiver, and somebody lacks the message."""
    sends = [row for row in rows if row["kind"] == "send" and len(row["receivers"] or []) > 1]
    if not sends:
        return None
    row = random.choice(sends)
    others = [
        one
        for one in rows
        if one is not row
        and (one["kind"] == "send" or one["message"] != row["message"] or random.random() < 0.7)
    ]
    copies = [
        row | {"event": f"{row['event']}+{i}" if i else row["event"], "index": row["index"] + i / 99}
        for i in range(len(row["receivers"]))
    ]
    copies = [copy | {"receivers": [to]} for copy, to in zip(copies, row["receivers"], strict=True)]
    lines = _lines([*others, *copies]).values()
    return [row | {"index": i} for line in lines for i, row in enumerate(line)]


def send_to_itself(rows: list[Row], random: Random) -> list[Row] | None:
    """A send names nobody but its own process."""
    row = _pick(random, rows, "send")
    return None if row is None else _change_row(rows, row, receivers=[row["process"]])


def repeat(rows: list[Row], random: Random) -> list[Row] | None:
    return _again(rows, random, "local")


def fork(rows: list[Row], random: Random) -> list[Row] | None:
    """A process counts two events as one, and the second knows something else than the first."""
    most = {row["process"]: row["clock"].get(row["process"], 0) for row in rows if row["clock"]}
    found = []
    for row in rows:
        clock = {q: c for q, c in (row["clock"] or {}).items() if q != row["process"]}
        more = [q for q in most if q != row["process"] and clock.get(q, 0) < most[q]]
        found += [(row, q, r) for q in clock for r in more if q != r]
    if not found:
        return None
    row, less, more_of = random.choice(found)
    line = [one for one in _lines(rows)[row["process"]] if one["index"] > row["index"]]
    clock = {q: c for q, c in row["clock"].items() if q != less} | {more_of: most[more_of]}
    copy = row | {"event": f"{row['event']}+", "kind": "local", "message": None, "clock": clock}
    later = [one | {"index": one["index"] + 1} for one in line]
    rest = [one for one in rows if one["process"] != row["process"] or one["index"] <= row["index"]]
    return [*rest, copy | {"index": row["index"] + 1}, *later]


def _change_row(rows: list[Row], row: Row, **change: Any) -> list[Row]:
    return [one | change if one is row else one for one in rows]


def shift(rows: list[Row], random: Random) -> list[Row] | None:
    """The clock on the wall is wrong for one event."""
    row = random.choice(rows)
    if row["time"] is None:
        return None
    return _change_row(rows, row, time=row["time"] + random.choice([-1, 1]) * random.expovariate(1 / 200))


def forget_times(rows: list[Row], random: Random) -> list[Row] | None:
    """The clock on the wall is wrong for one event, and many have no time."""
    shifted = shift(rows, random)
    if shifted is None:
        return None
    # No two times are equal, so that it is clear which cause is the latest. Of deliveries without a time more
    # would be said (offset-time).
    timed = [row | {"time": row["time"] and row["time"] + i * 1e-6} for i, row in enumerate(shifted)]
    return [
        row | {"time": None} if row["kind"] != "deliver" and random.random() < 0.5 else row for row in timed
    ]


def shrink(rows: list[Row], random: Random) -> list[Row] | None:
    """A clock knows less than it did."""
    entries = [(row, q) for row in rows for q, c in (row["clock"] or {}).items() if c]
    if not entries:
        return None
    row, slot = random.choice(entries)
    less = random.randrange(row["clock"][slot])
    rest = {q: c for q, c in row["clock"].items() if q != slot}
    return _change_row(rows, row, clock=rest | ({slot: less} if less else {}))


def rename(rows: list[Row], random: Random) -> list[Row] | None:
    """One event stands under the name of another process."""
    return _change_row(rows, random.choice(rows), process=STRANGER)


def rename_key(rows: list[Row], random: Random) -> list[Row] | None:
    """One clock has an entry under another name."""
    entries = [(row, q) for row in rows for q in row["clock"] or {}]
    if not entries:
        return None
    row, slot = random.choice(entries)
    return _change_row(rows, row, clock={STRANGER if q == slot else q: c for q, c in row["clock"].items()})


def wrong_sender(rows: list[Row], random: Random) -> list[Row] | None:
    """A delivery names another process as the sender."""
    row = _pick(random, rows, "deliver")
    return None if row is None else _change_row(rows, row, sender=STRANGER)


def same_id(rows: list[Row], random: Random) -> list[Row] | None:
    """An event has the id of another."""
    row, other = random.sample(rows, 2)
    return _change_row(rows, row, event=other["event"])


def ghost(rows: list[Row], random: Random) -> list[Row] | None:
    """An event names a parent that is not there, and twice."""
    row = random.choice(rows)
    return _change_row(rows, row, parents=[*(row["parents"] or []), "nowhere", "nowhere"])


def own_parent(rows: list[Row], random: Random) -> list[Row] | None:
    """An event names itself."""
    row = random.choice(rows)
    return _change_row(rows, row, parents=[*(row["parents"] or []), row["event"]])


def loop(rows: list[Row], random: Random) -> list[Row] | None:
    """A step names a later one of its process as its parent."""
    lines = [[r for r in line if r["kind"] != "receive"] for line in _lines(rows).values()]
    line = random.choice([line for line in lines if len(line) > 1])
    i, j = sorted(random.sample(range(len(line)), 2))
    row = next(r for r in rows if r["event"] == line[i]["event"])
    return _change_row(rows, row, parents=[*(row["parents"] or []), line[j]["event"]])


FAULTS: dict[str, Fault] = {
    fault.__name__: fault
    for fault in (
        swap, delay, delay_send, drop_send, drop_delivery, drop_event, end_log_early, duplicate, resend,
        repeat, fork, shift, shrink, rename, rename_key, wrong_sender, same_id, ghost, own_parent, loop,
        split_send, send_to_itself, forget_times,
    )
}  # fmt: skip
ALONE = ("split_send", "send_to_itself", "forget_times")
"""Faults that come with no other: `by_definition` knows no ids that each sender counts, and wants all times
on cycles."""
