"""Executions with a plot: duplicates, slow applications, crashes, fixed causes, and a process that joins."""

from contextlib import suppress
from random import Random

from antecede import CallerError, DuplicateError, Endpoint, decode
from antecede.core import wire
from antecede.core.gate import Gate
from antecede.protocols.membership import Probabilistic
from tests.harness import destinations
from tests.mutants.drives import STEPS, mix
from tests.mutants.trials import JoinTrial, ManualTrial, Trial


def resends(world: Trial, random: Random) -> None:
    """A network that duplicates; who refuses a duplicate is not disturbed by it."""
    for _ in range(STEPS):
        if world.network and random.random() < 0.5:
            world.network.append(random.choice(world.network))
            with suppress(DuplicateError):
                world.arrive(random.randrange(len(world.choices())))
        else:
            name = random.choice(world.names)
            world.send(name, [random.choice([other for other in world.names if other != name])])
    while world.network:
        with suppress(DuplicateError):
            world.drain(random.randrange)


def selective(world: Trial, random: Random) -> None:
    """Applications receive in order of arrival, except the last: it wakes up late and picks its senders."""
    assert isinstance(world, ManualTrial)
    *early, late = world.names

    def act(name: str) -> None:
        if name in early and random.random() < 0.5:
            world.take(name)
        elif not world.endpoints[name].blocked:
            to = destinations(world.names, world.names.index(name), random.randrange(1000), "unicast")
            world.send(name, to)

    mix(world, random, act, steps=2 * STEPS)
    for _ in range(STEPS):
        world.take(late, random.choice(early))
    _take_all(world)


def _take_all(world: ManualTrial) -> None:
    while [name for name in world.names if world.take(name)]:
        world.drain()


def crashes(world: Trial, random: Random) -> None:
    """Broadcasts, applications that receive slowly, and restarts from the state on disk."""
    assert isinstance(world, ManualTrial)

    def act(name: str) -> None:
        what = random.random()
        if what < 0.4:
            world.take(name)
        elif what < 0.6:
            world.endpoints[name] = restart_endpoint(world.endpoints[name])
        else:
            world.send(name)

    mix(world, random, act)
    for name in world.names:
        world.endpoints[name] = restart_endpoint(world.endpoints[name])
    _take_all(world)


def restart_endpoint(endpoint: Endpoint) -> Endpoint:
    """The endpoint from its state; what was not acknowledged is offered again, the newest first."""
    again = wire.make_decoder(type(endpoint), "state")(wire.encode(endpoint))
    gate: Gate[object] = again.gate  # type: ignore[attr-defined]
    items = [*gate.items.values()]
    gate.items, gate.filed, gate.ready = {}, {}, []
    for item in reversed(items):
        gate.add_arrival(item.what, item.needs, item.gains)
    return again


def reversed_chain(world: Trial, random: Random) -> None:
    """One process sends thirty messages, and the last arrives first."""
    for _ in range(30):
        world.send(world.names[0])
    world.drain(lambda size: size - 1)


def two_causes(world: Trial, random: Random) -> None:
    """Two processes send, a third gets both and sends; then anything may arrive."""
    first, second, third = world.names[:3]
    causes = [world.send(first), world.send(second)]
    for cause in causes:
        world.arrive_message(cause, third)
    world.send(third)
    world.drain(random.randrange)


def one_concurrent(world: Trial, random: Random) -> None:
    """A cause, its effect, and one message concurrent with both."""
    cause = world.send("p0")
    world.arrive_message(cause, "p1")
    world.send("p1")
    world.send("p3")
    world.drain(random.randrange)


def joining(world: Trial, random: Random) -> None:
    """The last process is admitted and joins while the others talk."""
    assert isinstance(world, JoinTrial)
    members = {name: _probabilistic(world, name) for name in world.names[:-1]}
    sent: dict[str, int] = {}
    done = False
    for _ in range(3 * STEPS):
        name = random.choice(world.names if done else [*members])
        if random.random() < 0.4:
            world.send(name)
        elif len(sent) < len(members) and random.random() < 0.3:
            member = [*members][len(sent)]
            sent[member] = members[member].admit(world.newcomer)
        elif not done and len(sent) == len(members):
            done = _try_to_join(world, name, sent)
        else:
            _arrive_somewhere(world, random, done)
    while not done:
        _arrive_somewhere(world, random, done)
        done = _try_to_join(world, world.names[0], sent)
    world.drain(random.randrange)


def _probabilistic(world: Trial, name: str) -> Probabilistic:
    endpoint = world.endpoints[name]
    assert isinstance(endpoint, Probabilistic)
    return endpoint


def _try_to_join(world: JoinTrial, sponsor: str, sent: dict[str, int]) -> bool:
    try:
        state = _probabilistic(world, sponsor).welcome(world.newcomer, sent)
    except CallerError:  # too early
        return False
    _probabilistic(world, world.newcomer).join(state)
    world.note_join(sponsor)
    return True


def _arrive_somewhere(world: JoinTrial, random: Random, newcomer_too: bool) -> None:
    """Packets for the newcomer stay under way until it has joined."""
    targets = [decode(data).target for data in world.network]
    open_to = [at for at, target in enumerate(targets) if newcomer_too or target != world.newcomer]
    if open_to:
        world.arrive(random.choice(open_to))
