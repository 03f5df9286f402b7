"""Our own table as JSON lines, CSV and Parquet; records of sends and receives; mapped names and kinds."""

import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.core.errors import CallerError, InputError
from antecede.formats.mapped import OWN
from antecede.formats.parquet import _round_timestamps_to_microseconds
from antecede.tables import EVENTS
from tests.formats.samples import events_as_rows, in_plain_form, lines, parquet, parse, rows

FULL = {
    "execution": "x",
    "process": "a",
    "index": 4,
    "event": "e",
    "kind": "send",
    "message": "m",
    "sender": "a",
    "receivers": ["b", "c"],
    "parents": ["d"],
    "clock": {"a": 5, "b": 1},
    "time": 12.5,
    "text": "hello",
    "fields": {"size": "3"},
    "file": "old.log",
    "line": 7,
}
IN_CSV = {
    key: json.dumps(value)
    if isinstance(value, dict)
    else ";".join(value)
    if isinstance(value, list)
    else str(value)
    for key, value in FULL.items()
}


def csv_of(*records):
    names = list(records[0])
    quoted = ['"' + value.replace('"', '""') + '"' for record in records for value in record.values()]
    body = [",".join(quoted[i : i + len(names)]) for i in range(0, len(quoted), len(names))]
    return "\n".join([",".join(names), *body]) + "\n"


@pytest.mark.parametrize(
    "data",
    [
        lines(FULL),
        json.dumps([FULL], indent=2),
        json.dumps(FULL, indent=2),
        csv_of(IN_CSV),
        csv_of(IN_CSV | {"receivers": '["b","c"]'}).replace("\n", "\r\n"),
        parquet([FULL | {"clock": [("a", 5), ("b", 1)], "fields": [("size", "3")]}], EVENTS),
        parquet([FULL]),
        parquet([FULL | {"clock": json.dumps(FULL["clock"])}]),
    ],
    ids=["lines", "array", "object", "csv", "csv, crlf", "parquet", "parquet, structs", "parquet, JSON"],
)
def test_all_columns_arrive(data):
    assert rows(data) == [FULL]


@pytest.mark.parametrize("is_read_in_blocks", [True, False], ids=["blocks", "records"])
def test_lists_in_csv_are_separated_by_semicolons_or_commas(is_read_in_blocks):
    receivers = {
        "b,c": ["b", "c"],
        "b, c,": ["b", "c"],
        "b;c": ["b", "c"],
        "b,1;c,1": ["b,1", "c,1"],
        '["b,c"]': ["b,c"],
        "b c": ["b c"],
        "b": ["b"],
    }
    cells = ['"' + cell.replace('"', '""') + '"' for cell in receivers]
    for cell, wanted in zip(cells, receivers.values(), strict=True):
        table = f"process,kind,message,receivers\na,send,m,{cell}\nb,deliver,m,\n"
        found = rows(table if is_read_in_blocks else table.replace("\n", "\r"))
        assert [row["receivers"] for row in found] == [wanted, None]
    mixed = "process,receivers\n" + "".join(f"a,{cell}\n" for cell in cells if "[" not in cell)
    wanted_lists = [names for cell, names in receivers.items() if "[" not in cell]
    assert [row["receivers"] for row in rows(mixed)] == wanted_lists


def test_what_is_missing_is_null_and_not_invented():
    (row,) = rows(lines({"process": "a", "kind": None}), format="jsonl")
    known = {"execution": "", "process": "a", "index": 0, "event": "a#0", "file": "log", "line": 1}
    assert row == dict.fromkeys(EVENTS.names) | known
    (row,) = rows("process,event,kind,parents\na,e,,\n")
    assert row["kind"] is None and row["parents"] is None
    assert rows(lines({"process": "a", "event": "e", "parents": []}))[0]["parents"] == []


def test_other_names_and_other_things():
    (row,) = rows(
        lines({"host": 3, "event_id": 9, "msg_id": "m", "seq": "4", "ts": 5, "a": {"b": True}, "c": [1]})
    )
    assert (row["process"], row["event"], row["message"], row["index"], row["time"]) == (
        "3",
        "9",
        "m",
        4,
        5.0,
    )
    assert row["fields"] == {"a.b": "true", "c": "[1]"}


