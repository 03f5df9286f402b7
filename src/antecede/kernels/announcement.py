"""Says once that kernels must be compiled, so that a command can tell its user why it is slow this time.

It is apart from `compiled`, since a command says whom to tell before it is known whether numba is needed.
"""

from collections.abc import Callable

listener: Callable[[], None] | None = None
"""Called before the first kernel of this process is compiled; loading compiled kernels does not count."""


def announce_compilation_once() -> None:
    """Tell the listener, if there is one that was not told before."""
    global listener
    if listener is not None:
        tell, listener = listener, None
        tell()
