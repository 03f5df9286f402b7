"""What a run cost: tallies while it goes on, and the summary that is shown, compared and stored."""

from array import array
from collections import Counter

import msgspec
import numpy as np


class CostFigure(msgspec.Struct, frozen=True):
    """A mean and the value that 99 of 100 do not exceed."""

    mean: float
    p99: float


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """Per message unless said otherwise; times in milliseconds.

    `wait`: delivery after arrival. `needless`: the part of it for which the oracle sees no reason.
    `blocked`: how long the application wanted to send and might not. `held_back`: transmission after the
    send, where a protocol keeps messages at their sender. A time during which a process is down counts as
    waiting, and as needless: no order demands it. `acks` are all control packets but extras. `total_bytes`
    is all control information: the stamps of all packets with a message, and all of the control packets.
    """

    messages: int
    deliveries: int
    packets: int
    arrivals: int
    control_bytes: CostFigure
    entries: CostFigure
    extras: float
    acks: float
    control_packet_bytes: float
    total_bytes: float
    wait: CostFigure
    needless: CostFigure
    waited: int
    waited_needlessly: int
    blocked: CostFigure
    held_back: CostFigure
    latency: CostFigure
    peak_held: int


class CostTally:
    """Counts and collects during a run."""

    def __init__(self) -> None:
        self.packets: Counter[str] = Counter()
        self.stamp_sizes: Counter[int] = Counter()
        self.stamp_entries: Counter[int] = Counter()
        self.control_size = 0
        self.arrivals = 0
        self.waits = array("d")
        self.needless = array("d")
        self.blocked = array("d")
        self.backs = array("d")
        self.latencies = array("d")
        self.peak_held = 0

    def summarize_costs(self, messages: int) -> Costs:
        """The summary of a run with this many messages."""
        copies, deliveries = self.stamp_sizes.total(), len(self.latencies)
        stamp_size = sum(size * number for size, number in self.stamp_sizes.items())
        per_message = max(messages, 1)
        return Costs(
            messages=messages,
            deliveries=deliveries,
            packets=self.packets.total(),
            arrivals=self.arrivals,
            control_bytes=summarize_counted_values(self.stamp_sizes),
            entries=summarize_counted_values(self.stamp_entries),
            extras=self.packets["extra"] / per_message,
            acks=self._count_control_packets() / per_message,
            control_packet_bytes=self.control_size / per_message,
            total_bytes=(stamp_size + self.control_size) / per_message,
            wait=summarize_values_and_zeros(self.waits, deliveries),
            needless=summarize_values_and_zeros(self.needless, deliveries),
            waited=len(self.waits),
            waited_needlessly=len(self.needless),
            blocked=summarize_values_and_zeros(self.blocked, messages),
            held_back=summarize_values_and_zeros(self.backs, copies),
            latency=summarize_values_and_zeros(self.latencies, deliveries),
            peak_held=self.peak_held,
        )

    def _count_control_packets(self) -> int:
        return self.packets.total() - self.packets["message"] - self.packets["extra"]


def summarize_counted_values(counter: Counter[int]) -> CostFigure:
    """The figure of values of which it is counted how often each occurs."""
    if not counter:
        return CostFigure(0.0, 0.0)
    values = np.array(sorted(counter))
    numbers = np.array([counter[int(value)] for value in values])
    sums = numbers.cumsum()
    mean = values @ numbers / sums[-1]
    p99 = values[np.searchsorted(sums, 0.99 * sums[-1])]
    return CostFigure(float(mean), float(p99))


def summarize_values_and_zeros(values: "array[float]", total: int) -> CostFigure:
    """The figure of some values, and of as many zeros as there are others among `total`."""
    if not total:
        return CostFigure(0.0, 0.0)
    ordered = np.sort(np.frombuffer(values)) if len(values) else np.zeros(0)
    zeros = max(total - len(values), 0)
    rank = int(np.ceil(0.99 * total)) - 1 - zeros
    p99 = float(ordered[rank]) if rank >= 0 else 0.0
    return CostFigure(float(ordered.sum() / total), p99)
