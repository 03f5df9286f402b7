"""What `antecede compare` says on the screen where names are long."""

import json
from pathlib import Path

from tests.commands import here

LONG_NAMES = [f"[bold]{letter}" + letter * 300 for letter in "abc"]


def write_broadcasts(names: list[str], rounds: int) -> None:
    """Each process in turn sends to all others, and what it sends comes before the next is sent."""
    records: list[dict[str, object]] = []
    for number in range(rounds):
        sender = names[number % len(names)]
        message = {"message": f"m{number}", "sender": sender}
        records.append({"process": sender, "kind": "send", **message})
        for name in names:
            if name != sender:
                records.append({"process": name, "kind": "deliver", **message})
    for number, record in enumerate(records):
        record |= {"event": f"e{number}", "index": number, "time": 10 * number}
    Path("log.jsonl").write_text("\n".join(map(json.dumps, records)))


def test_the_line_to_copy_is_whole_however_long_it_is(monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    write_broadcasts(LONG_NAMES, 60)
    use = json.loads(here(monkeypatch, capsys, "compare", "log.jsonl", "--json").out)["executions"][0]["use"]
    assert all(name in use for name in LONG_NAMES) and len(use) > 900
    done = here(monkeypatch, capsys, "compare", "log.jsonl")
    assert done.code == 0
    assert f"to use it: {use}" in done.out.splitlines()
