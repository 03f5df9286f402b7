"""Tables of events for the tests of audit and order: by hand, or random with the truth beside them."""

from random import Random
from typing import Any

import pyarrow as pa

from antecede.tables import EVENTS

Row = dict[str, Any]


def table(*rows: Row) -> pa.Table:
    """Events as given; clocks and fields are dictionaries, and what is not named is null."""
    made = [{k: list(v.items()) if isinstance(v, dict) else v for k, v in row.items()} for row in rows]
    return pa.Table.from_pylist(made, schema=EVENTS)


def talk(seed: int, n: int, size: int, execution: str = "", faults: float = 0.0) -> list[Row]:
    """An execution in the order in which it happened, with all that a log can tell.

    Messages overtake each other; with faults, copies are lost or come twice. Every row has `past`, the ids of
    all events that happened before it, which is no column.
    """
    random = Random(seed)
    state: list[tuple[set[str], dict[str, int], str | None]] = [(set(), {}, None) for _ in range(n)]
    waiting: list[tuple[int, Row]] = []
    rows: list[Row] = []
    for number in range(size):
        cause: Row | None = None
        if waiting and random.random() < 0.6:
            place, cause = waiting[at := random.randrange(len(waiting))]
            if random.random() >= faults:
                waiting.pop(at)
            kind = "deliver"
        else:
            place = random.randrange(n)
            kind = random.choice(["send", "send", "send", "local"])
        past, clock, before = state[place]
        name = f"p{place}"
        if cause is not None:
            past = past | cause["past"] | {cause["event"]}
            clock = {q: max(clock.get(q, 0), cause["clock"].get(q, 0)) for q in clock | cause["clock"]}
        clock = clock | {name: clock.get(name, 0) + 1}
        row: Row = {
            "execution": execution,
            "process": name,
            "index": clock[name] - 1,
            "event": f"{name}:{clock[name]}",
        }
        row |= {"kind": kind, "clock": clock, "past": past, "file": "log", "line": number + 1}
        row["parents"] = [one for one in (before, cause and cause["event"]) if one]
        if kind == "send":
            to = random.sample(range(n), random.randint(1, n))
            row |= {"message": f"m{number}", "receivers": [f"p{target}" for target in to]}
            waiting += [(target, row) for target in to if random.random() >= faults]
        elif cause is not None:
            row |= {"message": cause["message"], "sender": cause["process"]}
        state[place] = (past | {row["event"]}, clock, row["event"])
        rows.append(row)
    return rows


def without(rows: list[Row], *columns: str) -> list[Row]:
    """The rows without some columns, and without the truth."""
    return [{name: value for name, value in row.items() if name not in (*columns, "past")} for row in rows]
