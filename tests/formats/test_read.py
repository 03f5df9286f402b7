"""The way in: detection, gzip, empty files, errors with a remedy, and arbitrary bytes."""

import gzip
import json
import os
import pickle
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import CallerError, InputError
from antecede.formats import FORMATS, Settings, detect, read
from antecede.formats.sources import list_files
from antecede.tables import EVENTS, QUARANTINE
from tests.formats.samples import SAMPLES, lines, parse, rows


def test_there_is_a_sample_of_every_format():
    assert list(SAMPLES) == list(FORMATS)
    assert all(one.title and one.example for one in FORMATS.values())


@pytest.mark.parametrize("name", SAMPLES)
def test_formats_are_detected_by_content(name):
    data = SAMPLES[name]
    assert detect(data, "any") == detect(gzip.compress(data, mtime=0), "any") == name
    parsed = read(gzip.compress(data, mtime=0), "any")
    assert parsed.format == name
    assert parsed.events.num_rows > 0
    assert parsed.quarantine.num_rows == 0
    assert parsed.events.schema.equals(EVENTS)
    assert parsed.quarantine.schema.equals(QUARANTINE)
    parsed.events.validate(full=True)
    assert set(parsed.events["file"].to_pylist()) == {"any"}


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "parquet"])
def test_line_ends_and_marks_change_no_event(name):
    data = SAMPLES[name]
    for other in (data.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + data, b"\n\n" + data):
        parsed = read(other, "any")
        assert parsed.format == name and parsed.quarantine.num_rows == 0
        dropped = ["line"] if other.startswith(b"\n") else []
        assert parsed.events.drop_columns(dropped).equals(read(data, "any").events.drop_columns(dropped))


def test_examples_of_lines_can_be_read():
    for name in ("jsonl", "ndjson", "xtrace", "cloudevents", "matrix-events", "zipkin", "editing"):
        assert read(FORMATS[name].example.encode(), "x", name).events.num_rows > 0
    assert read(f"{FORMATS['shiviz'].example}\ntext\n".encode(), "x", "shiviz").events.num_rows == 1


@pytest.mark.parametrize("data", [b"hello\nworld\n", b"\x00\x01\x02", b'{"a": 1}', b"[1, 2", b"a,b\n1,2\n"])
def test_a_file_that_no_reader_knows_is_an_error_with_the_remedy(data):
    for ask in (detect, read):
        with pytest.raises(InputError, match=r"^odd\.log: .*parquet, jsonl.*editing.*--format"):
            ask(data, "odd.log")


def test_a_clock_in_an_unknown_layout_asks_for_an_expression():
    with pytest.raises(InputError, match="--regex"):
        read(b'12:00 [a] {"a": 1} said something\n', "odd.log")


def test_broken_gzip_and_unknown_formats():
    with pytest.raises(InputError, match="gzip is broken"):
        read(gzip.compress(b"abc" * 1000, mtime=0)[:-12], "x.gz")
    with pytest.raises(CallerError, match="choose one of parquet"):
        read(b"", "x", "xml")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" \n",
        gzip.compress(b"", mtime=0),
        b"[]",
        b" [\n\n]\n",
        b"\xef\xbb\xbf[]",
        gzip.compress(b"[]", mtime=0),
    ],
)
def test_an_empty_file_has_no_events(data):
    parsed = read(data, "x")
    assert (parsed.events.num_rows, parsed.quarantine.num_rows, parsed.format) == (0, 0, "empty")
    assert parsed.events.schema.equals(EVENTS)


def test_arguments_can_go_to_another_process():
    settings = Settings(regex="x", fields={"process": "p"})
    assert pickle.loads(pickle.dumps((read, settings)))[1] == settings


@given(st.binary(max_size=300), st.sampled_from([None, *FORMATS]))
def test_arbitrary_bytes_never_crash_a_reader(data, name):
    try:
        parsed = read(data, "x", name)
    except InputError:
        return
    assert parsed.events.schema.equals(EVENTS)


