"""`antecede node`: nodes as processes that speak JSON lines, their status, metrics, logs and end."""

import json
import re
import resource
import signal
import stat
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from antecede.live.service import metrics
from antecede.live.service.config import NodeConfig
from antecede.live.settings import NodeSettings
from tests.commands import apart, here
from tests.live.cluster import audit_events, find_free_port
from tests.live.node_process import NodeProcess, SocketClient, write_config, write_group

ROOT = Path(__file__).resolve().parents[2]


def test_a_conversation_over_standard_streams(tmp_path: Path) -> None:
    configs = write_group(tmp_path, ["a", "b"], events="NAME.jsonl", log="NAME.log")
    with NodeProcess(configs["a"]) as a, NodeProcess(configs["b"]) as b:
        assert a.hear("ready")["protocol"] == "optimal"
        a.say("send", to=["b"], data="grüße", id=1)
        a.say("send", to=["b"], base64="/w==", id=[2])
        assert a.hear("sent") == {"event": "sent", "id": 1, "message": "a#1"}
        assert a.hear("sent") == {"event": "sent", "id": [2], "message": "a#2"}
        first = {"event": "delivery", "number": 1, "sender": "a", "message": "a#1", "data": "grüße"}
        second = {"event": "delivery", "number": 2, "sender": "a", "message": "a#2", "base64": "/w=="}
        assert b.hear("delivery") == first
        assert b.hear("delivery") == second
        assert_status(b, handed=2, delivered=2)
        b.say("done", number=1)
        assert b.hear("done")["number"] == 1
        assert_status(b, handed=1, delivered=2)
        b.say("done", number=2, id="x")
        assert b.hear("done") == {"event": "done", "id": "x", "number": 2}
        b.say("close")
        b.hear("closed")
        assert b.process.wait(30) == 0
        assert a.end(signal.SIGTERM) == 0
        a.hear("closed")
        assert a.read_errors() == ""
    assert sum(audit_events(tmp_path.glob("*.jsonl")).values()) == 0
    entries = [json.loads(line) for line in (tmp_path / "a.log").read_text().splitlines()]
    assert [entry["text"] for entry in entries if "signal" in entry] == ["a is to end"]
    assert {"peer": "b", "process": "a", "level": "info"}.items() <= entries[1].items()


def assert_status(node: NodeProcess, **expected: int) -> None:
    node.say("status")
    assert expected.items() <= node.hear("status").items()


def test_wrong_lines_get_an_answer_each_and_change_nothing(tmp_path: Path) -> None:
    config = write_config(
        tmp_path / "a.toml",
        {"peers": {"b": ""}, "options": {"largest_message": 1000}},
        protocol="optimal",
        process="a",
        listen="tcp://127.0.0.1:0",
    )
    wrong = {
        "nonsense": "not a line of JSON",
        '"text"': "Expected `object`",
        '{"do": "sing", "id": 3}': "Invalid value 'sing'",
        '{"do": "send", "to": ["b"]}': "either data (text) or base64",
        '{"do": "send", "to": ["b"], "data": "", "base64": ""}': "either data (text) or base64",
        '{"do": "send", "to": ["b"], "base64": "???"}': "base64: ",
        '{"do": "send", "to": ["z"], "data": ""}': "'z' is not in the group",
        '{"do": "send", "to": ["b"], "data": "", "depends_on": 1}': "does not take ['depends_on']",
        json.dumps({"do": "send", "to": ["b"], "data": "x" * 1001}): "at most largest_message=1000",
        json.dumps({"do": "send", "to": ["b"], "data": "x" * 200_000}): "a line that is too long",
        '{"do": "done", "number": 1}': "delivery 1 was not handed over",
        '{"do": "exclude", "member": "z"}': "'z' is not another member",
        '{"do": "receive"}': "deliveries go to one connection",
        '{"do": "status", "id": ' + "[" * 5000: "not a line of JSON",
    }
    with NodeProcess(config) as node:
        for line, reason in wrong.items():
            node.write(line)
            assert reason in node.hear("error")["reason"]
        assert node.lines.all[3]["id"] == 3
        node.say("exclude", member="b")
        assert node.hear("excluded")["member"] == "b"
        assert_status(node, sent=0, delivered=0)
        assert node.process.stdin is not None
        node.process.stdin.close()
        node.hear("closed")
        assert node.process.wait(30) == 0


