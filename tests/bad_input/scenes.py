"""Endpoints to be tried with bad input, fresh and in the middle of a run, and what must hold after it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from random import Random
from typing import Any

import msgspec
import pytest

import antecede
from antecede import Endpoint, InputError, Packet
from tests.cases import EXACT, OTHER, Case
from tests.harness import World, destinations

CASES = {case.name: case for case in [*EXACT, *OTHER]}
EVERY_CASE = pytest.mark.parametrize("name", CASES)
BOTH_MOMENTS = pytest.mark.parametrize("moment", ["fresh", "busy"])
NEVER_HOLDS = {"unordered", "history"}
encode = msgspec.msgpack.encode


@dataclass
class Scene:
    """A run in which `packet` is under way to p0 and `received` were received there."""

    world: World
    packet: Packet
    received: list[Packet]

    @property
    def p0(self) -> Any:
        """The endpoint, typed so that it may be called wrongly."""
        return self.world.endpoints["p0"]

    def finish(self) -> None:
        """After all that was refused, the run goes on to its end and nothing is lost."""
        self.world.drain()
        assert self.world.stuck() == []
        assert self.p0.held() == []
        assert self.p0.root_gaps() == []


def play_scene(name: str, moment: str) -> Scene:
    if moment == "fresh":
        world = make_fresh_world(CASES[name])
    else:
        world = play_case(CASES[name], *seed_and_steps(name))
    return Scene(world, list_under_way(world)[0], list_received(world))


def make_fresh_world(case: Case) -> World:
    world = case.world(4)
    world.send("p1", ["p0"] if case.facts.unicast else None)
    return world


@cache
def seed_and_steps(name: str) -> tuple[int, int]:
    """A run of some length that leaves p0 with something held, something received and something to come."""
    for seed, steps in ((seed, steps) for seed in count() for steps in (10, 15, 20)):
        world = play_case(CASES[name], seed, steps)
        held = world.endpoints["p0"].held() or CASES[name].protocol in NEVER_HOLDS
        if held and list_under_way(world) and list_received(world):
            world.drain()
            if not world.stuck():  # a rendezvous may deadlock, as it should
                return seed, steps
    raise AssertionError


def play_case(case: Case, seed: int, steps: int) -> World:
    world, random = case.world(4), Random(seed)
    for _ in range(steps):
        at = random.randrange(4)
        if world.network and random.random() < 0.5:
            world.arrive(random.randrange(len(world.choices())))
        elif not world.endpoints[f"p{at}"].blocked:
            choice, kind = random.randrange(64), random.choice(case.kinds)
            to = destinations(world.names, at, choice, kind)
            world.send(f"p{at}", to)
    return world


def list_under_way(world: World) -> list[Packet]:
    """The messages for p0 that may arrive next."""
    packets = (antecede.decode(world.network[place]) for place in world.choices())
    return [packet for packet in packets if packet.target == "p0" and packet.kind == "message"]


def list_received(world: World) -> list[Packet]:
    return [
        packet for packet in world.packets if packet.target == "p0" and packet.encode() not in world.network
    ]


def check_refused(endpoint: Endpoint, error: type[Exception], call: Callable[[], object]) -> None:
    """The call fails with this error and no other, in one sentence, and the state is what it was."""
    before = endpoint.snapshot()
    check_error(error, call)
    assert endpoint.snapshot() == before


def check_error(error: type[Exception], call: Callable[[], object]) -> None:
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    assert caught.type is error and issubclass(error, antecede.AntecedeError)
    assert len(text.split()) >= 4 and len(text) < 500, text
    assert text == text.strip() and "\n" not in text, text
    assert not any(noise in text for noise in ("Traceback", " at 0x", "<class", "msgspec")), text


def check_packet_refused(endpoint: Endpoint, packet: Packet, error: type[Exception] = InputError) -> None:
    check_refused(endpoint, error, partial(endpoint.receive, packet))


def forge_packet(packet: Packet, **changes: Any) -> Packet:
    """The packet as it comes out of the decoder after somebody changed it on the wire."""
    changed = msgspec.structs.replace(packet, **changes)
    return antecede.decode(changed.encode())
