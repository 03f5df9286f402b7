"""Logs read by both engines: every format, many files, what cannot be read, and what belongs together."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import antecede
from antecede.core.errors import CallerError, InputError
from antecede.formats import Settings
from antecede.formats import read as read_one
from antecede.formats.native import count_native_rows
from antecede.formats.staging import FileStagingTask
from antecede.spark.reading.logs import read_logs
from antecede.tables import EVENTS
from tests.engines.engines import LocalEngine, in_any_order, rows_of
from tests.formats.samples import DATA, GO, SAMPLES, events_as_rows, lines, needs_data


def by_event(row: dict[str, Any]) -> str:
    return str(row["event"])


@pytest.fixture
def reads(engine, tmp_path):
    """Reads what a test wrote into its folder; rows as dictionaries."""

    def reader(*names, format=None, **settings):
        logs = engine.read_logs([str(tmp_path / name) for name in names], format, Settings(**settings))
        return rows_of(logs.events), rows_of(logs.quarantine), logs

    return reader


def short(events):
    return sorted((row["execution"], row["process"], row["index"], row["event"]) for row in events)


def write(folder: Path, **files: str | bytes) -> None:
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def test_every_format_gives_the_rows_of_its_reader(reads, tmp_path) -> None:
    for name, content in SAMPLES.items():
        (tmp_path / name).write_bytes(content)
    events, refused, logs = reads(*SAMPLES)
    for name, content in SAMPLES.items():
        path = str(tmp_path / name)
        want = events_as_rows(read_one(content, path))
        found = [row for row in events if row["file"] == path]
        for row in want + found:
            if row["execution"] in ("", path):  # two of them are runs with a process of one name
                del row["execution"]
        assert sorted(found, key=by_event) == sorted(want, key=by_event)
    assert [file[1:5] for file in logs.files] == [
        (name, len(read_one(content, "x").events), 0, None) for name, content in SAMPLES.items()
    ]
    assert refused == []


def test_files_folders_globs_and_gzip(reads, tmp_path) -> None:
    write(tmp_path, logs__a=GO, logs__b=SAMPLES["xtrace"], x1=gzip.compress(SAMPLES["matrix-events"]))
    events, refused, logs = reads("logs", "x*")
    assert len(events) == 8 and refused == []
    assert [(Path(file.name).name, file.format, file.events) for file in logs.files] == [
        ("a", "shiviz", 4),
        ("b", "xtrace", 2),
        ("x1", "matrix-events", 2),
    ]


def test_more_files_than_tasks(reads, tmp_path) -> None:
    for number in range(40):
        write(tmp_path, **{f"n__{number:02}": f'h{number} {{"h{number}":1}}\nhello\n' * (number % 3 + 1)})
    events, _, logs = reads("n")
    assert [file.events for file in logs.files] == [number % 3 + 1 for number in range(40)]
    assert Counter(row["file"][-2:] for row in events) == {f"{n:02}": n % 3 + 1 for n in range(40)}


def test_bad_records_and_unknown_files_are_kept_with_their_reason(reads, tmp_path) -> None:
    write(tmp_path, good=GO + "no clock\nat all\n", bad="who knows what\nthis is", empty="", none="[]\n")
    events, refused, logs = reads("good", "bad", "empty", "none")
    assert len(events) == 4
    assert [(row["line"], row["raw"]) for row in refused if row["file"].endswith("good")] == [
        (9, "no clock\nat all")
    ]
    (whole,) = [row for row in refused if row["file"].endswith("bad")]
    assert whole["line"] is None and "no reader knows this content" in whole["reason"]
    assert [(file.format, file.quarantined, bool(file.error)) for file in logs.files] == [
        ("shiviz", 1, False),
        (None, 1, True),
        ("empty", 0, False),
        ("empty", 0, False),
    ]


def test_a_damaged_record_is_quarantined_also_where_the_expression_is_given(reads, tmp_path) -> None:
    write(tmp_path, log='a {"a":1}\none\na {"a":\ntwo\na {"a":3}\nthree\n')
    for settings in ({}, {"regex": r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)"}):
        events, refused, logs = reads("log", **settings)
        assert sorted(row["text"] for row in events) == ["one", "three"]
        assert [(row["line"], row["raw"]) for row in refused] == [(3, 'a {"a":\ntwo')]
        assert (logs.files[0].events, logs.files[0].quarantined) == (2, 1)


@pytest.mark.parametrize("names", [["bad"], ["bad", "worse"]])
def test_only_unknown_files_are_an_error(names, reads, tmp_path) -> None:
    write(tmp_path, bad="who knows", worse="nobody does")
    with pytest.raises(InputError, match=r"no reader knows this content.*--format") as raised:
        reads(*names)
    assert ("1 other file " in str(raised.value)) == (len(names) == 2)


def test_an_empty_file_has_no_events(reads, tmp_path) -> None:
    write(tmp_path, empty="")
    events, refused, logs = reads("empty")
    assert (events, refused) == ([], [])
    assert logs.files[0].format == "empty"


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"regex": "(?<host>"}, "no regular expression"),
        ({"regex": "(?<host>.)"}, "name these groups"),
        ({"delimiter": "("}, "no regular expression"),
        ({"format": "word"}, "choose one of parquet"),
        ({"fields": {"when": "t"}, "format": "jsonl"}, "no field when"),
    ],
)
def test_wrong_settings_are_the_callers_fault(settings, match, reads, tmp_path) -> None:
    write(tmp_path, a=SAMPLES["jsonl"], b=SAMPLES["jsonl"])
    with pytest.raises(CallerError, match=match):
        reads("a", "b", **settings)


def test_files_are_named_as_the_caller_names_them(engine, tmp_path, monkeypatch) -> None:
    write(tmp_path, log=GO)
    for name in "tuv":
        table([{"event": f"e{name}"}], tmp_path / name)
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    names = ["../log", "../t", "../inner/../u", str(tmp_path / "v")]
    logs = engine.read_logs(names, None, Settings())
    assert {row["file"] for row in rows_of(logs.events)} == set(names)


def test_no_such_file(reads) -> None:
    with pytest.raises(CallerError, match="no such file"):
        reads("nothing")


def test_a_file_that_goes_away_is_told_by_its_task(tmp_path) -> None:
    staged = FileStagingTask(str(tmp_path), None, Settings(), True).stage_file(
        3, "gone", str(tmp_path / "gone")
    )
    assert staged["number"] == 3 and "every worker must see it" in staged["error"]


def test_a_task_that_is_tried_again_leaves_the_same_files(tmp_path) -> None:
    write(tmp_path, log=GO)
    (tmp_path / "staged").mkdir()
    task = FileStagingTask(str(tmp_path / "staged"), None, Settings(), True)
    told = [task.stage_file(7, "log", str(tmp_path / "log")) for _ in range(2)]
    assert told[0] == told[1]
    files = sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "staged").rglob("*.*"))
    assert files == ["staged/events/00000007.parquet", "staged/spans/00000007.parquet"]


def node(name: str, other: str, *owns: int) -> str:
    return "".join(f'{name} {{"{name}":{own}, "{other}":1}}\nstep {own}\n' for own in owns)


def test_files_of_one_node_each_are_one_execution(reads, tmp_path) -> None:
    write(tmp_path, a=node("a", "b", 1, 2), b=node("b", "a", 1, 2))
    events, _, logs = reads("a", "b")
    assert short(events) == [
        ("", "a", 0, "a:1"),
        ("", "a", 1, "a:2"),
        ("", "b", 0, "b:1"),
        ("", "b", 1, "b:2"),
    ]
    assert logs.note is None


def test_a_log_that_goes_on_in_the_next_file(reads, tmp_path) -> None:
    write(tmp_path, a1=node("a", "b", 3, 4), a2=node("a", "b", 1, 2), b=node("b", "a", 1))
    events, _, logs = reads("a1", "a2", "b")
    assert [row[2:] for row in short(events) if row[1] == "a"] == [(n - 1, f"a:{n}") for n in (1, 2, 3, 4)]
    assert {row["execution"] for row in events} == {""}
    assert logs.note is None


def test_a_log_whose_parts_take_turns(reads, tmp_path) -> None:
    write(tmp_path, even=node("a", "b", 2, 4, 6), odd=node("a", "b", 1, 3, 5))
    events, _, logs = reads("even", "odd")
    assert short(events) == [("", "a", n - 1, f"a:{n}") for n in range(1, 7)]
    assert logs.note is None


def test_separate_runs_in_files_are_separate_executions(reads, tmp_path) -> None:
    write(tmp_path, one=GO, two=GO)
    events, _, logs = reads("one", "two")
    assert Counter(row["execution"] for row in events) == {str(tmp_path / "one"): 4, str(tmp_path / "two"): 4}
    assert "process a counts the same events" in logs.note and "separate executions" in logs.note


def test_separate_runs_in_folders_of_node_files(reads, tmp_path) -> None:
    a = node("a", "b", 1, 2)
    b = node("b", "a", 1, 2)
    write(tmp_path, r1__a=a, r1__b=b, r2__a=a, r2__b=b)
    events, _, _ = reads("r1", "r2")
    assert Counter(row["execution"] for row in events) == {str(tmp_path / "r1"): 4, str(tmp_path / "r2"): 4}


def test_logs_that_know_nothing_of_each_other_are_separate(reads, tmp_path) -> None:
    write(tmp_path, ab=GO, c1=node("c", "d", 1), d1=node("d", "c", 1), d2=node("d", "c", 2))
    events, _, logs = reads("ab", "c1", "d1", "d2")
    assert Counter(row["execution"] for row in events) == {
        str(tmp_path / "ab"): 4,
        f"{tmp_path / 'c1'} and 2 more": 3,
    }
    assert logs.note == "some files know nothing of others: they are taken as separate executions"
    assert sorted(row["index"] for row in events if row["process"] == "d") == [0, 1]


def test_named_executions_keep_their_names_behind_the_file(reads, tmp_path) -> None:
    header = "(?<host>\\S*) (?<clock>{.*})\\n(?<event>.*)\n^=== (?<trace>.*) ===$\n"
    write(tmp_path, one=header + "=== run ===\n" + GO, two=header + "=== run ===\n" + GO)
    events, _, _ = reads("one", "two")
    assert {row["execution"] for row in events} == {f"{tmp_path / name}: run" for name in ("one", "two")}


def test_lines_without_clocks_go_on_in_the_order_named(reads, tmp_path) -> None:
    first = lines({"process": "p", "kind": "send", "message": "m"}, {"process": "q", "kind": "local"})
    second = lines({"process": "p", "kind": "local"}, {"process": "q", "kind": "receive", "message": "m"})
    write(tmp_path, b=first, a=second)
    events, _, logs = reads("b", "a", format="jsonl")
    assert "in the order in which they were named: no times or clocks tell" in logs.note
    found = sorted((row["process"], row["index"], row["kind"], row["event"]) for row in events)
    assert found == [
        ("p", 0, "send", "p#0"),
        ("p", 1, "local", "p#1"),
        ("q", 0, "local", "q#0"),
        ("q", 1, "receive", "q#1"),
    ]


def test_parts_that_say_their_positions_keep_them(reads, tmp_path) -> None:
    rows = [{"process": "p", "index": n, "event": f"e{n}", "kind": "local"} for n in range(6)]
    write(tmp_path, a=lines(*rows[::2]), b=lines(*rows[1::2]))
    events, _, _ = reads("a", "b")
    assert short(events) == [("", "p", n, f"e{n}") for n in range(6)]


def test_editing_traces_of_one_name_are_two(reads, tmp_path) -> None:
    write(tmp_path, x__t=SAMPLES["editing"], y__t=SAMPLES["editing"])
    events, _, _ = reads("x", "y")
    assert {row["execution"] for row in events} == {f"{tmp_path / name}: t" for name in "xy"}


def table(rows: list[dict[str, Any]], path: Path) -> None:
    usual = {"execution": "x", "process": "p", "kind": "local"}
    whole = [{**usual, "index": at, **row} for at, row in enumerate(rows)]
    pq.write_table(pa.Table.from_pylist(whole, EVENTS), path)


def test_our_own_tables_are_taken_as_they_are(reads, tmp_path) -> None:
    table(
        [{"event": "e1", "clock": {"p": 1}}, {"event": "e2", "file": "f", "line": 9}], tmp_path / "a.parquet"
    )
    table([{"event": "e3", "index": 0}], tmp_path / "b c+%.parquet")
    events, _, logs = reads("a.parquet", "b c+%.parquet")
    places = {row["event"]: (row["file"], row["line"]) for row in events}
    assert places == {
        "e1": (str(tmp_path / "a.parquet"), 1),
        "e2": ("f", 9),
        "e3": (str(tmp_path / "b c+%.parquet"), 1),
    }
    assert [file.events for file in logs.files] == [2, 1]
    assert next(row["clock"] for row in events if row["event"] == "e1") == {"p": 1}


@pytest.mark.parametrize(
    "row",
    [
        {"event": "e", "process": None},
        {"event": None},
        {"event": "e", "clock": {"p": 1, "q": 0}},
        {"event": "e", "clock": {"p": 2**62}},
        {"event": "e", "kind": "SEND"},
        {"event": "e", "kind": "rcv"},
        {"event": "e", "process": ""},
        {"event": "e", "message": ""},
        {"event": "e", "parents": [""]},
        {"event": "e", "index": -1},
    ],
)
def test_a_table_with_surprises_goes_through_the_reader(row, tmp_path) -> None:
    table([row, {"event": "e2"}], tmp_path / "t")
    assert count_native_rows(str(tmp_path / "t"), None, Settings()) is None
    table([{"event": "e2"}], tmp_path / "t")
    assert count_native_rows(str(tmp_path / "t"), None, Settings()) == 1


MESSAGES_OUT_OF_ORDER = [
    {"process": "a", "kind": "send", "message": "m1"},
    {"process": "a", "kind": "send", "message": "m2"},
    {"process": "b", "kind": "deliver", "message": "m2"},
    {"process": "b", "kind": "deliver", "message": "m1"},
]
OTHER_WORDS = {"send": "SEND", "deliver": "Delivered"}


@pytest.mark.parametrize("words", [{}, OTHER_WORDS], ids=["our kinds", "kinds in other words"])
def test_a_column_without_values_changes_nothing(reads, words, tmp_path) -> None:
    rows = [
        {"event": f"e{at}", "index": None, **row, "kind": words.get(row["kind"], row["kind"])}
        for at, row in enumerate(MESSAGES_OUT_OF_ORDER)
    ]
    table(rows, tmp_path / "all")
    pq.write_table(pq.read_table(tmp_path / "all").drop_columns(["text"]), tmp_path / "few")
    events, _, logs = reads("all")
    few, _, _ = reads("few")
    assert [row | {"file": ""} for row in events] == [row | {"file": ""} for row in few]
    assert sorted((row["process"], row["index"], row["kind"]) for row in events) == [
        ("a", 0, "send"),
        ("a", 1, "send"),
        ("b", 0, "deliver"),
        ("b", 1, "deliver"),
    ]
    assert antecede.audit(logs.events).summary().counts == {"late": 1, "fifo": 1}


def test_where_parents_say_what_follows_what_our_own_table_needs_no_index(reads, tmp_path) -> None:
    table([{"event": "e1", "index": None}, {"event": "e2", "index": None, "parents": ["e1"]}], tmp_path / "t")
    assert count_native_rows(str(tmp_path / "t"), None, Settings()) == 2
    events, _, _ = reads("t")
    assert [row["index"] for row in events] == [None, None]


def test_our_own_tables_with_names_that_spark_does_not_open(reads, tmp_path) -> None:
    rows = [{"event": "p#0", "index": 0}, {"event": "p#1", "index": 1}]
    table(rows, tmp_path / "a:b")
    table(rows, tmp_path / "ab")
    events, _, logs = reads("a:b", "ab")
    assert sorted(row["index"] for row in events) == [0, 0, 1, 1]
    assert logs.note is None


def test_what_order_wrote_is_native_without_its_columns(reads, tmp_path) -> None:
    table([{"event": "e1"}], tmp_path / "t")
    ordered = pq.read_table(tmp_path / "t").append_column("position", pa.array([0]))
    pq.write_table(ordered.append_column("ghosts", pa.array([0])), tmp_path / "t")
    events, _, _ = reads("t")
    assert [(row["event"], row["fields"]) for row in events] == [("e1", None)]


@pytest.mark.spark
def test_what_spark_wrote_is_native(spark, reads, tmp_path) -> None:
    table([{"event": f"e{n}", "clock": {"p": n + 1}, "parents": ["z"]} for n in range(9)], tmp_path / "t")
    spark.read.parquet(str(tmp_path / "t")).repartition(3).write.parquet(str(tmp_path / "out"))
    events, _, logs = reads("out")
    assert len(events) == 9 and len(logs.files) > 1
    assert all(count_native_rows(file.name, None, Settings()) for file in logs.files)


def test_field_names_and_kinds_can_be_mapped(reads, tmp_path) -> None:
    write(tmp_path, log=json.dumps({"who": "a", "what": "out", "node": "no", "id": "e", "kind": "x"}) + "\n")
    events, _, _ = reads(
        "log", format="jsonl", fields={"process": "who", "kind": "what"}, kinds={"out": "send"}
    )
    assert (events[0]["process"], events[0]["kind"]) == ("a", "send")


def test_rotated_logs_go_on_by_their_times(reads, tmp_path) -> None:
    older, newer = write_timed_log(1.0, 2.0), write_timed_log(2.0, 4.0)
    write(tmp_path, **{"app.log": newer, "app.log.1": older})
    events, _, logs = reads("app.log", "app.log.1", format="jsonl")
    assert texts_in_order(events) == ["1.0", "2.0", "2.0", "4.0"]
    assert logs.note is None


def test_two_files_of_a_process_at_the_same_time(reads, tmp_path) -> None:
    one, two = write_timed_log(1.0, 3.0), write_timed_log(2.0, 4.0)
    write(tmp_path, one=one, two=two)
    events, _, logs = reads("one", "two", format="jsonl")
    assert texts_in_order(events) == ["1.0", "2.0", "3.0", "4.0"]
    assert logs.note.endswith("at the same time: its events are taken by their times")


def test_lines_of_one_file_stay_in_their_order_when_its_clock_goes_back(reads, tmp_path) -> None:
    one, two = write_timed_log(5.0, 3.0), write_timed_log(4.0, 6.0)
    write(tmp_path, one=one, two=two)
    events, _, _ = reads("one", "two", format="jsonl")
    assert texts_in_order(events) == ["4.0", "5.0", "3.0", "6.0"]


def test_words_for_kinds_that_are_not_known_are_told(reads, tmp_path) -> None:
    rows = [{"process": "a", "kind": kind, "message": "m"} for kind in ("publish", "consume", "send")]
    write(tmp_path, log=lines(*rows))
    _, _, logs = reads("log", format="jsonl")
    assert logs.note == (
        "kinds that are not known are taken as local: consume, publish; say what they are, as in "
        "--kind consume=send"
    )


def test_an_event_whose_clock_does_not_count_its_process_stands_beside_it(reads, tmp_path) -> None:
    clocks = ({"a": 1}, {"b": 1}, {"a": 2})
    write(tmp_path, log=lines(*({"process": "a", "clock": clock} for clock in clocks)))
    events, refused, _ = reads("log", format="jsonl")
    assert [row["index"] for row in sorted(events, key=lambda row: row["line"])] == [0, None, 1]
    assert refused == []


def write_timed_log(*times: float) -> str:
    """A log of one process without clocks."""
    return lines(*({"process": "p", "kind": "local", "text": str(time), "time": time} for time in times))


def texts_in_order(events):
    line = sorted(events, key=lambda row: row["index"])
    assert [row["event"] for row in line] == [f"p#{n}" for n in range(len(line))]
    return [row["text"] for row in line]


@needs_data
@pytest.mark.parametrize("folder", ["shiviz", "tsviz", "ewd998", "editing-traces", "zipkin"])
def test_real_logs(engine, folder) -> None:
    logs = engine.read_logs([str(DATA / folder)], None, Settings())
    assert len(logs.events) == sum(file.events for file in logs.files) > 0


def counts_on(count: int) -> list[dict[str, Any]]:
    return [
        {"process": "ab"[i % 2], "kind": "local", "clock": {"ab"[i % 2]: i // 2 + 1}, "n": i}
        for i in range(count)
    ]


def make_unmatched_rows(count: int) -> list[dict[str, Any]]:
    sends = [{"event": ">", "node": 0, "pkt": {"snd": 0, "rcv": 1, "vc": {"0": i + 1}}} for i in range(count)]
    receipts = [
        {"event": "<", "node": 1, "pkt": {"snd": 0, "rcv": 1, "vc": {"0": i + 1, "1": i + 1}}}
        for i in range(count)
    ]
    return [{"N": 2}, *sends, *receipts]


IN_PARTS = {
    "lines": lines(*({"process": "ab"[i % 2], "kind": "odd" if i % 7 == 0 else "local"} for i in range(60))),
    "clocks, and damaged lines": "{\n".join(lines(record) for record in counts_on(40)),
    "parents": lines(*({"process": "a", "kind": "local", "parents": []} for _ in range(40))),
    "messages to match": lines(*make_unmatched_rows(30)),
    "csv": "process,kind,text\r\n" + "a,send,x\r\n" * 150,
}
NOT_IN_PARTS = {
    "an index in one part": lines(*counts_on(40), {"process": "a", "kind": "local", "index": 7}),
    "clocks that start again": lines(*counts_on(40), *counts_on(4)),
    "an open cell": 'process,kind,text\na,send,"x\n\n\n' + "a,send,x\n" * 160,
    "an array": json.dumps(counts_on(40), indent=1),
}


@pytest.mark.spark
@pytest.mark.parametrize("name", [*IN_PARTS, *NOT_IN_PARTS])
def test_one_large_file_in_parts_is_the_file_read_whole(name, spark, tmp_path) -> None:
    path = tmp_path / "log"
    path.write_text((IN_PARTS | NOT_IN_PARTS)[name])
    whole = LocalEngine().read_logs([str(path)])
    staging = tmp_path / "staging"
    staging.mkdir()
    with read_logs(spark, [str(path)], staging=str(staging), part_bytes=300) as logs:
        (folder,) = staging.iterdir()
        assert in_any_order(logs.events.toArrow()) == in_any_order(whole.events)
        assert in_any_order(logs.quarantine.toArrow()) == in_any_order(whole.quarantine)
        staged = list(folder.glob("parts/events/*.parquet"))
        was_whole = (folder / "events").is_dir()
    assert not any(staging.iterdir())
    assert (logs.files, logs.note) == (whole.files, whole.note)
    assert was_whole == (name in NOT_IN_PARTS)
    assert len(staged) > 3 or name == "an array"


@pytest.mark.spark
def test_wrong_settings_are_the_callers_fault_also_in_parts(spark, tmp_path) -> None:
    (tmp_path / "log").write_text(IN_PARTS["lines"])
    with pytest.raises(CallerError, match="no field when"):
        read_logs(spark, tmp_path / "log", settings=Settings(fields={"when": "t"}), part_bytes=300)