def test_fields_and_kinds_are_mapped():
    record = {"who": {"name": "a"}, "what": "OUT", "vv": {"a": 1}, "id": "e"}
    fields = {"process": "who.name", "kind": "what", "clock": "vv"}
    (row,) = rows(lines(record), fields=fields, kinds={"OUT": "send"})
    assert (row["process"], row["kind"], row["clock"], row["fields"]) == ("a", "send", {"a": 1}, None)
    table = 'who,what,vv\na,OUT,"{""a"":1}"\n'
    (row,) = rows(table, fields=fields | {"process": "who"}, kinds={"OUT": "send"})
    assert (row["process"], row["kind"], row["clock"]) == ("a", "send", {"a": 1})
    (row,) = rows(parquet([{"who": "a", "what": "OUT"}]), fields={"process": "who", "kind": "what"})
    assert (row["process"], row["kind"], row["fields"]) == ("a", None, {"kind": "OUT"})


def test_wrong_settings_are_the_callers_fault():
    with pytest.raises(CallerError, match="choose one of send"):
        rows("", kinds={"x": "sending"})
    with pytest.raises(CallerError, match="fields are execution, process"):
        rows(lines({"process": "a", "event": "e"}), fields={"proces": "x"})


def test_times_and_kinds_that_are_not_understood_stay_as_fields():
    found = rows(
        lines(*({"process": "a", "time": time} for time in ("1970-01-01T00:00:01Z", "soon", "12.5", True)))
    )
    assert [row["time"] for row in found] == [1000.0, None, 12.5, None]
    assert [row["fields"] for row in found] == [None, {"time": "soon"}, None, {"time": "true"}]
    (row,) = rows(lines({"process": "a", "kind": "explode"}))
    assert row["kind"] is None and row["fields"] == {"kind": "explode"}


def test_index_is_given_or_by_clock_or_by_line_or_unknown():
    base = [{"process": "a", "event": str(i)} for i in range(3)]
    assert [row["index"] for row in rows(lines(*base))] == [0, 1, 2]
    clocks = [one | {"clock": {"a": 3 - i}} for i, one in enumerate(base)]
    assert [row["index"] for row in rows(lines(*clocks))] == [2, 1, 0]
    rooted = [{**one, "parents": ["r"]} for one in base]
    assert [row["index"] for row in rows(lines(*rooted))] == [None] * 3
    given = [base[0] | {"index": 7}, base[1]]
    assert [row["index"] for row in rows(lines(*given))] == [7, None]


BAD = {
    "not JSON": ("{", "not a JSON object"),
    "not an object": ("[1]", "not a JSON object"),
    "no process": ('{"event":"e"}', "no process"),
    "empty process": ('{"process":""}', "process is no name: it is empty"),
    "clock is a list": ('{"process":"a","clock":[1]}', "no object of counts"),
    "negative entry": ('{"process":"a","clock":{"a":-1}}', "no object of counts"),
    "half an event": ('{"process":"a","clock":{"a":1.5}}', "no object of counts"),
    "index is no count": ('{"process":"a","index":-1}', "index is no count"),
    "parents are no names": ('{"process":"a","parents":[{}]}', "parents is no name"),
}


@pytest.mark.parametrize("name", BAD)
def test_one_bad_line_goes_to_quarantine_alone(name):
    bad, reason = BAD[name]
    good = lines({"process": "a", "event": "e"})
    parsed = parse(good + "\n" + bad + "\n" + good)
    assert [row["line"] for row in events_as_rows(parsed)] == [1, 4]
    (refused,) = parsed.quarantine.to_pylist()
    assert (refused["line"], refused["raw"]) == (3, bad)
    assert reason in refused["reason"]


