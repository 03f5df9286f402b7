"""Whether `matrix` would be better off without numpy in small groups.

What it does with the counts of a packet that has come, in numpy as the endpoint does it and in plain lists:
read them, take a column, compare a row, and keep the larger of each two. Beside that, all of `receive`.
"""

from collections.abc import Callable, Iterator
from operator import gt
from random import Random
from time import process_time
from timeit import repeat

import numpy as np
from rich.table import Table

from antecede import endpoint
from antecede.core.packet import Packet
from antecede.protocols.counts import (
    exceeds_somewhere,
    merge_maximum_counts,
    narrow_counts,
    pack_counts,
    raise_count_to,
    view_packed_counts,
)
from bench.live.group import PAYLOAD

GROUPS = (2, 4, 8, 16, 32)
COUNTS_BELOW = 200


def tables(quick: bool) -> Iterator[Table]:
    table = Table(title="Live: the counts of `matrix`, with numpy and with lists", title_justify="left")
    table.caption = "Microseconds of processor time for a packet, the least of five; counts of one byte."
    for name in ("processes", "numpy", "lists", "all of `receive`"):
        table.add_column(name, justify="right", no_wrap=True)
    for n in GROUPS:
        times = 200 if quick else 20_000 // n
        seconds = (_measure_numpy(n, times), _measure_lists(n, times), _measure_receive(n, times))
        table.add_row(str(n), *(f"{1e6 * each:.1f}" for each in seconds))
    yield table


def _measure_numpy(n: int, times: int) -> float:
    own = np.random.default_rng(1).integers(0, COUNTS_BELOW, (n, n))
    data = pack_counts(own)
    own = narrow_counts(own)

    def take_in() -> None:
        carried = view_packed_counts(data, n, n)
        carried[:, 0].tolist()
        exceeds_somewhere(carried[0], own[0])
        raise_count_to(merge_maximum_counts(own, carried), 1, 0, carried.item(1, 0))

    return _measure(take_in, times)


def _measure_lists(n: int, times: int) -> float:
    own = np.random.default_rng(1).integers(0, COUNTS_BELOW, n * n).tolist()
    data = bytes([0, *own])

    def take_in() -> None:
        carried = list(data[1:])
        carried[0::n]
        any(map(gt, carried[:n], own[:n]))
        own[:] = [theirs if theirs > mine else mine for theirs, mine in zip(carried, own, strict=True)]

    return _measure(take_in, times)


def _measure_receive(n: int, times: int) -> float:
    names = [f"p{number}" for number in range(n)]
    random = Random(1)
    least = float("inf")
    for _ in range(5):
        members = {name: endpoint("matrix", process=name, group=names) for name in names}
        packets: list[Packet] = []
        for _ in range(times):
            source = random.choice(names)
            target = random.choice([name for name in names if name != source])
            packets += members[source].send(PAYLOAD, [target]).packets
        start = process_time()
        for packet in packets:
            members[packet.target].receive(packet)
        least = min(least, (process_time() - start) / times)
    return least


def _measure(call: Callable[[], None], times: int) -> float:
    return min(repeat(call, timer=process_time, number=times, repeat=5)) / times
