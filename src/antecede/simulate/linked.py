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
        self.names, self.index = watch.names, watch.index
        self.counts = wires.counts
        self.crashes = 0
        settings = {"patience": patience, "ordered": ordered}
        self.homes = [
            ProcessHome(Site(end, make_link(end.process, self.names, **settings))) for end in endpoints
        ]

    def plan_crashes(
        self,
        number: int,
        span: float,
        down_time: float,
        rng: np.random.Generator,
    ) -> None:
        """Doom processes at random times; each crash has its moment."""
        for at in range(number):
            when = float(rng.random()) * span
            i = int(rng.integers(len(self.homes)))
            self._plan_crash(i, when, MOMENTS[at % len(MOMENTS)], float(rng.exponential(down_time)))

    def plan_outages(self, outages: dict[str, tuple[float, float]]) -> None:
        """Let processes crash at known times, for as long as is said."""
        for name, (when, down_time) in outages.items():
            self._plan_crash(self.index[name], when, AT_REST, down_time)

    def _plan_crash(self, i: int, when: float, moment: str, down_time: float) -> None:
        self.crashes += 1
        self.queue.schedule(when, self._plan_failure, (i, moment, down_time))

    def may_send(self, i: int) -> bool:
        """Whether the application of a process need not wait now."""
        site = self.homes[i].site
        return site is not None and not site.endpoint.blocked and not site.link.congested

    def send(self, wish: Wish) -> None:
        """The application of a process sends; if the process crashes before that is written down, again."""
        i = wish.process
        if self.homes[i].doom == UNWRITTEN:
            self.applications.put_wish_back(wish)
            self._crash(i)
            return
        targets = [x for x in range(len(self.homes)) if x != i] if wish.targets is None else wish.targets
        payload = self.watch.on_send(i, targets, wish.depends_on)
        to = None if wish.targets is None else tuple(self.names[x] for x in targets)
        how = {}
        if self.watch.declared and wish.depends_on is not None:
            how = {"depends_on": wish.depends_on}
        self._apply_input(i, Input("send", self.queue.now, payload, to, how))

    def _arrive(self, frame: Frame) -> None:
        happening = Input("frame", self.queue.now, frame.encode())
        self._apply_input(self.index[frame.target], happening)

    def _tick(self, planned: tuple[int, float]) -> None:
        i, due = planned
        if self.homes[i].alarm != due:  # an earlier one was planned since, or the process crashed
            return
        self.homes[i].alarm = NEVER
        if self.homes[i].site is not None:
            self._apply_input(i, Input("tick", self.queue.now))

    def _apply_input(self, i: int, happening: Input) -> None:
        """Write it down, do it, let out what follows. A doomed process fails on the way."""
        home = self.homes[i]
        if home.site is None:
            self.counts["came while down"] += 1
            return
        if home.doom == UNWRITTEN:
            self._crash(i)
            return
        if self.crashes:
            home.records.append(home.site.record(happening))
        if home.doom == WRITTEN:
            self._crash(i)
            return
        resent = home.site.link.resent
        self._transmit_output(i, home.site.apply(happening))
        if home.site is not None:
            self.counts["sent again"] += home.site.link.resent - resent
            self._finish_input(i, home, home.site)

    def _transmit_output(self, i: int, output: Output) -> None:
        if output.made:
            self.watch.on_transmit(output.made)
        mean = self.wires.draw_mean() if output.frames else None
        for frame in output.frames:
            target = self.index[frame.target]
            for when in self.wires.draw_arrivals(i, target, self.queue.now, mean):
                self.queue.schedule(when, self._arrive, frame)
        if output.refused:
            self.counts["refused"] += len(output.refused)
        deliveries = output.deliveries
        interrupted = self.homes[i].doom == HANDING and bool(deliveries)
        handed = deliveries[: len(deliveries) // 2] if interrupted else deliveries
        for packet in output.arrived:
            self.watch.on_arrive(i, packet, handed)
        self._hand_up(i, handed)
        if interrupted:
            self._crash(i)

    def _hand_up(self, i: int, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            self.homes[i].taken += 1
            self.applications.on_deliver(i, delivery)

    def _finish_input(self, i: int, home: ProcessHome, site: Site) -> None:
        """After an input: a snapshot now and then, the timer, and what the application waited to send."""
        if len(home.records) >= SNAPSHOT_EVERY:
            home.snapshot, home.records = site.snapshot(), []
        due = site.link.next_tick()
        if due is not None and due < home.alarm:
            home.alarm = due
            self.queue.schedule(max(due, self.queue.now), self._tick, (i, due))
        self.applications.send_waiting(i)

    def _plan_failure(self, fate: tuple[int, str, float]) -> None:
        i, moment, down = fate
        home = self.homes[i]
        if home.site is None or home.doom:
            return
        home.doom, home.down = moment, down
        if moment == AT_REST:
            self._crash(i)

    def _crash(self, i: int) -> None:
        home = self.homes[i]
        self.counts[home.doom] += 1
        when, unseen = self.queue.now + home.down, home.doom == WRITTEN
        self.queue.schedule(when, self._restart, (i, unseen))
        home.site, home.doom = None, ""

    def _restart(self, fate: tuple[int, bool]) -> None:
        i, unseen = fate
        home = self.homes[i]
        recovered = recover(home.snapshot, home.records, home.taken, restore)
        home.site = recovered.site
        if unseen:  # the watch has not seen what came of the last input
            if recovered.outputs[-1].made:
                self.watch.on_transmit(recovered.outputs[-1].made)
            for packet in recovered.outputs[-1].arrived:
                self.watch.on_arrive(i, packet, recovered.deliveries)
        self._hand_up(i, recovered.deliveries)
        home.alarm = NEVER
        self._finish_input(i, home, recovered.site)