def test_bad_rows_of_csv_and_parquet():
    parsed = parse('process,event,clock\na,e1,\na,e2\n"a\nb",e3,\na,e4,{1}\n,e5,\n')
    assert [(row["process"], row["line"]) for row in events_as_rows(parsed)] == [("a", 2), ("a\nb", 4)]
    assert [row["line"] for row in parsed.quarantine.to_pylist()] == [3, 6, 7]
    parsed = parse(parquet([{"process": "a", "event": "e"}, {"process": None, "event": "f"}]))
    assert [row["line"] for row in events_as_rows(parsed)] == [1]
    assert parsed.quarantine["line"].to_pylist() == [2]
    with pytest.raises(InputError, match="Parquet cannot be read"):
        parse(b"PAR1 and nothing else")


def test_moments_in_parquet():
    moments = pa.array([1_700_000_000_123_456_789], pa.timestamp("ns"))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"process": ["a"], "time": moments}), sink)
    (row,) = rows(sink.getvalue().to_pybytes())
    assert row["time"] == pytest.approx(1_700_000_000_123.456)
    assert _round_timestamps_to_microseconds(pa.table({"time": moments})).schema.field(
        "time"
    ).type == pa.timestamp("us")


def test_two_columns_of_one_name():
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table([pa.array(["a"]), pa.array(["b"])], ["process", "process"]), sink)
    with pytest.raises(InputError, match="rename one"):
        parse(sink.getvalue().to_pybytes())
    with pytest.raises(InputError, match="two columns are called 'process'; rename one"):
        parse(b"process,kind,process\na,send,b\n")


def test_a_broken_array_is_read_as_far_as_it_goes():
    whole = [{"process": "a", "event": str(i), "text": "[{"} for i in range(3)]
    parsed = parse(json.dumps(whole, indent=1)[:-30])
    assert [row["event"] for row in events_as_rows(parsed)] == ["0", "1"]
    (refused,) = parsed.quarantine.to_pylist()
    assert refused["line"] == 12 and refused["raw"].startswith('{\n  "process"')


def usually(value, *others):
    return st.sampled_from([value] * 20 + [*others])


ROWS = st.fixed_dictionaries(
    {
        "execution": usually("x", "", "y"),
        "process": usually("a", "b", ""),
        "event": usually("e", "f"),
        "kind": usually("send", "local", None, "Sent", "what", "rcv"),
    },
    optional={
        "index": usually(0, None, 7, -1),
        "message": usually("m", None, ""),
        "sender": usually("a", None, ""),
        "receivers": usually(["b"], None, [], [""], [None]),
        "parents": usually(["e"], None, [], [""], [None]),
        "clock": usually([("a", 1)], [("a", 2), ("b", 1)], None, [], [("b", 3)], [("a", 0)], [("a", -1)]),
        "time": usually(1.5, None, math.inf),
        "fields": usually([("k", "v")], None, [("k", None)]),
        "file": usually("f", None, ""),
        "line": usually(3, None, -1),
    },
)


@given(st.lists(ROWS, max_size=6), st.sets(st.sampled_from(["index", "clock", "parents"])))
def test_a_table_with_all_our_columns_is_read_as_one_without_those_that_say_nothing(records, absent):
    kept = [{name: value for name, value in one.items() if name not in absent} for one in records]
    whole = pa.Table.from_pylist(kept, EVENTS)
    parsed = [parse(write_parquet(table)) for table in (whole, whole.drop_columns(["text"]))]
    # What was refused is kept with all columns that it has.
    one, other = (
        in_plain_form(one._replace(quarantine=one.quarantine.drop_columns(["raw"]))) for one in parsed
    )
    assert one == other


def write_parquet(table):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


def test_our_columns_are_all_read():
    assert set(OWN) == set(EVENTS.names)
    table = pa.Table.from_pylist(
        [FULL | {"clock": [("a", 5)], "fields": [], "file": None, "line": None}], EVENTS
    )
    (row,) = rows(parquet(table.to_pylist(), EVENTS))
    assert (row["file"], row["line"]) == ("log", 1)


def send(own, text, to="b", frm="a", **more):
    return {"node": frm, "event": "send", "to": to, "from": frm, "msg": text, "vc": {frm: own}} | more


def receive(own, known, text, by="b", frm="a"):
    return {"node": by, "event": "recv", "to": by, "from": frm, "msg": text, "vc": {frm: known, by: own}}


