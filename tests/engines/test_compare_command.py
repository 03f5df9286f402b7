"""`antecede compare`, as its users run it, on both engines."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.commands import TRIANGLE, here, story
from tests.engines.test_real_logs import LAYOUTS
from tests.formats.samples import DATA, lines, needs_data


@pytest.fixture
def run(command_engine, monkeypatch, capsys, tmp_path):
    """Runs the command on each engine in the folder of the test, where its files are."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: here(monkeypatch, capsys, "compare", *words, "--engine", command_engine)


@pytest.fixture
def run_locally(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    return lambda *words: here(monkeypatch, capsys, *words)


def write_log(name: str, rounds: int = 30, executions: tuple[str, ...] = ("",)) -> None:
    """Triangles one after the other, with times; each has an answer that overtakes what led to it."""
    records = []
    for execution in executions:
        for at in range(rounds):
            told = story("a send x; a send y; b deliver y; b send z; c deliver z; c deliver x")
            for number, (record, time) in enumerate(zip(told, (0, 1, 11, 12, 17, 100), strict=True)):
                record |= {"time": 200 * at + time, "index": 6 * at + number, "event": f"e{6 * at + number}"}
                record |= {"message": f"{record['message']}{at}"}
                records.append(record | ({"execution": execution} if execution else {}))
    Path(name).write_text(lines(*records))


def test_a_table_a_winner_and_the_line_to_use_it(run) -> None:
    write_log("log")
    done = run("log")
    assert (done.code, done.noise) == (0, [])
    assert "90 messages, 3 processes" in done.out
    assert "bounded k=3: 1.78 ± 0.04 times fewer bytes than predecessors, same delays here" in done.out
    assert "its price: history saves 27.7 ± 3.2 ms of delay" in done.out
    assert 'to use it: antecede.endpoint("bounded", process="a", group=["a", "b", "c"], k=3)' in done.out
    assert "not compared: vector" in done.out and "it sends to all, and here messages go to some" in done.out
    (row,) = (line for line in done.out.splitlines() if " matrix " in line and "±" in line)
    assert "27.7 ± 3.2" in row and "83.0" in row  # 83 ms for one of three: see tests/simulate/test_replay.py


def test_json_has_everything(run, command_engine) -> None:
    write_log("log")
    done = run("log", "--json", "--weights", "delay=1", "--limit", "bytes=1kB")
    facts = json.loads(done.out)
    assert facts["engine"] == command_engine
    (execution,) = facts["executions"]
    assert (execution["messages"], execution["processes"], execution["unit"]) == (90, 3, "ms")
    assert execution["winner"] == "history" and execution["use"].startswith('antecede.endpoint("history"')
    by_name = {one["name"]: one for one in execution["protocols"]}
    assert by_name["matrix"]["metrics"]["delay"]["value"] == pytest.approx(83 / 3)
    assert by_name["matrix"]["metrics"]["needless_share"]["value"] == 0
    assert by_name["unordered"]["metrics"]["early_rate"]["value"] == pytest.approx(1 / 3)
    assert by_name["unordered"]["not_recommended"] == "order: none" and by_name["unordered"]["pareto"]
    assert by_name["bounded k=3"]["options"] == {"k": 3}
    assert "vector" in execution["not_compared"]


def test_costs_are_written_and_equal_on_both_engines(run, run_locally, command_engine) -> None:
    write_log("log", executions=("one", "two"))
    done = run("log", "--out", "out")
    assert done.code == 0 and "costs: out/costs" in done.out
    assert run_locally("compare", "log", "--engine", "local", "--out", "mine").code == 0
    tables = [pq.read_table(f"{folder}/costs") for folder in ("out", "mine")]
    rows = [sorted(map(str, table.to_pylist())) for table in tables]
    assert rows[0] == rows[1] and len(rows[0]) > 100
    assert set(tables[0]["execution"].to_pylist()) == {"one", "two"}
    assert pq.read_table("out/quarantine").num_rows == 0
    assert run("log", "--out", "out").code == 2, "the folder is not empty"


def test_each_execution_has_its_table(run) -> None:
    write_log("log", executions=("one", "two"))
    done = run("log")
    assert "one: 90 messages" in done.out and "two: 90 messages" in done.out
    assert done.out.count("to use it: ") == 2


def test_too_few_messages_name_no_winner(run) -> None:
    Path("log").write_text(TRIANGLE)
    done = run("log")
    assert done.code == 0
    assert "No winner: 3 messages are too few for intervals" in done.out
    assert "the log has no times: delays are in steps" in done.out
    assert "to use it" not in done.out


def test_a_log_without_communication_says_why(run) -> None:
    Path("log").write_text(lines(*story("a step; b step")))
    done = run("log")
    assert done.code == 2 and done.out == ""
    assert "nothing to compare: no process hears of another" in " ".join(done.err.split())


def test_records_that_cannot_be_read_are_told_and_the_rest_is_compared(run) -> None:
    write_log("log")
    with Path("log").open("a") as file:
        file.write("{broken\n")
    done = run("log")
    assert done.code == 1 and "1 cannot be read" in done.out and "90 messages" in done.out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--weights", "speed=1"), "unknown 'speed'"),
        (("--limit", "delay=fast"), "a limit is a number"),
        (("--report", "log"), "is an input"),
        (("--engine", "cloud"), "choose auto, local or spark"),
    ],
)
def test_wrong_usage(run_locally, words, reason) -> None:
    write_log("log")
    done = run_locally("compare", "log", *words)
    assert done.code == 2 and reason in done.err and done.out == ""


