"""A file read in parts is the file read as a whole, or the parts say that they cannot be put together."""

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.formats import (
    NotInParts,
    PartPlan,
    Settings,
    find_common_index_basis,
    plan_parts,
    read,
    read_part,
)
from antecede.formats.indexing import fill_missing_event_ids
from antecede.formats.matching import match_messages_across_files
from antecede.formats.part_staging import (
    LineCounter,
    compute_part_offsets,
    measure_part_spans,
    read_lines_beginning_between,
    split_file_into_parts,
)
from antecede.tables import EVENTS
from tests.formats.samples import SAMPLES, lines


def cut_at_lines(data: bytes, cuts: list[int]) -> list[tuple[int, bytes]]:
    """Parts of whole lines with the number of their first line; a cut is a number of lines."""
    found = [line + b"\n" for line in data.split(b"\n")]
    bounds = sorted({0, *(cut % (len(found) + 1) for cut in cuts), len(found)})
    return [(begin + 1, b"".join(found[begin:end])) for begin, end in pairwise(bounds)]


def put_together(tables: list[pa.Table], basis: str | None, unmatched: bool) -> pa.Table:
    """The events of all parts, as `antecede.formats.parts` says what is left to do."""
    spans = pa.concat_tables([measure_part_spans(table, part) for part, table in enumerate(tables)])
    further = {
        (row["part"], row["execution"], row["process"]): row["further"]
        for row in compute_part_offsets(spans, basis).to_pylist()
    }
    events = []
    for part, table in enumerate(tables):
        for row in table.to_pylist():
            if further:
                row["index"] += further[part, row["execution"], row["process"]]
            events.append(row)
    table = fill_missing_event_ids(pa.Table.from_pylist(events, EVENTS), "log")
    return match_messages_across_files(table) if unmatched else table


def check_parts(data: bytes, plan: PartPlan, cuts: list[int], settings: Settings, format: str | None) -> bool:
    """Whether the parts of a file can be put together; then they are the file."""
    parts = [read_part(part, "log", plan, settings, line) for line, part in cut_at_lines(data, cuts)]
    try:
        basis, unmatched = find_common_index_basis((part.basis, part.unmatched, part.alone) for part in parts)
        events = put_together([part.events for part in parts], basis, unmatched)
    except NotInParts:
        return False
    whole = read(data, "log", format, settings)
    assert events.to_pylist() == whole.events.to_pylist()
    quarantine = pa.concat_tables([part.quarantine for part in parts])
    assert quarantine.equals(whole.quarantine)
    return True


RECORDS = st.fixed_dictionaries(
    {},
    optional={
        "process": st.sampled_from(["a", "b", 1, "", None]),
        "event": st.sampled_from(["e", "a#0", "f", "send", "receive"]),
        "clock": st.dictionaries(st.sampled_from(["a", "b", "1"]), st.integers(0, 3), max_size=3),
        "parents": st.just(["e"]),
        "message": st.sampled_from(["m", "n"]),
        "index": st.integers(0, 3),
        "snd": st.sampled_from(["a", "b"]),
        "rcv": st.sampled_from(["a", "b"]),
        "x": st.none() | st.text(max_size=2),
    },
)


@given(st.data(), st.sampled_from(["jsonl", "ndjson"]), st.lists(st.integers(0, 20), max_size=3))
def test_any_lines_in_parts(data, format, cuts):
    names = data.draw(st.sets(st.sampled_from(["clock", "parents", "message", "index"])))
    kept = [
        {key: value for key, value in record.items() if key not in names}
        for record in data.draw(st.lists(RECORDS, max_size=8))
    ]
    text = [lines(record) for record in kept]
    broken = data.draw(st.lists(st.sampled_from(["\n", " \r\n", "{\n", "[1]\n", '{"process":"a"}\r\n'])))
    text = ['{"process": "a", "event": "e"}\n', *data.draw(st.permutations(text + broken))]
    check_parts("".join(text).encode(), PartPlan(format), cuts, Settings(), format)


CELLS = ["a", "b", "e1", "", '"x y"', '"two\nlines"', '"{""a"": 1}"', 'open"', '"open', "1", "a;b"]


@given(
    st.lists(st.lists(st.sampled_from(CELLS), min_size=3, max_size=4), max_size=8),
    st.sampled_from(["\n", "\r\n", "\r", "\n\n"]),
    st.lists(st.integers(0, 20), max_size=3),
)
def test_any_cells_in_parts(rows, end, cuts):
    text = "process,kind,text" + end + "".join(",".join(row) + end for row in rows)
    plan = plan_parts(text.encode(), "log", "csv")
    if plan is not None:
        check_parts(text.encode(), plan, cuts, Settings(), "csv")


