"""The event queue: what happens next, and what time it is. No wall clock."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

Action = Callable[[Any], None]


class Queue:
    """Events at equal times happen in the order in which they were planned."""

    def __init__(self) -> None:
        self.now = 0.0
        self.planned = 0
        self.events: list[tuple[float, int, Action, Any]] = []

    def schedule(self, time_ms: float, action: Action, subject: Any) -> None:
        """Plan an action."""
        self.planned += 1
        heappush(self.events, (time_ms, self.planned, action, subject))

    def schedule_all(
        self,
        times_ms: list[float],
        action: Action,
        subjects: list[Any],
    ) -> None:
        """Plan an action for each of some subjects."""
        planned, events = self.planned, self.events
        for when, subject in zip(times_ms, subjects, strict=True):
            planned += 1
            heappush(events, (when, planned, action, subject))
        self.planned = planned

    def run(self, max_events: int) -> bool:
        """Let everything happen; False if more than `max_events` events did not bring it to an end."""
        events = self.events
        for _ in range(max_events):
            if not events:
                return True
            self.now, _, action, subject = heappop(events)
            action(subject)
        return not events
