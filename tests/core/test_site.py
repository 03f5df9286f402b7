"""Sites that crash at any point and come back: nothing is lost, nothing comes twice, order is kept."""

import contextlib
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import antecede
from antecede import CallerError, Delivery, InputError
from antecede.core.link import Frame, decode_frame, make_link
from antecede.core.site import Input, Output, Site, recover
from antecede.simulate.oracle import Oracle
from tests.cases import EXACT, OTHER, Case
from tests.harness import destinations

WANTED = {
    "sync-site", "matrix", "optimal", "acknowledged", "vector", "flood", "history", "bounded-n", "bounded-2n",
    "buffered", "buffered-hold", "buffered-pipelined", "release", "eager", "semantic", "server",
    "predecessors", "fifo",
}  # fmt: skip
CASES = [
    pytest.param(case, kind, id=f"{case.name}-{kind}")
    for case in [*EXACT, *OTHER]
    if case.name in WANTED
    for kind in case.kinds[-2:]
]
FAIR_ROUNDS = 5000


class Home:
    """A site, and what of it outlasts a crash."""

    def __init__(self, site: Site) -> None:
        self.site: Site | None = site
        self.snapshot, self.inputs, self.taken = site.snapshot(), list[bytes](), 0


class Town:
    """Sites over a network that does anything; message m is the payload str(m). The oracle is told of all."""

    def __init__(self, case: Case, random: Random, n: int = 3) -> None:
        self.random, self.case = random, case
        self.names = [f"p{i}" for i in range(n)]
        options = {key: value(n) if callable(value) else value for key, value in case.options.items()}
        window = random.choice([2, 1024])
        self.homes = {
            name: Home(
                Site(
                    antecede.endpoint(case.protocol, process=name, group=self.names, **options),
                    make_link(name, self.names, patience=10.0, window=window, ordered=case.fifo),
                )
            )
            for name in self.names
        }
        self.oracle = Oracle(self.names)
        self.network: list[Frame] = []
        self.violations: list[tuple[str, int]] = []
        self.crashes = 0
        self.now = 0.0

    def happens(self, name: str, happening: Input, crash: int) -> None:
        """Write it down, do it, let it out; `crash` 1 to 3: before the first, the second, amid the third."""
        home = self.homes[name]
        if home.site is None or crash == 1:
            home.site = None
            return
        home.inputs.append(home.site.record(happening))
        if crash == 2:
            home.site = None
            return
        output = home.site.apply(happening)
        assert output.refused == []
        half = self.random.randrange(len(output.deliveries) + 1) if crash else len(output.deliveries)
        self.network += output.frames[: self.random.randrange(9)] if crash else output.frames
        self.hand_up(name, output.deliveries[:half])
        if crash == 3:
            home.site = None
        elif self.random.random() < 0.1:
            home.snapshot, home.inputs = home.site.snapshot(), []

    def hand_up(self, name: str, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            self.homes[name].taken += 1
            message = int(delivery.payload)
            assert delivery.sender == self.oracle.sender[message]
            if self.oracle.record_delivery_and_list_missing_causes(name, message) and name in (
                self.case.watch or self.names
            ):
                self.violations.append((name, message))

    def restart(self, name: str) -> None:
        home = self.homes[name]
        before = home.site
        back = recover(home.snapshot, home.inputs, home.taken, antecede.restore)
        if before is not None:  # a crash at rest: nothing but memory is gone, and all of it comes back
            assert back.deliveries == []
            assert back.site.snapshot() == before.snapshot()
        home.site = back.site
        self.crashes += 1
        self.hand_up(name, back.deliveries)

    def send(self, name: str, kind: str, crash: int) -> None:
        site = self.homes[name].site
        if site is None or site.endpoint.blocked or crash == 1:
            return
        to = destinations(self.names, self.names.index(name), self.random.randrange(99), kind)
        message = self.oracle.record_send(name, self.names if to is None else to)
        data = str(message).encode()
        self.happens(name, Input("send", self.now, data, None if to is None else tuple(to)), crash)

    def misbehave(self, kind: str, steps: int) -> None:
        random = self.random
        for _ in range(steps):
            what, name = random.randrange(10), random.choice(self.names)
            crash = random.choice([0] * 9 + [1, 2, 3])
            if what < 3:
                self.send(name, kind, crash)
            elif what == 3:
                self.now += random.choice([1, 10, 50])
                self.happens(name, Input("tick", self.now), crash)
            elif what == 4:
                self.restart(name)
            elif self.network:
                place = random.randrange(len(self.network))
                frame = self.network[place] if what == 5 else self.network.pop(place)
                if what != 6:
                    self.happens(frame.target, Input("frame", self.now, frame.encode()), crash)

    def behave(self) -> None:
        """All come back, whatever is sent arrives, and timers go off."""
        for name, home in self.homes.items():
            if home.site is None:
                self.restart(name)
        for _ in range(FAIR_ROUNDS):
            while self.network:
                frame = self.network.pop(self.random.randrange(len(self.network)))
                self.happens(frame.target, Input("frame", self.now, frame.encode()), 0)
            sites = [(name, home.site) for name, home in self.homes.items()]
            ticks = [(s.link.next_tick(), name) for name, s in sites if s is not None]
            due = [(when, name) for when, name in ticks if when is not None]
            if not due:
                return
            self.now = max(self.now, min(due)[0])
            self.happens(min(due)[1], Input("tick", self.now), 0)
        raise AssertionError("the sites do not come to rest")


@pytest.mark.parametrize(("case", "kind"), CASES)
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32))
def test_crashes_at_any_point_lose_nothing_repeat_nothing_and_keep_order(
    case: Case, kind: str, seed: int
) -> None:
    town = Town(case, Random(seed))
    town.misbehave(kind, 120)
    town.behave()
    assert town.oracle.list_undelivered_messages() == []
    assert town.crashes > 0
    if case.name != "fifo":
        assert town.violations == []


