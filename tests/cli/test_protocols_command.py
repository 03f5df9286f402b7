"""`antecede protocols`: the facts for people and programs, and lines of code that run."""

import json

import pytest

import antecede
from tests.commands import here

NAMES = list(antecede.list_protocols())


@pytest.fixture
def run(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *words: here(monkeypatch, capsys, "protocols", *words)


def test_all_are_listed_within_80_columns(run) -> None:
    done = run()
    assert done.code == 0
    rows = done.out.splitlines()
    assert max(map(len, rows)) <= 80
    assert [name for name in NAMES if not any(row.lstrip("│ ").startswith(f"{name} ") for row in rows)] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_line_of_code_makes_an_endpoint(run, name) -> None:
    told = json.loads(run(name, "--json").out)
    made = eval(told["use"], {"antecede": antecede})
    assert made.facts.name == name == told["name"]
    words = run(name).out
    assert told["use"] in words and told["stamp"] in words and told["guarantee"] in words


def test_errata_are_those_of_the_protocol(run) -> None:
    counts = {name: len(json.loads(run(name, "--json").out)["errata"]) for name in NAMES}
    assert counts["bounded"] >= 10 and counts["optimal"] == 1 and counts["matrix"] == 3
    assert counts["vector"] == 0
    text = " ".join(run("optimal").out.split())
    assert "errata: 1 in the paper" in text and "the log keeps the newest entry of a sender" in text


def test_the_list_for_programs_has_all_facts(run) -> None:
    told = json.loads(run("--json").out)
    assert [one["name"] for one in told] == NAMES
    assert all(one["guarantee"] and one["use"] and one["stamp"] for one in told)


@pytest.mark.parametrize(("name", "near"), [("optimum", "optimal"), ("fifi", "fifo"), ("vektor", "vector")])
def test_a_name_that_is_none_is_told_with_near_ones(run, name, near) -> None:
    done = run(name)
    assert done.code == 2 and done.out == ""
    said = " ".join(done.err.split())
    assert f"there is no protocol {name!r}: did you mean {near}" in said and "lists them all" in said


def test_a_name_that_is_like_no_other(run) -> None:
    done = run("xyz")
    assert (
        done.code == 2 and "did you mean" not in done.err and "antecede protocols lists them all" in done.err
    )
