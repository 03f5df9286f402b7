"""The broker of the tests."""

import signal
import subprocess
import sys

from scripts.kafka_broker import end_process


def test_whoever_leaves_last_ends_what_another_has_started() -> None:
    """A process that has ended and that its parent has not taken note of is not waited for."""
    program = (
        "import subprocess, sys; child = subprocess.Popen(['sleep', '1000']);"
        "print(child.pid, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdin is not None and parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert end_process(pid, signal.SIGTERM)
