"""Random executions from a seeded generator: who sends what to whom, and what arrives next."""

from collections.abc import Callable
from random import Random

from antecede import decode
from tests.harness import destinations, run_script
from tests.mutants.trials import SemanticTrial, Trial

Drive = Callable[[Trial, Random], None]
STEPS = 40


def _script(random: Random, steps: int = STEPS) -> list[tuple[int, int, int]]:
    return [(random.randrange(4), random.randrange(1000), random.randrange(1000)) for _ in range(steps)]


def unicast(world: Trial, random: Random) -> None:
    """The random executions of the suite, one destination per message."""
    run_script(world, _script(random), "unicast")


def slow_unicast(world: Trial, random: Random) -> None:
    """One destination per message over a slow network: much is under way at a time."""

    def act(name: str) -> None:
        to = destinations(world.names, world.names.index(name), random.randrange(1000), "unicast")
        world.send(name, to)

    mix(world, random, act, arrivals=0.3)


def long_unicast(world: Trial, random: Random) -> None:
    """The random executions of the suite for longer, so that what grows can be seen to grow."""
    run_script(world, _script(random, 5 * STEPS), "unicast")


def multicast(world: Trial, random: Random) -> None:
    """The random executions of the suite, several destinations per message."""
    run_script(world, _script(random), "multicast")


def broadcast(world: Trial, random: Random) -> None:
    """The random executions of the suite, everybody as destination."""
    run_script(world, _script(random), "broadcast")


def mix(
    world: Trial,
    random: Random,
    act: Callable[[str], object],
    steps: int = STEPS,
    arrivals: float = 0.5,
    slow: bool = False,
) -> None:
    """Acts of some process and arrivals; then everything arrives. `slow`: one link waits until then."""
    for _ in range(steps):
        choices = [at for at in range(len(world.choices())) if not (slow and _on_slow_link(world, at))]
        if choices and random.random() < arrivals:
            world.arrive(random.choice(choices))
        else:
            act(random.choice(world.names))
    world.drain(random.randrange)


def _on_slow_link(world: Trial, choice: int) -> bool:
    packet = decode(world.network[world.choices()[choice]])
    return (packet.source, packet.target) == (world.names[0], world.names[-1])


def self_sends(world: Trial, random: Random) -> None:
    """One destination per message, often the sender itself."""
    mix(world, random, lambda name: world.send(name, [random.choice([name, *world.names])]))


def dependences(world: Trial, random: Random) -> None:
    """Messages to one process that declare what they depend on, and internal events."""
    _dependences(world, random, "unicast")


def dependences_to_several(world: Trial, random: Random) -> None:
    """The same with several destinations."""
    _dependences(world, random, "multicast")


def dependences_slow(world: Trial, random: Random) -> None:
    """Messages to one process over a slow network: much is under way at a time."""
    _dependences(world, random, "unicast", arrivals=0.3)


def dependences_slow_link(world: Trial, random: Random) -> None:
    """Two messages at a time, and what the first process sends to the last arrives when all else has."""
    assert isinstance(world, SemanticTrial)

    def act(name: str) -> None:
        to = destinations(world.names, world.names.index(name), random.randrange(1000), "unicast")
        for _ in range(2):
            world.send(name, to, depends_on=len(world.semantic.events[name]) - 1)

    mix(world, random, act, slow=True)


def few_dependences(world: Trial, random: Random) -> None:
    """One message in four depends on something, and the network is slow."""
    _dependences(world, random, "unicast", independent=9, arrivals=0.3)


def _dependences(
    world: Trial, random: Random, kind: str, independent: int = 1, arrivals: float = 0.5
) -> None:
    assert isinstance(world, SemanticTrial)

    def act(name: str) -> None:
        latest = len(world.semantic.events[name]) - 1
        depends_on = random.choice([*[0] * independent, latest, latest, random.randint(0, latest)])
        if random.random() < 0.15:
            world.local(name, depends_on)
        else:
            to = destinations(world.names, world.names.index(name), random.randrange(1000), kind)
            world.send(name, to, depends_on=depends_on)

    mix(world, random, act, arrivals=arrivals)