# -- one site, by hand -------------------------------------------------------------------------------


def make_site(name: str, protocol: str = "matrix", ordered: bool = False, **options: Any) -> Site:
    group = ["a", "b"]
    return Site(
        antecede.endpoint(protocol, process=name, group=group, **options),
        make_link(name, group, ordered=ordered),
    )


def journal(site: Site, happenings: list[Input]) -> list[bytes]:
    """The records that the site would write if these happened next."""
    copy = recover(site.snapshot(), [], site.delivered, antecede.restore).site
    records = []
    for happening in happenings:
        records.append(copy.record(happening))
        with contextlib.suppress(InputError, CallerError):
            copy.apply(happening)
    return records


def test_what_was_taken_decides_what_is_handed_up_again() -> None:
    b = make_site("b")
    empty = b.snapshot()
    a = make_site("a")
    inputs = []
    for text in (b"x", b"y", b"z"):
        frame = a.apply(Input("send", 0.0, text, ("b",))).frames[0]
        inputs.append(b.record(Input("frame", 1.0, frame.encode())))
        b.apply(Input("frame", 1.0, frame.encode()))
    for taken in range(4):
        back = recover(empty, inputs, taken, antecede.restore)
        assert [delivery.payload for delivery in back.deliveries] == [b"x", b"y", b"z"][taken:]
        assert back.site.snapshot() == b.snapshot()
        assert back.site.delivered == 3
        assert [len(output.deliveries) for output in back.outputs] == [1, 1, 1]
    assert recover(b.snapshot(), [], 3, antecede.restore).deliveries == []


