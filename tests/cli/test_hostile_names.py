"""Hostile texts in every field of a log: every export shows them as texts. The page has tests of its own."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq

from antecede.formats import read
from tests.commands import here

HOSTILE = "\"]; evil -> node; //\n=== x ===\r\n</script><script>alert(1)</script>\\N&lt;\x1b[31m\x00\u202e{}'"
ESCAPES = {"\x1b", "\x00", "\u202e"}


def list_rows():
    """Two processes whose every text is hostile; the second delivery comes twice."""
    base = {"execution": HOSTILE, "text": HOSTILE, "fields": {HOSTILE: HOSTILE}}
    sent = base | {"process": HOSTILE, "index": 0, "event": f"{HOSTILE}1", "kind": "send", "message": HOSTILE}
    got = base | {"process": f"{HOSTILE}b", "kind": "deliver", "message": HOSTILE, "sender": HOSTILE}
    return [
        sent,
        got | {"index": 0, "event": f"{HOSTILE}2", "parents": [f"{HOSTILE}?"]},
        got | {"index": 1, "event": f"{HOSTILE}3", "parents": [f"{HOSTILE}1"]},
    ]


def test_every_export_shows_hostile_texts_as_texts(monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.jsonl").write_text("\n".join(map(json.dumps, list_rows())))
    words = (
        "--dot",
        "g.dot",
        "--shiviz",
        "s.log",
        "--out",
        "tables",
        "--report",
        "p.html",
        "--engine",
        "local",
    )
    done = here(monkeypatch, capsys, "audit", "log.jsonl", "--json", *words)
    facts = json.loads(done.out)
    assert facts["counts"]["duplicate"] == 1 and facts["counts"]["missing"] == 1
    assert {row["execution"] for row in facts["findings"]} == {HOSTILE}
    assert not {"\x1b", "\x00"} & set(done.out), "JSON has them as escapes"
    check_dot(Path("g.dot").read_text())
    check_shiviz(Path("s.log").read_bytes())
    assert set(pq.read_table("tables/findings")["message"].to_pylist()) == {HOSTILE}
    page = Path("p.html").read_text()
    assert "alert(1)</script>" not in page and not ESCAPES & set(page)


def check_dot(text):
    """Outside its strings a file for Graphviz has nothing but what we write."""
    bare = re.sub(r'"(?:[^"\\]|\\["\\])*"', "S", text)
    assert '"' not in bare and "evil" not in bare and "script" not in bare
    assert re.findall(r"n\d+ -> n\d+", bare)
    assert not ESCAPES & set(text)


def check_shiviz(data):
    """What was written is read as the same events, one for each line and its text."""
    parsed = read(data, "s.log", "shiviz")
    assert parsed.quarantine.num_rows == 0
    assert parsed.events.num_rows == 3
    assert len(set(parsed.events["process"].to_pylist())) == 2
    assert len(set(parsed.events["execution"].to_pylist())) == 1


def test_the_terminal_gets_no_escape_codes(monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.jsonl").write_text("\n".join(map(json.dumps, list_rows())))
    done = here(monkeypatch, capsys, "audit", "log.jsonl", "--engine", "local")
    assert done.code == 1 and "evil" in done.out
    assert not ESCAPES & set(done.out + done.err)
