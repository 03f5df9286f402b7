"""Wrong gates: what goes wrong in waking up what waits, here and in public systems."""

from collections.abc import Callable
from heapq import heappush
from typing import TypeVar

import msgspec

from antecede.core.gate import Gate, Item, Pairs
from antecede.core.packet import Packet
from antecede.protocols.pairs import Pairs89
from antecede.protocols.vector import Vector
from tests.mutants.drives import broadcast, slow_unicast
from tests.mutants.stories import reversed_chain
from tests.mutants.table import Mutant

T = TypeVar("T")


class Queueing(Gate[T], kw_only=True):
    """Nothing passes without being offered, found and taken: for gates that do one of these otherwise."""

    def let_through_if_ready(self, needs: Pairs, gains: Pairs) -> bool:
        return False


class LastInFirstOut(Queueing[T], kw_only=True):
    """Of several ready items the one that arrived last goes first."""

    def find_ready_arrival(self, wanted: Callable[[T], bool] | None = None) -> int | None:
        return max(self.ready, default=None)


def park(gate: Gate[T], slot: int, count: int, arrival: int) -> None:
    """File an item as the gate does."""
    filed = gate.filed.setdefault(slot, {})
    gate.items[arrival].below = filed.get(count, -1)
    filed[count] = arrival


def together(gate: Gate[T], arrival: int) -> list[int]:
    """Everything that was filed together."""
    found = []
    while arrival >= 0:
        found.append(arrival)
        arrival = gate.items[arrival].below
    return found


class WakesAtExactCount(Queueing[T], kw_only=True):
    """Wakes what waits for this very count; a slot that jumps passes it by."""

    def advance_slot(self, slot: int, value: int) -> None:
        if value > self.have.get(slot, 0):
            self.have[slot] = value
            self._recheck_chain_of_held_arrivals(self.filed.get(slot, {}).pop(value, -1))


class WokenIsReady(Queueing[T], kw_only=True):
    """What is woken is not asked for its other needs."""

    def _recheck_chain_of_held_arrivals(self, arrival: int) -> None:
        for woken in together(self, arrival):
            heappush(self.ready, woken)


class WokenOnce(Queueing[T], kw_only=True):
    """What is woken and still misses something is not filed again."""

    def _recheck_chain_of_held_arrivals(self, arrival: int) -> None:
        for woken in together(self, arrival):
            if all(self.have.get(slot, 0) >= count for slot, count in self.items[woken].needs):
                heappush(self.ready, woken)


class WakesTwentyDeep(Queueing[T], kw_only=True):
    """One arrival wakes a chain of at most twenty."""

    depth: int = 0

    def add_arrival(self, what: T, needs: Pairs, gains: Pairs) -> int:
        self.depth = 0
        return super().add_arrival(what, needs, gains)

    def _recheck_chain_of_held_arrivals(self, arrival: int) -> None:
        self.depth += 1
        if self.depth <= 20:
            super()._recheck_chain_of_held_arrivals(arrival)


class HeadOnly(Queueing[T], kw_only=True):
    """A new arrival goes at once if it can; of what waits only the head is looked at."""

    def find_ready_arrival(self, wanted: Callable[[T], bool] | None = None) -> int | None:
        newest = self.arrivals - 1
        head = next(iter(self.items), -1)
        return next((at for at in (newest, head) if at in self.ready), None)


class BlocksTheOthers(Queueing[T], kw_only=True):
    """While something waits, only that for which it waits is let through."""

    def find_ready_arrival(self, wanted: Callable[[T], bool] | None = None) -> int | None:
        awaited = {slot for slot, filed in self.filed.items() if filed}
        gained = {at: {slot for slot, _ in self.items[at].gains} for at in self.ready}
        return min((at for at in gained if not awaited or awaited & gained[at]), default=None)


class ParksLate(Queueing[T], kw_only=True):
    """Between the check and the parking of an item, one gain of somebody else slips in."""

    checked: list[tuple[int, int, int]] = msgspec.field(default_factory=list)

    def advance_slot(self, slot: int, value: int) -> None:
        super().advance_slot(slot, value)
        while self.checked:
            at, count, arrival = self.checked.pop()
            park(self, at, count, arrival)

    def _file_by_unmet_need_or_mark_ready(self, arrival: int, item: Item[T]) -> None:
        unmet = [(slot, count) for slot, count in item.needs if self.have.get(slot, 0) < count]
        if unmet:
            self.checked.append((*unmet[0], arrival))
        else:
            heappush(self.ready, arrival)


class SortsBatchFirst(Queueing[T], kw_only=True):
    """Arrivals of a batch of three are sorted into ready and waiting by the state before the batch."""

    before: dict[int, int] = msgspec.field(default_factory=dict)

    def add_arrival(self, what: T, needs: Pairs, gains: Pairs) -> int:
        if self.arrivals % 3 == 0:
            self.before = dict(self.have)
        waits = [(slot, count) for slot, count in needs if self.before.get(slot, 0) < count]
        arrival = super().add_arrival(what, needs, gains)
        if waits and arrival in self.ready:
            self.ready.remove(arrival)
            self.items[arrival].at = 0
            park(self, *waits[0], arrival)
        return arrival


class NamesMetNeeds(Vector, kw_only=True):
    """Tells the gate of all needs, also of those that are met; otherwise as shipped."""

    def _find_local_needs_and_gains(self, source: int, stamp: list[int]) -> tuple[Pairs, Pairs]:
        wanted, gains = self.find_needs_and_gains(stamp, source, self.me)
        return [(slot, count) for slot, count in enumerate(wanted) if count], gains


def on(kind: type, gate: type) -> type:
    """A protocol with another gate."""
    fields = [("gate", Gate[Packet], msgspec.field(default_factory=gate))]
    return msgspec.defstruct(f"{kind.__name__}{gate.__name__}", fields, bases=(kind,), kw_only=True)


ROWS = [
    Mutant(
        "gate-exact-count",
        "wakes only what waits for exactly the new count",
        "a slot that jumps",
        "stuck",
        on(Pairs89, WakesAtExactCount),
        slow_unicast,
    ),
    Mutant(
        "gate-woken-is-ready",
        "what is woken is ready, whatever else it misses",
        "the wake-up index",
        "unsafe",
        on(Vector, WokenIsReady),
        broadcast,
    ),
    Mutant(
        "gate-woken-once",
        "what is woken and not ready is not filed again",
        "the wake-up index",
        "stuck",
        on(Vector, WokenOnce),
        broadcast,
    ),
    Mutant(
        "jgroups",
        "only the head of the queue is looked at",
        "JGroups CAUSAL, 2004",
        "stuck",
        on(Vector, HeadOnly),
        broadcast,
    ),
    Mutant(
        "synapse",
        "while one waits for its cause, the others are blocked",
        "Synapse #1729",
        "needless",
        on(Vector, BlocksTheOthers),
        broadcast,
    ),
    Mutant(
        "prefect-parked-late",
        "a cause comes between the check and the parking; nobody wakes",
        "Prefect on Redis",
        "stuck",
        on(Vector, ParksLate),
        broadcast,
    ),
    Mutant(
        "prefect-depth",
        "a chain longer than twenty is not followed",
        "Prefect in memory",
        "stuck",
        on(Vector, WakesTwentyDeep),
        reversed_chain,
        runs=2,
    ),
    Mutant(
        "loro",
        "what a batch unlocks itself was already sorted as waiting",
        "Loro, import of a batch",
        "stuck",
        on(NamesMetNeeds, SortsBatchFirst),
        broadcast,
    ),
]