def test_a_killed_node_hands_over_again_what_was_not_done(tmp_path: Path) -> None:
    configs = write_group(tmp_path, ["a", "b"], journal="NAME.db", events="NAME.jsonl", socket="NAME.sock")
    with NodeProcess(configs["a"]) as a:
        with NodeProcess(configs["b"]) as b:
            for data in ("one", "two", "three"):
                a.say("send", to=["b"], data=data)
            assert [b.hear("delivery")["data"] for _ in range(3)] == ["one", "two", "three"]
            b.say("done", number=1)
            b.hear("done")
            b.end(signal.SIGKILL)
            assert (tmp_path / "b.sock").exists()
        with NodeProcess(configs["b"]) as b:
            again = [b.hear("delivery") for _ in range(2)]
            assert [(line["number"], line["data"]) for line in again] == [(2, "two"), (3, "three")]
            b.say("done", number=1)  # once more: it is done already
            assert b.hear("done")["number"] == 1
            b.say("done", number=3)
            b.hear("done")
            assert b.end(signal.SIGINT) == 0
        assert a.end(signal.SIGTERM) == 0
    assert not (tmp_path / "b.sock").exists()
    assert sum(audit_events(tmp_path.glob("*.jsonl")).values()) == 0


def test_applications_at_a_socket_come_and_go(tmp_path: Path) -> None:
    configs = write_group(tmp_path, ["a", "b"], socket="NAME.sock", stdio=False)
    with NodeProcess(configs["a"]) as a, NodeProcess(configs["b"]) as b:
        for node in (a, b):
            assert node.process.stdin is not None
            node.process.stdin.close()  # nothing is read there
            wait_until_ready(node)
        assert stat.S_IMODE((tmp_path / "a.sock").stat().st_mode) == 0o600
        sender = SocketClient(tmp_path / "a.sock")
        sender.say("send", to=["b"], data="first")
        sender.say("send", to=["b"], data="second")
        sender.hear("sent")

        reader = SocketClient(tmp_path / "b.sock")
        reader.say("done", number=1)
        assert "ask for them with receive" in reader.hear("error")["reason"]
        reader.say("receive")
        assert [reader.hear("delivery")["data"] for _ in range(2)] == ["first", "second"]
        reader.say("done", number=1)
        reader.hear("done")
        rival = SocketClient(tmp_path / "b.sock")
        rival.say("receive")
        assert "there is one" in rival.hear("error")["reason"]
        check_status_command(configs["b"])
        reader.close()

        follower = take_over(tmp_path / "b.sock")
        assert follower.hear("delivery")["data"] == "second"
        refused = apart("node", "--config", configs["b"])
        assert refused.code == 2 and "a node is running there" in refused.err
        crowd = [SocketClient(tmp_path / "a.sock") for _ in range(64)]
        assert "there are 64 connections" in crowd[-1].hear("error")["reason"]
        crowd[0].hear("ready")
        rival.say("close")
        for client in (rival, follower):
            client.hear("closed")
        assert b.process.wait(30) == 0
        for client in (sender, rival, follower, *crowd[:-1]):
            client.close()
        assert a.end(signal.SIGTERM) == 0


def wait_until_ready(node: NodeProcess) -> None:
    while " is ready" not in node.read_errors():
        assert node.process.poll() is None, node.read_errors()
        time.sleep(0.02)


def take_over(path: Path) -> SocketClient:
    """Receive as soon as the node has seen that the application before is gone."""
    for _ in range(200):
        client = SocketClient(path)
        client.say("receive", id=1)
        client.say("status")
        client.hear("status")
        if all(line["event"] != "error" for line in client.lines.all):
            return client
        client.close()
        time.sleep(0.02)
    raise AssertionError("the connection before is not let go")


def check_status_command(config: Path) -> None:
    done = apart("node", "status", "--config", config)
    assert done.code == 0
    assert "delivered 2: 0 not handed over, 1 not done" in done.out
    assert "  a: connected, heard " in done.out
    as_json = apart("node", "status", "--config", config, "--json")
    assert json.loads(as_json.out)["peers"]["a"]["received"] == 2


