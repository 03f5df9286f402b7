"""Blocks of lines that become columns at once give the rows and the quarantine of reading line by line."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import InputError
from antecede.formats import Parsed, Settings, csv_table, mapped_events, read, shiviz
from antecede.formats.columns import Odd
from antecede.formats.csv_blocks import CsvBlockReader
from antecede.formats.typed_records import TypedRecords
from tests.formats.samples import in_plain_form, lines, parse

ODD_VALUES: list[Any] = [
    None,
    "",
    "a",
    "7",
    "x y",
    "é\u2028",
    0,
    3,
    -1,
    2**62,
    2**63,
    2**70,
    1.0,
    1.5,
    1e300,
    True,
]
ODD_VALUES += [
    [],
    ["a"],
    ["a", None],
    ["", 1],
    [[1]],
    {},
    {"a": 1},
    {"a": 0, "b": 2},
    {"a": "1"},
    {"a": None},
]
ODD_VALUES += [{"b": {"c": [1]}, "d": None}, '{"a": 1}', "2024-01-01T00:00:00Z", "send", ">", "who knows"]
KEYS = ["execution", "process", "node", "index", "event", "id", "kind", "message", "msg_id", "sender"]
KEYS += ["receivers", "to", "parents", "clock", "vc", "time", "ts", "text", "msg", "fields", "file", "line"]
KEYS += ["pkt", "other", "more.deep", "x\ty"]

PLAIN: list[dict[str, Any]] = [
    {
        "process": "a",
        "kind": "send",
        "message": "m",
        "receivers": ["b"],
        "clock": {"a": 1, "b": 0},
        "time": 5,
    },
    {"process": "b", "kind": "deliver", "message": "m", "clock": {"b": 1, "a": 1}, "fields": {"k": "v"}},
    {
        "process": 3,
        "event": "e",
        "parents": ["f", 4],
        "text": {"b": 1, "a": [2]},
        "time": "12.5",
        "x": {"y": 1},
    },
    {"node": 0, "event": ">", "pkt": {"snd": 0, "rcv": 1, "vc": {"0": 2}, "msg": "hello", "n": 5}},
    {"node": 1, "event": "<", "pkt": {"snd": 0, "rcv": 1, "vc": {"0": 2, "1": 1}, "msg": "hello"}},
    {"node": "n", "event": "who knows", "time": "never", "index": 4, "line": 9, "file": "f", "execution": ""},
]
ODD_LINES = [
    "",
    " ",
    "\t{}",
    "{",
    "[1]",
    '{"process":"a"} x',
    '{"process":"a"}{"process":"b"}',
    "\ufeff",
    "{}",
]
ODD_LINES += [
    '{"process":"a","process":"b"}',
    '{"process":"a","clock":{"a":1,"a":2}}',
    '{"process":"\\ud800"}',
]
ODD_LINES += [
    '{"process":"a",',
    '"kind":"send"}',
    '{"process":"a"}\r',
    '{"process":-0,"kind":"send"}',
    "null",
]


@st.composite
def odd_records(draw) -> dict[str, Any]:
    """A plain record with some values replaced."""
    record = dict(draw(st.sampled_from(PLAIN)))
    for key in draw(st.lists(st.sampled_from(KEYS), max_size=3)):
        record[key] = draw(st.sampled_from(ODD_VALUES))
    return record


@st.composite
def logs(draw) -> bytes:
    """Stretches of plain lines with odd ones among them."""
    text: list[str] = []
    for _ in range(draw(st.integers(1, 5))):
        record = draw(st.sampled_from(PLAIN) | odd_records())
        text += [json.dumps(record)] * draw(st.integers(1, 6))
        if draw(st.booleans()):
            text.append(draw(st.sampled_from(ODD_LINES)))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    tail = draw(st.sampled_from(["", "\n", "\n\n", '{"pro']))
    mark = draw(st.sampled_from(["", "\ufeff"]))
    data: bytes = (mark + end.join(text) + tail).encode(errors="surrogatepass")
    return data.replace(b"hello", b"\xff") if draw(st.booleans()) else data


@pytest.fixture(scope="module")
def small_blocks():
    """Blocks of some lines, so that small logs have many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mapped_events, "FIRST_BYTES", 1)
        patch.setattr(mapped_events, "BLOCK_BYTES", 300)
        patch.setattr(mapped_events, "SMALLEST_BYTES", 1)
        yield


