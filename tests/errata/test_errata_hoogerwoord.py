"""Hoogerwoord (causal delivery at one monitor): messages of the monitor to itself, duplicates, redundancy."""

from random import Random

import pytest

from antecede.protocols.monitor import Monitor
from tests.errata.scene import cast, send, texts
from tests.harness import World, destinations, maker
from tests.mutants.monitors import CountsDuplicates, MonitorSelfSends, RepairedSelfSends


@pytest.mark.parametrize(("kind", "delivered"), [(MonitorSelfSends, ""), (RepairedSelfSends, "y")])
def test_message_of_the_monitor_to_itself_is_counted_twice(kind: type[Monitor], delivered: str) -> None:
    monitor, p1 = cast(kind, 2, monitor="p0")
    assert texts(monitor, send(monitor, "s", 0)) == "s"
    texts(p1, send(monitor, "x", 1))
    assert texts(monitor, send(p1, "y", 0)) == delivered


def test_shipped_monitor_may_write_to_itself() -> None:
    monitor, p1 = cast(Monitor, 2, monitor="p0")
    assert [d.payload for d in monitor.send(b"s", to=["p0"]).deliveries] == [b"s"]
    texts(p1, send(monitor, "x", 1))
    assert texts(monitor, send(p1, "y", 0)) == "y"


def test_duplicate_that_is_counted_lets_an_effect_through() -> None:
    monitor, p1, p2 = cast(CountsDuplicates, 3, monitor="p0")
    a = send(p1, "a", 0)
    b = send(p1, "b", 0)
    texts(p2, send(p1, "to p2", 2))
    c = send(p2, "c", 0)
    assert texts(monitor, a, a, c, b) == "a c b"


def test_without_self_sends_f_and_k_are_one_vector() -> None:
    for seed in range(10):
        random = Random(seed)
        world = World(maker("monitor", monitor="p0"), 4)
        monitor = world.endpoints["p0"]
        assert isinstance(monitor, Monitor)
        for _ in range(60):
            if world.network and random.random() < 0.5:
                world.arrive(random.randrange(len(world.network)))
            else:
                sender = random.randrange(4)
                world.send(f"p{sender}", destinations(world.names, sender, random.randrange(99), "unicast"))
            assert monitor.past == [monitor.gate.have.get(p, 0) for p in range(4)]
