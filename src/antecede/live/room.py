"""Back-pressure on senders: who sends waits until its receivers have room.

There is none while a window of packets waits for one of them, while the protocol keeps a window of own
messages back, while own copies of broadcasts are not taken, or while the protocol blocks the application.
"""

import asyncio
from collections import Counter
from typing import Any

from antecede.core.errors import AntecedeError
from antecede.core.station import Station


class SendersRoom:
    """Sends that are on their way to the journal, and so not yet with the station, take room, too."""

    def __init__(self, station: Station, window: int) -> None:
        self.station = station
        self.window = window
        self._on_their_way: Counter[str | None] = Counter()
        """So many to each receiver; None stands for all of them."""
        self._failure: AntecedeError | None = None
        self._waiters: list[tuple[asyncio.Future[None], Any]] = []
        self._loop = asyncio.get_running_loop()

    def has_room(self, to: Any) -> bool:
        """Whether a message may be sent now; what is wrong with `to` is said later."""
        return self._has_fewer_waiting_messages(to, self.window)

    def note_send_on_its_way(self, to: Any) -> None:
        """A message is on its way to the journal."""
        for name in (None,) if to is None else to:
            self._on_their_way[name] += 1

    def note_send_arrived(self, to: Any) -> None:
        """It is with the station now, or will never be."""
        for name in (None,) if to is None else to:
            self._on_their_way[name] -= 1

    async def wait_for_room(self, to: Any) -> None:
        """Wait until there is room; raises why the node has ended, if it has."""
        while self._failure is None and not self.has_room(to):
            waiter = self._loop.create_future()
            self._waiters.append((waiter, to))
            await waiter
        if self._failure is not None:
            raise self._failure

    def wake_senders_that_have_room(self) -> None:
        """Wake those for whom half a window is free, so that each has something to do when it wakes."""
        if not self._waiters:
            return
        waiting = []
        for waiter, to in self._waiters:
            if waiter.done():  # its task was cancelled
                continue
            if self._failure is None and not self._has_fewer_waiting_messages(to, self.window // 2):
                waiting.append((waiter, to))
            else:
                waiter.set_result(None)
        self._waiters = waiting

    def fail_waiting_senders(self, error: AntecedeError) -> None:
        """Nobody will ever have room again."""
        self._failure = error
        self.wake_senders_that_have_room()

    def _has_fewer_waiting_messages(self, to: Any, limit: int) -> bool:
        """Whether less than that waits, wherever a message to these would have to wait."""
        station, own, on_their_way = self.station, self.station.endpoint, self._on_their_way
        if own.backlog >= limit or (own.blocks and (own.blocked or any(on_their_way.values()))):
            return False
        to_all = on_their_way[None]
        if to is None:
            if station.own_unsettled + to_all >= limit:
                return False
            return all(
                len(channel.waiting) + on_their_way[name] + to_all < limit
                for name, channel in station.channels.items()
            )
        for name in to if isinstance(to, list) else ():
            channel = station.channels.get(name) if isinstance(name, str) else None
            if channel is not None and len(channel.waiting) + on_their_way[name] + to_all >= limit:
                return False
        return True
