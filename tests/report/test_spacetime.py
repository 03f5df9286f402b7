"""The space-time diagram, from rows as a run leaves them and as a reader sees them."""

from rich.text import Text

from antecede.report.spacetime import MOST_LINES, render_diagram
from tests.commands import here


def event(process, index, kind, message, time, sender, receivers=None, order=None):
    fields = [("order", order)] if order else None
    return {
        "process": process, "index": index, "kind": kind, "message": message, "time": time,
        "sender": sender, "receivers": receivers, "fields": fields,
    }  # fmt: skip


def plain(events, width=60):
    return [Text.from_markup(line).plain.rstrip() for line in render_diagram(events, width)]


TRIANGLE = [
    event("a", 0, "send", "m0", 1.0, "a", ["c"]),
    event("a", 1, "send", "m1", 2.0, "a", ["b"]),
    event("b", 0, "receive", "m1", 3.0, "a"),
    event("b", 1, "deliver", "m1", 3.0, "a"),
    event("b", 2, "send", "m2", 4.0, "b", ["c"]),
    event("c", 0, "receive", "m2", 5.0, "b"),
    event("c", 1, "receive", "m0", 9.5, "a"),
    event("c", 2, "deliver", "m0", 9.5, "a"),
    event("c", 3, "deliver", "m2", 9.5, "b"),
]


def test_a_triangle_with_a_message_that_waits() -> None:
    assert plain(TRIANGLE) == [
        "       ms  a               b               c",
        "      1.0  ○ m0→c          │               │",
        "      2.0  ○ m1→b          │               │",
        "      3.0  ├──────────────>● m1            │",
        "      4.0  │               ○ m2→c          │",
        "      5.0  │               ├──────────────>◌ m2 waits",
        "      9.5  ├───────────────┼──────────────>● m0",
        "      9.5  │               │               ● m2 +4.5",
    ]


def test_what_is_early_or_late_says_so_in_red() -> None:
    early = event("c", 1, "deliver", "m2", 5.0, "b", order="early")
    lines = render_diagram([*TRIANGLE[:6], early], 60)
    assert any("[red]● m2 early" in line for line in lines)
    assert not any("[red]" in line for line in render_diagram(TRIANGLE))


def test_arrows_also_go_left() -> None:
    rows = [event("b", 0, "send", "m0", 1.0, "b", ["a"]), event("a", 0, "receive", "m0", 2.0, "b")]
    assert plain(rows)[2].startswith("      2.0  ◌ m0 waits <──────┤")


def test_what_came_with_another_message_is_known() -> None:
    rows = [event("b", 0, "deliver", "m0", 2.0, "a"), event("b", 1, "receive", "m0", 5.0, "a")]
    rows.append(event("a", 0, "send", "m0", 1.0, "a", ["b"]))
    assert [line[11:] for line in plain(rows)[2:]] == [
        "│                 ● m0",
        "├────────────────>· m0 known",
    ]


def test_what_is_simultaneous_stays_in_order() -> None:
    rows = [event("b", 0, "send", "m0", 1.0, "b", ["a"]), event("a", 0, "receive", "m0", 1.0, "b")]
    assert "○ m0→a" in plain(rows)[1] and "◌ m0 waits" in plain(rows)[2]


def test_a_long_run_says_what_it_leaves_out() -> None:
    rows = [event("a", i, "send", f"m{i}", float(i), "a", ["b"]) for i in range(MOST_LINES + 30)]
    lines = plain(rows)
    assert len(lines) == MOST_LINES + 2
    assert lines[-1] == "... and 30 more; --out DIR has them all"


def test_the_command_draws_every_event_of_a_small_run(monkeypatch, capsys) -> None:
    words = ("simulate", "--protocol", "matrix", "-n", "3", "-m", "6", "--rate", "50", "--show")
    done = here(monkeypatch, capsys, *words)
    assert done.code == 0
    assert done.out.count("○ m") == 6
    assert sum(f"● m{i}" in done.out for i in range(6)) == 6
