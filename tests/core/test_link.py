"""The reliable link: exactly once, in bounded memory, over a network that does anything and then is fair."""

from itertools import pairwise
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede import CallerError, InputError
from antecede.core import wire
from antecede.core.link import MOST_PATIENCE, Frame, Link, decode_frame, make_link

SEEDS = st.integers(0, 2**32)
NAMES = ["a", "b", "c"]
FAIR_ROUNDS = 2000


def state(one: Link) -> bytes:
    return wire.encode(wire.convert_sets_to_sorted_lists(one))


class Street:
    """Three links and a network in which any frame may be lost, repeated or late. Every step is checked."""

    def __init__(self, random: Random, reload: bool = False, **settings: float) -> None:
        self.random, self.reload = random, reload
        self.links = {name: make_link(name, NAMES, **settings) for name in NAMES}
        self.network: list[Frame] = []
        self.sent: dict[tuple[str, str], list[bytes]] = {}
        self.got: dict[tuple[str, str], list[bytes]] = {}
        self.log: list[Any] = []
        self.now = 0.0

    def send(self, source: str, target: str) -> None:
        data = self.sent.setdefault((source, target), [])
        data.append(f"{source}{target}{len(data)}".encode())
        self._transmit(source, self.links[source].send(target, data[-1], self.now))

    def arrive(self, place: int, keep: bool) -> None:
        frame = self.network[place] if keep else self.network.pop(place)
        data, frames = self.links[frame.target].receive(decode_frame(frame.encode()), self.now)
        self.got.setdefault((frame.source, frame.target), []).extend(data)
        self._transmit(frame.target, frames)

    def tick(self, name: str) -> None:
        self._transmit(name, self.links[name].tick(self.now))

    def _transmit(self, name: str, frames: list[Frame]) -> None:
        self.network += frames
        self.log.append((name, frames, self.links[name].next_tick(), self.links[name].congested))
        self.check(name)
        if self.reload:
            self.links[name] = msgspec.msgpack.decode(state(self.links[name]), type=Link)

    def check(self, name: str) -> None:
        one = self.links[name]
        for peer in one.peers.values():
            assert len(peer.seen.above) < one.window
            assert len(peer.early) < one.window
            assert peer.sent - next(iter(peer.waiting), peer.sent) < one.window
        for (source, target), got in self.got.items():
            sent = self.sent.get((source, target), [])
            assert len(set(got)) == len(got)
            assert got == sent[: len(got)] if one.ordered else set(got) <= set(sent)

    def misbehave(self, steps: int) -> None:
        """Anything may happen."""
        random = self.random
        for _ in range(steps):
            what = random.randrange(6)
            source, target = random.sample(NAMES, 2)
            if what < 2:
                self.send(source, target)
            elif what == 2:
                self.now += random.choice([0, 1, 5, 40])
                self.tick(source)
            elif self.network:
                place = random.randrange(len(self.network))
                if what == 5:
                    del self.network[place]
                else:
                    self.arrive(place, keep=what == 3)

    def behave(self) -> None:
        """From now on whatever is sent arrives, in any order, and timers go off."""
        for _ in range(FAIR_ROUNDS):
            while self.network:
                self.arrive(self.random.randrange(len(self.network)), keep=False)
            ticks = [
                (when, name) for name, one in self.links.items() if (when := one.next_tick()) is not None
            ]
            if not ticks:
                return
            when, name = min(ticks)
            self.now = max(when, self.now)
            self.tick(name)
        raise AssertionError("the links do not come to rest")


@pytest.mark.parametrize("ordered", [False, True])
@given(seed=SEEDS, window=st.sampled_from([1, 2, 3, 8, 1024]))
def test_everything_arrives_exactly_once(ordered: bool, seed: int, window: int) -> None:
    street = Street(Random(seed), patience=10.0, window=window, ordered=ordered)
    street.misbehave(120)
    street.behave()
    for pair, sent in street.sent.items():
        assert street.got[pair] == sent if ordered else sorted(street.got[pair]) == sorted(sent)
    for one in street.links.values():
        assert not any(peer.waiting or peer.seen.above or peer.early for peer in one.peers.values())
        assert not one.congested


