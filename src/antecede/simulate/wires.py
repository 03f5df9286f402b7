"""A network at work: draws delays and fates from a seeded generator, and counts what went wrong."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from antecede.core.errors import CallerError
from antecede.simulate.delays import choose_draw, draw_truncated, parse_delay, stream_values
from antecede.simulate.network import Network

Draw = Callable[[], float]


class Partition(NamedTuple):
    """A time during which those inside and those outside do not hear each other."""

    start: float
    end: float
    inside: frozenset[int]

    def cuts(self, source: int, target: int, now: float) -> bool:
        """Whether it stands between two processes at this time."""
        is_between = (source in self.inside) != (target in self.inside)
        return is_between and self.start <= now < self.end


class Wires:
    """A network at work: draws delays and fates. Processes are numbered."""

    def __init__(
        self,
        network: Network,
        names: list[str],
        rng: np.random.Generator,
        span: float,
    ) -> None:
        self.network, self.names, self.rng = network, names, rng
        network.check(names)
        self.streams: dict[str, Draw] = {}
        self.pairs = self._make_links()
        kind, numbers = parse_delay(network.delay)
        self.spread = numbers[2] if kind == "two-level" else None
        self.plain = self.spread is None and not network.fifo
        """Whether an arrival is a draw of its link and nothing more."""
        self.latest: dict[tuple[int, int], float] = {}
        """The latest arrival planned between two processes."""
        self.chances = stream_values(rng, lambda rng, size: rng.random(size))
        self.partitions = [self._draw_partition(span) for _ in range(network.partitions)]
        self.counts: Counter[str] = Counter()

    def draw_arrival(
        self,
        source: int,
        target: int,
        now: float,
        mean: float | None = None,
    ) -> float:
        """When something sent now arrives; `mean` is the delay that its message drew, if it drew one."""
        if mean is None:
            when = now + self.pairs[source][target]()
        else:
            when = now + self.draw_around_mean(mean)
        if self.network.fifo:
            latest = self.latest.get((source, target), 0.0)
            when = self.latest[source, target] = max(when, latest)
        return when

    def draw_mean(self) -> float | None:
        """With two levels, the mean delay of the copies of one message; otherwise None."""
        return None if self.spread is None else self.pairs[0][0]()

    def draw_around_mean(self, mean: float) -> float:
        """A delay of the second level."""
        return float(draw_truncated(self.rng, mean, self.spread or 0.0, 1)[0])

    def draw_arrivals(
        self,
        source: int,
        target: int,
        now: float,
        mean: float | None,
    ) -> list[float]:
        """When the copies of a frame sent now arrive: none if it is lost, several if it is repeated."""
        if any(partition.cuts(source, target, now) for partition in self.partitions):
            self.counts["cut off"] += 1
            return []
        if self.chances() < self.network.loss:
            self.counts["lost"] += 1
            return []
        copies = 1
        if self.chances() < self.network.duplicate:
            self.counts["repeated"] += 1
            copies = 2
        return [self._draw_and_count(source, target, now, mean) for _ in range(copies)]

    def _draw_and_count(
        self,
        source: int,
        target: int,
        now: float,
        mean: float | None,
    ) -> float:
        latest = self.latest.get((source, target), 0.0)
        when = self.draw_arrival(source, target, now, mean)
        if when < latest:
            self.counts["overtaken"] += 1
        self.latest[source, target] = max(when, latest)
        return when

    def _make_links(self) -> list[list[Draw]]:
        network, n = self.network, len(self.names)
        if not network.matrix and not network.links:
            return [[self._share_stream(network.delay)] * n] * n
        rounds = list(network.matrix) or [""]
        homes = [network.regions.get(name, rounds[i % len(rounds)]) for i, name in enumerate(self.names)]
        delays = [[self._find_delay(s, t, homes) for t in range(n)] for s in range(n)]
        return [[self._share_stream(delay) for delay in row] for row in delays]

    def _find_delay(
        self,
        source: int,
        target: int,
        homes: list[str],
    ) -> str:
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

    def _share_stream(self, text: str) -> Draw:
        if text not in self.streams:
            self.streams[text] = stream_values(self.rng, choose_draw(text))
        return self.streams[text]

    def _draw_partition(self, span: float) -> Partition:
        start = float(self.rng.random()) * span
        n = len(self.names)
        chosen = self.rng.permutation(n)[: int(self.rng.integers(1, n))]
        end = start + float(self.rng.exponential(self.network.partition_time))
        return Partition(start, end, frozenset(int(i) for i in chosen))