def read_by_line(data: bytes, format: str, settings: Settings) -> Parsed:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TypedRecords, "decode_block", refuse_block)
        return read(data, "log", format, settings)


def refuse_block(*_: Any) -> None:
    raise Odd


SETTINGS = [
    Settings(),
    Settings(kinds={"who knows": "send", ">": "local"}),
    Settings(fields={"process": "pkt.snd", "text": "x.y"}),
    Settings(fields={"process": "node", "message": "node"}),
]


@given(logs(), st.sampled_from(["jsonl", "ndjson"]), st.sampled_from(SETTINGS))
def test_blocks_are_what_their_lines_are(small_blocks, data, format, settings):
    by_block = in_plain_form(read(data, "log", format, settings))
    by_line = in_plain_form(read_by_line(data, format, settings))
    assert by_block == by_line


@pytest.mark.parametrize("record", PLAIN[:5], ids=str)
def test_plain_lines_are_read_as_blocks(small_blocks, monkeypatch, record):
    sizes = []
    decode_block = TypedRecords.decode_block

    def note_block(self, *block):
        decoded = decode_block(self, *block)
        sizes.append(len(decoded.events))
        return decoded

    monkeypatch.setattr(TypedRecords, "decode_block", note_block)
    format = "ndjson" if "pkt" in record else "jsonl"
    parsed = parse(lines(*[record] * 50), format)
    assert len(parsed.events) == 50 and sum(sizes) == 49


def test_an_odd_line_takes_few_others_with_it(monkeypatch):
    learnt: list[dict[str, Any]] = []
    monkeypatch.setattr(TypedRecords, "learn_keys", wrap_learning(learnt))
    text = [lines(PLAIN[0])] * 20_000
    text[15_000] = "odd\n"
    parsed = parse("".join(text), "jsonl")
    assert len(parsed.events) == 19_999
    assert parsed.quarantine["line"].to_pylist() == [15_001]
    assert len(learnt) < 150


def wrap_learning(learnt: list[dict[str, Any]]) -> Any:
    learn_keys = TypedRecords.learn_keys

    def note_record(self: TypedRecords, record: dict[str, Any]) -> None:
        learnt.append(record)
        learn_keys(self, record)

    return note_record


def test_lines_are_those_of_the_file_also_behind_an_odd_block():
    text = [lines(PLAIN[0])] * 30_000
    text[10] = text[20_000] = "\n"
    parsed = parse("".join(text), "jsonl")
    expected = [line for line in range(1, 30_001) if line not in (11, 20_001)]
    assert parsed.events["line"].to_pylist() == expected


CELLS = [
    "a",
    "b",
    "e1",
    "",
    "x y",
    '"x, y"',
    '"{""a"": 1}"',
    '"[""a"", ""b""]"',
    "1",
    "a;b",
    "a; b;",
    "-1",
    "1.5",
]
CELLS += [
    "2024-01-01T00:00:00Z",
    "send",
    "who knows",
    '"say ""hi"""',
    'x"y',
    '"x"y',
    "é",
    "\ufffd",
    "0x1f",
    "1_0",
]
CELLS += ["nan", "99999999999999999999", " a ", '"two\nlines"', 'a"', '"open', "\x1c", "\u3000", "{", "1e999"]
HEADERS = [
    "process,kind,text",
    "process,receivers,clock,time",
    "process;event;id;other",
    "process,index,fields,more",
    "node|parents|line|file",
    "process,kind,a.b",
    "text,kind",
    "process",
]