def make_clocked_rows(count: int) -> list[dict[str, Any]]:
    return [
        {"process": "ab"[i % 2], "kind": "local", "clock": {"ab"[i % 2]: i // 2 + 1}} for i in range(count)
    ]


SENT = [
    {"event": ">", "node": i % 3, "pkt": {"snd": i % 3, "rcv": 3, "vc": {str(i % 3): i + 1}}}
    for i in range(6)
]
RECEIVED = [
    {"event": "<", "node": 3, "pkt": {"snd": i % 3, "rcv": 3, "vc": {str(i % 3): i + 1, "3": i + 1}}}
    for i in range(6)
]
TOLD = [{"process": "a", "kind": "send", "message": f"m{i}", "to": "b"} for i in range(4)]
HEARD = [{"process": "b", "kind": "receive", "message": f"m{i}"} for i in range(4)]


@pytest.mark.parametrize(
    "data",
    [
        lines(*make_clocked_rows(9)),
        lines(*({"process": "a", "event": str(i), "kind": "local"} for i in range(9))),
        lines(*({"process": "a", "event": str(i), "parents": []} for i in range(9))),
        lines(*({"process": "a", "event": str(i), "index": 9 - i} for i in range(9))),
        lines({"N": 4}, *SENT, *RECEIVED),
        lines(*TOLD, *HEARD),
        lines(*TOLD, *HEARD, HEARD[0] | {"from": "a"}),
        lines(*TOLD, *(one | {"from": "a"} for one in HEARD)),
        "\ufeff" + lines({"N": 4}, *SENT, *RECEIVED),
        "\ufeff\nprocess;kind;text\na;local;x\nb;local;\n\na;local;y\n",
        "process,kind,text\r\n" + "a,send,x\r\n" * 5,
    ],
    ids=[
        "clocks",
        "lines",
        "parents",
        "given",
        "sends",
        "ids",
        "some named",
        "all named",
        "mark",
        "csv",
        "csv, crlf",
    ],
)
def test_ordinary_files_are_read_in_parts(data):
    plan = plan_parts(data.encode(), "log")
    assert plan is not None
    for cut in range(1, 12):
        assert check_parts(data.encode(), plan, [cut, cut + 3], Settings(), None)


@pytest.mark.parametrize(
    "parts",
    [
        (lines(*make_clocked_rows(2)), lines({"process": "a", "kind": "local"})),
        (lines({"process": "a", "kind": "send", "index": 0}), lines({"process": "a", "kind": "send"})),
        (lines({"process": "a", "clock": {"b": 1}}), lines({"process": "a", "clock": {"a": 1}})),
        ('process,text\na,"b\n', 'c"\na,b\n'),
    ],
    ids=["clocks", "index", "not counted", "open cell"],
)
def test_parts_on_different_grounds_are_refused(parts):
    data = "".join(parts).encode()
    plan = PartPlan("csv", "process,text\n") if data.startswith(b"process") else PartPlan("jsonl")
    assert not check_parts(data, plan, [parts[0].count("\n")], Settings(), plan.format)


def test_files_that_must_be_read_as_a_whole():
    by_line = {name for name, data in SAMPLES.items() if plan_parts(data * 2, "x")}
    assert by_line == {"jsonl", "ndjson", "csv"}
    for whole in (b'[{"process":"a","event":"e"}]\n', b'{"process":"a",\n"event":"e"}\n', b"\x1f\x8b\n"):
        assert plan_parts(whole, "x") is None
    assert plan_parts(b'process,"text\nand more"\na,b\n', "x", "csv") is None


def test_a_line_of_host_and_clock_in_a_later_part_is_not_overlooked():
    text = "process,event,text\n" + "a,e,x\n" * 3 + 'a {"a": 1}\n'
    plan = plan_parts(text[:30].encode(), "x")
    assert plan is not None
    assert plan.format == "csv"
    assert read(text.encode(), "x").format == "shiviz"
    assert not read_part(text[31:].encode(), "x", plan, Settings(), 3).alone


@given(st.text(alphabet="ab\n", min_size=1, max_size=40), st.integers(1, 50))
def test_ranges_of_bytes_have_the_lines_that_begin_in_them(tmp_path_factory, text, part_bytes):
    path = tmp_path_factory.mktemp("parts") / "log"
    path.write_text(text)
    lines_before = 0
    whole = b""
    for part in split_file_into_parts(len(text), part_bytes).to_pylist():
        with path.open("rb") as file:
            data = read_lines_beginning_between(file, part["begin"], part["end"])
        assert not data or whole.count(b"\n") == lines_before
        whole += data
        count = LineCounter(str(path)).count_lines_beginning_between(part["begin"], part["end"])
        assert count == len(data.splitlines())
        lines_before += count
    assert whole == text.encode()
