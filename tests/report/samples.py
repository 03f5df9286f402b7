"""Events and findings for the tests of pages: a random run with its own account of happened-before."""

import random
from typing import Any, NamedTuple

import pyarrow as pa

from antecede.local.audit import audit
from antecede.local.windows import build_log_view
from antecede.report.page import render_page
from antecede.tables import EVENTS, FINDINGS, LINKS, MARKS, LogView, Window


def events(*rows: dict[str, Any]) -> pa.Table:
    """A table of events; what a row does not say is null."""
    return pa.Table.from_pylist([{name: row.get(name) for name in EVENTS.names} for row in rows], EVENTS)


def findings(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist([{name: row.get(name) for name in FINDINGS.names} for row in rows], FINDINGS)


def at(
    process: str | None, event: str, kind: str | None = None, message: str | None = None, **more: Any
) -> dict[str, Any]:
    return {"process": process, "event": event, "kind": kind, "message": message, **more}


def story(told: str) -> pa.Table:
    """Events told as `a send m, b deliver m`, with their positions as ids."""
    return events(
        *(at(p, str(i), kind, m, index=i) for i, (p, kind, m) in enumerate(map(str.split, told.split(", "))))
    )


class AuditedPage(NamedTuple):
    """A page as the command writes it, and what it holds."""

    text: str
    view: LogView
    findings: pa.Table

    def row(self, event: str) -> int:
        """The row of an event in the page."""
        return int(self.view.events["event"].to_pylist().index(event))


def audit_page(table: pa.Table, title: str = "title", sample: int = 500) -> AuditedPage:
    """The page of an audit of these events."""
    done = audit(table)
    summary = done.summary(sample)
    view = build_log_view(done, summary)
    verdict = f"{summary.findings} findings" if summary.findings else "clean: nothing found"
    totals: dict[str, str | int] = dict(summary.totals)
    text = render_page(verdict, totals, summary.sample, view, title, summary.counts)
    return AuditedPage(text, view, summary.sample)


def view_of(table: pa.Table) -> LogView:
    """A view of these events, of which nobody knows what led to what."""
    return LogView(table, LINKS.empty_table(), MARKS.empty_table(), table)


TRIANGLE = [
    at("p1", "a", "send", "x", file="a.log", line=3, clock=[("p1", 1)], time=1.0),
    at("p1", "b", "send", "y", file="a.log", line=4, clock=[("p1", 2)], time=2.5),
    at("p2", "c", "deliver", "y", file="b.log", line=1, clock=[("p1", 2), ("p2", 1)]),
    at("p2", "d", "send", "z", file="b.log", line=2, clock=[("p1", 2), ("p2", 2)]),
    at("p3", "e", "deliver", "z", file="c.log", line=7, clock=[("p1", 2), ("p2", 2), ("p3", 1)]),
    at("p3", "f", "deliver", "x", file="c.log", line=9, clock=[("p1", 2), ("p2", 2), ("p3", 2)]),
]
ARROWS = [("a", "f"), ("b", "c"), ("d", "e")]
LATE = {
    "kind": "late", "process": "p3", "message": "x", "events": ["a", "b", "c", "d", "e", "f"],
    "file": "c.log", "line": 9,
    "sentence": "p3 delivered z before x, though x came first: p1 sent x (a.log:3) before y (a.log:4), and "
    "p2 delivered y (b.log:1) before it sent z (b.log:2)",
}  # fmt: skip


class Run:
    """Processes that send to one another at random; messages may overtake. `past` is happened-before, by the
    definition: an event's own process before it and, for a delivery, the past of its send."""

    def __init__(self, seed: int, processes: int, size: int) -> None:
        self.draw = random.Random(seed)
        self.names = [f"p{i}" for i in range(1, processes + 1)]
        self.rows: list[dict[str, Any]] = []
        self.edges: list[tuple[str, str]] = []
        self.late: set[tuple[str | None, str | None]] = set()
        self.past: list[set[int]] = []
        self.seen: dict[str, set[int]] = {name: set() for name in self.names}
        self.clocks: dict[str, dict[str, int]] = {name: {} for name in self.names}
        self.flying: list[tuple[int, str]] = []
        for _ in range(size):
            self._step()

    def window(self) -> Window:
        return Window("a random run", events(*self.rows), self.edges, self.late)

    def _step(self) -> None:
        if self.flying and self.draw.random() < 0.5:
            send, name = self.flying.pop(self.draw.randrange(len(self.flying)))
            self._deliver(name, send)
        elif self.draw.random() < 0.8:
            name, target = self.draw.sample(self.names, 2)
            self._add(name, "send", f"m{len(self.rows)}", set())
            self.flying.append((len(self.rows) - 1, target))
        else:
            self._add(self.draw.choice(self.names), "local", None, set(), text="writes to disk")

    def _deliver(self, name: str, send: int) -> None:
        message = self.rows[send]["message"]
        mine = [
            r
            for r in self.seen[name]
            if self.rows[r]["kind"] == "deliver" and self.rows[r]["process"] == name
        ]
        sends = [
            next(p for p in self.past[r] if self.rows[p]["message"] == self.rows[r]["message"]) for r in mine
        ]
        if any(send in self.past[other] for other in sends):
            self.late.add((name, message))
        self._add(name, "deliver", message, self.past[send] | {send})
        self.edges.append((self.rows[send]["event"], self.rows[-1]["event"]))
        for process, count in self.rows[send]["clock"]:
            self.clocks[name][process] = max(self.clocks[name].get(process, 0), count)

    def _add(
        self, name: str, kind: str, message: str | None, more: set[int], text: str | None = None
    ) -> None:
        number, clock = len(self.rows), self.clocks[name]
        clock[name] = clock.get(name, 0) + 1
        self.past.append(self.seen[name] | more)
        self.seen[name] = self.past[-1] | {number}
        row = at(name, f"e{number}", kind, message, text=text, clock=list(clock.items()), time=number * 1.5)
        self.rows.append(row | {"file": f"{name}.log", "line": number + 1})
