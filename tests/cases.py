"""Which protocols are run how: options, kinds of traffic, channel, and what they promise."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

import antecede
from tests.harness import World, maker

Script = list[tuple[int, int, int]]
STEP = st.tuples(st.integers(0, 3), st.integers(0, 999), st.integers(0, 999))
SCRIPTS = st.lists(STEP, max_size=15) | st.lists(STEP, min_size=25, max_size=50)
"""Short ones for a clear failure, long ones to find it: left alone, lists have about five elements."""


@dataclass(frozen=True)
class Case:
    """One way to run a protocol with n processes named p0, p1, ..."""

    name: str
    protocol: str
    options: dict[str, Any] = field(default_factory=dict)
    kinds: tuple[str, ...] = ("unicast", "multicast", "broadcast")
    fifo: bool = False
    watch: tuple[str, ...] | None = None

    @property
    def facts(self) -> antecede.Facts:
        return antecede.list_protocols()[self.protocol]

    def world(self, n: int) -> World:
        make = maker(self.protocol, **self.options_for(n))
        return World(make, n, self.fifo, self.watch)

    def options_for(self, n: int) -> dict[str, Any]:
        """The options for n processes; some depend on that."""
        return {name: value(n) if callable(value) else value for name, value in self.options.items()}


def make_line(n: int) -> dict[str, list[str]]:
    """An overlay in which each process has links to its neighbours only."""
    names = [f"p{i}" for i in range(n)]
    return {name: names[max(at - 1, 0) : at] + names[at + 1 : at + 2] for at, name in enumerate(names)}


EXACT = [
    Case("sync-rendezvous", "sync", {"form": "rendezvous"}, ("unicast",)),
    Case("sync-site", "sync", {"form": "site"}, ("unicast",)),
    Case("matrix", "matrix"),
    Case("pairs", "pairs", kinds=("unicast",)),
    Case("optimal", "optimal"),
    Case("acknowledged", "acknowledged"),
    Case("predecessors", "predecessors"),
    Case("vector", "vector", kinds=("broadcast",)),
    Case("flood", "flood", kinds=("broadcast",)),
    Case("flood-line", "flood", {"overlay": make_line}, ("broadcast",)),
    Case("history", "history"),
    Case("server", "server", {"server": "p0"}, ("unicast",), watch=("p0",)),
    Case("bounded-n", "bounded", {"k": lambda n: n}, ("unicast",)),
    Case("bounded-n+1", "bounded", {"k": lambda n: n + 1}, ("unicast",)),
    Case("bounded-2n", "bounded", {"k": lambda n: 2 * n}, ("unicast",)),
    Case("bounded->n-1", "bounded", {"k": lambda n: n - 1, "rule": ">"}, ("unicast",)),
    Case("bounded->n+1", "bounded", {"k": lambda n: n + 1, "rule": ">"}, ("unicast",)),
    Case("bounded-1-others", "bounded", {"k": lambda n: 1, "own_row": lambda n: False}, ("unicast",)),
    Case("bounded-n-others", "bounded", {"k": lambda n: n, "own_row": lambda n: False}, ("unicast",)),
    Case("bounded-never", "bounded", {"k": lambda n: n * n}, ("unicast",)),
    Case("monitor", "monitor", {"monitor": "p0"}, ("unicast",), watch=("p0",)),
    Case("buffered", "buffered", {}, ("unicast", "multicast", "broadcast")),
    Case("buffered-hold", "buffered", {"multicast": "hold"}, ("multicast", "broadcast")),
    Case("buffered-pipelined", "buffered", {"pipelined": True}, fifo=True),
    Case("release", "release", kinds=("unicast",)),
    Case("eager", "eager"),
    Case("semantic", "semantic"),
    Case("plausible-R=n", "plausible", {"R": lambda n: n}, ("broadcast",)),
]

OTHER = [
    Case("unordered", "unordered"),
    Case("fifo", "fifo"),
    Case("probabilistic", "probabilistic", {"R": 4, "K": 2}, ("broadcast",)),
    Case("plausible", "plausible", {"R": 2}, ("broadcast",)),
    Case("scalar", "scalar", {}, ("broadcast",)),
]

DELAY_OPTIMAL = {case.name for case in EXACT if case.facts.delay_optimal} | {"plausible-R=n", "bounded-never"}


def with_kinds(cases: list[Case]) -> list[Any]:
    """Parameters (case, kind) with readable ids."""
    import pytest

    return [pytest.param(case, kind, id=f"{case.name}-{kind}") for case in cases for kind in case.kinds]
