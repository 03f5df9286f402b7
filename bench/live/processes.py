"""A process for each node, as in life; all begin together, and the time is until the last is through."""

import multiprocessing
from multiprocessing.pool import Pool
from multiprocessing.synchronize import Barrier
from time import perf_counter, process_time
from typing import NamedTuple

from bench.live.group import NODES


class Cost(NamedTuple):
    """Seconds: from a common start to the last one's end, and of processors."""

    wall: float
    processor: float


def add_costs(costs: list[Cost]) -> Cost:
    """What all processes took together."""
    return Cost(max(cost.wall for cost in costs), sum(cost.processor for cost in costs))


class Stopwatch:
    """Runs from when all processes are ready until all are through; processor time is this process's own."""

    barrier: Barrier

    def __init__(self) -> None:
        self.barrier.wait()
        self._wall, self._processor = perf_counter(), process_time()

    def stop(self) -> Cost:
        """Seconds until now, and until the last process was here."""
        processor = process_time() - self._processor
        self.barrier.wait()
        return Cost(perf_counter() - self._wall, processor)


def share_barrier(barrier: Barrier) -> None:
    """Begin a process: where all wait for each other."""
    Stopwatch.barrier = barrier


def make_pool(module: str) -> Pool:
    """As many processes as nodes, in which this module is loaded already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([module])
    return context.Pool(NODES, share_barrier, (context.Barrier(NODES),))
