"""Section `bytes`: what each protocol adds to a message, beside the n² entries of a matrix clock.

Real endpoints send to each other, everybody as often and to everybody alike, over a network that reorders
at random. The first half of the messages warms up; the packets of the second half are counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from rich.table import Table

import antecede
from antecede import Effects, Packet
from bench.measure import count

Variant = tuple[str, dict[str, Any]]
SIZES = (4, 16, 64)
COLUMNS = (
    "stamp:\nmean", "p99", "growth", "extra packets\nper copy", "their bytes\nper copy", "/ matrix", "/ n²",
)  # fmt: skip
CAPTION = (
    "Stamps are measured as sent. A copy is one packet of a message. Extra packets carry no message, so all "
    "their bytes count. The last columns are of stamps and extra packets together, over those of the matrix "
    "clock as measured here, and over n² entries of one byte. Growth is that from the third quarter of the "
    "messages to the fourth, as counters get longer and stamps fill up."
)


class StandstillError(Exception):
    """Every process is blocked and nothing is under way."""


@dataclass
class Tally:
    """What was sent since the warm-up ended: the stamps of copies, and packets that are no copies."""

    stamps: list[int] = field(default_factory=list)
    extras: list[int] = field(default_factory=list)

    def add(self, packet: Packet) -> None:
        if packet.kind == "message":
            self.stamps.append(packet.control_bytes)
        else:
            self.extras.append(len(packet.encode()) - len(packet.payload))

    @property
    def bytes_per_copy(self) -> float:
        return (sum(self.stamps) + sum(self.extras)) / len(self.stamps)


class Traffic:
    """n endpoints and the packets between them; about two messages of each process are under way."""

    def __init__(self, variant: Variant, n: int, broadcast: bool) -> None:
        name, options = variant
        self.group = [f"p{i:02}" for i in range(n)]
        self.ends = {p: antecede.endpoint(name, process=p, group=self.group, **options) for p in self.group}
        self.random = Random(n)
        self.broadcast, self.copies = broadcast, n - 1 if broadcast else 1
        self.most = 2 * n * self.copies
        self.wire: list[Packet] = []
        self.unsent = 0
        self.tally = Tally()

    def run(self, messages: int) -> Tally:
        for number in range(messages):
            if number == messages // 2:
                self.tally = Tally()
            self._send()
            while self.wire and len(self.wire) + self.unsent > self.most:
                self._transmit()
        return self.tally

    def _send(self) -> None:
        while not (able := [p for p in self.group if not self.ends[p].blocked]):
            if not self.wire:
                raise StandstillError
            self._transmit()
        sender = self.random.choice(able)
        others = [p for p in self.group if p != sender]
        self.unsent += self.copies
        to = None if self.broadcast else [self.random.choice(others)]
        self._emit(self.ends[sender].send(b"", to=to))

    def _transmit(self) -> None:
        """Any packet under way arrives next."""
        at = self.random.randrange(len(self.wire))
        self.wire[at], self.wire[-1] = self.wire[-1], self.wire[at]
        packet = self.wire.pop()
        self._emit(self.ends[packet.target].receive(packet))

    def _emit(self, effects: Effects) -> None:
        for packet in effects.packets:
            self.wire.append(packet)
            self.tally.add(packet)
            self.unsent -= packet.kind == "message"


def tables(quick: bool) -> Iterator[Table]:
    for broadcast in (False, True):
        for n in SIZES[:2] if quick else SIZES:
            yield _table(n, broadcast, quick)


def _table(n: int, broadcast: bool, quick: bool) -> Table:
    messages = max(200, 10 * n) if broadcast else max(2000, 3 * n * n)
    messages = messages // 4 if quick else messages
    to = "everybody" if broadcast else "one process"
    title = f"Control bytes: {n} processes, {count(messages)} messages to {to} each"
    table = Table(title=title, title_justify="left", caption=CAPTION, caption_justify="left")
    table.add_column("protocol", no_wrap=True)
    for name in COLUMNS:
        table.add_column(name, justify="right")
    matrix = Traffic(("matrix", {}), n, broadcast).run(messages).bytes_per_copy
    for variant in _variants(n, broadcast):
        try:
            figures = _figures(Traffic(variant, n, broadcast).run(messages), matrix, n)
        except StandstillError:
            figures = ["deadlock"]
        table.add_row(_name(variant), *figures)
    return table


def _figures(tally: Tally, matrix: float, n: int) -> list[str]:
    copies, total = len(tally.stamps), tally.bytes_per_copy
    mean, most = np.mean(tally.stamps), np.percentile(tally.stamps, 99, method="higher")
    third, fourth = np.mean(tally.stamps[: copies // 2]), np.mean(tally.stamps[copies // 2 :])
    growth = f"{fourth / third - 1:+.0%}" if third else ""
    extra = [f"{len(tally.extras) / copies:.2f}", f"{sum(tally.extras) / copies:.1f}"]
    return [f"{mean:.1f}", f"{most}", growth, *extra, f"{total / matrix:.3f}", f"{total / n**2:.3f}"]


def _variants(n: int, broadcast: bool) -> Iterator[Variant]:
    """Every protocol that does this kind of traffic, with the options that it must be given."""
    first = "p00"
    must: dict[str, list[dict[str, Any]]] = {
        "bounded": [{"k": k} for k in sorted({n + 1, 4 * n, n * n})],
        "monitor": [{"monitor": first}],
        "server": [{"server": first}],
        "sync": [{"form": "site"}, {"form": "rendezvous"}],
    }
    for name, facts in antecede.list_protocols().items():
        if facts.broadcast if broadcast else facts.unicast:
            yield from ((name, options) for options in must.get(name, [{}]))


def _name(variant: Variant) -> str:
    name, options = variant
    return " ".join([name, *(f"{option}={value}" for option, value in options.items())])
