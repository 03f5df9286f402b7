"""Sanchez and Alvarez: the matrix with extra messages; the worked case, and the points it leaves open."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede import CallerError, Packet
from antecede.protocols.bounded import Bounded
from tests.cases import SCRIPTS, Script
from tests.harness import World, maker
from tests.papers.stage import cast, have, hear_each, missing, send, stamp, words

Triples = list[tuple[int, int, int]]


def m(endpoint: Bounded) -> Triples:
    """The non-zero entries of M as (x, y, count)."""
    return [(int(x), int(y), int(endpoint.m[x, y])) for x, y in zip(*endpoint.m.nonzero(), strict=True)]


def read_triples(packet: Packet) -> Triples:
    """The triples on a user packet."""
    flat = stamp(packet)
    return list(zip(flat[::3], flat[1::3], flat[2::3], strict=True))


class Worked:
    """The worked case with k = 5 and n = 4, up to the point where p1 has sent d, e and h."""

    def __init__(self) -> None:
        self.p = cast(Bounded, 4, k=5)
        p0, p1, _, _ = self.p
        self.b, self.c, self.a = send(p0, "b", 2), send(p0, "c", 3), send(p0, "a", 1)
        self.d, self.e, self.h = send(p1, "d", 2), send(p1, "e", 3), send(p1, "h", 0)

    def deliver_a(self) -> Packet:
        """a at p1, which makes an extra X to p2."""
        effects = self.p[1].receive(self.a)
        assert words(effects) == "a"
        (extra,) = effects.packets
        return extra

    def up_to_w(self) -> tuple[Packet, Packet]:
        """X, and w of p3 that depends on it."""
        extra = self.deliver_a()
        q = send(self.p[1], "q", 3)
        assert [words(self.p[3].receive(packet)) for packet in (self.e, self.c, q)] == ["e", "c", "q"]
        return extra, send(self.p[3], "w", 2)


def test_sanchez_worked_case_sends_carry_what_came_before() -> None:
    play = Worked()
    assert read_triples(play.b) == []
    assert read_triples(play.c) == [(0, 2, 1)]
    assert read_triples(play.a) == [(0, 2, 1), (0, 3, 1)]
    assert m(play.p[0]) == [(0, 1, 1), (0, 2, 1), (0, 3, 1)]
    assert m(play.p[1]) == [(1, 0, 1), (1, 2, 1), (1, 3, 1)]


def test_sanchez_worked_case_delivery_of_a_fires_one_extra_to_the_lower_of_two_full_columns() -> None:
    play = Worked()
    extra = play.deliver_a()
    assert (extra.kind, extra.target, stamp(extra)) == ("extra", "p2", [0, 1, 1, 1])
    assert m(play.p[1]) == [(0, 3, 1), (1, 0, 1), (1, 2, 2), (1, 3, 1)]
    assert have(play.p[1]) == [1, 0, 0, 0]


def test_sanchez_worked_case_q_carries_the_shrunk_matrix() -> None:
    play = Worked()
    play.deliver_a()
    q = send(play.p[1], "q", 3)
    assert read_triples(q) == [(0, 3, 1), (1, 0, 1), (1, 2, 2), (1, 3, 1)]
    assert m(play.p[1]) == [(1, 0, 1), (1, 2, 2), (1, 3, 2)]


def test_sanchez_worked_case_at_p3() -> None:
    play = Worked()
    _, w = play.up_to_w()
    assert read_triples(w) == [(0, 2, 1), (1, 0, 1), (1, 2, 2)]
    assert m(play.p[3]) == [(1, 0, 1), (3, 2, 1)]
    assert have(play.p[3]) == [1, 2, 0, 0]


def test_sanchez_worked_case_w_waits_needlessly_for_the_extra() -> None:
    play = Worked()
    extra, w = play.up_to_w()
    p2 = play.p[2]
    assert hear_each(p2, w, play.b, play.d) == ["", "b", "d"]
    assert missing(p2) == [("w", "p1", 1, 2)]
    assert words(p2.receive(extra)) == "w"
    assert have(p2) == [1, 2, 0, 1]
    assert m(p2) == [(1, 0, 1)]


def test_sanchez_worked_case_an_extra_that_waits_is_absorbed_in_its_turn() -> None:
    play = Worked()
    extra, w = play.up_to_w()
    p2 = play.p[2]
    assert hear_each(p2, w, extra, play.d, play.b) == ["", "", "d", "b w"]
    assert have(p2) == [1, 2, 0, 1]
    assert m(p2) == [(1, 0, 1)]


@pytest.mark.parametrize(("rule", "fires"), [(">=", True), (">", False)])
def test_sanchez_section_3_threshold_at_k_or_above_k(rule: str, fires: bool) -> None:
    p0, p1, _, _ = cast(Bounded, 4, k=5, rule=rule)
    packets = [send(p0, "b", 2), send(p0, "c", 3), send(p0, "a", 1)]
    for target in (2, 3, 0):
        send(p1, "d", target)
    extras = p1.receive(packets[2]).packets
    assert bool(extras) is fires
    assert len(m(p1)) == (4 if fires else 5)


@pytest.mark.parametrize(("rule", "least"), [(">=", 4), (">", 3)])
def test_sanchez_section_3_k_below_which_the_extras_would_never_end_is_refused(rule: str, least: int) -> None:
    assert len(cast(Bounded, 4, k=least, rule=rule)) == 4
    with pytest.raises(CallerError, match="too small"):
        cast(Bounded, 4, k=least - 1, rule=rule)


class ExtrasWithoutEndError(Exception):
    """More extras in one burst than there are other processes."""


class Counted(Bounded, kw_only=True):
    """Gives up when a burst of extras does not end."""

    def _reset_column_after_send(self, target: int) -> None:
        super()._reset_column_after_send(target)
        if len(self.outbox) > self.n:
            raise ExtrasWithoutEndError


@pytest.mark.parametrize(("rule", "k"), [(">=", 3), (">", 2)])
def test_sanchez_section_3_with_a_smaller_k_the_extras_do_not_end(rule: str, k: int) -> None:
    p0 = cast(Counted, 4, k=9, rule=rule)[0]
    p0.k = k
    send(p0, "x", 1)
    send(p0, "y", 2)
    with pytest.raises(ExtrasWithoutEndError):
        send(p0, "z", 3)


def test_sanchez_section_3_a_message_to_oneself_stays_outside_the_matrix() -> None:
    p0 = cast(Bounded, 3, k=4)[0]
    effects = p0.send(b"note", to=["p0"])
    assert words(effects) == "note"
    assert effects.packets == []
    assert m(p0) == []


def test_sanchez_section_3_an_extra_is_not_handed_up_and_changes_no_constraint() -> None:
    play = Worked()
    extra = play.deliver_a()
    p2 = play.p[2]
    p2.receive(play.b)
    p2.receive(play.d)
    before = m(p2)
    effects = p2.receive(extra)
    assert effects.deliveries == [] and effects.packets == []
    assert m(p2) == before
    assert have(p2) == [1, 2, 0, 0]


def ring(a: int, b: int, n: int) -> tuple[int, int]:
    """Each process writes to the next one only."""
    return a % n, (a + 1) % n


def client_server(a: int, b: int, n: int) -> tuple[int, int]:
    """Clients write to p0, and p0 to clients."""
    client = 1 + a % (n - 1)
    return (client, 0) if b % 2 else (0, client)


@pytest.mark.parametrize("traffic", [ring, client_server])
@given(n=st.integers(2, 6), script=SCRIPTS)
def test_sanchez_measured_cost_ring_and_client_server_traffic_never_fire(
    traffic: Callable[[int, int, int], tuple[int, int]], n: int, script: Script
) -> None:
    world = World(maker("bounded", k=n), n)
    for action, a, b in script:
        if action % 2 and world.network:
            world.arrive(a % len(world.choices()))
        else:
            sender, target = traffic(a, b, n)
            world.send(f"p{sender}", [f"p{target}"])
    world.drain()
    assert {packet.kind for packet in world.packets} <= {"message"}


def test_sanchez_measured_cost_all_to_all_traffic_fires_again_and_again() -> None:
    world = World(maker("bounded", k=5), 4)
    for turn in range(60):
        world.send(f"p{turn % 4}", [f"p{(turn + 1 + turn // 4 % 3) % 4}"])
        world.drain()
    kinds = [packet.kind for packet in world.packets]
    assert kinds.count("message") == 60 and kinds.count("extra") > 30
    assert world.violations == [] and world.stuck() == []


def test_sanchez_section_4_each_process_may_choose_its_own_k() -> None:
    small = maker("bounded", k=3)
    large = maker("bounded", k=99)
    world = World(lambda process, group: (small if process == "p0" else large)(process, group), 3)
    for turn in range(40):
        world.send(f"p{turn % 3}", [f"p{(turn + 1 + turn // 3 % 2) % 3}"])
        world.drain(lambda size: len(world.packets) % size)
    assert {packet.source for packet in world.packets if packet.kind == "extra"} == {"p0"}
    assert world.violations == [] and world.stuck() == []
