"""Carries packets over reliable links, where the network loses and repeats and where processes crash.

Every process is a site (endpoint over link). It writes each input down before it lets anything out; when
it crashes it loses the rest, and comes back from its snapshot and the records since. Where nothing crashes
nothing is written down.
"""

import numpy as np

from antecede.core.endpoint import Endpoint
from antecede.core.link import Frame, make_link
from antecede.core.packet import Delivery
from antecede.core.site import Input, Output, Site, recover
from antecede.protocols.registry import restore
from antecede.simulate.applications import Applications, Wish
from antecede.simulate.queue import Queue
from antecede.simulate.watch import Watch
from antecede.simulate.wires import Wires

AT_REST, UNWRITTEN, WRITTEN, HANDING = (
    "crash at rest", "crash before writing", "crash after writing", "crash while handing up",
)  # fmt: skip
MOMENTS = (AT_REST, UNWRITTEN, WRITTEN, HANDING)
"""A crash costs nothing but memory, or an input, or the effects of an input, or some of its deliveries."""

NEVER = float("inf")
SNAPSHOT_EVERY = 50
"""Records between two snapshots."""


class ProcessHome:
    """What outlasts a crash: a snapshot, the records since, and how many deliveries the application took."""

    def __init__(self, site: Site) -> None:
        self.site: Site | None = site
        self.snapshot = site.snapshot()
        self.records: list[bytes] = []
        self.taken = 0
        self.doom = ""
        self.down = 0.0
        self.alarm = NEVER


