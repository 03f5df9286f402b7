"""`antecede node` over a broker."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from tests.live.node_process import NodeProcess, write_group


def test_nodes_as_processes_over_a_broker(broker_address: str, tmp_path: Path) -> None:
    addresses = {name: f"kafka://{broker_address}/{tmp_path.name}-{name}" for name in ("a", "b")}
    (tmp_path / "group.key").write_text("a key that nobody can guess")
    configs = write_group(
        tmp_path,
        ["a", "b"],
        addresses=addresses,
        journal="NAME.db",
        key_file="group.key",
        socket="NAME.sock",
    )
    with NodeProcess(configs["a"]) as a:
        with NodeProcess(configs["b"]) as b:
            assert b.hear("ready")["address"] == addresses["b"]
            a.say("send", to=["b"], data="one")
            assert a.hear("sent")["message"] == "a#1"
            assert b.hear("delivery")["data"] == "one"
            b.say("done", number=1)
            b.hear("done")
            b.end(signal.SIGKILL)
        a.say("send", to=["b"], data="two")
        a.hear("sent")
        with NodeProcess(configs["b"]) as b:
            delivery = b.hear("delivery")
            assert (delivery["number"], delivery["message"], delivery["data"]) == (2, "a#2", "two")
            command = [sys.executable, "-m", "antecede", "node", "status", "--config", str(configs["b"])]
            told = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
            peer = json.loads(told.stdout)["peers"]["a"]
            assert peer["connected"] and peer["unread"] == 0 and peer["received"] == 2
            b.say("close")
            b.hear("closed")
            assert b.process.wait(30) == 0
        lines = [json.loads(line) for line in a.read_errors().splitlines()]
        assert "a is connected with its broker" in [line["text"] for line in lines]