@st.composite
def csv_tables(draw) -> bytes:
    """Stretches of equal lines, so that some blocks are plain."""
    header = draw(st.sampled_from(HEADERS))
    sign = next(sign for sign in ",;|," if sign in header or sign == ",")
    width = header.count(sign) + 1
    text = [header]
    for _ in range(draw(st.integers(0, 5))):
        cells = draw(st.lists(st.sampled_from(CELLS), min_size=width, max_size=width))
        if draw(st.booleans()):
            cells[0] = "a"
        if draw(st.integers(0, 9)) == 0:
            cells.append("more")
        text += [sign.join(cells)] * draw(st.integers(1, 5))
        if draw(st.integers(0, 4)) == 0:
            text.append(draw(st.sampled_from(["", " ", sign * (width - 1), "\t"])))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    data: bytes = (end.join(text) + draw(st.sampled_from(["", end]))).encode()
    return data.replace("\ufffd".encode(), b"\xff")


@given(csv_tables(), st.sampled_from([Settings(), Settings(fields={"kind": "text"}, kinds={"a": "send"})]))
def test_blocks_of_csv_are_what_their_lines_are(data, settings):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_table, "BLOCK_BYTES", 30)
        patch.setattr(mapped_events, "SMALLEST_BYTES", 1)
        by_block = in_plain_form(read(data, "log", "csv", settings))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CsvBlockReader, "decode_events_and_own_entries", refuse_block)
        patch.setattr(csv_table, "BLOCK_BYTES", 10**9)
        by_line = in_plain_form(read(data, "log", "csv", settings))
    assert by_block == by_line


def test_plain_cells_are_read_as_blocks(monkeypatch):
    monkeypatch.setattr(csv_table, "_add_csv_records", None)
    text = "process,kind,receivers,clock,time,text,more\n" + 'a,send,b;c,"{""a"": 1}",5.5,"x, y",z\n' * 50
    assert len(parse(text, "csv").events) == 50


SHIVIZ_LINES = [
    'a {"a":1}',
    'b {"b":1, "a":2}',
    "text",
    "",
    " ",
    'a {"a":}',
    'a {"a":1} ',
    '12 {"12":1} {"x":1}',
]
SHIVIZ_LINES += [
    '7 b {"b":2}',
    'a\tc {"a":1}',
    '{"a":1}',
    ' {"":1}',
    "=== label ===",
    'a {"a":0}',
    "Initialization Complete",
]
SHIVIZ_LINES += ["=== Execution #Mon Jan  2 15:04:05 UTC 2006  ===", "é\u2028", 'a {"a":1}\r', 'b {"a":1}']


@given(
    st.lists(
        st.tuples(st.sampled_from(SHIVIZ_LINES), st.sampled_from(SHIVIZ_LINES), st.integers(1, 4)), max_size=8
    ),
    st.sampled_from(["", "\n", "text\n", "\n\n"]),
    st.sampled_from(["", 'a {"a":']),
)
def test_pairs_of_lines_are_what_the_expression_finds(pairs, begin, tail):
    text = begin + "".join(f"{first}\n{second}\n" * times for first, second, times in pairs) + tail
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shiviz, "BLOCK_CHARS", 30)
        by_block = read_or_refuse(text)
        patch.setattr(shiviz, "read_line_pairs", lambda *_: None)
        patch.setattr(shiviz, "BLOCK_CHARS", 10**9)
        by_match = read_or_refuse(text)
    assert by_block == by_match


def read_or_refuse(text: str) -> Any:
    try:
        return in_plain_form(parse(text, "shiviz"))
    except InputError as error:
        return str(error)


def test_plain_pairs_of_lines_are_read_as_blocks(monkeypatch):
    monkeypatch.setattr(shiviz.Scan, "_scan_matches", None)
    for text in ('a {"a":1, "b":2}\ntext\n', 'text\na {"a":1, "b":2}\n'):
        assert len(parse(text * 20_000, "shiviz").events) == 20_000
