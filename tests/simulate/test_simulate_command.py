"""The command as its users type it."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from antecede.tables import EVENTS, MESSAGES
from tests.commands import Done, apart, here


@pytest.fixture
def simulate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Done]:
    """Runs the command in this process and in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: here(monkeypatch, capsys, "simulate", *words)


def test_a_run_prints_its_costs_and_verdict(simulate) -> None:
    done = simulate("--protocol", "bounded", "-n", "5", "-m", "200", "--loss", "0.2", "--crashes", "3")
    assert done.code == 0
    for text in ("control bytes on a message", "extra packets per message", "crash", "kept its promise"):
        assert text in done.out


def test_out_holds_the_tables_and_the_run(simulate, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "run"
    done = simulate("--protocol", "vector", "-n", "3", "-m", "50", "--out", str(out), "--json")
    run = json.loads(done.out)
    assert run == json.loads((out / "run.json").read_text())
    events = pq.read_table(out / "events.parquet")
    messages = pq.read_table(out / "messages.parquet")
    assert events.schema.equals(EVENTS) and messages.schema.equals(MESSAGES)
    assert messages.num_rows == run["costs"]["arrivals"] == 100
    assert events.num_rows == 50 + 2 * 100


def test_the_same_seed_writes_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    words = ("-m", "100", "--crashes", "2", "--loss", "0.1", "--seed", "7")
    for name in ("a", "b"):
        assert apart("simulate", *words, "--out", tmp_path / name).code == 0
    for file in ("events.parquet", "messages.parquet", "run.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_a_mistake_leaves_an_earlier_run_alone(simulate, tmp_path: Path) -> None:
    simulate("-m", "50", "--out", str(tmp_path))
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert simulate("--protocol", "matirx", "--out", str(tmp_path)).code == 2
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["events.parquet", "run.json"])
def test_out_where_it_cannot_be(simulate, name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    done = simulate("-m", "5", "--out", str(tmp_path))
    assert done.code == 2 and "name another folder" in done.err
    file = tmp_path / "file"
    file.write_text("")
    done = simulate("-m", "5", "--out", str(file))
    assert done.code == 2 and "name a folder" in done.err and "Traceback" not in done.err


def test_a_broken_promise_is_exit_code_1(simulate) -> None:
    done = simulate("--protocol", "sync", "-n", "4", "-m", "100", "--rate", "200")
    assert done.code == 1
    assert "sync came to a standstill" in done.out, "a rendezvous of all with all deadlocks"


def test_a_network_from_a_file(simulate, tmp_path: Path) -> None:
    file = tmp_path / "net.json"
    file.write_text('{"delay": "constant:10", "links": {"p0->p1": "constant:99"}, "fifo": true}')
    words = ("-n", "3", "-m", "300", "--network", str(file), "--json")
    run = json.loads(simulate("--protocol", "unordered", *words).out)
    assert run["costs"]["latency"]["p99"] == pytest.approx(99)
    assert run["plan"]["network"]["links"] == {"p0->p1": "constant:99"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--protocol", "nope"), "unknown protocol 'nope'; choose one of"),
        (("--workload", "nope"), "unknown workload 'nope'; choose one of"),
        (("--network", "nope"), "write one of constant:MS"),
        (("--network", "gaussian:1"), "write one of constant:MS"),
        (("--network", "missing.json"), "network file missing.json: No such file"),
        (("--loss", "1.5"), "loss"),
        (("-n", "1"), "processes"),
        (("--rate", "0"), "rate"),
        (("--fanout", "9"), "fanout=9"),
        (("--option", "k"), "write NAME=VALUE"),
        (("--protocol", "bounded", "--option", "k=1"), "k"),
        (("--protocol", "pairs", "--workload", "broadcast"), "one process at a time"),
        (("--show", "-m", "5000"), "add --messages"),
        (("--protocol", "buffered", "-o", "pipelined=true"), "add --fifo"),
        (("--campaign", "0"), "--campaign"),
        (("--campaign", "5", "--loss", "0.9", "-n", "9"), "leave out --loss, --processes"),
        (("--json", "--show"), "give one of them"),
        (("--network", "lna"), "a preset (lan, regions, heavy-tail, mostefaoui17)"),
        (("--network", "004"), "network '004' is now called 'mostefaoui17'"),
        (("--seed", "-1"), "seed"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_a_sentence(simulate, words: tuple[str, ...], sentence: str) -> None:
    done = simulate(*words)
    assert done.code == 2
    assert sentence in done.err and "Traceback" not in done.err
    assert done.out == ""
