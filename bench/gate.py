"""Section `gate`: the Python gate and the compiled gate, in messages per second and against their bars."""

from collections.abc import Iterator

import numpy as np
from rich.table import Table

from antecede.core.gate import Gate
from antecede.kernels.gate import release_items
from bench import workload
from bench.measure import count, free_memory, least, verdict

RATE, GROWTH, SECONDS = 100_000, 13, 2.0
"""Bars: messages per second, how much longer ten times as many may take, seconds for a million."""

REPLICAS, PROCESSES = 4, 64
GIGABYTES_PER_MESSAGE = 6 / 10**7


def tables(quick: bool) -> Iterator[Table]:
    yield _python((10_000, 100_000) if quick else (100_000, 1_000_000))
    yield _compiled((20_000, 200_000) if quick else (1_000_000, 10_000_000))


def drain(items: list[workload.Item]) -> int:
    """Offer all to a Python gate, taking whatever is ready after each; returns how many came out."""
    gate: Gate[int] = Gate()
    out = 0
    for number, needs, gains in items:
        gate.add_arrival(number, needs, gains)
        while (arrival := gate.find_ready_arrival()) is not None:
            gate.take_and_apply_gains(arrival)
            out += 1
    return out


def _python(sizes: tuple[int, int]) -> Table:
    table = _table(f"The Python gate: updates of {REPLICAS} replicas, one at a time", f"≥ {count(RATE)}/s")
    for arrival in workload.ARRIVALS:
        seconds: list[float] = []
        for size in sizes:
            seconds.append(_drain(size, arrival))
            _add(table, arrival, size, seconds, size / seconds[-1] >= RATE)
    return table


def _compiled(sizes: tuple[int, int]) -> Table:
    title = f"The compiled gate: vectors of {PROCESSES} processes, every entry a need, in one batch"
    table = _table(title, f"≤ {SECONDS:g} s for 1,000,000")
    _release(1000, "shuffled")
    for arrival in workload.ARRIVALS:
        seconds: list[float] = []
        for size in sizes:
            if size * GIGABYTES_PER_MESSAGE > free_memory():
                table.add_row(arrival, count(size), "too little memory")
                continue
            seconds.append(_release(size, arrival))
            _add(table, arrival, size, seconds, seconds[-1] <= SECONDS * size / 10**6)
    return table


def _table(title: str, bar: str) -> Table:
    table = Table(title=title, title_justify="left", caption_justify="left")
    table.add_column("arrival", no_wrap=True)
    for name in ("messages", "seconds", "messages/s", bar, "ten times\nas many", f"≤ {GROWTH} ×"):
        table.add_column(name, justify="right")
    return table


def _add(table: Table, arrival: str, size: int, seconds: list[float], met: bool) -> None:
    row = [arrival, count(size), f"{seconds[-1]:.2f}", count(size / seconds[-1]), verdict(met)]
    if len(seconds) == 2:
        growth = seconds[1] / seconds[0]
        row += [f"{growth:.1f} ×", verdict(growth <= GROWTH)]
    table.add_row(*row)


def _drain(size: int, arrival: str) -> float:
    items = workload.items(workload.updates(size, REPLICAS, arrival))
    seconds, out = least(lambda: drain(items))
    assert out == size
    return seconds


def _release(size: int, arrival: str) -> float:
    needs, gains = workload.rows(workload.updates(size, PROCESSES, arrival))
    have = np.zeros(PROCESSES, dtype=np.int64)
    seconds, released = least(lambda: release_items(have, needs, gains))
    assert len(released.order) == size
    return seconds
