"""ShiViz and GoVector text: line orders, executions, restarts, and probes run through ShiViz's own code."""

import pytest

from antecede.core.errors import CallerError, InputError
from tests.formats.samples import GO, events_as_rows, parse, rows

DEFAULT = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})"
GOVECTOR = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)"
USUAL = "^=== (?<trace>.*) ===$"


def put_text_first(text):
    """The same records with the text line first."""
    lines = text.splitlines()
    return "".join(f"{lines[i + 1]}\n{lines[i]}\n" for i in range(0, len(lines), 2))


def brief(found):
    return [(row["process"], row["index"], row["text"], row["clock"], row["line"]) for row in found]


EXPECTED = [
    ("a", 0, "Initialization Complete", {"a": 1}, 1),
    ("b", 0, "Initialization Complete", {"b": 1}, 3),
    ("a", 1, "INFO ping", {"a": 2}, 5),
    ("b", 1, "INFO pong", {"a": 2, "b": 2}, 7),
]


@pytest.mark.parametrize("text", [GO, put_text_first(GO), GO.rstrip("\n"), put_text_first(GO).rstrip("\n")])
def test_both_line_orders_without_a_header(text):
    assert brief(rows(text)) == EXPECTED


@pytest.mark.parametrize("text", [GO, put_text_first(GO)])
@pytest.mark.parametrize("change", [lambda t: t.replace("\n", "\r\n"), lambda t: "\ufeff" + t])
def test_crlf_and_byte_order_mark_change_nothing(text, change):
    assert brief(rows(change(text))) == EXPECTED


def test_utf16_is_understood():
    assert brief(rows(GO.encode("utf-16"))) == EXPECTED


@pytest.mark.parametrize(
    ("header", "body", "shift"),
    [
        (f"{GOVECTOR}\n\n", GO, 2),
        (f"{DEFAULT}\n\n", put_text_first(GO), 2),
        (f"^{GOVECTOR}$\n\n", GO, 2),
        (f"{GOVECTOR}\n\n\n\n", GO, 4),
        (f"{GOVECTOR}\n", GO, 1),
        (f"\n{USUAL}\n", put_text_first(GO), 2),
        ("(?P<host>\\w+) (?P<clock>{.*})\\n(?P<event>.*)\n\n", GO, 2),
    ],
)
def test_headers(header, body, shift):
    found = rows(header + body)
    assert [row[:4] for row in brief(found)] == [row[:4] for row in EXPECTED]
    assert [row["line"] for row in found] == [line + shift for *_, line in EXPECTED]


def test_a_header_is_believed_about_the_line_order():
    text = f'{GOVECTOR}\n\nstray\na {{"a":1}}\none\n'
    parsed = parse(text)
    assert [row["text"] for row in events_as_rows(parsed)] == ["one"]
    assert [(row["line"], row["raw"]) for row in parsed.quarantine.to_pylist()] == [(3, "stray")]


def test_the_line_order_that_starts_at_one_is_preferred():
    parsed = parse("preamble\n" + GO)
    assert [row["text"] for row in events_as_rows(parsed)] == [text for _, _, text, _, _ in EXPECTED]
    assert parsed.quarantine["raw"].to_pylist() == ["preamble"]


def test_unknown_things_are_null():
    (first, *_) = rows(GO)
    nothing = ("kind", "message", "sender", "receivers", "parents", "time", "fields")
    assert [first[name] for name in nothing] == [None] * len(nothing)
    assert (first["execution"], first["event"], first["file"]) == ("", "a:1", "log")


def test_executions_are_told_by_a_delimiter():
    text = f"{GO}=== first ===\n{GO}=== second ===\n\n{GO}=== empty ===\n \n"
    for found in (rows(text), rows(text, regex=GOVECTOR, delimiter=USUAL)):
        assert [row["execution"] for row in found] == [""] * 4 + ["first"] * 4 + ["second"] * 4
        assert [row["event"] for row in found] == ["a:1", "b:1", "a:2", "b:2"] * 3
        assert [row["index"] for row in found] == [0, 0, 1, 1] * 3
        assert found[4]["line"] == 10


def test_labels_that_come_again_or_are_missing_stay_apart():
    again = rows(f"=== x ===\n{GO}=== x ===\n{GO}")
    assert sorted({row["execution"] for row in again}) == ["x", "x (2)"]
    unnamed = rows(f"---\n{GO}---\n{GO}", delimiter="^-(-)-$")
    assert sorted({row["execution"] for row in unnamed}) == ["#1", "#2"]


@pytest.mark.parametrize("order", [str, put_text_first])
def test_an_event_text_that_looks_like_a_delimiter_is_a_text(order):
    text = order('a {"a":1}\n=== not a label ===\na {"a":2}\nend\n')
    assert [(row["execution"], row["text"]) for row in rows(text)] == [
        ("", "=== not a label ==="),
        ("", "end"),
    ]
    text = text.replace("not a label ", "Execution #Mon Jan  2 15:04:05 UTC 2006  ")
    assert [row["fields"] for row in rows(text)] == [None, None]


