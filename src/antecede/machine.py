"""What the machine has, for an embedded Spark to fit into, the user's own folder on it, and its processes."""

import os
import signal
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path


def read_memory_gigabytes() -> float:
    """The memory of this machine, or of the container it is in where that has less."""
    page_size, pages = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
    return min(page_size * pages, _read_container_memory_bytes()) / 2**30


def count_cores() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def shield_children_from_interrupt() -> Iterator[None]:
    """Processes that are started in the block do not hear Ctrl-C, which a terminal sends to all of them.

    Whoever started them ends them, and they print no tracebacks.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@cache
def make_user_folder() -> Path:
    """A folder that only this user can write to, kept from run to run where the user has a home.

    What is in it is executed. So where others could put something into it, or put another in its place, it is
    a new folder of a name that nobody can foresee.
    """
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(base) / "antecede"
    try:
        if Path(base).is_absolute():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if os.access(folder, os.W_OK | os.X_OK) and _is_writable_by_owner_only(folder):
                return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="antecede-"))


def _is_writable_by_owner_only(folder: Path) -> bool:
    """Whether nobody else but the administrator can write to a folder, or move it or one that it is in."""
    facts = folder.lstat()  # others may have made it, or a link to one of theirs
    is_own = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid()
    if not is_own or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return False
    for parent in Path(os.path.realpath(folder)).parents:
        facts = parent.stat()
        is_trusted = facts.st_uid in (0, os.geteuid())
        # In a sticky folder, such as /tmp, others can make folders, but not touch those that are not theirs.
        if not is_trusted or (_is_writable_by_others(facts) and not facts.st_mode & stat.S_ISVTX):
            return False
    return True


def _is_writable_by_others(facts: os.stat_result) -> bool:
    """Whether others can write; a group of the owner's number is the owner's alone, as systems set it up."""
    is_shared_group = facts.st_gid != facts.st_uid
    return bool(facts.st_mode & stat.S_IWOTH) or (is_shared_group and bool(facts.st_mode & stat.S_IWGRP))


def _read_container_memory_bytes() -> float:
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path) as file:
                return float(file.read())
        except (OSError, ValueError):
            continue
    return float("inf")