def test_status_of_a_node_that_is_not_there(tmp_path: Path) -> None:
    config = write_group(tmp_path, ["a", "b"], socket="NAME.sock")["a"]
    done = apart("node", "status", "--config", config)
    assert (done.code, done.out) == (2, "")
    assert "no node is running at" in done.err and "antecede node --config" in done.err
    without = apart("node", "status", "--config", write_group(tmp_path, ["a", "b"])["a"])
    assert without.code == 2 and "names no socket" in without.err


def test_metrics(tmp_path: Path) -> None:
    port = find_free_port()
    config = write_config(
        tmp_path / "a.toml",
        {"peers": {"b": ""}},
        protocol="vector",
        process="a",
        listen="tcp://127.0.0.1:0",
        metrics=f"127.0.0.1:{port}",
    )
    with NodeProcess(config) as node:
        node.say("send", data="to all")
        node.hear("sent")
        node.hear("delivery")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        figures = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        assert figures["antecede_sent_total"] == "1.0"
        assert figures["antecede_handed"] == "1.0"
        assert figures['antecede_peer_connected{peer="b"}'] == "0.0"
        assert figures['antecede_peer_waiting{peer="b"}'] == "1.0"
        assert 'antecede_peer_silent_seconds{peer="b"}' not in figures
        taken = write_config(
            tmp_path / "c.toml",
            {"peers": {"b": ""}},
            protocol="vector",
            process="c",
            listen="tcp://127.0.0.1:0",
            metrics=f"127.0.0.1:{port}",
        )
        refused = apart("node", "--config", taken)
        assert refused.code == 2 and "choose another port" in refused.err


def test_a_journal_that_cannot_be_written_ends_the_node(tmp_path: Path) -> None:
    config = write_config(
        tmp_path / "a.toml",
        {"peers": {"b": ""}},
        protocol="optimal",
        process="a",
        listen="tcp://127.0.0.1:0",
        journal="a.db",
    )

    def limit_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

    with NodeProcess(config, preexec_fn=limit_files) as node:
        with suppress(BrokenPipeError):  # it may have ended before all are said
            for _ in range(100):
                node.say("send", to=["b"], data="x" * 10_000)
        assert node.hear("error")["reason"]
        node.hear("closed")
        assert node.process.wait(30) == 2
        *entries, last = node.read_errors().splitlines()
        assert last.startswith("error: ")
        assert "a has failed" in [json.loads(entry)["text"] for entry in entries]