@pytest.mark.parametrize("ordered", [False, True])
@given(seed=SEEDS, window=st.sampled_from([1, 3, 1024]))
def test_state_written_and_read_back_at_any_point_changes_nothing(
    ordered: bool, seed: int, window: int
) -> None:
    streets = [Street(Random(seed), reload, window=window, ordered=ordered) for reload in (False, True)]
    for street in streets:
        street.misbehave(80)
        street.behave()
    left, reloaded = streets
    assert left.log == reloaded.log and left.got == reloaded.got
    assert [state(one) for one in left.links.values()] == [state(one) for one in reloaded.links.values()]


# -- window and timers, by hand ----------------------------------------------------------------------


def numbers(frames: list[Frame]) -> list[int]:
    return [frame.number for frame in frames]


def test_sender_stays_within_the_window_of_the_oldest_unacknowledged() -> None:
    a = make_link("a", ["a", "b"], window=3)
    first = [numbers(a.send("b", b"", 0.0)) for _ in range(8)]
    assert first == [[1], [2], [3], [], [], [], [], []]
    assert a.receive(Frame("ack", "b", "a", 2, 0), 1.0) == ([], [])
    assert numbers(a.receive(Frame("ack", "b", "a", 1, 2), 2.0)[1]) == [4, 5]
    assert numbers(a.receive(Frame("ack", "b", "a", 5, 5), 3.0)[1]) == [6, 7, 8]


def test_low_water_mark_stands_for_acknowledgements_that_were_lost() -> None:
    a = make_link("a", ["a", "b"])
    for _ in range(5):
        a.send("b", b"", 0.0)
    a.receive(Frame("ack", "b", "a", 5, 3), 1.0)
    assert list(a.peers["b"].waiting) == [4]


def test_congested_when_a_window_waits_behind_the_window() -> None:
    a = make_link("a", ["a", "b"], window=2)
    told = []
    for _ in range(5):
        a.send("b", b"", 0.0)
        told.append(a.congested)
    assert told == [False, False, False, False, True]
    a.receive(Frame("ack", "b", "a", 1, 1), 1.0)
    assert not a.congested


def test_time_between_tries_doubles_up_to_the_cap() -> None:
    a = make_link("a", ["a", "b"], patience=10.0)
    assert a.next_tick() is None
    a.send("b", b"x", 5.0)
    times = [5.0]
    for _ in range(8):
        due = a.next_tick()
        assert due is not None and a.tick(due - 0.5) == []
        assert a.tick(due) == [Frame("data", "a", "b", 1, 0, b"x")]
        times.append(due)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert gaps == [min(10.0 * 2**tries, 10.0 * MOST_PATIENCE) for tries in range(8)]
    assert gaps[-1] == gaps[-2] > gaps[0]
    assert a.resent == 8


def test_next_tick_is_the_earliest_and_none_when_all_is_acknowledged() -> None:
    a = make_link("a", NAMES, patience=10.0)
    a.send("b", b"", 0.0)
    a.send("c", b"", 4.0)
    assert a.next_tick() == 10.0
    assert [frame.target for frame in a.tick(10.0)] == ["b"]
    assert a.next_tick() == 14.0
    a.send("b", b"", 11.0)
    assert a.next_tick() == 14.0
    a.receive(Frame("ack", "c", "a", 1, 1), 12.0)
    assert a.tick(14.0) == [] and a.next_tick() == 21.0
    a.receive(Frame("ack", "b", "a", 2, 2), 15.0)
    assert a.tick(21.0) == [] and a.next_tick() is None


