"""The applications of a run: they act as the workload says, answer, and wait while they may not send."""

from collections import deque
from typing import Protocol

import msgspec

from antecede.core.facts import Facts
from antecede.core.packet import Delivery
from antecede.simulate.queue import Queue
from antecede.simulate.watch import Watch
from antecede.simulate.workloads import Workload


class Wish(msgspec.Struct, frozen=True, gc=False):
    """Something that the application of a process wants to send.

    `depends_on`: the own event that it depends on, 0 for none, None where the workload does not say.
    """

    process: int
    targets: list[int] | None
    depends_on: int | None
    since: float = 0.0


class Carrier(Protocol):
    """What takes messages from applications and brings them to others."""

    def may_send(self, process: int) -> bool:
        """Whether the application of a process need not wait now."""

    def send(self, wish: Wish) -> None:
        """Send."""


class Applications:
    """Until `quota` messages are sent. Processes are numbered."""

    def __init__(
        self,
        queue: Queue,
        workload: Workload,
        facts: Facts,
        quota: int,
        watch: Watch,
    ) -> None:
        self.queue, self.workload, self.watch = queue, workload, watch
        self.left = quota
        self.only_broadcast = not facts.unicast
        self.answers = type(workload).choose_answer is not Workload.choose_answer
        self.line: list[deque[Wish]] = [deque() for _ in watch.names]
        self.carrier: Carrier

    def start_sending(self) -> None:
        """Plan the first act of every process."""
        for i in range(len(self.line)):
            self._schedule_next_send(i)

    def on_deliver(self, process: int, delivery: Delivery) -> None:
        """A message is delivered to a process: it may answer."""
        self.watch.on_deliver(process, delivery)
        source = self.watch.id_by_process[delivery.sender]
        if source == process or not self.answers or self.left <= 0:
            return
        answer = self.workload.choose_answer(process, source)
        if answer is not None:
            event = self.watch.events[process] if self.workload.declares else None
            targets = None if self.only_broadcast else answer.targets
            when = self.queue.now + answer.after
            self.queue.schedule(when, self.send_or_queue, Wish(process, targets, event))

    def send_or_queue(self, wish: Wish) -> None:
        """A process wants to send, and does when it may and its earlier wishes are fulfilled."""
        if self.left <= 0:
            return
        self.left -= 1
        if not self.line[wish.process] and self.carrier.may_send(wish.process):
            self.carrier.send(wish)
        else:
            self.line[wish.process].append(msgspec.structs.replace(wish, since=self.queue.now))

    def send_waiting_messages(self, process: int) -> None:
        """Fulfil the wishes of a process while it may send."""
        line = self.line[process]
        while line and self.carrier.may_send(process):
            wish = line.popleft()
            self.watch.tally.blocked.append(self.queue.now - wish.since)
            self.carrier.send(wish)

    def put_wish_back_first(self, wish: Wish) -> None:
        """A wish came to nothing because the process crashed: it is still there, before all others."""
        self.line[wish.process].appendleft(msgspec.structs.replace(wish, since=self.queue.now))

    def _schedule_next_send(self, process: int) -> None:
        gap = self.workload.draw_gap_ms(process)
        if gap is not None:
            self.queue.schedule(self.queue.now + gap, self._send_by_workload_and_schedule_next, process)

    def _send_by_workload_and_schedule_next(self, process: int) -> None:
        if self.left > 0:
            targets = None if self.only_broadcast else self.workload.choose_targets(process)
            depends_on = self.workload.choose_dependence(self.watch.events[process])
            self.send_or_queue(Wish(process, targets, depends_on))
            self._schedule_next_send(process)