GOOD: dict[str, Any] = {"protocol": "optimal", "process": "a", "listen": "tcp://127.0.0.1:0"}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a protocol that is not there": ({"protocol": "best"}, "best"),
    "no protocol": ({"protocol": None}, "missing required field `protocol`"),
    "an unknown field": ({"proces": "a"}, "unknown field `proces`"),
    "a wrong type": ({"listen": 7001}, "Expected `str | null`, got `int` - at `$.listen`"),
    "an address": ({"listen": "127.0.0.1"}, "write tcp://host:port"),
    "an address of another machine": ({"listen": "tcp://192.0.2.1:7001"}, "listen = 'tcp://192.0.2.1:7001'"),
    "nobody can connect": ({"listen": None}, "nobody can connect"),
    "no socket": ({"stdio": False}, "no socket for an application"),
    "a long path": ({"socket": "x" * 200}, "choose another path"),
    "metrics": ({"metrics": "9100"}, "write host:port"),
    "no key": ({"key_file": "none.key"}, "openssl rand"),
    "a short key": ({"key_file": "short.key"}, "at least 16 bytes"),
    "no folder for the log": ({"log": "none/a.log"}, "in a folder that is there"),
    "no folder for events": ({"events": "none/a.jsonl"}, "none/a.jsonl: No such file or directory"),
    "no folder for the journal": ({"journal": "none/a.db"}, "none"),
    "no certificate": (
        {"tls": {"certificate": "a.pem", "private_key": "a.key", "authority": "ca.pem"}},
        "No such file",
    ),
    "a setting": ({"options": {"window": 1}}, "`int` >= 4 - at `$.window`"),
    "an option of another protocol": ({"options": {"k": 3}}, "k"),
    "an option above": ({"options": {"journal": "a.db"}}, "journal in [options]"),
    "a key that would not be used": ({"options": {"key": "secret"}}, "key in [options]"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_configuration_that_cannot_be_used_gets_one_clear_error(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changes, reason = BAD[what]
    (tmp_path / "short.key").write_text("short\n")
    values = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    tables: dict[str, Any] = {name: values.pop(name) for name in ("tls", "options") if name in values}
    config = write_config(tmp_path / "a.toml", {"peers": {"b": ""}, **tables}, **values)
    done = here(monkeypatch, capsys, "node", "--config", config)
    assert (done.code, done.out) == (2, "")
    errors = [line for line in done.err.splitlines() if not line.startswith("{")]
    assert len(errors) == 1 and errors[0].startswith("error: "), done.err
    assert reason in errors[0]
    assert not (tmp_path / "a.sock").exists()


def test_a_configuration_that_is_none(tmp_path: Path) -> None:
    missing = apart("node", "--config", tmp_path / "none.toml")
    assert missing.code == 2 and "none.toml: No such file" in missing.err and "[peers]" in missing.err
    (tmp_path / "bad.toml").write_text("protocol = \nprocess = 1")
    broken = apart("node", "--config", tmp_path / "bad.toml")
    assert broken.code == 2 and "bad.toml is not TOML: Invalid value (at line 1" in broken.err
    assert "antecede node --config node.toml" in apart("node").err


def test_standard_input_may_be_a_file(tmp_path: Path) -> None:
    config = write_group(tmp_path, ["a", "b"])["a"]
    commands = tmp_path / "commands"
    commands.write_text('{"do": "status"}\n{"do": "close"}')
    with commands.open() as file, (tmp_path / "out").open("w") as out:
        words = [sys.executable, "-m", "antecede", "node", "--config", str(config)]
        done = subprocess.run(words, stdin=file, stdout=out, stderr=subprocess.PIPE, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line)["event"] for line in (tmp_path / "out").read_text().splitlines()]
    assert lines == ["ready", "status", "closed"]


def test_the_session_of_the_documentation(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "node.md").read_text()
    for port in ("7001", "7002"):
        text = text.replace(port, str(find_free_port()))
    config, *_ = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    own, other = re.findall(r"tcp://127.0.0.1:\d+", config)
    (tmp_path / "a.toml").write_text(config)
    swapped = {"a": "b", "b": "a", own: other, other: own}
    names = re.compile(rf"\b(?:a|b)\b|{own}|{other}")
    (tmp_path / "b.toml").write_text(names.sub(lambda match: swapped[match.group()], config))
    session = re.findall(r"^([ab])(>?) +(\{.*)$", text, re.MULTILINE)
    assert len(session) == 14
    with NodeProcess(tmp_path / "a.toml") as a, NodeProcess(tmp_path / "b.toml") as b:
        for name, is_command, line in session:
            node = a if name == "a" else b
            if is_command:
                node.write(line)
            else:
                expected = json.loads(line)
                assert node.hear(expected["event"]) == expected
        assert b.process.wait(30) == 0


def test_the_documentation_has_all_fields_settings_and_figures() -> None:
    text = (ROOT / "docs" / "node.md").read_text()
    fields = [*NodeConfig.__struct_fields__, *NodeSettings.__struct_fields__]
    assert [name for name in fields if f"`{name}`" not in text and f"`[{name}]`" not in text] == []
    for names in (metrics.COUNTERS, metrics.GAUGES):
        assert all(f"antecede_{name}" in text for name in names)
    for names in (metrics.PEER_COUNTERS, metrics.PEER_GAUGES):
        assert all(f"_{name}" in text for name in names)


@pytest.mark.parametrize(
    ("package", "words"),
    [("prometheus_client", ["--config", "a.toml"]), ("cryptography", ["ca", "a"])],
)
def test_what_the_extra_brings_is_named_if_it_is_missing(
    package: str, words: list[str], tmp_path: Path
) -> None:
    write_group(tmp_path, ["a", "b"], metrics="127.0.0.1:0")
    code = f"import sys; sys.modules[{package!r}] = None; from antecede.cli.main import main; main()"
    command = [sys.executable, "-c", code, "node", *words]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, stdin=subprocess.DEVNULL, check=False
    )
    assert done.returncode == 2
    assert "run: pip install 'antecede[live]'" in done.stderr.splitlines()[-1]


