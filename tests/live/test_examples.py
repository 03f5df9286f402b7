"""The examples, run as a user runs them; `antecede audit` judges the events that their nodes have written."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import here

ROOT = Path(__file__).resolve().parents[2]


def run_example(name: str, folder: Path) -> str:
    command = [sys.executable, str(ROOT / "examples" / name), "--keep", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def count_late(monkeypatch, capsys) -> Callable[[Path], int]:
    """What `antecede audit` says of one run; nothing may be lost or come twice."""

    def count(folder: Path) -> int:
        done = here(monkeypatch, capsys, "audit", folder, "--json")
        counts: dict[str, int] = json.loads(done.out)["counts"]
        assert set(counts) <= {"late"}
        assert done.code == (1 if counts else 0)
        return counts.get("late", 0)

    return count


def test_chat(tmp_path: Path, count_late) -> None:
    out = run_example("chat.py", tmp_path)
    lines = [line.strip() for line in out.splitlines()]
    rows = [line.split("  ", 1) for line in lines if line.startswith(("ann: ", "bob: "))]
    left, right = ([row[side].strip() for row in rows] for side in (0, 1))
    question, answer, end = "ann: Shall we meet at five?", "bob: Five is fine.", "ann: Then I book a table."
    assert left == [answer, question, end]
    assert f"$ make chat\n{out}```" in (ROOT / "docs" / "live.md").read_text()
    assert right == [question, answer, end]
    assert count_late(tmp_path / "unordered") == 1
    assert count_late(tmp_path / "vector") == 0


def test_chat_by_hand() -> None:
    environment = {**os.environ, "CHAT_PORT": str(random.randrange(10_000, 30_000))}

    def start(name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(ROOT / "examples" / "chat.py"), name]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    people = [start(name) for name in ("ann", "bob", "cid")]
    try:
        ann, bob, cid = people
        assert ann.stdin is not None and bob.stdout is not None and cid.stdout is not None
        ann.stdin.write(b"hello\n")
        ann.stdin.flush()
        for reader in (bob, cid):
            assert reader.stdout is not None
            assert b"You are" in reader.stdout.readline()
            assert reader.stdout.readline() == b"ann: hello\n"
        for person in people:
            assert person.stdin is not None
            person.stdin.close()
        assert [person.wait(60) for person in people] == [0, 0, 0]
    finally:
        for person in people:
            person.kill()
            person.wait()


def test_key_value(tmp_path: Path, count_late) -> None:
    out = run_example("key_value.py", tmp_path)
    parts = out.split("\n\n")
    assert parts[0].startswith("unordered:") and "<- but there is no album!" in parts[0]
    assert all("but there is no" not in part for part in parts[1:])
    assert out.count("all replicas have the same four keys, and the same title: Sea") == 3
    assert count_late(tmp_path / "unordered") > 0
    assert count_late(tmp_path / "vector") == count_late(tmp_path / "optimal") == 0


def test_kafka_scenario(tmp_path: Path, count_late) -> None:
    out = run_example("kafka_scenario.py", tmp_path)
    broken, *exact = out.strip().split("\n\n")
    assert "a consumer reads x=1, x=3 and y=1, y=2" in broken and "WRONG" in broken
    assert len(exact) == 3
    assert "while the link is cut: nothing waits" in broken and "nothing waits" not in "".join(exact)
    assert all("a consumer reads x=1, x=3 and y=1, y=3\n  right" in part for part in exact)
    assert count_late(tmp_path / "unordered") > 0
    for protocol in ("optimal", "matrix", "buffered"):
        assert count_late(tmp_path / protocol) == 0
