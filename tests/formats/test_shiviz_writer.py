"""What the ShiViz writer writes is accepted by ShiViz's own rules and says the same as before."""

import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import CallerError
from antecede.formats.shiviz_writer import format_shiviz
from antecede.tables import EVENTS
from tests.formats.samples import GO, events_as_rows, parse, rows


def table(records):
    plain = [
        {**row, "clock": None if row["clock"] is None else list(row["clock"].items())} for row in records
    ]
    return pa.Table.from_pylist(plain, schema=EVENTS)


def check_accepted(text):
    """ShiViz's acceptance rules 1 to 3, written here from its source."""
    assert "\r" not in text and text.split("\n")[0].startswith("(?<host>")
    executions: dict[str, dict[str, list[dict[str, int]]]] = {}
    for row in rows(text):
        executions.setdefault(row["execution"], {}).setdefault(row["process"], []).append(row["clock"])
    for hosts in executions.values():
        for host, clocks in hosts.items():
            assert not re.search(r"[\s\"']", host) and host != "__proto__"
            assert sorted(clock[host] for clock in clocks) == list(range(1, len(clocks) + 1))
            for clock in clocks:
                assert all(1 <= count <= len(hosts[other]) for other, count in clock.items())


def test_a_whole_log_comes_back_as_it_was():
    parsed = parse(GO)
    text = format_shiviz(parsed.events)
    check_accepted(text)
    assert text == "(?<host>\\S*) (?<clock>{.*})\\n(?<event>.*)\n\n" + GO.replace(", ", ",")
    again = parse(text)
    assert again.events.drop_columns(["line"]).equals(parsed.events.drop_columns(["line"]))


def test_a_window_is_numbered_anew_and_keeps_the_old_numbers():
    chosen = [row for row in rows(GO) if row["event"] in ("a:2", "b:2")]
    text = format_shiviz(table(chosen))
    check_accepted(text)
    first, second = rows(text)
    assert (first["clock"], second["clock"]) == ({"a": 1}, {"a": 1, "b": 1})
    assert (first["fields"], second["fields"]) == ({"original": "2"}, {"original": "2"})
    (alone,) = rows(format_shiviz(table(chosen[1:])))
    assert alone["clock"] == {"b": 1}


def row(process, clock, text="t", execution="", **more):
    return {"execution": execution, "process": process, "clock": clock, "text": text} | more


def test_names_labels_and_texts_are_made_safe():
    names = ["my host", "my_host", "__proto__", 'q"', "é\u2028", ""]
    found = [row(name, {name: 1}, "two\r\nlines\u2029here", "x\ny") for name in names]
    found += [row("a", {"a": 1}, "=== x y ===", "x y"), row("a", {"a": 2}, "=== z ===", "x y")]
    text = format_shiviz(table(found))
    check_accepted(text)
    back = rows(text)
    assert [one["process"] for one in back[:6]] == ["my_host", "my_host-2", "_proto_", "q_", "é_", "_"]
    assert {one["execution"] for one in back} == {"x y", "x y-2"}
    assert [one["text"] for one in back[-3:]] == ["two lines here", " === x y ===", " === z ==="]


def test_the_execution_without_a_name_comes_first():
    text = format_shiviz(table([row("a", {"a": 1}, execution="x"), row("a", {"a": 1})]))
    check_accepted(text)
    assert [one["execution"] for one in rows(text)] == ["", "x"]


def test_arrivals_have_no_clock_and_are_left_out():
    found = [row("a", {"a": 1}), row("b", None), row("b", {"b": 1}, None, kind="send", message="m")]
    assert [one["text"] for one in rows(format_shiviz(table(found)))] == ["t", "send m"]
    with pytest.raises(CallerError, match="without clocks"):
        format_shiviz(table([row("b", None)]))
    assert format_shiviz(EVENTS.empty_table()).count("\n") == 2


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8)
NAME = TEXT.filter(bool)


@given(
    st.lists(st.tuples(st.sampled_from(["", "x", "y ==="]), NAME, TEXT), min_size=1, max_size=12), st.data()
)
def test_what_is_written_can_be_read(steps, data):
    clocks: dict[str, dict[str, dict[str, int]]] = {}
    found = []
    for execution, process, text in steps:
        own = clocks.setdefault(execution, {})
        clock = own.setdefault(process, {})
        other = own[data.draw(st.sampled_from(sorted(own)))]
        clock |= {name: max(count, clock.get(name, 0)) for name, count in other.items()}
        clock[process] = clock.get(process, 0) + 1
        found.append(row(process, dict(clock), text, execution, index=clock[process] - 1))
    chosen = [one for one in found if data.draw(st.booleans())] or found
    text = format_shiviz(table(chosen))
    check_accepted(text)
    back = events_as_rows(parse(text))
    assert len(back) == len(chosen)
    wanted = sorted((one["execution"].replace("\n", " "), one["index"]) for one in chosen)
    if chosen == found:
        assert sorted((one["execution"], one["index"]) for one in back) == wanted