def test_kills_at_random_lose_nothing_and_repeat_nothing_that_was_done(tmp_path: Path) -> None:
    """Both nodes are killed again and again while one application sends and the other takes."""
    random = Random(5)
    configs = write_group(tmp_path, ["a", "b"], journal="NAME.db", events="NAME.jsonl")
    confirmed: list[str] = []
    taken: dict[int, str] = {}
    done = 0
    for kill in range(6):
        with NodeProcess(configs["a"]) as a, NodeProcess(configs["b"]) as b:
            a.hear("ready")
            first = None
            for at in range(random.randrange(20, 60)):
                a.say("send", to=["b"], data=f"{kill}.{at}", id=f"{kill}.{at}")
            for _ in range(random.randrange(1, 20)):
                confirmed.append(a.hear("sent")["id"])
            for _ in range(random.randrange(1, 15)):
                delivery = b.hear("delivery")
                number = delivery["number"]
                assert number > done
                assert first is not None or number == done + 1
                first = number
                assert taken.setdefault(number, delivery["data"]) == delivery["data"]
                if random.random() < 0.4:
                    b.say("done", number=number)
                    done = b.hear("done")["number"]
            random.choice([a, b]).end(signal.SIGKILL)
            (a if a.process.poll() is None else b).end(random.choice([signal.SIGKILL, signal.SIGTERM]))
    with NodeProcess(configs["a"]) as a, NodeProcess(configs["b"]) as b:
        a.say("send", to=["b"], data="last")
        while taken.get(max(taken)) != "last":
            delivery = b.hear("delivery")
            assert delivery["number"] > done
            assert taken.setdefault(delivery["number"], delivery["data"]) == delivery["data"]
        b.say("close")
        b.hear("closed")
    order = [taken[number] for number in sorted(taken)]
    assert sorted(taken) == list(range(1, len(taken) + 1))
    assert [name for name in confirmed if name not in order] == []
    assert order[:-1] == sorted(order[:-1], key=lambda name: [int(part) for part in name.split(".")])
    assert len(set(order)) == len(order)
    findings = audit_events(tmp_path.glob("*.jsonl"))
    assert not any(findings[kind] for kind in ("late", "twice", "orphan"))


def test_a_second_signal_ends_a_node_that_still_waits_for_its_peers(tmp_path: Path) -> None:
    config = write_config(
        tmp_path / "a.toml",
        {"peers": {"b": ""}, "options": {"linger": 300.0}},
        protocol="optimal",
        process="a",
        listen="tcp://127.0.0.1:0",
        log="a.log",
    )
    with NodeProcess(config) as node:
        node.say("send", to=["b"], data="x")
        node.hear("sent")
        node.process.send_signal(signal.SIGTERM)
        while '"signal":"SIGTERM"' not in (tmp_path / "a.log").read_text():
            time.sleep(0.02)
        time.sleep(0.2)
        assert node.process.poll() is None
        assert node.end(signal.SIGTERM) == -signal.SIGTERM


def test_nodes_with_a_key_talk_and_a_key_that_others_may_read_is_told(tmp_path: Path) -> None:
    key = tmp_path / "group.key"
    key.write_text("a secret of sixteen bytes or more\n")
    key.chmod(0o644)
    configs = write_group(tmp_path, ["a", "b"], key_file="group.key", log="NAME.log")
    with NodeProcess(configs["a"]) as a:
        a.hear("ready")
        key.chmod(0o600)
        with NodeProcess(configs["b"]) as b:
            a.say("send", to=["b"], data="secret")
            assert b.hear("delivery")["data"] == "secret"
            entries = {name: (tmp_path / f"{name}.log").read_text() for name in ("a", "b")}
    assert "others may read a secret; run chmod 600" in entries["a"]
    assert "others may read" not in entries["b"]


def test_nodes_with_certificates_talk(tmp_path: Path) -> None:
    assert apart("node", "ca", "a", "b", "--out", tmp_path / "certificates").code == 0
    configs = write_group(tmp_path, ["a", "b"])
    for name, config in configs.items():
        folder = "certificates"
        lines = [f'certificate = "{folder}/{name}.pem"', f'private_key = "{folder}/{name}.key"']
        lines += [f'authority = "{folder}/ca.pem"']
        config.write_text(config.read_text() + "[tls]\n" + "\n".join(lines) + "\n")
    with NodeProcess(configs["a"]) as a, NodeProcess(configs["b"]) as b:
        a.say("send", to=["b"], data="secret")
        assert b.hear("delivery")["data"] == "secret"