def messages(*records):
    return [(row["message"], (row["fields"] or {}).get("match")) for row in rows(lines(*records))]


def test_receives_are_matched_to_sends():
    sent = [send(1, "x"), send(2, "x"), send(3, "y")]
    got = [receive(1, 2, "x"), receive(2, 2, "x"), receive(3, 2, "x"), receive(4, 3, "z")]
    assert messages(*sent, *got)[3:] == [
        ("a:2", "first"),
        ("a:1", "first"),
        ("a:1", "repeat"),
        ("a>b@3", "none"),
    ]


def test_a_receive_does_not_belong_to_a_send_it_cannot_know():
    assert messages(send(1, "w"), send(2, "x"), receive(1, 1, "x"))[2] == ("a>b@0", "none")
    assert messages(send(1, "x"), send(2, "w"), receive(1, 2, "x"))[2] == ("a:1", "first")


def test_a_receive_whose_sender_is_in_another_file_is_named_by_the_clock():
    assert messages(receive(1, 5, "x")) == [("a:5", "clock")]
    assert messages(send(5, "x")) == [("a:5", "sent")]


def test_ids_in_the_log_are_not_touched():
    found = rows(lines(send(1, "x", msg_id="m9"), receive(1, 1, "x") | {"msg_id": "m9"}))
    assert [(row["message"], row["fields"]) for row in found] == [("m9", None)] * 2


def test_a_broadcast_is_one_message():
    sent = send(1, "x", to=["b", "c"])
    got = [receive(1, 1, "x"), receive(1, 1, "x", by="c")]
    assert messages(sent, *got) == [("a:1", "sent"), ("a:1", "first"), ("a:1", "first")]


def say(process, kind, text, **more):
    return {"process": process, "kind": kind, "message": text} | more


@pytest.mark.parametrize(
    "more", [{"to": ["b"]}, {"dst": "b"}, {"vc": {"a": 1}}, {"to": "b", "vc": {"a": 1}}], ids=str
)
def test_what_is_said_is_the_id_where_no_receive_names_its_sender(more):
    log = [say("a", "send", "m1", **more), say("a", "send", "m2", **more)]
    log += [say("b", "deliver", "m2"), say("b", "deliver", "m1")]
    assert messages(*log) == [("m1", "text"), ("m2", "text"), ("m2", "text"), ("m1", "text")]
    repeated = [*log, say("a", "send", "m1", **more)]
    assert messages(*repeated)[-1] == ("m1", "text")


def test_where_only_some_receives_name_their_senders_nothing_may_be_said_twice():
    log = [say("a", "send", "x", to="b"), say("a", "send", "y", to="b")]
    log += [say("b", "receive", "y", **{"from": "a"}), say("b", "receive", "x")]
    assert [name for name, _ in messages(*log)] == ["x", "y", "y", "x"]
    assert [name for name, _ in messages(*log, say("a", "send", "y", to="b"))] == [
        "a:0",
        "a:1",
        "a:1",
        None,
        "a:2",
    ]


def test_what_two_processes_say_is_no_id_beside_clocks():
    log = [say("a", "send", "x", vc={"a": 1}), say("b", "send", "x", vc={"b": 1})]
    assert messages(*log, say("b", "receive", "x", vc={"a": 1, "b": 2})) == [
        ("a:1", "sent"),
        ("b:1", "sent"),
        (None, None),
    ]


def test_what_is_said_is_but_a_text_where_receives_name_their_senders():
    log = [say("a", "send", "x", to="b"), say("a", "send", "x", to="b")]
    log += [say("b", "receive", "x", **{"from": "a"}), say("b", "receive", "x", **{"from": "a"})]
    assert messages(*log) == [("a:0", "sent"), ("a:1", "sent"), ("a:0", "first"), ("a:1", "first")]


def test_only_the_first_record_can_be_a_header():
    parsed = parse(lines({"N": 2}, send(1, "x"), {"N": 3}))
    assert [row["line"] for row in events_as_rows(parsed)] == [2]
    assert parsed.quarantine["line"].to_pylist() == [3]
