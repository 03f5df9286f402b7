"""The command as its users type it."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from antecede.tables import EVENTS, MESSAGES


def simulate(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-m", "antecede", "simulate", *words]
    return subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False, cwd=cwd)


def test_a_run_prints_its_costs_and_verdict() -> None:
    done = simulate("--protocol", "bounded", "-n", "5", "-m", "200", "--loss", "0.2", "--crashes", "3")
    assert done.returncode == 0
    for text in ("control bytes on a message", "extra packets per message", "crash", "kept its promise"):
        assert text in done.stdout


def test_out_holds_the_tables_and_the_run(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "run"
    done = simulate("--protocol", "vector", "-n", "3", "-m", "50", "--out", str(out), "--json")
    run = json.loads(done.stdout)
    assert run == json.loads((out / "run.json").read_text())
    events = pq.read_table(out / "events.parquet")
    messages = pq.read_table(out / "messages.parquet")
    assert events.schema.equals(EVENTS) and messages.schema.equals(MESSAGES)
    assert messages.num_rows == run["costs"]["arrivals"] == 100
    assert events.num_rows == 50 + 2 * 100


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        simulate("-m", "100", "--crashes", "2", "--loss", "0.1", "--seed", "7", "--out", str(tmp_path / name))
    for file in ("events.parquet", "messages.parquet", "run.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_a_mistake_leaves_an_earlier_run_alone(tmp_path: Path) -> None:
    simulate("-m", "50", "--out", str(tmp_path))
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert simulate("--protocol", "matirx", "--out", str(tmp_path)).returncode == 2
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["events.parquet", "run.json"])
def test_out_where_it_cannot_be(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    done = simulate("-m", "5", "--out", str(tmp_path))
    assert done.returncode == 2 and "name another folder" in done.stderr
    file = tmp_path / "file"
    file.write_text("")
    done = simulate("-m", "5", "--out", str(file))
    assert done.returncode == 2 and "name a folder" in done.stderr and "Traceback" not in done.stderr


def test_a_broken_promise_is_exit_code_1() -> None:
    done = simulate("--protocol", "sync", "-n", "4", "-m", "100", "--rate", "200")
    assert done.returncode == 1
    assert "sync came to a standstill" in done.stdout, "a rendezvous of all with all deadlocks"


def test_a_network_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "net.json"
    file.write_text('{"delay": "constant:10", "links": {"p0->p1": "constant:99"}, "fifo": true}')
    words = ("-n", "3", "-m", "300", "--network", str(file), "--json")
    run = json.loads(simulate("--protocol", "unordered", *words).stdout)
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
def test_wrong_usage_is_exit_code_2_and_a_sentence(
    words: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    done = simulate(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""


def test_help_has_an_example() -> None:
    done = simulate("--help")
    assert done.returncode == 0 and "Example: antecede simulate" in done.stdout