def test_appended_govector_logs_are_one_execution_with_a_restart():
    header = " \n=== Execution #Mon Jan  2 15:04:05 UTC 2006  ===\n"
    found = rows('a {"a":1}\nx\na {"a":2}\ny\n' + header + 'a {"a":1}\nz\na {"a":2}\nw\n')
    assert [row["text"] for row in sorted(found, key=lambda row: row["index"])] == ["x", "y", "z", "w"]
    assert [row["event"] for row in found] == ["a:1", "a:2", "a:1~2", "a:2~2"]
    assert [row["execution"] for row in found] == [""] * 4
    assert [row["fields"] for row in found] == [None, None] + [{"run": "Mon Jan  2 15:04:05 UTC 2006"}] * 2
    assert [row["line"] for row in found] == [1, 3, 7, 9]


def test_file_order_is_free():
    found = rows('a {"a":3}\nc\na {"a":1}\na\na {"a":2}\nb\n')
    assert [(row["index"], row["text"]) for row in found] == [(2, "c"), (0, "a"), (1, "b")]


def test_time_stamps_of_tsviz_are_nanoseconds():
    for header in ("", r"(?<timestamp>\d+) " + GOVECTOR + "\n\n"):
        (row,) = rows(header + '1456966522870845696 a {"a":1}\ntext\n')
        assert row["time"] == pytest.approx(1456966522870.8457)
        assert row["fields"] == {"timestamp": "1456966522870845696"}


def test_other_groups_are_fields():
    regex = r"\[(?<level>\w+)\]( (?<more>x))? (?<host>\w+) (?<clock>\{.*\}) (?<event>.*)"
    parsed = parse('junk\n[INFO] a {"a":1} one\n[WARN] x a {"a":2} two\n', regex=regex)
    found = events_as_rows(parsed)
    assert parsed.quarantine["raw"].to_pylist() == ["junk"]
    assert [row["fields"] for row in found] == [{"level": "INFO"}, {"level": "WARN", "more": "x"}]
    assert [row["line"] for row in found] == [2, 3]


def test_escaped_quotes_of_tla():
    regex = r'Host = (?<host>.*)\n.*Clock = "(?<clock>.*)"\n(?<event>.*)'
    (row,) = rows('Host = n1\n/\\ Clock = "{\\"n1\\":4,\\"n2\\":0}"\ngo\n', regex=regex)
    assert row["clock"] == {"n1": 4}


PASSED_ON = {
    "not transitive": 'a {"a":1}\nx\nb {"b":1,"a":1}\nx\nc {"c":1,"b":1}\nx\n',
    "cycle": 'a {"a":1,"b":1}\nx\nb {"b":1,"a":1}\nx\n',
    "foreign entry shrinks": 'b {"b":1}\nx\na {"a":1,"b":1}\nx\na {"a":2}\nx\n',
    "gap": 'a {"a":1}\nx\na {"a":3}\nx\n',
    "start at 0": 'a {"a":0}\nx\na {"a":1}\nx\n',
    "repeated own time": 'a {"a":1}\nx\na {"a":2}\nx\na {"a":2}\nx\n',
    "unknown host": 'a {"a":1,"z":1}\nx\n',
    "entry too large": 'a {"a":1,"b":9}\nx\nb {"b":1}\nx\n',
    "string": 'a {"a":"1"}\nx\n',
    "whole float": 'a {"a":1.0}\nx\n',
}


@pytest.mark.parametrize("name", PASSED_ON)
def test_probes_that_are_for_the_audit_are_passed_on(name):
    text = PASSED_ON[name]
    assert len(rows(text)) == text.count("\nx\n")


