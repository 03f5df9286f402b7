"""Whether a stream runs: whoever runs it holds a lock on a file in its checkpoint.

The lock ends with the process, however that ends, so nobody has to clean up behind a crash.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FILE = "running.lock"


@contextmanager
def hold_running_lock(checkpoint: Path) -> Iterator[None]:
    """Let others see, while the block runs, that the stream does."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    file = os.open(checkpoint / _FILE, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _try_to_lock(file)
        yield
    finally:
        os.close(file)


def is_running(checkpoint: Path) -> bool | None:
    """Whether somebody runs the stream now; None where nobody tells, as in a `foreachBatch` of one's own."""
    try:
        file = os.open(checkpoint / _FILE, os.O_RDONLY)
    except OSError:
        return None
    try:
        return not _try_to_lock(file, shared=True)
    finally:
        os.close(file)


def _try_to_lock(file: int, *, shared: bool = False) -> bool:
    """Whether nobody else has the lock; a file system without locks has nobody."""
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
