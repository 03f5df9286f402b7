"""Stamps of real endpoints in every form that can stream: all comes out, and no effect before its cause."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from antecede.core.errors import CallerError
from tests.engines.test_order_forms import BASE, decode, row
from tests.engines.test_order_forms import FORMS as ALL_FORMS
from tests.message_rows import Sent
from tests.sql_tables import make_table
from tests.streams.driving import Driver, check_positions, cut

CAUSAL = [one for one in ALL_FORMS if one[0] in ("vector", "matrix", "triples", "sequence")]


@pytest.mark.parametrize(("form", "protocol", "type", "made", "options"), CAUSAL)
def test_all_that_endpoints_sent_comes_out_in_causal_order(
    tmp_path: Path, form: str, protocol: str, type: str, made: Any, options: dict[str, Any]
) -> None:
    sent = Sent(protocol, workload="broadcast" if protocol == "vector" else "uniform")
    rows = [row(sent, packet, made(sent, packet)) for packet in sent.packets]
    table = make_table(rows, f"{BASE}, stamp {type}").drop_columns(["arrival"])
    shuffled = Random(1).sample(table.to_pylist(), len(table))
    driver = Driver(tmp_path, table.schema, group="group", form=form, **options)
    tables = driver.run_all(cut(Random(2), shuffled, 5))
    assert len(tables.ordered) == len(rows)
    for line in check_positions(tables).values():
        names = [one["message"] for one in line]
        if form == "sequence":
            for sender in sent.names:
                mine = [one["stamp"] for one in line if one["sender"] == sender]
                assert mine == sorted(mine)
        else:
            assert sent.late(names) == []
    assert len({one["batch"] for one in tables.ordered}) > 1


REFUSED = [one for one in ALL_FORMS if one[0] in ("pairs", "log", "predecessors")]


@pytest.mark.parametrize(("form", "protocol", "type", "made", "options"), REFUSED)
def test_stamps_that_leave_out_causes_are_refused(
    tmp_path: Path, form: str, protocol: str, type: str, made: Any, options: dict[str, Any]
) -> None:
    sent = Sent(protocol, messages=5)
    number = 1 if form == "pairs" else decode(sent.packets[0]["stamp"], strict=False)[0]
    rows = [row(sent, packet, made(sent, packet), number) for packet in sent.packets]
    schema = make_table(rows, f"{BASE}, stamp {type}").schema
    with pytest.raises(CallerError, match=r"leave out causes .* order them in batch"):
        Driver(tmp_path, schema, group="group", form=form, **options)


def test_packets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CallerError, match="'packets' are written by runs that are over: order them in batch"):
        Driver(tmp_path, Sent("matrix", messages=5).table.schema)


def test_what_a_stream_cannot_tell_is_refused_with_the_remedy(tmp_path: Path) -> None:
    schema = make_table([], f"{BASE}, stamp array<int>, keys array<int>, ids array<string>").schema
    for options, words in (
        ({"form": "clock", "members": ["a"]}, "'clock' count events that are no rows.*the form 'vector'"),
        ({"form": "shared", "keys": "keys"}, "'shared' do not tell messages of a sender apart"),
        ({"form": "vector"}, "need members= in a stream"),
        ({"form": "vector", "members": ["a"], "horizon": 5}, "horizon= bounds the ids.*leave it out"),
        ({"form": "parents", "stamp": "ids", "id": "message", "horizon": 0}, "at least 1 row"),
    ):
        with pytest.raises(CallerError, match=words):
            Driver(tmp_path, schema, group="group", **options)
