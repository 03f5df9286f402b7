"""Compiles all kernels beforehand: `python -m antecede.cli.compile_kernels`, which `make setup` runs.

The kernels are compiled for the types of the arrays that they get. So the commands themselves are run, on a
small simulated run and on a small log that has something wrong of every kind.
"""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from tempfile import TemporaryDirectory

from antecede.cli.main import app

LOG = """\
{"process": "a", "event": "a1", "kind": "send", "message": "x", "receivers": ["b", "c"], "time": 5}
{"process": "a", "event": "a2", "kind": "send", "message": "y", "receivers": ["b"], "time": 6}
{"process": "b", "event": "b1", "kind": "deliver", "message": "y", "time": 1}
{"process": "b", "event": "b2", "kind": "deliver", "message": "x", "parents": ["b3"], "time": 2}
{"process": "b", "event": "b3", "kind": "send", "message": "z", "receivers": ["c"], "parents": ["b2"]}
{"process": "c", "event": "c1", "kind": "deliver", "message": "z", "time": 4}
{"process": "c", "event": "c2", "kind": "deliver", "message": "x", "time": 5}
{"process": "c", "event": "c3", "kind": "local", "parents": ["c3", "nowhere"]}
"""
"""Messages too early and too late, lost and repeated; causes that lead in a circle; times that run back."""

CLOCKED_LOG = """\
a {"a": 1}
send
b {"a": 1, "b": 1}
receive
b {"a": 2, "b": 3}
a clock that knows more than there is
a {"a": 2, "b": 3}
a clock that leads back
"""
"""Clocks that contradict each other and the log."""

COMMANDS = (
    "simulate --protocol optimal -n 4 -m 60 --fanout 2 --loss 0.1 --out run",
    "simulate --protocol unordered -n 4 -m 400 --workload broadcast --out unordered",
    "simulate --protocol semantic -n 3 -m 40 --workload broadcast --out semantic",
    "audit run/events.parquet --engine local --report page.html",
    "audit unordered/events.parquet --engine local",
    "audit semantic/events.parquet --engine local",
    "audit log.jsonl --engine local --shiviz shiviz.log",
    "audit clocks.log --engine local",
)


def compile_kernels() -> None:
    """Run what compiles all kernels, where they are not compiled yet."""
    home = os.getcwd()
    with TemporaryDirectory(prefix="antecede-compile-") as folder, open(os.devnull, "w") as nowhere:
        os.chdir(folder)
        try:
            with open("log.jsonl", "w") as log, open("clocks.log", "w") as clocks:
                log.write(LOG)
                clocks.write(CLOCKED_LOG)
            for command in COMMANDS:
                with redirect_stdout(nowhere), redirect_stderr(nowhere):
                    _run(command)
        finally:
            os.chdir(home)


def _run(command: str) -> None:
    """Run a command; that it finds something is not an error here."""
    with suppress(SystemExit):
        app(command.split())


if __name__ == "__main__":
    compile_kernels()
