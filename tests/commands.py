"""Commands as their users type them: in this process, where Spark is up already, or in one of their own."""

import os
import subprocess
import sys
from typing import Any, NamedTuple

import pytest

from antecede.cli.main import main
from tests.formats.samples import lines


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def noise(self) -> list[str]:
        """What is on the error output but for progress, which slow machines and first runs see."""
        lines = self.err.splitlines()
        progress = ("compiling", "replays: ", "messages: ")
        return [line for line in lines if ": stage " not in line and not line.startswith(progress)]


def here(monkeypatch, capsys, *words: object) -> Done:
    """Run a command in this process."""
    monkeypatch.setattr(sys, "argv", ["antecede", *map(str, words)])
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    return Done(int(ended.value.code or 0), out, err)


def make_environment(**more: str) -> dict[str, str]:
    """The environment of a process of its own: where tests go through Spark Connect, it does not."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    return {**kept, **more}


def apart(*words: object) -> Done:
    """Run a command in a process of its own."""
    arguments = [sys.executable, "-m", "antecede", *map(str, words)]
    done = subprocess.run(
        arguments, capture_output=True, text=True, timeout=600, check=False, env=make_environment()
    )
    return Done(done.returncode, done.stdout, done.stderr)


def story(told: str) -> list[dict[str, Any]]:
    """Records of events, told as `p1 send x; p2 deliver x`; what only `step`s is a local event."""
    words = [part.split() for part in told.split("; ")]
    return [
        {"process": who, "kind": "local" if kind == "step" else kind, "event": f"e{at}", "index": at}
        | ({"message": message[0]} if message else {})
        for at, (who, kind, *message) in enumerate(words)
    ]


TRIANGLE = lines(
    *story("p1 send x; p1 send y; p2 deliver y; p2 send z; p3 deliver z; p3 deliver x"),
)
"""Mattern95's Figure 4: x is late at p3."""