def test_a_late_tick_counts_from_now() -> None:
    a = make_link("a", ["a", "b"], patience=10.0)
    a.send("b", b"", 0.0)
    assert len(a.tick(100.0)) == 1 and a.next_tick() == 120.0


def test_what_waits_for_the_window_has_no_timer() -> None:
    a = make_link("a", ["a", "b"], patience=10.0, window=1)
    a.send("b", b"", 0.0)
    a.send("b", b"", 0.0)
    assert numbers(a.tick(10.0)) == [1]


def test_a_repeated_frame_is_acknowledged_again_and_not_handed_over() -> None:
    b = make_link("b", ["a", "b"])
    frame = Frame("data", "a", "b", 2, 0, b"x")
    assert b.receive(frame, 0.0) == ([b"x"], [Frame("ack", "b", "a", 2, 0)])
    assert b.receive(frame, 1.0) == ([], [Frame("ack", "b", "a", 2, 0)])
    assert b.receive(Frame("data", "a", "b", 1), 1.0) == ([b""], [Frame("ack", "b", "a", 1, 2)])
    assert b.receive(frame, 2.0) == ([], [Frame("ack", "b", "a", 2, 2)])


# -- what is refused ---------------------------------------------------------------------------------

BAD = {
    "another target": Frame("data", "b", "c", 1),
    "unknown peer": Frame("data", "z", "a", 1),
    "from itself": Frame("data", "a", "a", 1),
    "far ahead": Frame("data", "b", "a", 6),
    "acknowledges what was never sent": Frame("ack", "b", "a", 8, 0),
    "acknowledges what waits for the window": Frame("ack", "b", "a", 5, 0),
    "low-water mark of what was never sent": Frame("ack", "b", "a", 1, 5),
    "acknowledgement from a stranger": Frame("ack", "z", "a", 1, 1),
}


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("frame", BAD.values(), ids=BAD.keys())
def test_a_frame_that_does_not_belong_is_refused_and_changes_nothing(frame: Frame, ordered: bool) -> None:
    a = make_link("a", NAMES, window=4, ordered=ordered)
    for _ in range(6):
        a.send("b", b"", 0.0)
    a.receive(Frame("data", "b", "a", 1), 1.0)
    a.receive(Frame("data", "b", "a", 3), 1.0)
    before = state(a)
    with pytest.raises(InputError):
        a.receive(frame, 2.0)
    assert state(a) == before


GOOD = ["data", "a", "b", 1, 0, b""]
MALFORMED = [
    b"", b"\xc1", wire.encode(7), wire.encode(GOOD[:3]), wire.encode([*GOOD, 1]), wire.encode(GOOD) + b"\0",
    *(wire.encode([*GOOD[:at], bad, *GOOD[at + 1 :]])
      for at, bad in [(0, "nak"), (1, 5), (2, None), (3, 0), (3, 2**62), (3, "1"), (4, -1), (5, "text")]),
]  # fmt: skip


@pytest.mark.parametrize("data", MALFORMED)
def test_malformed_frames(data: bytes) -> None:
    assert decode_frame(wire.encode(GOOD)) == Frame("data", "a", "b", 1)
    with pytest.raises(InputError, match="not a frame of a link"):
        decode_frame(data)


@given(data=st.binary(max_size=40))
def test_any_bytes_are_a_frame_or_an_input_error(data: bytes) -> None:
    try:
        frame = decode_frame(data)
    except InputError:
        return
    assert decode_frame(frame.encode()) == frame


def test_callers_errors() -> None:
    with pytest.raises(CallerError, match="'z' is not a peer of 'a'"):
        make_link("a", NAMES).send("z", b"", 0.0)
    wrong: list[dict[str, Any]] = [{"window": 0}, {"patience": 0.0}, {"patience": -1}, {"windw": 3}]
    for settings in wrong:
        with pytest.raises(CallerError, match="link of 'a'"):
            make_link("a", NAMES, **settings)
