"""flood, with links that are added and removed while messages are under way."""

from collections.abc import Callable, Iterator
from typing import Self

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import antecede
from antecede import CallerError, Effects, Endpoint
from antecede.protocols.flood import Flood
from tests.cases import Case, make_line
from tests.harness import World
from tests.overlay import get_flood, is_connected, play_with_changing_links
from tests.test_exhaustive import Send, State

LINE = Case("line", "flood", {"overlay": make_line}, ("broadcast",))
GROUP = ["p0", "p1", "p2", "p3"]


@settings(max_examples=3 * settings().max_examples)
@given(n=st.integers(3, 6), steps=st.integers(10, 120), random=st.randoms(use_true_random=False))
def test_links_that_change_lose_nothing_and_keep_causal_order(n: int, steps: int, random) -> None:
    world = LINE.world(n)
    play_with_changing_links(world, random.randrange, steps)
    assert world.violations == [] and world.stuck() == []
    for name in world.names:
        endpoint = get_flood(world, name)
        assert endpoint.opening == {} and endpoint.held() == [] == endpoint.root_gaps()


@given(n=st.integers(2, 6), random=st.randoms(use_true_random=False))
def test_what_is_known_of_an_origin_is_one_number(n: int, random) -> None:
    """Messages and pings of one origin come in order, so nothing has to be remembered one by one."""
    world = LINE.world(n)
    for _ in range(10):
        play_with_changing_links(world, random.randrange, 8)
        for name in world.names:
            assert [known.above for known in get_flood(world, name).known] == [set()] * n


def add_link_to_p2(endpoint: Endpoint) -> Effects:
    assert isinstance(endpoint, Flood)
    return endpoint.add_link("p2")


def remove_link_to_p2(endpoint: Endpoint) -> Effects:
    assert isinstance(endpoint, Flood)
    endpoint.remove_link("p2")
    return Effects(packets=[], deliveries=[])


class LinkState(State):
    """Three processes in a line, of which p0 may add a link to p2, once; then p1 may remove its own to p2."""

    added = removed = False

    @property
    def has_new_link(self) -> bool:
        endpoint = antecede.restore(self.ends["p0"].snapshot)
        assert isinstance(endpoint, Flood)
        return "p2" in endpoint.links

    def moves(self, sends: list[Send]) -> Iterator[Self]:
        yield from super().moves(sends)
        if not self.added:
            new = self.after_change("p0", add_link_to_p2)
            new.added = True
            yield new
        elif not self.removed and self.has_new_link:
            new = self.after_change("p1", remove_link_to_p2)
            new.removed = True
            yield new

    def after_change(self, process: str, change: Callable[[Endpoint], Effects]) -> Self:
        new = self.copy()
        step = self.steps.take((self.ends[process].snapshot, change), self.ends[process], change)
        new.apply(process, step)
        return new

    def key(self) -> object:
        return super().key(), self.added, self.removed


@pytest.mark.parametrize(("messages", "leaves"), [(1, 24), (2, 980)])
def test_every_execution_in_which_a_link_is_added_and_another_removed(messages: int, leaves: int) -> None:
    stack = [LinkState(LINE)]
    known: set[object] = set()
    ends = 0
    while stack:
        state = stack.pop()
        if (key := state.key()) in known:
            continue
        known.add(key)
        sends: list[Send] = [(name, None) for name in ("p0", "p1", "p2")] if state.sends < messages else []
        following = list(state.moves(sends))
        stack += following
        if not following:
            ends += 1
            assert state.oracle.list_undelivered_messages() == []
            assert state.has_new_link
    assert ends == leaves


def make_group(overlay: object = "chords") -> dict[str, Flood]:
    return {name: antecede.endpoint("flood", process=name, group=GROUP, overlay=overlay) for name in GROUP}


def exchange(ends: dict[str, Flood], effects: Effects) -> list[tuple[str, bytes]]:
    """Let everything arrive that follows; who got what."""
    packets, got = [*effects.packets], []
    while packets:
        packet = packets.pop(0)
        answer = ends[packet.target].receive(packet)
        packets += answer.packets
        got += [(packet.target, delivery.payload) for delivery in answer.deliveries]
    return got


def test_a_link_opens_when_the_other_end_has_answered() -> None:
    ends = make_group(make_line(4))
    (ping,) = ends["p0"].add_link("p3").packets
    assert (ping.kind, ping.target, ends["p0"].links) == ("ping", "p1", ["p1"])
    meanwhile = ends["p0"].send(b"meanwhile").packets
    assert [packet.target for packet in meanwhile] == ["p1"]
    passed_on = ping
    for at in ("p1", "p2"):
        (passed_on,) = ends[at].receive(passed_on).packets
    (pong,) = ends["p3"].receive(passed_on).packets
    assert (pong.kind, pong.source, pong.target) == ("pong", "p3", "p0")
    (kept,) = ends["p0"].receive(pong).packets
    assert (kept.target, kept.payload, ends["p0"].links) == ("p3", b"meanwhile", ["p1", "p3"])
    assert ends["p3"].receive(kept).deliveries[0].sender == "p0"
    assert [packet.target for packet in ends["p0"].send(b"then").packets] == ["p1", "p3"]