REFUSED = {
    "own host missing": ('a {"b":1}', "not in its own clock"),
    "host name with a space": ('my host {"my host":1}', "belongs to no record"),
    "float": ('a {"a":2.5}', "no object of counts"),
    "negative": ('a {"a":-1}', "no object of counts"),
    "too large": ('a {"a":99999999999999999999}', "no object of counts"),
    "null": ('a {"a":null}', "no object of counts"),
    "bad JSON": ('a {"a" 1}', "no object of counts"),
    "key not escaped": ('a {"a"b":1, "a":1}', "no object of counts"),
    "two objects": ('a {"a":1},{"a":2}', "no object of counts"),
    "clock cut off": ('a {"a":1', "belongs to no record"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_one_bad_record_goes_to_quarantine_alone(name):
    bad, reason = REFUSED[name]
    parsed = parse(f'b {{"b":1}}\none\n{bad}\ntwo\nb {{"b":2}}\nthree\n')
    assert [row["text"] for row in events_as_rows(parsed)] == ["one", "three"]
    (refused,) = parsed.quarantine.to_pylist()
    assert (refused["file"], refused["line"], refused["raw"]) == ("log", 3, f"{bad}\ntwo")
    assert reason in refused["reason"]


@pytest.mark.parametrize("name", REFUSED)
def test_one_bad_record_goes_to_quarantine_whoever_gives_the_expression(name):
    bad, _ = REFUSED[name]
    text = f'b {{"b":1}}\none\n{bad}\ntwo\nb {{"b":2}}\nthree\n'
    header = f"^{GOVECTOR}|never\n\n"
    for parsed in (parse(text, regex=f"^{GOVECTOR}"), parse(header + text)):
        assert [row["text"] for row in events_as_rows(parsed)] == ["one", "three"]
        assert parsed.quarantine["raw"].to_pylist() == [f"{bad}\ntwo"]


def test_lines_that_an_expression_leaves_out_are_not_quarantined_but_damaged_records_are():
    regex = r"^State \d+: (?<event>\w+)\nHost (?<host>\w+) (?<clock>{.*})$"
    good = 'State {0}: go\nHost a {{"a":{0}}}\n more\n  and more\n\n'
    text = "opening\nlines\n" + "".join(good.format(number) for number in (1, 2, 3))
    assert len(rows(text, regex=regex)) == 3
    damaged = 'State 4: go\nHost a {"a":\n more\n  and more\n'
    parsed = parse(text + damaged + good.format(5) + 'the end: {"a": 5\n', regex=regex)
    assert len(parsed.events) == 4
    assert [(row["line"], row["raw"]) for row in parsed.quarantine.to_pylist()] == [
        (18, damaged.rstrip()),
        (27, 'the end: {"a": 5'),
    ]


@pytest.mark.parametrize(
    ("regex", "good", "damaged"),
    [
        (GOVECTOR, 'b {{"b":{0}}}\ngo {0}\n', 'b {{"b":{0}\nlost {0}\n'),
        (DEFAULT, 'go {0}\nb {{"b":{0}}}\n', 'lost {0}\nb {{"b":{0}\n'),
    ],
)
@pytest.mark.parametrize("pairs", [1, 6])
def test_damaged_records_are_quarantined_also_if_each_record_has_one_behind_it(regex, good, damaged, pairs):
    numbers = range(1, 2 * pairs, 2)
    text = "".join(good.format(number) + damaged.format(number + 1) for number in numbers)
    parsed = parse(text, regex=regex)
    assert [row["text"] for row in events_as_rows(parsed)] == [f"go {number}" for number in numbers]
    raw = [damaged.format(number + 1).rstrip() for number in numbers]
    assert parsed.quarantine["raw"].to_pylist() == raw


def test_text_beside_a_record_on_its_line_belongs_to_it():
    regex = r"(?<host>\w) (?<clock>{[^}]*}) (?<event>\w*)"
    assert len(rows('INFO: a {"a":1} x, and so on\nINFO: a {"a":2} y, and so on\n', regex=regex)) == 2


def test_zero_entries_are_dropped():
    assert [row["clock"] for row in rows('a {"a":1,"b":0}\nx\na {"a":2,"b":3}\ny\n')] == [
        {"a": 1},
        {"a": 2, "b": 3},
    ]


def test_many_records_are_read_block_by_block():
    text = "".join(f'h{i % 3} {{"h{i % 3}":{i // 3 + 1}}}\ntext {i}\n' for i in range(3_000))
    found = rows(text)
    assert [row["text"] for row in found] == [f"text {i}" for i in range(3_000)]
    assert [row["clock"] for row in found] == [{f"h{i % 3}": i // 3 + 1} for i in range(3_000)]
    assert [row["line"] for row in found] == [2 * i + 1 for i in range(3_000)]


def test_javascript_expressions():
    assert [
        row["text"]
        for row in rows('(a) {"a":1} [x]\n', regex=r"\((?<host>\w)\) (?<clock>{.*}) [[](?<event>.*)\]")
    ] == ["x"]
    both = rows('a a {"a":1} x\n', regex=r"(?<host>\S*) \k<host> (?<clock>{.*}) (?<event>(?<=} ).*)")
    assert [row["process"] for row in both] == ["a"]
    assert len(rows('a {"a":1} x\n', regex=r"(?<host>\w) (?<clock>{[^]*}) (?<event>.*)")) == 1


@pytest.mark.parametrize(
    ("regex", "words"), [("(?<host>a", "regular expression"), ("(?<host>a)", "(?<clock>...)")]
)
def test_bad_expressions_name_the_remedy(regex, words):
    with pytest.raises(CallerError, match=words.replace("(", r"\(").replace("?", r"\?").replace(")", r"\)")):
        rows(GO, regex=regex)


def test_a_bad_header_is_the_files_fault():
    with pytest.raises(InputError, match="--regex"):
        rows("(?<host>a)(?<clock>b)(?<event>c))\n\nabc\n")


def test_no_record_at_all_is_an_error_with_a_remedy():
    with pytest.raises(InputError, match="--regex"):
        rows("nothing\nhere\n", format="shiviz")
