"""Taking the time, and saying on what machine and against which bar."""

import gc
import os
import platform
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple, TypeVar

Answer = TypeVar("Answer")


def least(call: Callable[[], Answer]) -> tuple[float, Answer]:
    """The least seconds of processor time of three calls, fewer if they are long, and the answer.

    Processor time, so that what else runs here counts for little. What exists before the call is kept out of
    the garbage collector's way.
    """
    seconds: list[float] = []
    while True:
        gc.collect()
        gc.freeze()
        start = process_time()
        answer = call()
        seconds.append(process_time() - start)
        gc.unfreeze()
        if len(seconds) == 3 or sum(seconds) > 10:
            return min(seconds), answer


class Spent(NamedTuple):
    """Seconds that a call took: on the wall, and of processors, with all processes under this one that are
    still there at its end."""

    wall: float
    processor: float


def spent(call: Callable[[], object]) -> Spent:
    """The time of one call."""
    start, before = perf_counter(), _processors()
    call()
    wall = perf_counter() - start
    return Spent(wall, sum(used - before.get(process, 0.0) for process, used in _processors().items()))


def processor_time() -> float:
    """Seconds of processor time of this process and of all under it, in hundredths."""
    return sum(_processors().values())


def processor_time_of(process: int) -> float:
    """Seconds of processor time of one process under this one."""
    return _processors()[process]


def _processors() -> dict[int, float]:
    """Seconds of processor time of this process and of each one under it, as far as the system tells."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(path.parent.name))
        ticks[int(path.parent.name)] = sum(map(int, fields[11:15]))
    found, ahead = {}, [os.getpid()]
    while ahead:
        process = ahead.pop()
        found[process] = ticks.get(process, 0) / os.sysconf("SC_CLK_TCK")
        ahead += children.get(process, [])
    return found


def machine() -> str:
    """What this ran on, and how busy that was."""
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{os.cpu_count()} cores of {_processor()}, load {load}, Python {platform.python_version()}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def free_memory() -> float:
    """Gigabytes that can be had without swapping, as far as the system tells."""
    info = Path("/proc/meminfo")
    lines = info.read_text().splitlines() if info.exists() else []
    free = (int(line.split()[1]) / 2**20 for line in lines if line.startswith("MemAvailable"))
    return next(free, float("inf"))


def verdict(met: bool) -> str:
    return "[green]pass[/]" if met else "[red]miss[/]"


def count(number: float) -> str:
    """1,234,567; what is small keeps its digits."""
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