def test_a_link_that_was_given_up_is_not_opened_by_its_pong() -> None:
    ends = make_group(make_line(4))
    ping = ends["p0"].add_link("p3")
    ends["p0"].remove_link("p3")
    exchange(ends, ping)
    assert ends["p0"].links == ["p1"]
    exchange(ends, ends["p0"].add_link("p3"))
    assert ends["p0"].links == ["p1", "p3"]


def test_what_is_under_way_on_a_removed_link_is_taken_in() -> None:
    ends = make_group("full")
    sent = ends["p1"].send(b"m")
    ends["p1"].remove_link("p0")
    ends["p0"].remove_link("p1")
    on_the_link = [packet for packet in sent.packets if packet.target == "p0"]
    got = exchange(ends, Effects(on_the_link, []))
    assert sorted(got) == [(name, b"m") for name in ("p0", "p2", "p3")]
    others = [packet for packet in sent.packets if packet.target != "p0"]
    assert exchange(ends, Effects(others, [])) == []
    then = ends["p1"].send(b"n")
    assert [packet.target for packet in then.packets] == ["p2", "p3"]
    assert sorted(exchange(ends, then)) == [(name, b"n") for name in ("p0", "p2", "p3")]


def test_a_restored_endpoint_opens_its_link() -> None:
    ends = make_group(make_line(4))
    ping = ends["p0"].add_link("p3")
    ends["p0"].send(b"kept")
    restored = antecede.restore(ends["p0"].snapshot())
    assert isinstance(restored, Flood)
    ends["p0"] = restored
    assert ("p3", b"kept") in exchange(ends, ping)
    assert ends["p0"].links == ["p1", "p3"]


def test_changes_that_cannot_be_made() -> None:
    ends = make_group(make_line(4))
    p0 = ends["p0"]
    p0.add_link("p2")
    before = p0.snapshot()
    for peer in ("p0", "nobody", None, 5, ["p1"]):
        for change in (p0.add_link, p0.remove_link):
            with pytest.raises(CallerError, match="not another member"):
                change(peer)  # type: ignore[arg-type]
    for peer in ("p1", "p2"):
        with pytest.raises(CallerError, match="has a link to"):
            p0.add_link(peer)
    with pytest.raises(CallerError, match="has no link to p3"):
        p0.remove_link("p3")
    with pytest.raises(CallerError, match="last one"):
        p0.remove_link("p1")
    assert p0.snapshot() == before


def test_a_link_removed_too_early_cuts_the_group_and_nothing_crosses() -> None:
    """What a removal must not do: the ping of the link that was to replace it cannot come through."""
    ends = make_group(make_line(4))
    ping = ends["p0"].add_link("p3")
    ends["p1"].remove_link("p2")
    exchange(ends, ping)
    assert ends["p0"].links == ["p1"]
    assert exchange(ends, ends["p0"].send(b"m")) == [("p1", b"m")]


@pytest.mark.parametrize(
    ("n", "links"), [(2, [1]), (3, [1, 2]), (5, [1, 2, 3, 4]), (6, [1, 2, 4, 5]), (12, [1, 2, 4, 8, 10, 11])]
)
def test_the_overlay_by_default_is_a_ring_with_chords(n: int, links: list[int]) -> None:
    world = Case("flood", "flood", {}, ("broadcast",)).world(n)
    assert get_flood(world, "p0").linked == links
    for overlay in ("chords", "ring", "full"):
        assert is_connected(Case("flood", "flood", {"overlay": overlay}).world(n))


def test_the_size_of_a_stamp_does_not_depend_on_the_group() -> None:
    for n in (3, 30):
        world = World(lambda p, group: antecede.endpoint("flood", process=p, group=group), n)
        for name in world.names:
            world.send(name)
        world.drain()
        assert {packet.control_bytes for packet in world.packets} <= {4, 5}
        assert world.stuck() == []


@pytest.mark.parametrize(
    ("overlay", "says"),
    [
        ({"p0": ["p1"]}, "each process"),
        ({**make_line(4), "p9": ["p0"]}, "each process"),
        ({**make_line(4), "p0": ["p9"]}, "each process"),
        ({**make_line(4), "p1": ["p0"]}, "does not connect p0 with .'p2', 'p3'."),
        ({**make_line(4), "p2": ["p3"]}, "does not connect p0 with .'p2', 'p3'."),
        ("star", "Invalid enum value"),
        (["p1"], "overlay"),
    ],
)
def test_overlays_that_are_refused(overlay: object, says: str) -> None:
    with pytest.raises(CallerError, match=says):
        antecede.endpoint("flood", process="p0", group=GROUP, overlay=overlay)


def test_members_with_other_overlays_do_not_understand_each_other() -> None:
    p0 = antecede.endpoint("flood", process="p0", group=GROUP, overlay=make_line(4))
    mixed = dict(reversed(make_line(4).items()))
    p1, other = (antecede.endpoint("flood", process="p1", group=GROUP, overlay=o) for o in (mixed, "ring"))
    assert p0.receive(p1.send(b"m").packets[0]).deliveries
    with pytest.raises(antecede.InputError, match="other options"):
        p0.receive(other.send(b"m").packets[0])
