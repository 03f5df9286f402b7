"""The algorithms that the five papers build on: SES, KS, BSS, ISIS, KK89, PRS. RST has its own file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede import Packet
from antecede.core.gate import Pairs
from antecede.protocols.history import History
from antecede.protocols.optimal import Optimal
from antecede.protocols.pairs import Pairs89
from antecede.protocols.predecessors import Predecessors
from antecede.protocols.server import Server
from antecede.protocols.vector import Vector
from tests.cases import SCRIPTS, Script
from tests.harness import World, maker, run_script
from tests.papers.stage import cast, have, hear_each, send, stamp, words


def test_ses_triangle() -> None:
    p0, p1, p2 = cast(Pairs89, 3)
    x = send(p0, "x", 2)
    y = send(p0, "y", 1)
    assert stamp(x) == [[1, 0, 0], {}]
    assert stamp(y) == [[2, 0, 0], {2: [1, 0, 0]}]
    p1.receive(y)
    assert have(p1) == [2, 0, 0]
    assert p1.last == {2: [1, 0, 0]}
    z = send(p1, "z", 2)
    assert stamp(z) == [[2, 1, 0], {2: [1, 0, 0]}]
    assert p1.last == {2: [2, 1, 0]}
    assert hear_each(p2, z, x) == ["", "x z"]
    assert have(p2) == [2, 1, 0] and p2.last == {}


Log = tuple[list[int], set[tuple[int, int, int]]]
"""The newest time of each sender, and (sender, destination, time) of what waits."""


def log(newest: list[int], waiting: dict[int, int]) -> Log:
    n = len(newest)
    return newest, {(pair // n, pair % n, t) for pair, t in waiting.items()}


def read_log(endpoint: Optimal) -> Log:
    return log(endpoint.newest, endpoint.waiting)


def read_carried_log(packet: Packet) -> Log:
    """The LOG on a packet of `optimal`."""
    return log(*stamp(packet)[2:])


def test_ks_worked_vector() -> None:
    p0, p1, p2, p3 = cast(Optimal, 4)
    a = {packet.target: packet for packet in p0.send(b"A", to=["p1", "p2", "p3"]).packets}
    p1.receive(a["p1"])
    assert read_log(p1) == ([1, 0, 0, 0], {(0, 2, 1), (0, 3, 1)})
    b = {packet.target: packet for packet in p1.send(b"B", to=["p2", "p3"]).packets}
    assert read_carried_log(b["p2"]) == ([1, 0, 0, 0], {(0, 2, 1)})
    assert read_carried_log(b["p3"]) == ([1, 0, 0, 0], {(0, 3, 1)})
    assert read_log(p1) == ([1, 1, 0, 0], {(1, 2, 1), (1, 3, 1)})
    assert hear_each(p2, b["p2"], a["p2"]) == ["", "A B"]
    assert read_log(p2) == ([1, 1, 0, 0], {(1, 3, 1)})
    assert have(p2) == [1, 1, 0, 0]
    c = send(p2, "C", 3)
    assert read_carried_log(c) == ([1, 1, 0, 0], {(1, 3, 1)})
    assert hear_each(p3, c, a["p3"], b["p3"]) == ["", "A", "B C"]


def test_ks_of_messages_to_one_process_only_the_last_waits() -> None:
    p0 = cast(Optimal, 4)[0]
    logs = [read_carried_log(send(p0, "m", 1)) for _ in range(3)]
    assert logs == [([0, 0, 0, 0], set()), ([1, 0, 0, 0], {(0, 1, 1)}), ([2, 0, 0, 0], {(0, 1, 2)})]


def test_bss_triangle() -> None:
    p0, p1, p2 = cast(Vector, 3)
    x = {packet.target: packet for packet in p0.send(b"x").packets}
    assert words(p1.receive(x["p1"])) == "x"
    y = {packet.target: packet for packet in p1.send(b"y").packets}
    assert stamp(y["p2"]) == [1, 1, 0]
    assert have(p1) == [1, 1, 0]
    assert hear_each(p2, y["p2"], x["p2"]) == ["", "x y"]


def test_isis_brings_the_past_along_and_drops_the_original() -> None:
    p0, p1, p2 = cast(History, 3)
    x = send(p0, "x", 2)
    y = send(p0, "y", 1)
    p1.receive(y)
    z = send(p1, "z", 2)
    assert hear_each(p2, z, x) == ["x z", ""]


def test_isis_forgets_what_everybody_has() -> None:
    world = World(maker("history"), 2)
    sizes = []
    for turn in range(20):
        world.send(f"p{turn % 2}", [f"p{(turn + 1) % 2}"])
        sizes.append(world.packets[-1].control_bytes)
        world.drain()
    assert len(set(sizes[2:])) == 1


def test_kk89_triangle() -> None:
    p0, p1, server = cast(Server, 3, server="p2")
    x = send(p0, "x", 2)
    y = send(p0, "y", 1)
    assert stamp(x) == stamp(y) == [1, 0, 0]
    p1.receive(y)
    z = send(p1, "z", 2)
    assert stamp(z) == [1, 1, 0]
    assert hear_each(server, z, x) == ["", "x z"]
    assert server.past == [1, 1, 0]


class AsTold(Server, kw_only=True):
    """KK89 as Mattern95 tells it: no test on the sender's own entry."""

    def _find_local_needs_and_gains(self, source: int, stamp: list[int]) -> tuple[Pairs, Pairs]:
        needs, gains = super()._find_local_needs_and_gains(source, stamp)
        return [need for need in needs if need[0] != source], gains


