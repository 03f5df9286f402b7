"""The simulated network: how long a frame takes, and what goes wrong.

Delays are the same for all links, or by region of sender and receiver, or for one link. Frames may be lost,
repeated, and cut off by partitions that heal. Without `fifo` they overtake each other as their delays fall.
"""

from collections import Counter
from collections.abc import Callable
from typing import Annotated, NamedTuple

import msgspec
import numpy as np

from antecede.core.errors import CallerError
from antecede.simulate.delays import drawing, parse, stream, truncated

Chance = Annotated[float, msgspec.Meta(ge=0, lt=1)]
Number = Annotated[int, msgspec.Meta(ge=0)]
Time = Annotated[float, msgspec.Meta(gt=0)]


class Network(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A description; times in milliseconds. Partitions and crashes fall at random times of the run."""

    delay: str = "exponential:20"
    matrix: dict[str, dict[str, str]] = {}
    """Delay by region of the sender and region of the receiver."""
    regions: dict[str, str] = {}
    """Region of a process; those that are not named go round the regions of the matrix."""
    links: dict[str, str] = {}
    """Delay of a single link, as in {"p0->p1": "constant:5"}."""
    fifo: bool = False
    loss: Chance = 0
    duplicate: Chance = 0
    partitions: Number = 0
    partition_time: Time = 200
    crashes: Number = 0
    down_time: Time = 100

    @property
    def faulty(self) -> bool:
        """Whether endpoints need a reliable link under them."""
        return bool(self.loss or self.duplicate or self.partitions or self.crashes)


PRESETS = {
    "lan": Network(delay="exponential:1"),
    "regions": Network(
        matrix={
            "eu": {"eu": "exponential:2", "us": "gaussian:45,5", "asia": "gaussian:90,15"},
            "us": {"eu": "gaussian:45,5", "us": "exponential:2", "asia": "gaussian:70,10"},
            "asia": {"eu": "gaussian:90,15", "us": "gaussian:70,10", "asia": "exponential:2"},
        }
    ),
    "heavy-tail": Network(delay="pareto:1.5,10"),
    "004": Network(delay="two-level:100,20,20"),
}


class Partition(NamedTuple):
    """A time during which those inside and those outside do not hear each other."""

    start: float
    end: float
    inside: frozenset[int]

    def cuts(self, source: int, target: int, now: float) -> bool:
        """Whether it stands between two processes at this time."""
        return self.start <= now < self.end and (source in self.inside) != (target in self.inside)


class Wires:
    """A network at work: draws delays and fates. Processes are numbered."""

    def __init__(self, network: Network, names: list[str], rng: np.random.Generator, span: float) -> None:
        self.network, self.names, self.rng = network, names, rng
        self._check_names()
        self.streams: dict[str, Callable[[], float]] = {}
        self.pairs = self._pairs()
        self.spread = self._spread()
        self.plain = self.spread is None and not network.fifo
        """Whether an arrival is a draw of its link and nothing more."""
        self.latest: dict[tuple[int, int], float] = {}
        """The latest arrival planned between two processes."""
        self.chances = stream(rng, lambda rng, size: rng.random(size))
        self.partitions = [self._partition(span) for _ in range(network.partitions)]
        self.counts: Counter[str] = Counter()

    def arrival(self, source: int, target: int, now: float, mean: float | None = None) -> float:
        """When something sent now arrives; `mean` is the delay that its message drew, if it drew one."""
        if mean is None:
            when = now + self.pairs[source][target]()
        else:
            when = now + self.draw_near(mean)
        if self.network.fifo:
            when = self.latest[source, target] = max(when, self.latest.get((source, target), 0.0))
        return when

    def mean(self) -> float | None:
        """With two levels, the mean delay of the copies of one message; otherwise None."""
        return None if self.spread is None else self.pairs[0][0]()

    def draw_near(self, mean: float) -> float:
        """A delay of the second level."""
        spread = self.spread or 0.0
        return float(truncated(self.rng, mean, spread, 1)[0])

    def arrivals(self, source: int, target: int, now: float) -> list[float]:
        """When the copies of a frame sent now arrive: none if it is lost, several if it is repeated."""
        if any(
            p.start <= now < p.end and (source in p.inside) != (target in p.inside) for p in self.partitions
        ):
            self.counts["cut off"] += 1
            return []
        if self.chances() < self.network.loss:
            self.counts["lost"] += 1
            return []
        copies = 1
        if self.chances() < self.network.duplicate:
            self.counts["repeated"] += 1
            copies = 2
        found = [self.arrival(source, target, now, self.mean()) for _ in range(copies)]
        for when in found:
            latest = self.latest.get((source, target), 0.0)
            if when < latest:
                self.counts["overtaken"] += 1
            self.latest[source, target] = max(when, latest)
        return found

    def _check_names(self) -> None:
        known = {f"{source}->{target}" for source in self.names for target in self.names}
        unknown = [*(self.network.links.keys() - known), *(self.network.regions.keys() - set(self.names))]
        if unknown:
            raise CallerError(
                f"network: no process or link is called {min(unknown)!r}; write names such as "
                f"{self.names[0]!r} and '{self.names[0]}->{self.names[-1]}'"
            )

    def _pairs(self) -> list[list[Callable[[], float]]]:
        matrix = self.network.matrix
        rounds = list(matrix)
        homes = [
            self.network.regions.get(name, rounds[i % len(rounds)] if rounds else "")
            for i, name in enumerate(self.names)
        ]
        return [
            [self._stream(self._delay(s, t, homes)) for t in range(len(homes))] for s in range(len(homes))
        ]

    def _delay(self, source: int, target: int, homes: list[str]) -> str:
        link = f"{self.names[source]}->{self.names[target]}"
        if link in self.network.links:
            return self.network.links[link]
        if not self.network.matrix:
            return self.network.delay
        try:
            return self.network.matrix[homes[source]][homes[target]]
        except KeyError:
            raise CallerError(
                f"network: the matrix has no delay from region {homes[source]!r} to {homes[target]!r}"
            ) from None

    def _stream(self, text: str) -> Callable[[], float]:
        if text not in self.streams:
            self.streams[text] = stream(self.rng, drawing(text))
        return self.streams[text]

    def _spread(self) -> float | None:
        kinds = {text: parse(text) for text in self.streams}
        levels = [numbers for kind, numbers in kinds.values() if kind == "two-level"]
        if levels and len(kinds) > 1:
            raise CallerError("network: a two-level delay is for all links or for none")
        return levels[0][2] if levels else None

    def _partition(self, span: float) -> Partition:
        start = float(self.rng.random()) * span
        n = len(self.names)
        chosen = self.rng.permutation(n)[: int(self.rng.integers(1, n))]
        end = start + float(self.rng.exponential(self.network.partition_time))
        return Partition(start, end, frozenset(int(i) for i in chosen))
