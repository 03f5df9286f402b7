"""Tables of messages in text files: what a stamp cannot hold is refused with all that stood there."""

import json

import pytest

from antecede.spark.message_tables import messages

pytestmark = pytest.mark.spark
LINES = (
    '{"sender":"a","stamp":{"a":1}}\n{"sender":"b","stamp":"oops"}\n{"sender":"c","stamp":null}\nno json\n'
)


def test_a_torn_stamp_is_refused_with_its_text(spark, tmp_path):
    file = tmp_path / "m.jsonl"
    file.write_text(LINES)
    found = messages(spark, [str(file)], None)
    rows = {row["sender"]: row["stamp"] for row in found.rows.collect()}
    assert rows == {"a": {"a": 1}, "c": None}
    assert found.unreadable is not None
    refused = {row["reason"]: row["raw"] for row in found.unreadable.collect()}
    assert json.loads(refused.pop("the stamp is not JSON of its form")) == {"sender": "b", "stamp": "oops"}
    assert refused == {"is no JSON object": "no json"}


def test_columns_of_any_name_pass_through(spark, tmp_path):
    file = tmp_path / "m.csv"
    file.write_text('room,sender,stamp,od.d n,_file\nr,a,"{""a"":1}",5,mine\nr,b,torn,6,mine\n')
    found = messages(spark, [str(file)], None)
    rows = [row.asDict() for row in found.rows.collect()]
    assert rows == [{"room": "r", "sender": "a", "stamp": {"a": 1}, "od.d n": 5, "_file": "mine"}]
    assert found.unreadable is not None and found.unreadable.count() == 1
