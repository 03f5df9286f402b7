"""Logs read in this process. What both engines do alike is tested in tests/engines."""

import subprocess
import sys

import pytest

from antecede.core.errors import CallerError, InputError
from antecede.formats import Settings
from antecede.local.logs import read_logs
from antecede.tables import EVENTS, QUARANTINE
from tests.formats.samples import GO, SAMPLES, lines


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes files into the folder of the test, which is the current one."""
    monkeypatch.chdir(tmp_path)

    def writer(**files: str | bytes) -> None:
        for name, content in files.items():
            (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)

    return writer


def test_tables_have_their_schemas_and_the_order_of_files(write) -> None:
    ids = [lines({"process": "p", "index": at, "event": f"e{at}", "kind": "local"}) for at in range(3)]
    write(b=ids[0], native=SAMPLES["parquet"], bad="who knows what", a=ids[1] + "no JSON\n" + ids[2])
    logs = read_logs(["b", "native", "bad", "a"])
    assert logs.events.schema == EVENTS and logs.quarantine.schema == QUARANTINE
    assert logs.events["event"].to_pylist() == ["e0", "e1", "e1", "e2"]
    assert logs.events["file"].to_pylist() == ["b", "native", "a", "a"]
    assert logs.quarantine["file"].to_pylist() == ["a", "bad"]
    assert [file.events for file in logs.files] == [1, 1, 0, 2]


def test_rows_that_are_settled_across_files_stay_where_they_are(write) -> None:
    def send(node: str, other: str) -> str:
        return lines({"event": ">", "node": node, "pkt": {"snd": node, "rcv": other, "msg": "m"}})

    write(z=send("b", "a"), go=GO, a=send("a", "b"))
    logs = read_logs(["z", "go", "a"])
    assert logs.events["file"].to_pylist() == ["z", *["go"] * 4, "a"]
    # Process a goes on behind the two events that it has in another file.
    assert logs.events["message"].to_pylist() == ["b:0", *[None] * 4, "a:2"]


def test_one_path_is_enough(write, tmp_path) -> None:
    write(log=GO)
    assert len(read_logs("log").events) == len(read_logs(tmp_path / "log").events) == 4


def test_a_file_that_cannot_be_opened_is_told(write, monkeypatch) -> None:
    write(log=GO, secret=GO)

    def open_or_refuse(name: str, mode: str):
        if name == "secret":
            raise PermissionError(13, "Permission denied")
        return open(name, mode)

    monkeypatch.setattr("antecede.local.files.open", open_or_refuse, raising=False)
    logs = read_logs(["log", "secret"])
    assert len(logs.events) == 4
    reason = "secret: cannot be read (Permission denied); check the path and its permissions"
    assert logs.quarantine["reason"].to_pylist() == [reason] == [logs.files[1].error]
    with pytest.raises(InputError, match="secret: cannot be read"):
        read_logs("secret")


def test_settings_are_used_and_checked(write) -> None:
    write(log=lines({"who": "a", "kind": "out"}))
    logs = read_logs("log", "jsonl", Settings(fields={"process": "who"}, kinds={"out": "send"}))
    assert logs.events.select(["process", "kind"]).to_pylist() == [{"process": "a", "kind": "send"}]
    with pytest.raises(CallerError, match="no field when"):
        read_logs("log", "jsonl", Settings(fields={"when": "t"}))


def test_no_spark_is_loaded(write) -> None:
    write(log=GO)
    code = "import sys; from antecede.local.logs import read_logs; read_logs('log'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pyspark", "py4j"} & set(done.stdout.split())
