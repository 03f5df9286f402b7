"""Messages that wait for each other are held, and told as what they are; the rest comes out."""

from pathlib import Path

from tests.commands import here
from tests.engines.engines import rows_of
from tests.formats.samples import lines
from tests.sql_tables import make_table

PARENTS = "room string, sender string, name string, after array<string>"


def list_missing(outcome):
    held = {row["name"]: row["missing"] for row in rows_of(outcome.held)}
    return held, sorted((row["missing"], row["waiting"]) for row in rows_of(outcome.gaps))


def by_parents(engine, *rows):
    table = [("r", "s", name, list(after)) for name, after in rows]
    return engine.order(make_table(table, PARENTS), group="room", stamp="after", id="name")


def test_parents_in_a_circle_name_its_members(engine):
    outcome = by_parents(engine, ("x", "yg"), ("y", "x"), ("z", "y"), ("a", ""), ("b", "a"), ("c", "c"))
    ring = "a cycle: x, y wait for each other"
    held, gaps = list_missing(outcome)
    assert held == {"x": ["y", "g", ring], "y": ["x", ring], "z": ["y"]}
    assert gaps == [(ring, 3), ("g", 3)]
    assert sorted(row["name"] for row in rows_of(outcome.ordered)) == ["a", "b"]
    (bad,) = rows_of(outcome.quarantine)
    assert (bad["name"], bad["reason"]) == ("c", "names itself as its parent: c")


def test_whoever_waits_for_two_of_a_circle_counts_once(engine):
    rows = [("a", "b"), ("b", "a"), ("c", "ab"), ("d", "ax"), ("x", "y"), ("y", "x"), ("z", "")]
    _, gaps = list_missing(by_parents(engine, *rows))
    assert gaps == [("a cycle: a, b wait for each other", 4), ("a cycle: x, y wait for each other", 3)]


def test_a_large_circle_is_cut_short_and_each_one_is_told(engine):
    names = [f"n{at:02}" for at in range(15)]
    big = [(name, [names[at - 1]]) for at, name in enumerate(names)]
    _, gaps = list_missing(by_parents(engine, *big, ("x", "y"), ("y", "x")))
    assert gaps[1] == ("a cycle: x, y wait for each other", 2)
    assert gaps[0] == (f"a cycle: {', '.join(names[:10])} and 5 more wait for each other", 15)


def test_clocks_that_know_each_other(engine):
    rows = [("r", "a", {"a": 2, "b": 1}, "x"), ("r", "b", {"a": 2, "b": 1}, "y"), ("r", "a", {"a": 1}, "z")]
    frame = make_table(rows, "room string, sender string, stamp map<string,int>, name string")
    outcome = engine.order(frame, group="room")
    ring = "a cycle: message 2 of a, message 1 of b wait for each other"
    assert list_missing(outcome) == (
        {"x": ["message 1 of b", ring], "y": ["message 2 of a", ring]},
        [(ring, 2)],
    )
    assert [row["name"] for row in rows_of(outcome.ordered)] == ["z"]


def test_a_message_that_names_itself_waits_for_itself(engine):
    rows = [("r", "a", 1, [("a", 1)], "x"), ("r", "b", 1, [("a", 1)], "y")]
    schema = "room string, sender string, number int, stamp array<struct<s:string,n:int>>, name string"
    outcome = engine.order(make_table(rows, schema), group="room", number="number", form="predecessors")
    ring = "a cycle: message 1 of a waits for itself"
    assert list_missing(outcome) == (
        {"x": ["message 1 of a", ring], "y": ["message 1 of a"]},
        [(ring, 2)],
    )


def test_the_command_says_so(command_engine, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    table = [{"room": "r", "name": name, "after": [after]} for name, after in ("xy", "yx")]
    Path("m.jsonl").write_text(lines(*table))
    done = here(
        monkeypatch,
        capsys,
        "order",
        "m.jsonl",
        "--group",
        "room",
        "--stamp",
        "after",
        "--id",
        "name",
        "--out",
        "o",
        "--engine",
        command_engine,
    )
    assert "2 rows = 0 ordered + 2 held + 0 quarantined" in done.out
    assert "  a cycle: x, y wait for each other in r: 2 rows wait for it" in done.out
