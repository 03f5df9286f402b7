"""How kernels are compiled: by numba, once per machine, never by two processes at the same time.

Numba keeps what it compiled in files beside the sources, or in the user's cache folder where the sources
cannot be written to. Three things are added to that:

- A lock for each such folder. Workers of Spark that start together wait for the first one to compile and
  then load what it made, instead of all compiling the same. A kernel that calls those of another folder takes
  both locks, its own first; calls between folders go one way, so nobody waits in a circle.
- A stamp over all kernels. Numba looks only at the file of the function that it loads, and would go on using
  machine code into which an older version of another kernel was compiled.
- An announcement, made once in a process when something must really be compiled (`announcement`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

import numba
from numba.core.compiler_lock import global_compiler_lock

from antecede.kernels.announcement import announce_compilation_once

try:
    import fcntl
except ImportError:  # not on Windows: there two processes may compile the same, which costs time and no more
    fcntl = None  # type: ignore[assignment]

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).resolve().parents[1]
_PLACES = ("kernels/*.py", "simulate/verdict/*.py", "events/row_order.py")
"""Where kernels are, in the package."""

kernels: list[Any] = []
"""The kernels of all modules that were imported; not those that are only compiled into others."""


def compiled(function: Function) -> Function:
    """The function, compiled when it is first called with arguments of these types."""
    kernel = _compile_function(function, "never")
    kernels.append(kernel)
    return kernel


def inlined(function: Function) -> Function:
    """The function, compiled into each of its callers."""
    return _compile_function(function, "always")


def _compile_function(function: Function, inline: Literal["never", "always"]) -> Function:
    dispatcher: Any
    try:
        dispatcher = numba.njit(cache=True, nogil=True, inline=inline)(function)
        _make_dispatcher_lock_and_check_cache(dispatcher)
    except RuntimeError:  # no folder can be written to: every process compiles for itself
        dispatcher = numba.njit(nogil=True, inline=inline)(function)
        _make_dispatcher_announce_compilation(dispatcher)
    compiled_function: Function = dispatcher
    return compiled_function


def _make_dispatcher_announce_compilation(dispatcher: Any) -> None:
    """Let numba's function say so before it is compiled."""
    compile_now = dispatcher.compile

    def announce_and_compile(signature: Any) -> Any:
        announce_compilation_once()
        return compile_now(signature)

    dispatcher.compile = announce_and_compile


def list_kernel_modules() -> list[str]:
    """The modules in which there may be kernels."""
    files = (file.relative_to(_PACKAGE.parent) for file in _list_kernel_files())
    return [".".join(file.with_suffix("").parts) for file in files if file.name != "__init__.py"]


def is_cached_on_disk(kernel: Any) -> bool:
    """Whether the kernel was compiled from these sources before, for arguments of some types, and kept."""
    cache_file = getattr(kernel._cache, "_cache_file", None)
    return cache_file is not None and bool(cache_file._load_index())


def has_cache_folder(kernel: Any) -> bool:
    """Whether there is a folder for it."""
    return hasattr(kernel._cache, "_cache_file")


def _list_kernel_files() -> list[Path]:
    return sorted(file for place in _PLACES for file in _PACKAGE.glob(place))


def _hash_kernel_sources() -> str:
    """A hash of all files with kernels: the same on a worker that gets them with what was compiled."""
    digest = hashlib.blake2b(digest_size=16)
    for file in _list_kernel_files():
        content = file.read_bytes()
        digest.update(f"{file.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


_STAMP = _hash_kernel_sources()


def _make_dispatcher_lock_and_check_cache(dispatcher: Any) -> None:
    """Let numba's function compile under the lock, and load only what was made from these very sources."""
    cache = dispatcher._cache
    cache._cache_file._source_stamp = _STAMP
    compile_now, load_now = dispatcher.compile, cache.load_overload

    def compile_under_lock(signature: Any) -> Any:
        # Numba's own lock first: a thread that compiles a kernel of one folder may need one of another.
        with global_compiler_lock, _lock_folder(cache.cache_path):
            return compile_now(signature)

    def load_or_announce(signature: Any, context: Any) -> Any:
        overload = load_now(signature, context)
        if overload is None:
            announce_compilation_once()
        return overload

    dispatcher.compile = compile_under_lock
    cache.load_overload = load_or_announce


_locked_folders: set[str] = set()
"""Compiling a kernel compiles those that it calls, too: only the first in a folder takes its lock. (Threads
of one process are kept apart by numba's own lock, which they take before.)"""


@contextmanager
def _lock_folder(folder: str) -> Iterator[None]:
    """Held by one process at a time; a folder that cannot be written to needs no lock."""
    if folder in _locked_folders:
        yield
        return
    file = _open_and_lock_file(folder)
    _locked_folders.add(folder)
    try:
        yield
    finally:
        _locked_folders.remove(folder)
        if file is not None:
            os.close(file)


def _open_and_lock_file(folder: str) -> int | None:
    """The lock file of a folder, once no other process holds it; None where there can be none."""
    if fcntl is None:
        return None
    try:
        os.makedirs(folder, exist_ok=True)
        file = os.open(os.path.join(folder, "antecede.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        return None
    fcntl.flock(file, fcntl.LOCK_EX)
    return file