@given(st.randoms(use_true_random=False), st.sampled_from(list(SAMPLES)), st.booleans())
def test_damaged_samples_never_crash_a_reader(rng: random.Random, name, forced):
    data = bytearray(SAMPLES[name])
    for _ in range(rng.randrange(1, 8)):
        place = rng.randrange(len(data))
        data[place : place + rng.randrange(3)] = rng.choice(
            [b"", b"{", b'"', b"]", b"\n", b"\xff", b"-1", b"null", b"\\"]
        )
    try:
        parsed = read(bytes(data), "x", name if forced else None)
    except InputError:
        return
    assert parsed.events.schema.equals(EVENTS)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
KEYS = {
    "jsonl": [
        "process",
        "event",
        "clock",
        "parents",
        "time",
        "index",
        "fields",
        "kind",
        "receivers",
        "file",
        "line",
    ],
    "xtrace": ["EventID", "ParentEventID", "TaskID", "Timestamp", "Host"],
    "cloudevents": ["id", "source", "causationid", "correlationid", "sequence", "sequencetype", "time"],
    "matrix-events": ["event_id", "prev_events", "sender", "origin_server_ts", "room_id"],
    "zipkin": ["traceId", "id", "parentId", "kind", "timestamp", "localEndpoint", "shared"],
    "jaeger": ["traceID", "spanID", "references", "tags", "startTime", "process", "processID"],
}


@given(st.data(), st.sampled_from(list(KEYS)))
def test_every_row_is_an_event_or_in_quarantine(data, name):
    records = data.draw(
        st.lists(st.dictionaries(st.sampled_from(KEYS[name]), JSON, max_size=8), min_size=1, max_size=5)
    )
    parsed = parse(lines(*records), name)
    assert parsed.events.num_rows + parsed.quarantine.num_rows == len(records)


@given(
    st.lists(st.sampled_from(['a {"a":1}', 'a {"b":1}', "text", 'b {"b":-1}', 'b {"b":2}', "", "=== x ==="]))
)
def test_no_line_of_a_shiviz_log_is_lost(found):
    text = 'a {"a":1}\nfirst\n' + "".join(f"{line}\n" for line in found)
    parsed = parse(text, "shiviz")
    kept = [line for line in parsed.quarantine["raw"].to_pylist() for line in line.split("\n")]
    records = parsed.events.num_rows
    labels = text.count("=== x ===")
    lines_in = len([line for line in text.split("\n") if line.strip()])
    empty = parsed.events["text"].to_pylist().count("")
    assert 2 * records - empty + len([line for line in kept if line]) + labels >= lines_in
    assert records + len(kept) >= 1


def test_deep_nesting_is_refused_and_not_fatal():
    deep = "[" * 5_000 + "]" * 5_000
    parsed = parse(lines({"process": "a", "event": "e"}) + f'{{"process":"a","x":{deep}}}\n')
    assert parsed.events.num_rows + parsed.quarantine.num_rows == 2


def test_a_string_that_never_ends_is_looked_at_once():
    text = '[{"process":"a","event":"e"},{"process":"' + '\\"' * 200_000
    parsed = parse(text)
    assert (parsed.events.num_rows, parsed.quarantine.num_rows) == (1, 1)


def test_wrong_bytes_are_one_bad_record():
    parsed = parse(b'{"process":"a","event":"e"}\n{"process":"\xff"}\n')
    assert (parsed.events.num_rows, parsed.quarantine.num_rows) == (1, 1)
    assert "\ufffd" in parsed.quarantine["raw"][0].as_py()
    assert rows(b'a {"a":1}\nb\xff\n')[0]["text"] == "b\ufffd"


