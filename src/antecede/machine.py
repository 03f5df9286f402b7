"""What the machine has, for an embedded Spark to fit into, and the user's own folder on it."""

import os
import stat
import tempfile
from functools import cache
from pathlib import Path


def memory_gigabytes() -> float:
    """The memory of this machine, or of the container it is in where that has less."""
    page_size, pages = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
    return min(page_size * pages, _read_container_limit()) / 2**30


def count_cores() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def make_user_folder() -> Path:
    """A folder that only this user can write to, kept from run to run where the user has a home."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(base) / "antecede"
    try:
        if folder.is_absolute():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if _belongs_to_user(folder):
                return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="antecede-"))


def _belongs_to_user(folder: Path) -> bool:
    """Whether this user owns a folder, and nobody else can write to it: others may have made it."""
    status = folder.lstat()
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    is_shared = bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    return is_own and not is_shared and os.access(folder, os.W_OK | os.X_OK)


def _read_container_limit() -> float:
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path) as file:
                return float(file.read())
        except (OSError, ValueError):
            continue
    return float("inf")