@pytest.mark.parametrize(("kind", "order"), [(AsTold, ["second", "first"]), (Server, ["", "first second"])])
def test_kk89_as_told_needs_fifo_channels(kind: type[Server], order: list[str]) -> None:
    p0, server = cast(kind, 2, server="p1")
    first = send(p0, "first", 1)
    second = send(p0, "second", 1)
    assert hear_each(server, second, first) == order


@given(n=st.integers(2, 5), script=SCRIPTS)
def test_kk89_is_hoogerwoord_with_the_increment_before_the_stamp(n: int, script: Script) -> None:
    worlds = World(maker("server", server="p0"), n), World(maker("monitor", monitor="p0"), n)
    for world in worlds:
        run_script(world, script, "unicast")
    assert worlds[0].deliveries == worlds[1].deliveries


def test_prs_drops_what_a_message_to_the_same_process_follows() -> None:
    p0, p1, _, p3 = cast(Predecessors, 4)
    send(p3, "x", 2)
    p0.receive(send(p3, "y", 0))
    p1.receive(send(p3, "z", 1))
    assert p0.barriers == {2: {3: 1}}
    assert p1.barriers == {0: {3: 2}, 2: {3: 1}}
    p1.receive(send(p0, "m", 1, 2))
    assert p1.barriers == {0: {3: 2}, 2: {0: 1}}


def support(packet: Packet) -> set[tuple[int, int]]:
    """The pairs (sender, destination) that a packet of `bounded` or `predecessors` names."""
    if packet.protocol == "bounded":
        return set(zip(stamp(packet)[::3], stamp(packet)[1::3], strict=True))
    return {(a, q) for q, barrier in stamp(packet)[2].items() for a in barrier}


@given(n=st.integers(2, 5), script=SCRIPTS)
def test_prs_is_sanchez_without_extras_on_every_unicast_message(n: int, script: Script) -> None:
    worlds = World(maker("bounded", k=(n - 1) ** 2 + 2), n), World(maker("predecessors"), n)
    for world in worlds:
        run_script(world, script, "unicast")
    assert worlds[0].deliveries == worlds[1].deliveries
    assert [support(packet) for packet in worlds[0].packets] == [
        support(packet) for packet in worlds[1].packets
    ]
