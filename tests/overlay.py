"""Links of `flood` that come and go while messages are under way; the open ones always connect the group."""

from collections.abc import Callable

from antecede.protocols.flood import Flood
from tests.harness import World

Pick = Callable[[int], int]
"""Chooses one of so many."""


def get_flood(world: World, name: str) -> Flood:
    endpoint = world.endpoints[name]
    assert isinstance(endpoint, Flood)
    return endpoint


def is_connected(world: World, without: tuple[str, str] | None = None) -> bool:
    """Whether everybody reaches everybody over open links, of which one is left out."""
    links = {name: set(get_flood(world, name).links) for name in world.names}
    if without:
        source, target = without
        links[source].discard(target)
    return all(find_reached(links, name) == set(world.names) for name in world.names)


def find_reached(links: dict[str, set[str]], start: str) -> set[str]:
    reached, news = {start}, [start]
    while news:
        unseen = links[news.pop()] - reached
        reached |= unseen
        news += unseen
    return reached


def change_a_link(world: World, pick: Pick) -> None:
    """Some process adds a link that it lacks, gives up one that is not open yet, or removes one."""
    name = world.names[pick(len(world.names))]
    others = [other for other in world.names if other != name]
    peer = others[pick(len(others))]
    endpoint = get_flood(world, name)
    if peer in endpoint.links:
        if is_connected(world, without=(name, peer)):
            endpoint.remove_link(peer)
    elif endpoint.id_by_process[peer] not in endpoint.opening:
        world._take_effects(name, endpoint.add_link(peer))
    elif pick(3) == 0:
        endpoint.remove_link(peer)


def play_with_changing_links(world: World, pick: Pick, steps: int) -> None:
    """Broadcasts, arrivals and changes of links; then everything arrives."""
    for _ in range(steps):
        what = pick(8)
        if what < 4 and world.network:
            world.arrive(pick(len(world.choices())))
        elif what < 6:
            world.send(world.names[pick(len(world.names))])
        else:
            change_a_link(world, pick)
    world.drain(pick)
