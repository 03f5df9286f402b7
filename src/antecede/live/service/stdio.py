"""The standard input and output as one connection.

Event loops cannot wait for files, and would make a terminal non-blocking for all who share it. So two threads
copy between the standard streams and a pair of sockets; a reader that is slow is waited for, as on any
connection.
"""

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

CHUNK = 65536
LAST_WORDS = 5.0
"""How many seconds a reader has to take what was written at the end."""


class StandardStreams:
    """`connection` is the end for the program. `on_input_end` is called, in a thread, at its end."""

    def __init__(self, on_input_end: Callable[[], None]) -> None:
        self._on_input_end = on_input_end
        self.connection, self._far = socket.socketpair()
        self._output = Thread(target=self._copy_socket_to_stdout, name="antecede-stdout", daemon=True)
        Thread(target=self._copy_stdin_to_socket, name="antecede-stdin", daemon=True).start()
        self._output.start()

    def wait_until_output_written(self) -> None:
        """Wait until what was written is with the reader; the connection is closed by now."""
        self._output.join(LAST_WORDS)

    def _copy_stdin_to_socket(self) -> None:
        with suppress(OSError):
            while data := os.read(0, CHUNK):
                self._far.sendall(data)
        with suppress(OSError):
            self._far.shutdown(socket.SHUT_WR)
        self._on_input_end()

    def _copy_socket_to_stdout(self) -> None:
        with suppress(OSError):
            while data := self._far.recv(CHUNK):
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(1, rest) :]
        with suppress(OSError):  # nobody reads any more: the program sees the end of its input
            self._far.shutdown(socket.SHUT_RDWR)
