"""Gambhire and Kshemkalyani 2000: order only where the application depends on it. Figures, lemmas, traps."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede import CallerError, Packet
from antecede.protocols.counts import unpack_counts
from antecede.protocols.semantic import Semantic
from tests.cases import SCRIPTS, Script
from tests.harness import World, destinations, maker
from tests.papers.stage import cast, have, hear_each, missing, send, stamp, words


def column(packet: Packet, which: Literal["SP", "SC"], j: int, n: int = 3) -> list[int]:
    """Column j of a carried matrix."""
    found: list[int] = unpack_counts(stamp(packet)[1 if which == "SP" else 2], n, n)[:, j].tolist()
    return found


def triangle(m2_depends_on: int, m3_depends_on: int) -> tuple[Packet, Packet, Semantic]:
    """M1 from p0 to p2, M2 from p0 to p1, then M3 from p1 to p2; returns M1, M3 and p2, still to receive."""
    p0, p1, p2 = cast(Semantic, 3)
    m1 = send(p0, "M1", 2, depends_on=0)
    m2 = send(p0, "M2", 1, depends_on=m2_depends_on)
    delivery = p1.receive(m2).deliveries[0]
    assert delivery.event == 1
    return m1, send(p1, "M3", 2, depends_on=m3_depends_on), p2


def test_gambhire_figure_2_no_dependency_m3_is_delivered_at_once() -> None:
    m1, m3, p2 = triangle(m2_depends_on=0, m3_depends_on=0)
    assert (column(m3, "SP", 2), column(m3, "SC", 2)) == ([0, 0, 0], [1, 0, 0])
    assert hear_each(p2, m3, m1) == ["M3", "M1"]


def test_gambhire_figure_1_m3_depends_on_the_delivery_of_m2_and_waits() -> None:
    m1, m3, p2 = triangle(m2_depends_on=0, m3_depends_on=1)
    assert (column(m3, "SP", 2), column(m3, "SC", 2)) == ([1, 0, 0], [0, 0, 0])
    assert words(p2.receive(m3)) == ""
    assert missing(p2) == [("M3", "p0", 0, 1)]
    assert words(p2.receive(m1)) == "M1 M3"


def test_gambhire_residual_false_causality_m2_depends_on_m1_and_m3_on_nothing() -> None:
    m1, m3, p2 = triangle(m2_depends_on=1, m3_depends_on=0)
    assert column(m3, "SP", 2) == [1, 0, 0]
    assert hear_each(p2, m3, m1) == ["", "M1 M3"]


def test_gambhire_figure_3_step_by_step() -> None:
    p0, p1, _ = cast(Semantic, 3)
    m1 = send(p0, "M1", 2, depends_on=0)
    m2 = send(p0, "M2", 1, depends_on=1)
    assert column(m1, "SP", 2) == column(m1, "SC", 2) == [0, 0, 0]
    assert p0.sp.tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert p0.sc.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    p1.receive(m2)
    assert p1.sp.tolist() == p0.sp.tolist()
    assert p1.sc.tolist() == p0.sc.tolist()
    assert have(p1) == [1, 0, 0]
    assert p1.ecv.tolist() == [2, 1, 0]


@pytest.mark.parametrize(("variant", "mcv"), [("printed", 2), ("corrected", 1)])
def test_gambhire_definition_5_mcv_of_a_firing_send(variant: str, mcv: int) -> None:
    p0 = cast(Semantic, 2, variant=variant)[0]
    send(p0, "M", 1, depends_on=p0.local())
    assert p0.mcv.tolist() == [mcv, 0]


@pytest.mark.parametrize(("variant", "holds"), [("printed", False), ("corrected", True)])
def test_gambhire_lemma_3_as_printed_misses_the_firing_message(variant: str, holds: bool) -> None:
    p0 = cast(Semantic, 2, variant=variant)[0]
    send(p0, "M", 1, depends_on=p0.local())
    up_to_mcv = 1 if p0.mcv[0] == 2 else 0  # M is event 2
    assert bool(p0.sp[0, 1] == up_to_mcv) is holds
    m2 = send(p0, "M2", 1, depends_on=2)
    assert column(m2, "SP", 1, 2) == ([1, 0] if holds else [0, 0])


@pytest.mark.parametrize(("variant", "order"), [("printed", "M2 M"), ("corrected", "M M2")])
def test_gambhire_two_processes_without_fifo(variant: str, order: str) -> None:
    p0, p1 = cast(Semantic, 2, variant=variant)
    m = send(p0, "M", 1, depends_on=p0.local())
    m2 = send(p0, "M2", 1, depends_on=2)
    assert " ".join(filter(None, (words(p1.receive(packet)) for packet in (m2, m)))) == order


@pytest.mark.parametrize(("variant", "eligible"), [("printed", ["M", "M2"]), ("corrected", ["M"])])
def test_gambhire_fifo_arrival_is_not_enough(variant: str, eligible: list[str]) -> None:
    p1, p2, p3 = cast(Semantic, 3, variant=variant, manual=True)
    x = send(p2, "X", 2, depends_on=0)
    y = send(p2, "Y", 0, depends_on=1)
    p1.receive(y)
    p1.take()
    m = send(p1, "M", 2, depends_on=1)
    m2 = send(p1, "M2", 2, depends_on=2)
    for packet in (m, m2, x):
        p3.receive(packet)
    assert words(p3.take("p1")) == "X"
    assert [p3.gate.items[arrival].what.payload.decode() for arrival in p3.gate.ready] == eligible


def test_gambhire_lemma_1_is_false_at_deliveries() -> None:
    p0, p1 = cast(Semantic, 2)
    p1.receive(send(p0, "M", 1, depends_on=0))
    assert p1.mcv.tolist() == [0, 0]
    assert p1.ecv.tolist() == [1, 1]  # Send(M) is event 1 of p0


def test_gambhire_internal_events_change_nothing_but_their_number() -> None:
    p0, p1 = cast(Semantic, 2)
    first = send(p0, "first", 1, depends_on=0)
    assert p0.local() == 2
    assert p0.mcv.tolist() == [0, 0]
    assert p0.sp.sum() == 0
    assert p0.sc.sum() == 1
    assert words(p1.receive(first)) == "first"


@pytest.mark.parametrize(("variant", "order"), [("printed", "r m"), ("corrected", "m r")])
def test_gambhire_multicast_as_printed_loses_the_other_copies(variant: str, order: str) -> None:
    p0, p1, p2 = cast(Semantic, 3, variant=variant)
    copies = {packet.target: packet for packet in p0.send(b"m", to=["p1", "p2"], depends_on=0).packets}
    p1.receive(copies["p1"])
    assert p1.sp[0, 2] + p1.sc[0, 2] == (0 if variant == "printed" else 1)  # Lemma 2
    r = send(p1, "r", 2, depends_on=1)
    got = hear_each(p2, r, copies["p2"])
    assert " ".join(filter(None, got)) == order


def test_gambhire_depends_on_must_be_an_event_that_was() -> None:
    p0 = cast(Semantic, 2)[0]
    before = p0.snapshot()
    for wrong in (1, -1):
        with pytest.raises(CallerError, match="depends_on"):
            p0.send(b"x", to=["p1"], depends_on=wrong)
    assert p0.snapshot() == before


def check_same_deliveries(protocol: str, n: int, script: Script, kind: str, **how: int) -> None:
    """Play a script with `semantic`, every send in the same way, and with another protocol."""
    worlds = World(maker("semantic"), n), World(maker(protocol), n)
    for action, a, b in script:
        sender = f"p{a % n}"
        to = destinations(worlds[0].names, a % n, b, kind)
        if action % 2 and worlds[0].network:
            for world in worlds:
                world.arrive(a % len(world.choices()))
        else:
            worlds[0].send(sender, to, **how)
            worlds[1].send(sender, to)
        assert worlds[0].deliveries == worlds[1].deliveries


@pytest.mark.parametrize("kind", ["unicast", "multicast", "broadcast"])
@given(n=st.integers(2, 4), script=SCRIPTS)
def test_gambhire_always_firing_is_the_matrix(kind: str, n: int, script: Script) -> None:
    check_same_deliveries("matrix", n, script, kind)


@pytest.mark.parametrize("kind", ["unicast", "multicast", "broadcast"])
@given(n=st.integers(2, 4), script=SCRIPTS)
def test_gambhire_never_firing_is_fifo(kind: str, n: int, script: Script) -> None:
    check_same_deliveries("fifo", n, script, kind, depends_on=0)


def delayed_after_an_early_m(world: World, **independent: int) -> list[str]:
    """p0 sends c to p2, c1 to p3, c2 to p4, y to p1; p1 sends m to p2, where it overtakes c; p2 goes on."""
    told = {"c": "p2", "c1": "p3", "c2": "p4", "y": "p1"}
    number = {text: world.send("p0", [target], **independent) for text, target in told.items()}
    world.arrive_message(number["y"], "p1")
    number["m"] = world.send("p1", ["p2"], **independent)
    early = world.arrive_message(number["m"], "p2").deliveries
    number |= {"s1": world.send("p2", ["p3"]), "s2": world.send("p2", ["p4"])}
    held = [] if early else ["m"]
    return held + [
        text
        for text, target in {"s1": "p3", "s2": "p4", "c": "p2", "c1": "p3", "c2": "p4"}.items()
        if not world.arrive_message(number[text], target).deliveries
    ]


def test_gambhire_on_the_same_arrivals_it_may_delay_more_messages_than_the_matrix() -> None:
    """What waits would wait under RST in this run; but RST's own run, where m was not early, differs."""
    assert delayed_after_an_early_m(World(maker("matrix"), 5)) == ["m"]
    assert delayed_after_an_early_m(World(maker("semantic"), 5), depends_on=0) == ["s1", "s2"]
