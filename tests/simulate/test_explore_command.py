"""`antecede explore`, run as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TRIANGLE = "P1: s x->3; s y->2. P2: r; s z->3. P3: r; r"
TWO_SENDERS = "P1: s x->2. P2: r from 1; r from 3. P3: s y->2"
CYCLE = "P1: s a->2; r. P2: s b->1; r"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "antecede", "explore", *arguments]
    environment = {**os.environ, "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, encoding="utf-8"
    )


def answer(*arguments: str) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert done.stderr == ""
    read = json.loads(done.stdout)
    assert done.returncode == (1 if read["blocked"] else 0)
    return dict(read)


@pytest.mark.parametrize(
    ("program", "protocol", "verdict", "code"),
    [
        (TRIANGLE, "matrix", "always completes", 0),
        (TWO_SENDERS, "buffered", "sometimes blocks", 1),
        (CYCLE, "sync", "always blocks", 1),
    ],
)
def test_verdict_and_exit_code(program: str, protocol: str, verdict: str, code: int) -> None:
    done = run(program, "--protocol", protocol)
    assert done.returncode == code and done.stderr == ""
    assert f"under {protocol}: {verdict}\n" in done.stdout


def test_tables_of_outcomes_and_blocked_states() -> None:
    shown = run(TWO_SENDERS, "--protocol", "buffered").stdout
    assert "32 states (32 configurations), 54 transitions" in shown
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in shown.splitlines()]
    assert ["- | x y | -", "kept", "8"] in rows
    assert ["- | - | -", "- | y x | -", "P2: a message from P1", "kept", "6"] in rows


def test_schedule_of_an_outcome() -> None:
    shown = run(TRIANGLE, "--protocol", "unordered", "--outcome", "P3: z x").stdout
    assert "broken: z early" in shown
    told = [line.strip() for line in shown.partition("ends with - | y | z x")[2].splitlines()]
    assert told[1] == "1. P1 sends x to P3"
    assert told[-2:] == [
        "8. P3 receives z  (early: x came first)",
        "9. P3 receives x  (late: an effect of it was faster)",
    ]
    assert run(TRIANGLE, "--protocol", "unordered", "--outcome", "- | y | z x").stdout == shown


def test_schedule_that_blocks() -> None:
    shown = run(TWO_SENDERS, "--protocol", "buffered", "--blocked").stdout
    told = [line.strip() for line in shown.partition("blocks with")[2].splitlines()]
    assert told[3:5] == ["3. y arrives at P2  (ack leaves for P3)", "4. x arrives at P2  (ack leaves for P1)"]
    assert told[-1] == "P2 waits for a message from P1; arrived: y x"
    assert "No execution blocks." in run(TRIANGLE, "--protocol", "matrix", "--blocked").stdout


def test_json() -> None:
    found = answer(TWO_SENDERS, "--protocol", "buffered", "--blocked")
    assert found["program"] == "P1: s x->P2. P2: r from P1; r from P3. P3: s y->P2"
    assert (found["states"], found["configurations"], found["transitions"]) == (32, 32, 54)
    assert found["verdict"] == "sometimes blocks" and found["protocol"] == "buffered"
    (done,), (stuck,) = found["outcomes"], found["blocked"]
    assert done["received"] == {"P1": [], "P2": ["x", "y"], "P3": []}
    assert done["steps"] == 8
    assert stuck["arrived"]["P2"] == ["y", "x"]
    assert stuck["waits"] == {"P2": "a message from P1"}
    assert found["witness"]["text"] == "- | - | -" and not found["witness"]["complete"]
    assert found["witness"]["steps"][2] == {
        "process": "P2",
        "what": "y arrives at P2",
        "note": "ack leaves for P3",
    }
    free = answer(TRIANGLE, "--protocol", "unordered")
    assert [one["early"] for one in free["outcomes"]] == [[], ["z"]]
    assert free["witness"] is None


def test_options_and_channels() -> None:
    assert answer(CYCLE, "--protocol", "sync", "--option", "form=site")["verdict"] == "always completes"
    held = answer(TRIANGLE, "--protocol", "bounded", "--option", "k=4", "--option", "rule=>")
    assert held["options"] == {"k": 4, "rule": ">"}
    assert held["verdict"] == "always completes"
    twice = "P1: s x->2; s y->2. P2: r; r"
    pipelined = (twice, "--protocol", "buffered", "--option", "pipelined=true")
    assert run(*pipelined).returncode == 2
    assert answer(*pipelined, "--fifo")["outcomes"][0]["text"] == "- | x y"


def test_program_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "triangle.txt"
    file.write_text(
        "# the triangle of Mattern and Fünfrocken 1995\n" + TRIANGLE.replace(". ", "\n"), encoding="utf-8"
    )
    for named in (str(file), f"@{file}"):
        assert answer(named, "--protocol", "matrix")["configurations"] == 20


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["P1: x", "--protocol", "matrix"], "line 1, statement 1 ('P1: x'): unknown instruction 'x'"),
        ([TRIANGLE, "--protocol", "nope"], "unknown protocol 'nope'; choose one of unordered"),
        ([TRIANGLE], "--protocol"),
        ([TRIANGLE, "--protocol", "matrix", "--option", "k"], "--option 'k': write NAME=VALUE"),
        ([TRIANGLE, "--protocol", "matrix", "--option", "k=3"], "has no option k"),
        ([TRIANGLE, "--protocol", "matrix", "--outcome", "P3: z x"], "no execution ends with 'P3: z x'"),
        ([TRIANGLE, "--protocol", "matrix", "--outcome", "x", "--blocked"], "give one of them"),
        ([TRIANGLE, "--protocol", "matrix", "--limit", "5"], "more than 5 states"),
        (["@no-such-file", "--protocol", "matrix"], "cannot read 'no-such-file'"),
        (["no-such-file", "--protocol", "matrix"], "give a program such as"),
    ],
)
def test_wrong_usage_is_a_sentence_and_exit_code_2(arguments: list[str], sentence: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert "Traceback" not in done.stderr
    assert sentence in " ".join(done.stderr.split())


def test_help_has_an_example() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert "Example: antecede explore" in done.stdout and "Exit code" in done.stdout
