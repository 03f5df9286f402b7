"""A network at work: draws delays and fates from a seeded generator, and counts what went wrong."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from antecede.core.errors import CallerError
from antecede.simulate.delays import draw_truncated_gaussian, make_delay_draw, make_value_stream, parse_delay
from antecede.simulate.network import Network

Draw = Callable[[], float]


class Partition(NamedTuple):
    """A time during which those inside and those outside do not hear each other."""

    start: float
    end: float
    inside: frozenset[int]

    def cuts(self, source: int, target: int, now_ms: float) -> bool:
        """Whether it stands between two processes at this time."""
        is_between = (source in self.inside) != (target in self.inside)
        return is_between and self.start <= now_ms < self.end


class Wires:
    """A network at work: draws delays and fates. Processes are numbered."""

    def __init__(
        self,
        network: Network,
        names: list[str],
        rng: np.random.Generator,
        span_ms: float,
    ) -> None:
        self.network, self.names, self.rng = network, names, rng
        network.check(names)
        self.streams: dict[str, Draw] = {}
        self.pairs = self._make_delay_streams_by_pair()
        kind, numbers = parse_delay(network.delay)
        self.spread = numbers[2] if kind == "two-level" else None
        self.plain = self.spread is None and not network.fifo
        """Whether an arrival is a draw of its link and nothing more."""
        self.latest: dict[tuple[int, int], float] = {}
        """The latest arrival planned between two processes."""
        self.chances = make_value_stream(rng, lambda rng, size: rng.random(size))
        self.partitions = [self._draw_partition(span_ms) for _ in range(network.partitions)]
        self.counts: Counter[str] = Counter()

    def draw_arrival_time(
        self,
        source: int,
        target: int,
        now_ms: float,
        mean_ms: float | None = None,
    ) -> float:
        """When something sent now arrives; `mean_ms` is the delay that its message drew, if it drew one."""
        if mean_ms is None:
            when = now_ms + self.pairs[source][target]()
        else:
            when = now_ms + self.draw_delay_around_mean(mean_ms)
        if self.network.fifo:
            latest = self.latest.get((source, target), 0.0)
            when = self.latest[source, target] = max(when, latest)
        return when

    def draw_mean_delay_of_message(self) -> float | None:
        """With two levels, the mean delay of the copies of one message; otherwise None."""
        return None if self.spread is None else self.pairs[0][0]()

    def draw_delay_around_mean(self, mean_ms: float) -> float:
        """A delay of the second level."""
        return float(draw_truncated_gaussian(self.rng, mean_ms, self.spread or 0.0, 1)[0])

    def draw_frame_arrival_times(
        self,
        source: int,
        target: int,
        now_ms: float,
        mean_ms: float | None,
    ) -> list[float]:
        """When the copies of a frame sent now arrive: none if it is lost, several if it is repeated."""
        if any(partition.cuts(source, target, now_ms) for partition in self.partitions):
            self.counts["cut off"] += 1
            return []
        if self.chances() < self.network.loss:
            self.counts["lost"] += 1
            return []
        copies = 1
        if self.chances() < self.network.duplicate:
            self.counts["repeated"] += 1
            copies = 2
        return [self._draw_frame_arrival_time(source, target, now_ms, mean_ms) for _ in range(copies)]

    def _draw_frame_arrival_time(
        self,
        source: int,
        target: int,
        now_ms: float,
        mean_ms: float | None,
    ) -> float:
        latest = self.latest.get((source, target), 0.0)
        when = self.draw_arrival_time(source, target, now_ms, mean_ms)
        if when < latest:
            self.counts["overtaken"] += 1
        self.latest[source, target] = max(when, latest)
        return when

    def _make_delay_streams_by_pair(self) -> list[list[Draw]]:
        network, n = self.network, len(self.names)
        if not network.matrix and not network.links:
            return [[self._get_delay_stream(network.delay)] * n] * n
        rounds = list(network.matrix) or [""]
        homes = [network.regions.get(name, rounds[i % len(rounds)]) for i, name in enumerate(self.names)]
        delays = [[self._find_delay_text(s, t, homes) for t in range(n)] for s in range(n)]
        return [[self._get_delay_stream(delay) for delay in row] for row in delays]

    def _find_delay_text(
        self,
        source: int,
        target: int,
        regions: list[str],
    ) -> str:
        link = f"{self.names[source]}->{self.names[target]}"
        if link in self.network.links:
            return self.network.links[link]
        if not self.network.matrix:
            return self.network.delay
        try:
            return self.network.matrix[regions[source]][regions[target]]
        except KeyError:
            raise CallerError(
                f"network: the matrix has no delay from region {regions[source]!r} to {regions[target]!r}"
            ) from None

    def _get_delay_stream(self, text: str) -> Draw:
        if text not in self.streams:
            self.streams[text] = make_value_stream(self.rng, make_delay_draw(text))
        return self.streams[text]

    def _draw_partition(self, span_ms: float) -> Partition:
        start = float(self.rng.random()) * span_ms
        n = len(self.names)
        chosen = self.rng.permutation(n)[: int(self.rng.integers(1, n))]
        end = start + float(self.rng.exponential(self.network.partition_time))
        return Partition(start, end, frozenset(int(i) for i in chosen))