def test_a_limit_in_another_unit_is_refused(run_locally) -> None:
    Path("log").write_text(TRIANGLE)
    done = run_locally("compare", "log", "--limit", "delay=5ms")
    assert done.code == 2 and "are in steps" in done.err


def test_a_simulated_trace_with_declared_dependence(run_locally) -> None:
    plan = ("--protocol", "unordered", "--workload", "conversation", "-n", "4", "-m", "300", "--rate", "40")
    assert run_locally("simulate", *plan, "--out", "run").code == 0
    done = run_locally("compare", "run/events.parquet", "--json")
    (execution,) = json.loads(done.out)["executions"]
    assert done.code == 0 and execution["dependencies_declared"]
    by_name = {one["name"]: one["metrics"] for one in execution["protocols"]}
    # Causal order holds what is declared to be independent; semantic order less of it.
    assert by_name["matrix"]["needless_share"]["value"] > 0.5
    assert by_name["semantic"]["delay"]["value"] < by_name["matrix"]["delay"]["value"]
    assert 0 < execution["false_causality_avoided"]["semantic"] <= 1
    assert by_name["semantic"]["early_rate"]["value"] == by_name["matrix"]["early_rate"]["value"] == 0


COMPARED = {
    "ewd998/trace-unstable.ndjson": (26, "steps"),
    "shiviz/chord.log": (535, "steps"),
    "tsviz/tsviz_fslock_24t_4sp.log": (98, "ms"),
    "editing-traces/friendsforever.json.gz": (2446, "steps"),
    "zipkin/yelp.json": (8, "ms"),
}
"""Messages, and the unit of delays, of some real logs."""


@needs_data
@pytest.mark.parametrize("file", LAYOUTS)
def test_every_real_log_can_be_compared(run_locally, file) -> None:
    settings = {f"--{name}": value for name, value in LAYOUTS[file].items() if value}
    words = [word for pair in settings.items() for word in pair]
    done = run_locally("compare", DATA / file, *words, "--json")
    assert done.code in (0, 1), done.err
    executions = json.loads(done.out)["executions"]
    compared = [one for one in executions if one["protocols"]]
    assert compared
    for execution in compared:
        exact = [
            one for one in execution["protocols"] if one["name"] in ("matrix", "optimal", "predecessors")
        ]
        assert len(exact) == 3
        for one in exact:
            assert one["finished"] and one["metrics"]["early_rate"]["value"] == 0
            assert one["metrics"]["needless_share"]["value"] == 0
    if file in COMPARED:
        assert (compared[0]["messages"], compared[0]["unit"]) == COMPARED[file]
