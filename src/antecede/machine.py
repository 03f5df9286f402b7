"""What the machine has, for an embedded Spark to fit into."""

import os


def memory_gigabytes() -> float:
    """The memory of this machine, or of the container it is in where that has less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(total, _container_limit()) / 2**30


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _container_limit() -> float:
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path) as file:
                return float(file.read())
        except (OSError, ValueError):
            continue
    return float("inf")
