"""`antecede explore`, run as a user runs it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Done, here

TRIANGLE = "P1: s x->3; s y->2. P2: r; s z->3. P3: r; r"
TWO_SENDERS = "P1: s x->2. P2: r from 1; r from 3. P3: s y->2"
CYCLE = "P1: s a->2; r. P2: s b->1; r"


Run = Callable[..., Done]
Answer = Callable[..., dict[str, Any]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in this process; README's example of it has a process of its own."""
    monkeypatch.setenv("COLUMNS", "120")
    return lambda *words: here(monkeypatch, capsys, "explore", *words)


@pytest.fixture
def answer(run: Run) -> Answer:
    """Runs the command for a program."""

    def ask(*words: str) -> dict[str, Any]:
        done = run(*words, "--json")
        assert done.err == ""
        read = json.loads(done.out)
        assert done.code == (1 if read["blocked"] else 0)
        return dict(read)

    return ask


@pytest.mark.parametrize(
    ("program", "protocol", "verdict", "code"),
    [
        (TRIANGLE, "matrix", "always completes", 0),
        (TWO_SENDERS, "buffered", "sometimes blocks", 1),
        (CYCLE, "sync", "always blocks", 1),
    ],
)
def test_verdict_and_exit_code(run: Run, program: str, protocol: str, verdict: str, code: int) -> None:
    done = run(program, "--protocol", protocol)
    assert done.code == code and done.err == ""
    assert f"under {protocol}: {verdict}\n" in done.out


def test_tables_of_outcomes_and_blocked_states(run: Run) -> None:
    shown = run(TWO_SENDERS, "--protocol", "buffered").out
    assert "32 states (32 configurations), 54 transitions" in shown
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in shown.splitlines()]
    assert ["- | x y | -", "kept", "8"] in rows
    assert ["- | - | -", "- | y x | -", "P2: a message from P1", "kept", "6"] in rows


def test_schedule_of_an_outcome(run: Run) -> None:
    shown = run(TRIANGLE, "--protocol", "unordered", "--outcome", "P3: z x").out
    assert "broken: z early" in shown
    told = [line.strip() for line in shown.partition("ends with - | y | z x")[2].splitlines()]
    assert told[1] == "1. P1 sends x to P3"
    assert told[-2:] == [
        "8. P3 receives z  (early: x came first)",
        "9. P3 receives x  (late: an effect of it was faster)",
    ]
    assert run(TRIANGLE, "--protocol", "unordered", "--outcome", "- | y | z x").out == shown


def test_schedule_that_blocks(run: Run) -> None:
    shown = run(TWO_SENDERS, "--protocol", "buffered", "--blocked").out
    told = [line.strip() for line in shown.partition("blocks with")[2].splitlines()]
    assert told[3:5] == ["3. y arrives at P2  (ack leaves for P3)", "4. x arrives at P2  (ack leaves for P1)"]
    assert told[-1] == "P2 waits for a message from P1; arrived: y x"
    assert "No execution blocks." in run(TRIANGLE, "--protocol", "matrix", "--blocked").out


def test_json(answer: Answer) -> None:
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


def test_options_and_channels(run: Run, answer: Answer) -> None:
    assert answer(CYCLE, "--protocol", "sync", "--option", "form=site")["verdict"] == "always completes"
    held = answer(TRIANGLE, "--protocol", "bounded", "--option", "k=4", "--option", "rule=>")
    assert held["options"] == {"k": 4, "rule": ">"}
    assert held["verdict"] == "always completes"
    twice = "P1: s x->2; s y->2. P2: r; r"
    pipelined = (twice, "--protocol", "buffered", "--option", "pipelined=true")
    assert run(*pipelined).code == 2
    assert answer(*pipelined, "--fifo")["outcomes"][0]["text"] == "- | x y"


def test_program_from_a_file(answer: Answer, tmp_path: Path) -> None:
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
def test_wrong_usage_is_a_sentence_and_exit_code_2(run: Run, arguments: list[str], sentence: str) -> None:
    done = run(*arguments)
    assert done.code == 2 and done.out == ""
    assert "Traceback" not in done.err
    assert sentence in " ".join(done.err.split())


def test_help_says_what_exit_codes_mean(run: Run) -> None:
    done = run("--help")
    assert done.code == 0 and "Exit code" in done.out