@pytest.mark.parametrize(("numbers", "snapshot_after", "taken"), [(3, 0, 4), (3, 3, 2), (3, 3, 4), (0, 0, 1)])
def test_a_snapshot_that_does_not_belong_to_what_was_taken(
    numbers: int, snapshot_after: int, taken: int
) -> None:
    b = make_site("b")
    a = make_site("a")
    frames = [a.apply(Input("send", 0.0, b"", ("b",))).frames[0] for _ in range(numbers)]
    inputs = [Input("frame", 1.0, frame.encode()) for frame in frames]
    for happening in inputs[:snapshot_after]:
        b.apply(happening)
    later = journal(b, inputs[snapshot_after:])
    with pytest.raises(InputError, match="use the snapshot that belongs to them"):
        recover(b.snapshot(), later, taken, antecede.restore)


def test_what_the_endpoint_refuses_is_reported_and_the_rest_goes_on() -> None:
    b = make_site("b", ordered=True)
    endpoint = b.endpoint.snapshot()
    stranger = antecede.endpoint("fifo", process="a", group=["a", "b"]).send(b"", to=["b"]).packets[0]
    good = antecede.endpoint("matrix", process="a", group=["a", "b"]).send(b"good", to=["b"]).packets[0]
    pieces = [b"no packet", stranger.encode(), good.encode()]
    for number in (3, 2):
        frame = Frame("data", "a", "b", number, 0, pieces[number - 1])
        assert b.apply(Input("frame", 0.0, frame.encode())).refused == []
    assert b.endpoint.snapshot() == endpoint
    output = b.apply(Input("frame", 0.0, Frame("data", "a", "b", 1, 0, pieces[0]).encode()))
    assert [piece for piece, _ in output.refused] == pieces[:2]
    assert "not a packet" in output.refused[0][1]
    assert "protocol 'fifo'" in output.refused[1][1]
    assert [delivery.payload for delivery in output.deliveries] == [b"good"]
    assert output.arrived == [good]
    assert output.frames == [Frame("ack", "b", "a", 1, 3)]


def test_a_packet_that_comes_twice_under_two_numbers_is_refused_once() -> None:
    b = make_site("b")
    packet = antecede.endpoint("matrix", process="a", group=["a", "b"]).send(b"x", to=["b"]).packets[0]
    frames = [Frame("data", "a", "b", number, 0, packet.encode()) for number in (1, 2)]
    first, second = (b.apply(Input("frame", 0.0, frame.encode())) for frame in frames)
    assert len(first.deliveries) == 1 and first.refused == []
    assert second.deliveries == [] and "received before" in second.refused[0][1]


REFUSED = {
    "unknown destination": Input("send", 1.0, b"", ("z",)),
    "no such argument": Input("send", 1.0, b"", ("a",), {"depends_on": 0}),
    "argument given twice": Input("send", 1.0, b"", ("a",), {"to": 1}),
    "no frame": Input("frame", 1.0, b"garbage"),
    "frame for another": Input("frame", 1.0, Frame("data", "a", "z", 1).encode()),
    "ack of nothing": Input("frame", 1.0, Frame("ack", "a", "b", 9).encode()),
    "far ahead": Input("frame", 1.0, Frame("data", "a", "b", 5000).encode()),
}


@pytest.mark.parametrize("happening", REFUSED.values(), ids=REFUSED.keys())
def test_a_refused_input_changes_nothing_then_and_on_recovery(happening: Input) -> None:
    b = make_site("b")
    (frame,) = make_site("a").apply(Input("send", 0.0, b"theirs", ("b",))).frames
    b.apply(Input("frame", 0.5, frame.encode()))
    b.apply(Input("send", 0.5, b"mine", ("a",)))
    before = b.snapshot()
    with pytest.raises((InputError, CallerError)):
        b.apply(happening)
    assert b.snapshot() == before
    tick = Input("tick", 2000.0)
    back = recover(before, journal(b, [happening, tick]), 1, antecede.restore)
    assert b.apply(tick) == back.outputs[-1]
    assert len(back.outputs[-1].frames) == 1
    assert back.site.snapshot() == b.snapshot()
    assert back.outputs[0] == Output()


