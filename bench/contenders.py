"""Who else puts messages into causal order, each wrapped to be fed the same work.

A contender is prepared for a size and an arrival, which takes no part in the time, and returns the call that
is timed. The call returns how many messages came out.
"""

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from graphlib import TopologicalSorter
from operator import ge
from tempfile import TemporaryDirectory
from uuid import UUID

from bench import workload
from bench.gate import REPLICAS, drain

Call = Callable[[], int]
Prepare = Callable[[int, str], Call]
CHAIN = 4
_SCRATCH = TemporaryDirectory()


def ours(size: int, arrival: str) -> Call:
    """The Python gate."""
    items = workload.items(workload.updates(size, REPLICAS, arrival))
    return lambda: drain(items)


def ours_in_chains(size: int, arrival: str) -> Call:
    """The Python gate, for those who allow one cause per event."""
    items = workload.chains(size, CHAIN, arrival)
    return lambda: drain(items)


@dataclass(frozen=True)
class Contender:
    """`sizes` double; the last is where all figures but the growth are taken."""

    name: str
    module: str | None
    prepare: Prepare
    sizes: tuple[int, ...]
    differs: str
    reference: Prepare = ours


def textbook(size: int, arrival: str) -> Call:
    """After each arrival, go through the queue until a pass delivers nothing."""
    needs, gains = workload.rows(workload.updates(size, REPLICAS, arrival))
    items = list(zip(needs.counts.reshape(-1, REPLICAS).tolist(), gains.slots.tolist(), strict=True))

    def run() -> int:
        have, queue, out = [0] * REPLICAS, [], 0
        for item in items:
            queue.append(item)
            before = -1
            while before != out:
                before, passed, queue = out, queue, []
                for stamp, who in passed:
                    if all(map(ge, have, stamp)):
                        have[who] += 1
                        out += 1
                    else:
                        queue.append((stamp, who))
        return out

    return run


def _graph(size: int, arrival: str) -> Iterator[tuple[int, list[int]]]:
    """Each update with its latest predecessors, one of each replica."""
    items = workload.items(workload.updates(size, REPLICAS, arrival))
    named = {gains[0]: number for number, _, gains in items}
    return ((number, [named[need] for need in needs if need[1]]) for number, needs, _ in items)


def graphlib(size: int, arrival: str) -> Call:
    nodes = list(_graph(size, arrival))

    def run() -> int:
        sorter: TopologicalSorter[int] = TopologicalSorter()
        for number, causes in nodes:
            sorter.add(number, *causes)
        return sum(1 for _ in sorter.static_order())

    return run


def rustworkx(size: int, arrival: str) -> Call:
    import rustworkx

    nodes = list(_graph(size, arrival))

    def run() -> int:
        graph = rustworkx.PyDiGraph()
        graph.add_nodes_from(range(size))
        graph.add_edges_from_no_data([(cause, number) for number, causes in nodes for cause in causes])
        return len(rustworkx.topological_sort(graph))

    return run


def loro(size: int, arrival: str) -> Call:
    import loro

    written = _loro_updates(size)
    arriving = [written[number] for number in workload.updates(size, REPLICAS, arrival).number]

    def run() -> int:
        target = loro.LoroDoc()
        for update in arriving:
            target.import_(update)
        return sum((target.oplog_vv.get_last(peer) or -1) + 1 for peer in range(REPLICAS))

    return run


def _loro_updates(size: int) -> list[bytes]:
    """Each write sets one key of a map; a hub passes on to a replica what it has not seen."""
    from loro import ExportMode, LoroDoc

    history = workload.updates(size, REPLICAS, "in order")
    hub, replicas = LoroDoc(), [LoroDoc() for _ in range(REPLICAS)]
    made: list[bytes] = []
    for peer, replica in enumerate(replicas):
        replica.peer_id = peer
    for who, merged in zip(history.writer.tolist(), history.merged.tolist(), strict=True):
        replica = replicas[who]
        if merged:
            replica.import_(hub.export(ExportMode.Updates(replica.oplog_vv)))
        before = replica.oplog_vv
        replica.get_map("map").insert(str(who), len(made))
        replica.commit()
        made.append(replica.export(ExportMode.Updates(before)))
        hub.import_(made[-1])
    return made


def prefect(size: int, arrival: str) -> Call:
    os.environ.setdefault("PREFECT_HOME", _SCRATCH.name)
    from prefect.server.events.ordering import EventArrivedEarly
    from prefect.server.events.ordering.memory import CausalOrdering
    from prefect.server.events.schemas.events import ReceivedEvent, Resource

    now, thing = datetime.now(UTC), Resource({"prefect.resource.id": "thing"})

    def event(number: int, place: int) -> ReceivedEvent:
        leader = UUID(int=number) if place else None
        at = now + timedelta(milliseconds=place)
        return ReceivedEvent(occurred=at, event="e", resource=thing, id=UUID(int=number + 1), follows=leader)

    events = [event(number, needs[0][1]) for number, needs, _ in workload.chains(size, CHAIN, arrival)]

    async def run() -> int:
        CausalOrdering.clear_all_scopes()
        ordering, out = CausalOrdering(scope="bench"), 0

        async def handle(event: ReceivedEvent, depth: int = 0) -> None:
            nonlocal out
            async with ordering.preceding_event_confirmed(handle, event, depth):
                out += 1

        for event in events:
            try:
                await handle(event)
            except EventArrivedEarly:
                continue
        return out

    return lambda: asyncio.run(run())


CONTENDERS = (
    Contender("our Python gate", None, ours, (25_000, 50_000, 100_000), "one at a time"),
    Contender("textbook", None, textbook, (2_500, 5_000, 10_000), "rescans its queue after every arrival"),
    Contender("graphlib", None, graphlib, (25_000, 50_000, 100_000), "sorts once all is there"),
    Contender("rustworkx", "rustworkx", rustworkx, (50_000, 100_000, 200_000), "the same sort, in Rust"),
    Contender("loro", "loro", loro, (2_500, 5_000, 10_000), "also keeps a document up to date"),
    Contender(
        "prefect", "prefect", prefect, (5_000, 10_000, 20_000),
        f"one cause per event: chains of {CHAIN}; asynchronous", ours_in_chains,
    ),
)  # fmt: skip