def test_work_grows_with_the_input_and_not_faster():
    """Characters that are looked at to count lines: once each, however many records there are."""
    from antecede.formats import shiviz

    class Counting(str):
        looked = 0

        def count(self, x, *span):
            Counting.looked += span[1] - span[0]
            return super().count(x, *span)

    text = "".join(f'a {{"a":{i + 1}}}\ntext {i}\n' for i in range(2_000))
    starts = [place for place in range(len(text)) if text.startswith('a {"', place)]
    assert shiviz._find_line_numbers(Counting(text), starts) == list(range(1, 4_001, 2))
    assert Counting.looked <= len(text)


def test_a_clean_log_is_scanned_once(monkeypatch):
    from antecede.formats import shiviz

    scans: list[int] = []
    take = shiviz.Scan._scan_piece

    def noted(self, piece):
        scans.append(1)
        take(self, piece)

    monkeypatch.setattr(shiviz.Scan, "_scan_piece", noted)
    for text in (SAMPLES["shiviz"], b'one\na {"a":1}\ntwo\na {"a":2}\n'):
        scans.clear()
        read(text, "x")
        assert len(scans) == 1


def test_sources(tmp_path, monkeypatch):
    for name in ("b/2.log", "b/1.log", "b/.hidden", "b/_SUCCESS", ".git/x", "a.log", "c[1].log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    assert list_files(["b", "a.log", "b/1.log"]) == ["b/1.log", "b/2.log", "a.log"]
    assert list_files(["*.log", "?"]) == ["a.log", "c[1].log", "b/1.log", "b/2.log"]
    assert list_files(["c[1].log"]) == ["c[1].log"]
    assert list_files(["**/*.log"])[0] == "a.log"
    assert len(list_files(["."])) == 4
    for wrong, words in (("nowhere", "no such file"), ("*.txt", "matches no file"), ("empty", "no files")):
        with pytest.raises(CallerError, match=words):
            list_files([wrong])
    with pytest.raises(CallerError, match="no input"):
        list_files([])


def test_json_in_one_file_or_many_lines_is_the_same():
    records = [{"process": "a", "event": str(i), "text": '{["\\'} for i in range(3)]
    forms = [
        lines(*records),
        json.dumps(records),
        json.dumps(records, indent=2),
        "\n".join(json.dumps(r, indent=1) for r in records),
    ]
    found = [[row["event"] for row in rows(form)] for form in forms]
    assert found == [["0", "1", "2"]] * 4
    assert [row["line"] for row in rows(forms[2])] == [2, 7, 12]
    assert [row["line"] for row in rows(forms[3])] == [1, 6, 11]


def test_a_file_under_two_names_is_read_once(tmp_path, monkeypatch):
    (tmp_path / "a.log").write_text("x")
    monkeypatch.chdir(tmp_path)
    assert list_files(["a.log", "./a.*", str(tmp_path)]) == ["a.log"]


def test_a_pipe_is_no_log(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CallerError, match="is a pipe or a device; write it into a file first"):
        list_files([str(tmp_path / "pipe")])


def test_a_name_that_is_no_text_is_refused(tmp_path):
    (tmp_path / os.fsdecode(b"\xff.log")).write_text("x")
    with pytest.raises(CallerError, match=r"\\xff.log: the name of this file is not UTF-8; rename it"):
        list_files([str(tmp_path)])


def test_of_gzip_that_is_cut_off_all_that_can_be_read_is_read():
    data = gzip.compress(
        lines(*({"process": "a", "event": f"e{n}"} for n in range(20_000))).encode(), mtime=0
    )
    parsed = read(data[: len(data) // 2], "x.gz")
    (*_, last) = parsed.quarantine.to_pylist()
    assert 100 < len(parsed.events) < 20_000 and len(parsed.quarantine) <= 2
    assert "gzip is broken (it ends too early)" in last["reason"] and last["line"] > len(parsed.events)
    both = read(gzip.compress(SAMPLES["xtrace"], mtime=0) * 2, "two members")
    assert len(both.events) == 4