def test_declared_dependence_is_written_down_with_the_send() -> None:
    a = make_site("a", "semantic")
    start = a.snapshot()
    sends = [Input("send", 0.0, b"", ("b",), how) for how in ({}, {"depends_on": 0}, {"depends_on": 1})]
    records = journal(a, sends)
    packets = [a.apply(send).made for send in sends]
    back = recover(start, records, 0, antecede.restore)
    assert [output.made for output in back.outputs] == packets
    plain = journal(make_site("a", "semantic"), [Input("send", 0.0, b"", ("b",))] * 3)
    undeclared = recover(start, plain, 0, antecede.restore)
    assert undeclared.site.snapshot() != back.site.snapshot() == a.snapshot()


def test_a_blocked_send_is_refused_and_the_acknowledgement_ends_it() -> None:
    a = make_site("a", "sync", form="site")
    b = make_site("b", "sync", form="site")
    (frame,) = a.apply(Input("send", 0.0, b"1", ("b",))).frames
    with pytest.raises(CallerError, match="blocked"):
        a.apply(Input("send", 0.0, b"2", ("b",)))
    a = recover(a.snapshot(), [], 0, antecede.restore).site
    for reply in b.apply(Input("frame", 1.0, frame.encode())).frames:
        a.apply(Input("frame", 2.0, decode_frame(reply.encode()).encode()))
    assert not a.endpoint.blocked and a.link.next_tick() is None
    assert a.apply(Input("tick", 5000.0)).frames == []


def test_sites_that_cannot_be() -> None:
    with pytest.raises(CallerError, match="one process"):
        Site(antecede.endpoint("matrix", process="a", group=["a", "b"]), make_link("b", ["a", "b"]))
    with pytest.raises(CallerError, match="delivers by itself"):
        make_site("a", manual=True)
    with pytest.raises(CallerError, match="does not reach"):
        Site(antecede.endpoint("matrix", process="a", group=["a", "b", "c"]), make_link("a", ["a", "b"]))


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x93\xc4\x00\x80\x00"])
def test_what_is_no_snapshot_and_what_is_no_input(data: bytes) -> None:
    with pytest.raises(InputError, match="not a snapshot of a site"):
        recover(data, [], 0, antecede.restore)
    with pytest.raises(InputError, match="not a record of a site"):
        recover(make_site("a").snapshot(), [data], 0, antecede.restore)


def test_a_damaged_snapshot_is_refused() -> None:
    whole = Site(
        antecede.endpoint("matrix", process="a", group=["a", "b"]), make_link("a", ["a", "b"])
    ).snapshot()
    damaged = whole[:-1] + bytes([whole[-1] ^ 1])
    with pytest.raises(InputError, match="damaged"):
        recover(damaged, [], 0, antecede.restore)


def test_what_could_not_be_read_again_is_not_written_down() -> None:
    with pytest.raises(CallerError, match="not a record"):
        make_site("a").record(Input("send", 0.0, "text", ("b",)))  # type: ignore[arg-type]


def test_records_from_before_the_snapshot_are_not_applied_again() -> None:
    a = make_site("a")
    sends = [Input("send", 0.0, text, ("b",)) for text in (b"pay 5", b"pay 6", b"pay 7")]
    records = journal(a, sends)
    for send in sends[:2]:
        a.apply(send)
    back = recover(a.snapshot(), records, 0, antecede.restore)
    assert [packet.payload for output in back.outputs for packet in output.made] == [b"pay 7"]
    assert back.site.applied == 3


def test_a_journal_of_another_or_with_a_gap_is_refused() -> None:
    a, b = make_site("a"), make_site("b")
    records = journal(a, [Input("tick", float(now)) for now in range(3)])
    with pytest.raises(InputError, match="a record of 'a' in the journal of 'b'"):
        recover(b.snapshot(), records, 0, antecede.restore)
    with pytest.raises(InputError, match="lacks records 2 to 2"):
        recover(a.snapshot(), [records[0], records[2]], 0, antecede.restore)