class LinkedCarrier:
    """Frames go from site to site. `counts` says which faults really happened, and how often."""

    def __init__(
        self, queue: Queue, wires: Wires, endpoints: list[Endpoint], watch: Watch, applications: Applications,
        patience: float, ordered: bool,
    ) -> None:  # fmt: skip
        self.queue, self.wires, self.watch, self.applications = queue, wires, watch, applications
        self.names, self.id_by_process = watch.names, watch.id_by_process
        self.counts = wires.counts
        self.crashes = 0
        settings = {"patience": patience, "ordered": ordered}
        self.homes = [
            ProcessHome(Site(end, make_link(end.process, self.names, **settings))) for end in endpoints
        ]

    def schedule_random_crashes(
        self,
        number: int,
        span_ms: float,
        mean_down_ms: float,
        rng: np.random.Generator,
    ) -> None:
        """Doom processes at random times; each crash has its moment."""
        for at in range(number):
            when = float(rng.random()) * span_ms
            i = int(rng.integers(len(self.homes)))
            self._schedule_crash(i, when, MOMENTS[at % len(MOMENTS)], float(rng.exponential(mean_down_ms)))

    def schedule_outages(self, outages: dict[str, tuple[float, float]]) -> None:
        """Let processes crash at known times, for as long as is said."""
        for name, (when, down_time) in outages.items():
            self._schedule_crash(self.id_by_process[name], when, AT_REST, down_time)

    def _schedule_crash(self, process: int, time_ms: float, moment: str, down_ms: float) -> None:
        self.crashes += 1
        self.queue.schedule(time_ms, self._crash_now_or_doom, (process, moment, down_ms))

    def may_send(self, process: int) -> bool:
        """Whether the application of a process need not wait now."""
        site = self.homes[process].site
        return site is not None and not site.endpoint.blocked and not site.link.congested

    def send(self, wish: Wish) -> None:
        """The application of a process sends; if the process crashes before that is written down, again."""
        i = wish.process
        if self.homes[i].doom == UNWRITTEN:
            self.applications.put_wish_back_first(wish)
            self._crash_and_schedule_restart(i)
            return
        targets = [x for x in range(len(self.homes)) if x != i] if wish.targets is None else wish.targets
        payload = self.watch.record_send_and_make_payload(i, targets, wish.depends_on)
        to = None if wish.targets is None else tuple(self.names[x] for x in targets)
        how = {}
        if self.watch.declared and wish.depends_on is not None:
            how = {"depends_on": wish.depends_on}
        self._record_and_apply_input(i, Input("send", self.queue.now, payload, to, how))

    def _on_frame_arrival(self, frame: Frame) -> None:
        happening = Input("frame", self.queue.now, frame.encode())
        self._record_and_apply_input(self.id_by_process[frame.target], happening)

    def _on_timer(self, process_and_due_time: tuple[int, float]) -> None:
        i, due = process_and_due_time
        if self.homes[i].alarm != due:  # an earlier one was planned since, or the process crashed
            return
        self.homes[i].alarm = NEVER
        if self.homes[i].site is not None:
            self._record_and_apply_input(i, Input("tick", self.queue.now))

    def _record_and_apply_input(self, process: int, event: Input) -> None:
        """Write it down, do it, let out what follows. A doomed process fails on the way."""
        home = self.homes[process]
        if home.site is None:
            self.counts["came while down"] += 1
            return
        if home.doom == UNWRITTEN:
            self._crash_and_schedule_restart(process)
            return
        if self.crashes:
            home.records.append(home.site.record(event))
        if home.doom == WRITTEN:
            self._crash_and_schedule_restart(process)
            return
        resent = home.site.link.resent
        self._transmit_and_deliver_output(process, home.site.apply(event))
        if home.site is not None:
            self.counts["sent again"] += home.site.link.resent - resent
            self._snapshot_set_timer_and_send_waiting(process, home, home.site)

    def _transmit_and_deliver_output(self, process: int, output: Output) -> None:
        if output.made:
            self.watch.on_transmit(output.made)
        mean = self.wires.draw_mean_delay_of_message() if output.frames else None
        for frame in output.frames:
            target = self.id_by_process[frame.target]
            for when in self.wires.draw_frame_arrival_times(process, target, self.queue.now, mean):
                self.queue.schedule(when, self._on_frame_arrival, frame)
        if output.refused:
            self.counts["refused"] += len(output.refused)
        deliveries = output.deliveries
        interrupted = self.homes[process].doom == HANDING and bool(deliveries)
        handed = deliveries[: len(deliveries) // 2] if interrupted else deliveries
        for packet in output.arrived:
            self.watch.on_arrive(process, packet, handed)
        self._deliver_to_application(process, handed)
        if interrupted:
            self._crash_and_schedule_restart(process)

    def _deliver_to_application(self, process: int, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            self.homes[process].taken += 1
            self.applications.on_deliver(process, delivery)

    def _snapshot_set_timer_and_send_waiting(self, process: int, home: ProcessHome, site: Site) -> None:
        """After an input: a snapshot now and then, the timer, and what the application waited to send."""
        if len(home.records) >= SNAPSHOT_EVERY:
            home.snapshot, home.records = site.snapshot(), []
        due = site.link.next_tick()
        if due is not None and due < home.alarm:
            home.alarm = due
            self.queue.schedule(max(due, self.queue.now), self._on_timer, (process, due))
        self.applications.send_waiting_messages(process)

    def _crash_now_or_doom(self, process_moment_and_down_ms: tuple[int, str, float]) -> None:
        i, moment, down = process_moment_and_down_ms
        home = self.homes[i]
        if home.site is None or home.doom:
            return
        home.doom, home.down = moment, down
        if moment == AT_REST:
            self._crash_and_schedule_restart(i)

    def _crash_and_schedule_restart(self, process: int) -> None:
        home = self.homes[process]
        self.counts[home.doom] += 1
        when, unseen = self.queue.now + home.down, home.doom == WRITTEN
        self.queue.schedule(when, self._recover_and_restart_process, (process, unseen))
        home.site, home.doom = None, ""

    def _recover_and_restart_process(self, process_and_unseen: tuple[int, bool]) -> None:
        i, unseen = process_and_unseen
        home = self.homes[i]
        recovered = recover(home.snapshot, home.records, home.taken, restore)
        home.site = recovered.site
        if unseen:  # the watch has not seen what came of the last input
            if recovered.outputs[-1].made:
                self.watch.on_transmit(recovered.outputs[-1].made)
            for packet in recovered.outputs[-1].arrived:
                self.watch.on_arrive(i, packet, recovered.deliveries)
        self._deliver_to_application(i, recovered.deliveries)
        home.alarm = NEVER
        self._snapshot_set_timer_and_send_waiting(i, home, recovered.site)
